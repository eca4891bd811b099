"""The client of AWS at a server that does what the test wrote down: what comes of an answer, and how often it asks."""

import logging
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.settings import settings
from chalicelib.store.aws_client import (
    ATTEMPTS,
    DYNAMODB,
    HURRIED,
    KMS,
    SECRETS_MANAGER,
    CallError,
    Client,
    Limits,
    RefusedError,
    TimedOutError,
    UnansweredError,
    limit_lost_time,
)
from tests.support.giving import Give
from tests.support.scripted_server import Scripted, Step, answers, cancels, cuts, http, refuses, scripted, sends, silent

LIMITS = Limits(connect_seconds=1, read_seconds=2, attempts=3)
SHORT = Limits(connect_seconds=0.2, read_seconds=0.2, attempts=2)
KEY = {"id": {"S": "a"}}
READ = {"TableName": "t", "Key": KEY, "ConsistentRead": True}
WRITES = {"TransactItems": [{"Put": {"TableName": "t", "Item": KEY}}] * 2}
FOUND = {"Item": {"id": {"S": "ünï 字"}, "n": {"N": "1.10"}, "b": {"B": "YQ=="}}}
READABLE = {"Item": {"id": {"S": "ünï 字"}, "n": {"N": "1.10"}, "b": {"B": b"a"}}}
At = Callable[[Scripted], None]


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of botocore between attempts, none of which is made."""
    made: list[float] = []
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=made.append))
    return made


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> At:
    """Send the calls to a server."""

    def direct(server: Scripted) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        for name in ("DYNAMODB", "KMS", "SECRETS_MANAGER"):
            monkeypatch.delenv(f"AWS_ENDPOINT_URL_{name}", raising=False)
        outside.forget()

    return direct


def outcome(operation: str = "GetItem", parameters: Any = READ, limits: Limits = LIMITS) -> Any:
    """What came of a call: the answer, or the error in words."""
    try:
        answer = Client(DYNAMODB, limits).call(operation, **parameters)
    except RefusedError as error:
        return error.code, error.status, error.reasons
    except CallError as error:
        return type(error)
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}


@pytest.mark.usefixtures("pauses")
@pytest.mark.parametrize(
    ("failure", "found", "attempts"),
    [
        (refuses("ValidationException"), ("ValidationException", 400, ()), 1),
        (refuses("TransactionConflictException"), ("TransactionConflictException", 400, ()), ATTEMPTS),
        (refuses("ThrottlingException"), ("ThrottlingException", 400, ()), ATTEMPTS),
        (refuses("TransactionInProgressException"), ("TransactionInProgressException", 400, ()), ATTEMPTS),
        (
            cancels("None", "TransactionConflict"),
            ("TransactionCanceledException", 400, ("None", "TransactionConflict")),
            ATTEMPTS,
        ),
        (
            cancels("ConditionalCheckFailed", "TransactionConflict"),
            ("TransactionCanceledException", 400, ("ConditionalCheckFailed", "TransactionConflict")),
            1,
        ),
        (refuses("InternalServerError", 500), ("InternalServerError", 500, ()), 3),
        (sends(http(503, b"<html>")), ("503", 503, ()), 3),
        (sends(http(403, b"<html>")), ("403", 403, ()), 1),
        (
            cancels("None", "ConditionalCheckFailed"),
            ("TransactionCanceledException", 400, ("None", "ConditionalCheckFailed")),
            1,
        ),
        (cuts, UnansweredError, 3),
        (sends(b"HTTP/1.1 2", stays=False), UnansweredError, 3),
        (sends(b"SSH-2.0-a\r\n\r\n", stays=False), UnansweredError, 3),
    ],
)
def test_a_failure_is_a_refusal_or_no_answer_and_is_tried_as_often_as_it_may_help(
    at: At, failure: Step, found: Any, attempts: int
) -> None:
    with scripted(failure) as server:
        at(server)

        assert (outcome("TransactWriteItems", WRITES), len(server.requests)) == (found, attempts)
        assert outcome(limits=LIMITS._replace(attempts=1)) == found
        assert len(server.requests) == attempts + (ATTEMPTS if attempts == ATTEMPTS else 1)


@pytest.mark.parametrize(
    ("failure", "attempts"),
    [(cuts, 3), (refuses("InternalServerError", 500), 3), (silent, 1), (refuses("ValidationException"), 1)],
)
def test_in_limited_time_a_failure_is_repeated_while_time_is_left_and_silence_never(
    at: At, pauses: list[float], failure: Step, attempts: int
) -> None:
    with scripted(failure, failure, answers(FOUND)) as server, limit_lost_time(HURRIED.longest + 1):
        at(server)
        found = outcome(limits=(SHORT if failure is silent else LIMITS)._replace(attempts=1))

    assert (len(server.requests), len(pauses), found == READABLE) == (attempts, attempts - 1, attempts == 3)


@pytest.mark.usefixtures("pauses")
def test_without_time_left_a_failure_is_not_repeated(at: At) -> None:
    with scripted(cuts) as server, limit_lost_time(HURRIED.longest - 1):
        at(server)

        assert (outcome(), len(server.requests)) == (UnansweredError, 1)


def test_a_collision_is_repeated_after_growing_pauses_with_jitter(at: At, pauses: list[float], give: Give) -> None:
    give(between=max)
    with scripted(refuses("TransactionConflictException")) as server:
        at(server)
        outcome()

    assert pauses == [0.02 * 2**number for number in range(ATTEMPTS - 1)]


DAMAGES: dict[str, Step] = {
    "another checksum": answers({"Item": {}}, x_amz_crc32="1"),
    "a checksum that is no number": answers({"Item": {}}, x_amz_crc32="?"),
    "a page": sends(http(200, b"<html>")),
    "nothing": sends(http(200, b"")),
    "a list": answers([]),
    "a number": answers(1),
    "cut JSON": sends(http(200, b'{"Item": {"id"')),
    "an error under another checksum": answers({"__type": "a#ValidationException"}, 400, x_amz_crc32="1"),
    "cut short": sends(http(200, b'{"Item": {"id": {"S": "a"}}}')[:-5], stays=False),
    "no text": sends(http(200, b'{"Item": "\xff\xfe"}')),
}


@pytest.mark.usefixtures("pauses")
@pytest.mark.parametrize("operation", ["GetItem", "TransactWriteItems"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_answer_is_no_success_and_is_asked_for_again(at: At, damage: Step, operation: str) -> None:
    """A record that was not read is not missing, and a write that may have failed is not stored."""
    parameters: dict[str, Any] = READ if operation == "GetItem" else WRITES
    with scripted(damage) as server:
        at(server)
        assert (outcome(operation, parameters), len(server.requests)) == (UnansweredError, 3)

    with scripted(damage, answers(FOUND if operation == "GetItem" else {})) as server:
        at(server)
        assert outcome(operation, parameters) == (READABLE if operation == "GetItem" else {})


@pytest.mark.usefixtures("pauses")
@pytest.mark.parametrize(
    "failure",
    [
        refuses("InternalServerError", 500),
        refuses("TransactionInProgressException"),
        refuses("ThrottlingException"),
        refuses("RequestLimitExceeded"),
        cuts,
    ],
)
def test_the_attempts_of_a_transaction_have_one_token_two_transactions_two(at: At, failure: Step) -> None:
    with scripted(failure, failure, answers({}), answers({})) as server:
        at(server)
        outcome("TransactWriteItems", WRITES)
        outcome("TransactWriteItems", WRITES)
        tokens = [request.parameters["ClientRequestToken"] for request in server.requests]

    assert tokens[0] == tokens[1] == tokens[2] != tokens[3]


@pytest.mark.usefixtures("pauses")
def test_a_cancelled_transaction_is_repeated_as_a_new_one(at: At) -> None:
    with scripted(cancels("None", "TransactionConflict"), cuts, answers({})) as server:
        at(server)
        outcome("TransactWriteItems", WRITES)
        first, second, third = (request.parameters for request in server.requests)

    assert first.pop("ClientRequestToken") != (token := second.pop("ClientRequestToken"))
    assert third.pop("ClientRequestToken") == token
    assert first == second == third


@pytest.mark.usefixtures("pauses")
def test_a_server_that_is_silent_is_asked_as_often_as_the_limits_say(at: At) -> None:
    with scripted(silent) as server:
        at(server)

        assert (outcome(limits=SHORT), len(server.requests)) == (TimedOutError, 2)


@pytest.mark.usefixtures("pauses")
@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "http://none.invalid", "nonsense"])
def test_an_address_where_nobody_answers_is_no_answer(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", address)

    assert outcome() is UnansweredError


@pytest.mark.parametrize("service", [DYNAMODB, KMS, SECRETS_MANAGER])
def test_without_a_region_there_is_no_answer(monkeypatch: pytest.MonkeyPatch, give: Give, service: str) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    give(settings=replace(settings(), stage="dev"))

    with pytest.raises(UnansweredError, match="NoRegionError"):
        Client(service, LIMITS)


def test_bytes_are_bytes_on_both_sides(at: At) -> None:
    with scripted(answers({"CiphertextBlob": "YQ=="}, crc=False)) as server:
        at(server)
        answer = Client(KMS, LIMITS).call("Encrypt", KeyId="a", Plaintext=b"a", EncryptionContext={"agent": "1"})

        assert answer["CiphertextBlob"] == b"a"
        assert server.requests[0].parameters["Plaintext"] == "YQ=="


@pytest.mark.usefixtures("pauses")
@pytest.mark.parametrize(
    "failure",
    [
        answers({"__type": "a#ValidationException", "message": "text-secret"}, 400),
        answers(
            {
                "__type": "a#TransactionCanceledException",
                "message": "text-secret",
                "CancellationReasons": [{"Code": "None", "Message": "text-secret", "Item": {"id": {"S": "a-secret"}}}],
            },
            400,
        ),
        sends(http(200, b"answer-secret")),
        cuts,
    ],
)
def test_neither_an_error_nor_the_log_shows_what_was_sent_or_what_aws_wrote(
    at: At, failure: Step, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), scripted(failure) as server:
        at(server)
        client = Client(DYNAMODB, LIMITS)
        with pytest.raises(CallError) as raised:
            client.call("PutItem", TableName="t", Item={"id": {"S": "parameter-secret"}})

    error = raised.value
    shown = f"{error} {error!r} {error.args} {getattr(error, 'reasons', '')} {caplog.text}"
    assert "secret" not in shown
    assert error.__cause__ is error.__context__ is None
