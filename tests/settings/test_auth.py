from collections.abc import Iterator

import pytest

from chalicelib.domain.sign_in import Scheme
from chalicelib.settings import settings


@pytest.fixture(autouse=True)
def read_again() -> Iterator[None]:
    settings.cache_clear()
    yield
    settings.cache_clear()


@pytest.mark.parametrize(
    ("text", "schemes"),
    [("", set(Scheme)), ("Basic", {"Basic"}), ("Basic, Session", {"Basic", "Session"})],
)
def test_a_stage_lists_its_schemes(monkeypatch: pytest.MonkeyPatch, text: str, schemes: set[str]) -> None:
    monkeypatch.setenv("AUTH_SCHEMES", text)

    assert settings().auth_schemes == schemes


def test_a_stage_that_lists_a_scheme_there_is_not_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTH_SCHEMES", "Basic,Bearer")

    with pytest.raises(SystemExit, match="Bearer"):
        settings()
