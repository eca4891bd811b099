"""Our signature is botocore's, whatever is signed."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials
from botocore.credentials import ReadOnlyCredentials
from botocore.exceptions import CredentialRetrievalError
from hypothesis import given
from hypothesis import strategies as st

from chalicelib import outside
from chalicelib.aws import client
from chalicelib.aws.client import Client, Credentials, Limits, credentials, signed
from chalicelib.aws.endpoints import DYNAMODB, KMS, SECRETS_MANAGER, Service, region
from chalicelib.aws.errors import UnansweredError
from chalicelib.domain.secret import Secret

OPERATIONS = [
    *((DYNAMODB, name) for name in ("GetItem", "BatchGetItem", "PutItem", "UpdateItem", "Query", "TransactWriteItems")),
    (SECRETS_MANAGER, "GetSecretValue"),
    *((KMS, name) for name in ("Encrypt", "Decrypt")),
]
PRINTABLE = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1)
TOKENS = (
    st.none()
    | PRINTABLE.filter(str.strip)
    | st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1)
)
MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.timezones())  # noqa: DTZ001  a range


def botocores(
    headers: dict[str, str], body: bytes, credentials: Credentials, place: tuple[str, str], now: datetime
) -> dict[str, str]:
    token = credentials.token.reveal() if credentials.token else None
    known = BotocoreCredentials(credentials.access_key, credentials.secret_key.reveal(), token)
    request = AWSRequest("POST", f"https://{headers['host']}/", headers=headers, data=body)
    with patch("botocore.auth.get_current_datetime", lambda: now.astimezone(UTC).replace(tzinfo=None)):
        SigV4Auth(known, place[1], place[0]).add_auth(request)
    return {name.lower(): value for name, value in request.headers.items()}


CREDENTIALS = st.builds(
    lambda access, secret, token: Credentials(access, Secret(secret), Secret(token) if token else None),
    PRINTABLE,
    st.text(st.characters(codec="utf-8")),
    TOKENS,
)


@pytest.mark.slow
@pytest.mark.parametrize(("service", "operation"), OPERATIONS)
@given(
    body=st.binary() | st.text().map(lambda text: text.encode(errors="replace")),
    credentials=CREDENTIALS,
    region=st.sampled_from(["eu-west-1", "cn-north-1", "us-gov-west-1", "af-south-1"]),
    port=st.sampled_from(["", ":8000", ":443"]),
    now=MOMENTS,
)
def test_a_signature_is_botocores(service: Service, operation: str, **drawn: Any) -> None:
    place = (drawn["region"], service.name)
    headers = {
        "accept-encoding": "identity",
        "content-type": service.content_type,
        "host": f"{service.name}.{place[0]}.amazonaws.com{drawn['port']}",
        "x-amz-target": f"{service.target}.{operation}",
    }

    ours = signed(headers, drawn["body"], drawn["credentials"], place, drawn["now"])

    theirs = botocores(headers, drawn["body"], drawn["credentials"], place, drawn["now"])
    assert ours["authorization"] == theirs["authorization"]
    assert ours["x-amz-date"] == theirs["x-amz-date"]
    assert set(ours) == set(theirs)


def test_a_key_of_yesterday_signs_nothing_today() -> None:
    headers = {"host": "a"}
    credentials = Credentials("a", Secret("b"))
    before = datetime(2026, 11, 22, 23, 59, 59, tzinfo=UTC)

    for now in (before, before + timedelta(seconds=1)):
        ours = signed(headers, b"", credentials, ("eu-west-1", "kms"), now)
        assert ours["authorization"] == botocores(headers, b"", credentials, ("eu-west-1", "kms"), now)["authorization"]
    other = signed(headers, b"", Credentials("a", Secret("c")), ("eu-west-1", "kms"), before)
    assert other["authorization"] != signed(headers, b"", credentials, ("eu-west-1", "kms"), before)["authorization"]


def test_a_token_with_a_line_break_adds_no_header() -> None:
    ours = signed(
        {"host": "a"}, b"", Credentials("a", Secret("b"), Secret("c\r\nx: y")), ("r", "kms"), datetime.now(UTC)
    )

    assert "\n" not in "".join(ours.values())


NAMES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION")


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """An environment without credentials and region, and the folder of a person's own."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    outside.forget()
    yield tmp_path
    monkeypatch.undo()
    outside.forget()


@pytest.mark.parametrize("token", [None, "c"])
def test_those_of_the_environment_are_found_without_botocore(
    home: Path, monkeypatch: pytest.MonkeyPatch, token: str | None
) -> None:
    (home / "credentials").write_text("[default]\naws_access_key_id = d\naws_secret_access_key = e\n")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    if token:
        monkeypatch.setenv("AWS_SESSION_TOKEN", token)
    monkeypatch.setitem(sys.modules, "botocore.session", None)  # an import fails

    assert credentials() == Credentials("a", Secret("b"), Secret(token) if token else None)
    assert region() == "eu-west-1"


def test_those_of_a_profile_are_found_if_the_environment_has_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "credentials").write_text(
        "[own]\naws_access_key_id = a\naws_secret_access_key = b\naws_session_token = c\n"
    )
    (home / "config").write_text("[profile own]\nregion = af-south-1\n")
    monkeypatch.setenv("AWS_PROFILE", "own")

    assert credentials() == Credentials("a", Secret("b"), Secret("c"))
    assert region() == "af-south-1"


def test_those_that_are_renewed_are_asked_for_each_time(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del home
    keys = iter(["first", "second"])
    renewed = SimpleNamespace(get_frozen_credentials=lambda: ReadOnlyCredentials(next(keys), "b", "c"))
    monkeypatch.setattr(client, "session", lambda: SimpleNamespace(get_credentials=lambda: renewed))

    assert [credentials().access_key for _ in range(2)] == ["first", "second"]


def test_without_any_a_call_has_no_answer(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del home
    monkeypatch.setenv("AWS_REGION", "eu-west-1")

    with pytest.raises(UnansweredError, match="no credentials"):
        Client(KMS, Limits(1, 1, 3)).call("Encrypt")


def test_those_that_cannot_be_renewed_are_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del home

    def fail() -> None:
        raise CredentialRetrievalError(provider="sso", error_msg="expired")

    monkeypatch.setattr(client, "session", lambda: SimpleNamespace(get_credentials=fail))

    with pytest.raises(UnansweredError, match="no credentials"):
        credentials()


def test_without_a_region_the_process_ends_with_a_line_that_says_so(home: Path) -> None:
    del home

    with pytest.raises(SystemExit, match="AWS_REGION"):
        region()


def test_credentials_are_not_shown() -> None:
    shown = repr(Credentials("public", Secret("secret-key"), Secret("secret-token")))

    assert "public" in shown
    assert "secret-" not in shown
