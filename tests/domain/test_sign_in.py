import base64
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.agent import Login
from chalicelib.domain.secret import Secret
from chalicelib.domain.sign_in import MAX_HEADER, Credential, basic, credential, is_logon_to_record, scheme_of
from chalicelib.errors import ErrorCode, ServiceError

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("word", ["Basic", "basic", "BASIC", "  bAsIc"])
def test_a_scheme_is_known_in_any_case(word: str) -> None:
    assert scheme_of(f"{word}  abc ") == ("Basic", "abc")


@pytest.mark.parametrize("authorization", ["Digest abc", "Basic\tabc", "\0"])
def test_another_scheme_is_unknown(authorization: str) -> None:
    assert scheme_of(authorization)[0] is None


@pytest.mark.parametrize(
    ("authorization", "error"),
    [
        ("", ErrorCode.NO_CREDENTIAL),
        ("   ", ErrorCode.NO_CREDENTIAL),
        ("Basic", ErrorCode.BAD_CREDENTIAL),
        ("Basic ", ErrorCode.BAD_CREDENTIAL),
        ("Session", ErrorCode.BAD_CREDENTIAL),
        ("Jwt " + "a" * (MAX_HEADER + 1), ErrorCode.BAD_CREDENTIAL),
    ],
)
def test_a_header_without_a_scheme_and_a_value_is_refused(authorization: str, error: ErrorCode) -> None:
    with pytest.raises(ServiceError) as refusal:
        scheme_of(authorization)

    assert refusal.value.error is error


@pytest.mark.parametrize(
    "value",
    [
        "****",
        "abc",
        "dGlsbA",
        _encoded("till:secret") + "*",
        "é",
        "\uff21\uff22\uff23\uff24",
        _encoded("no colon"),
        _encoded(":no login"),
        _encoded("no secret:"),
        _encoded("  :blank login"),
        base64.b64encode(b"till:\xff\xfe").decode(),
        base64.b64encode("till:é".encode("latin-1")).decode(),
        _encoded("a" * 255 + ":secret"),
        _encoded("till:" + "a" * 513),
    ],
)
def test_what_no_agent_can_have_is_a_bad_credential(value: str) -> None:
    with pytest.raises(ServiceError) as refusal:
        basic(value)

    assert refusal.value.error is ErrorCode.BAD_CREDENTIAL
    assert refusal.value.__context__ is None or refusal.value.__suppress_context__


def test_half_a_surrogate_pair_is_in_no_credential() -> None:
    with pytest.raises(ServiceError):
        credential("till@demo.example", "\ud800")


def test_the_secret_may_hold_colons_and_the_login_is_without_case() -> None:
    assert basic(_encoded(" Till@Demo.Example:a:b: ")) == Credential("till@demo.example", Secret("a:b: "))


@given(st.text())
def test_no_header_makes_parsing_fail_in_another_way_than_a_refusal(text: str) -> None:
    try:
        _, value = scheme_of(text)
        basic(value)
    except ServiceError as refusal:
        assert refusal.error.is_denial  # noqa: PT017  most texts are refused, and none must crash


@given(st.binary())
def test_no_base64_makes_parsing_fail_in_another_way_than_a_refusal(raw: bytes) -> None:
    try:
        basic(base64.b64encode(raw).decode())
    except ServiceError as refusal:
        assert refusal.error is ErrorCode.BAD_CREDENTIAL  # noqa: PT017  as above


def test_the_last_logon_is_recorded_once_an_hour() -> None:
    def login(last_logon: datetime | None) -> Login:
        return Login("till@demo.example", 17, 1, last_logon=last_logon)

    assert is_logon_to_record(login(None), NOW)
    assert not is_logon_to_record(login(NOW - timedelta(minutes=59)), NOW)
    assert is_logon_to_record(login(NOW - timedelta(hours=1)), NOW)
