"""Our signature is botocore's, whatever is signed."""

from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.aws.client import DYNAMODB, KMS, SECRETS_MANAGER, Credentials, Service, signed
from chalicelib.domain.secret import Secret

OPERATIONS = [
    *((DYNAMODB, name) for name in ("GetItem", "BatchGetItem", "PutItem", "UpdateItem", "Query", "TransactWriteItems")),
    *((SECRETS_MANAGER, name) for name in ("GetSecretValue", "PutSecretValue")),
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
