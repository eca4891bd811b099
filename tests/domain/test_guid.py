import pytest

from chalicelib.domain.guid import is_guid

TEXT = "0f8fad5b-d9cb-469f-a165-70867728950e"


@pytest.mark.parametrize(
    "text", ["", "not-a-guid", f"{{{TEXT}}}", TEXT.replace("-", ""), f"{TEXT}\n", f"urn:uuid:{TEXT}"]
)
def test_anything_else_is_not_a_guid(text: str) -> None:
    assert not is_guid(text)


def test_a_guid_may_be_in_upper_or_lower_case() -> None:
    assert is_guid(TEXT)
    assert is_guid(TEXT.upper())
