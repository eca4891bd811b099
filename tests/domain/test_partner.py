import pytest

from chalicelib.domain.partner import sign
from chalicelib.domain.secret import Secret


def test_a_signature_is_the_hmac_of_the_time_a_full_stop_and_the_body() -> None:
    # printf '1773480413.{"a":1}' | openssl dgst -sha256 -hmac a-secret-of-a-partner
    expected = "88a2cbbdbe45d16464d60af5edeb4f457cfe1007cf6540e40626f92b9fdcf5e7"

    assert sign(Secret("a-secret-of-a-partner"), "1773480413", b'{"a":1}') == expected


@pytest.mark.parametrize(
    ("secret", "timestamp", "body"),
    [("other", "1773480413", b"{}"), ("secret", "1773480414", b"{}"), ("secret", "1773480413", b"{ }")],
)
def test_another_secret_time_or_body_is_another_signature(secret: str, timestamp: str, body: bytes) -> None:
    assert sign(Secret(secret), timestamp, body) != sign(Secret("secret"), "1773480413", b"{}")
