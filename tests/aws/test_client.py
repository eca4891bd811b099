"""Our client beside boto3's, at a server that does what the test wrote down: the same outcome and as many attempts."""

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.aws import client as aws_client
from chalicelib.aws import errors
from chalicelib.aws.client import Client, Limits
from chalicelib.aws.endpoints import DYNAMODB, KMS, SECRETS_MANAGER, Service
from chalicelib.aws.errors import RefusedError, UnansweredError
from infra.local import ports
from tests.aws.clients import LIMITS, METHODS, SERVICES, boto3s, no_pauses, ours
from tests.aws.servers import Scripted, Step, answers, cancels, cuts, http, refuses, scripted, sends, silent
from tests.support.giving import Give

KEY = {"id": {"S": "a"}}
WRITE = {"Put": {"TableName": "t", "Item": KEY}}
CALLS: dict[str, Any] = {
    "GetItem": {"TableName": "t", "Key": KEY, "ConsistentRead": True},
    "BatchGetItem": {"RequestItems": {"t": {"Keys": [KEY]}}},
    "PutItem": {"TableName": "t", "Item": {"id": {"S": "ünï 字"}, "n": {"N": "1.10"}}},
    "UpdateItem": {"TableName": "t", "Key": KEY, "UpdateExpression": "ADD #n :one"},
    "Query": {"TableName": "t", "KeyConditionExpression": "id = :id", "ExpressionAttributeValues": {":id": {"S": "a"}}},
    "TransactWriteItems": {"TransactItems": [WRITE, WRITE]},
}  # fmt: skip
FOUND = {"Item": {"id": {"S": "ünï 字"}, "n": {"N": "1.10"}}}
ONE_ATTEMPT = Limits(connect_seconds=1, read_seconds=2, attempts=1)
SHORT = Limits(connect_seconds=0.2, read_seconds=0.2, attempts=2)
WHOLE = http(200, b'{"Item": {}}')
CODES = [
    "AccessDeniedException",
    "ConditionalCheckFailedException",
    "ExpiredTokenException",
    "IdempotentParameterMismatchException",
    "IncompleteSignatureException",
    "InvalidSignatureException",
    "ItemCollectionSizeLimitExceededException",
    "MissingAuthenticationTokenException",
    "ReplicatedWriteConflictException",
    "RequestTimeout",
    "ResourceNotFoundException",
    "SerializationException",
    "TransactionConflictException",
    "UnrecognizedClientException",
    "ValidationException",
    *sorted(errors.THROTTLED),
]
FAILURES: dict[str, Step] = {
    **{code: refuses(code) for code in CODES},
    "500": refuses("InternalServerError", 500),
    "503": refuses("ServiceUnavailable", 503),
    "a code without a name": answers({"__type": "ValidationException", "Message": "Because."}, 400),
    "a code with its page": answers({"__type": "a.b#ValidationException:http://c"}, 400),
    "an error without a code": answers({"message": "Because."}, 400),
    **{f"a page with {status}": sends(http(status, b"<html>")) for status in (400, 403, 413, 429, 502, 504)},
    "an empty 500": sends(http(500, b"")),
    "cancelled": cancels("None", "ConditionalCheckFailed"),
    "cancelled, a conflict": cancels("TransactionConflict", "None"),
    "cancelled, throttled": cancels("ThrottlingError", "ProvisionedThroughputExceeded"),
    "cancelled, too large": cancels("ValidationError", "ItemCollectionSizeLimitExceeded"),
    "cut before an answer": cuts,
    "cut in the first line": sends(b"HTTP/1.1 2", stays=False),
    "not HTTP": sends(b"SSH-2.0-a\r\n\r\n", stays=False),
}


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch, give: Give) -> tuple[list[float], list[float]]:
    return no_pauses(give, monkeypatch)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[Scripted], None]:
    """Send the calls to a server."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")

    def direct(server: Scripted) -> None:
        for service in SERVICES.values():
            monkeypatch.setenv(f"AWS_ENDPOINT_URL_{service.variable}", server.url)

    return direct


@pytest.mark.slow
@pytest.mark.usefixtures("pauses")
@pytest.mark.parametrize("limits", [LIMITS, ONE_ATTEMPT], ids=["three attempts", "one"])
@pytest.mark.parametrize("times", [1, 5], ids=["once", "always"])
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_is_boto3s_and_is_tried_as_often(
    at: Callable[[Scripted], None], failure: str, times: int, limits: Limits
) -> None:
    operation = "TransactWriteItems" if failure.startswith("cancelled") else "UpdateItem"
    outcomes = []
    for through in (ours, boto3s):
        with scripted(*[FAILURES[failure]] * times, *([answers({})] if times == 1 else [])) as server:
            at(server)
            outcomes.append((through(operation, CALLS[operation], limits), len(server.requests)))

    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("operation", CALLS)
def test_a_request_is_what_boto3_sends(at: Callable[[Scripted], None], operation: str) -> None:
    sent = []
    for through in (ours, boto3s):
        with scripted(answers({"Item": {"id": {"S": "ü"}}} if operation == "GetItem" else {})) as server:
            at(server)
            outcome = through(operation, CALLS[operation])
            (request,) = server.requests
        parameters = {**request.parameters}
        token = parameters.pop("ClientRequestToken", "")
        headers = [request.header(name) for name in ("content-type", "host", "x-amz-target")]
        signed = request.header("authorization").partition("Signature=")[0]
        sent.append((outcome, parameters, len(token), headers[0], headers[2], "x-amz-target" in signed))

    assert sent[0] == sent[1]


@pytest.mark.parametrize(
    ("service", "operation", "parameters"),
    [
        (SECRETS_MANAGER, "GetSecretValue", {"SecretId": "a"}),
        (KMS, "Encrypt", {"KeyId": "a", "Plaintext": "YQ==", "EncryptionContext": {"agent": "1"}}),
        (KMS, "Decrypt", {"CiphertextBlob": "YQ==", "EncryptionContext": {"agent": "1"}}),
    ],
)
def test_a_request_to_secrets_manager_or_kms_is_what_boto3_sends(
    at: Callable[[Scripted], None], service: Service, operation: str, parameters: Any
) -> None:
    decoded = {name: b"a" if value == "YQ==" else value for name, value in parameters.items()}  # boto3 encodes it
    sent = []
    for through, given in ((ours, parameters), (boto3s, decoded)):
        with scripted(answers({"KeyId" if service is KMS else "Name": "a"}, crc=False)) as server:
            at(server)
            outcome = through(operation, given, service=service)
            (request,) = server.requests
        token = request.parameters.get("ClientRequestToken", "")
        body = {name: value for name, value in request.parameters.items() if name != "ClientRequestToken"}
        sent.append((outcome, body, len(token), *(request.header(name) for name in ("content-type", "x-amz-target"))))

    assert sent[0] == sent[1]


@pytest.mark.usefixtures("pauses")
def test_the_attempts_of_a_transaction_have_one_token_two_transactions_two(at: Callable[[Scripted], None]) -> None:
    for through in (ours, boto3s):
        with scripted(refuses("InternalServerError", 500), cuts, answers({}), answers({})) as server:
            at(server)
            through("TransactWriteItems", CALLS["TransactWriteItems"])
            through("TransactWriteItems", CALLS["TransactWriteItems"])
            tokens = [request.parameters["ClientRequestToken"] for request in server.requests]

        assert tokens[0] == tokens[1] == tokens[2] != tokens[3]


def test_each_attempt_is_signed_anew(
    at: Callable[[Scripted], None], monkeypatch: pytest.MonkeyPatch, give: Give
) -> None:
    def renew(_: float) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "second")
        outside.forget()

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "first")
    give(pause=renew)
    with scripted(refuses("InternalServerError", 500), answers(FOUND)) as server:
        at(server)
        outcome = ours("GetItem", CALLS["GetItem"])
        signed_with = [request.header("authorization").partition("/")[0] for request in server.requests]
    monkeypatch.undo()
    outside.forget()

    assert outcome == ("answered", FOUND)
    assert [text.partition("Credential=")[2] for text in signed_with] == ["first", "second"]


@pytest.mark.parametrize("failure", ["cut within", "cut within, later"])
@pytest.mark.usefixtures("pauses")
def test_an_answer_that_is_cut_short_is_asked_for_again(at: Callable[[Scripted], None], failure: str) -> None:
    body = http(200, b'{"Item": {"id": {"S": "a"}}}', x_amz_crc32="1")
    cut = body[: body.index(b"\r\n\r\n") + 2] if failure == "cut within" else body[:-5]
    outcomes = []
    for through in (ours, boto3s):
        with scripted(sends(cut, stays=False), answers(FOUND)) as server:
            at(server)
            outcomes.append((through("GetItem", CALLS["GetItem"]), len(server.requests)))

    assert outcomes[0] == (("answered", FOUND), 2)
    assert failure == "cut within" or outcomes[0] == outcomes[1]


@pytest.mark.usefixtures("pauses")
def test_an_answer_under_another_checksum_is_asked_for_again(at: Callable[[Scripted], None]) -> None:
    for through in (ours, boto3s):
        with scripted(answers({"Item": {}}, x_amz_crc32="1"), answers(FOUND)) as server:
            at(server)
            outcome = through("GetItem", CALLS["GetItem"])

            assert (outcome, len(server.requests)) == (("answered", FOUND), 2)


@pytest.mark.usefixtures("pauses")
@pytest.mark.parametrize(
    "damage",
    [
        answers({"Item": {}}, x_amz_crc32="1"),
        sends(http(200, b"<html>")),
        sends(http(200, b"")),
        sends(http(200, b"[]")),
    ],
    ids=["another checksum", "a page", "nothing", "a list"],
)
def test_what_boto3_reads_as_an_empty_answer_is_none(at: Callable[[Scripted], None], damage: Step) -> None:
    """A record that was not read is not a record that is missing."""
    with scripted(damage) as server:
        at(server)
        outcome = ours("GetItem", CALLS["GetItem"])

        assert (outcome, len(server.requests)) == (("unanswered",), 3)


@pytest.mark.slow
@pytest.mark.usefixtures("pauses")
def test_a_server_that_is_silent_is_asked_as_often_as_by_boto3(at: Callable[[Scripted], None]) -> None:
    outcomes = []
    for through in (ours, boto3s):
        with scripted(silent) as server:
            at(server)
            outcomes.append((through("GetItem", CALLS["GetItem"], SHORT), len(server.requests)))

    assert outcomes[0] == outcomes[1] == (("timed out",), 2)


@pytest.mark.usefixtures("pauses")
def test_a_port_that_is_closed_is_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", f"http://{ports.HOST}:{ports.free_port()}")

    assert ours("GetItem", CALLS["GetItem"]) == boto3s("GetItem", CALLS["GetItem"]) == ("unreachable",)


@pytest.mark.parametrize(
    ("failure", "scale"),
    [(refuses("InternalServerError", 500), 0.025), (refuses("ThrottlingException"), 1), (cuts, 0.025)],
)
def test_no_pause_is_longer_than_boto3s_longest(
    at: Callable[[Scripted], None], pauses: tuple[list[float], list[float]], failure: Step, scale: float
) -> None:
    limits = Limits(connect_seconds=1, read_seconds=2, attempts=8)
    for through in (ours, boto3s):
        with scripted(failure) as server:
            at(server)
            through("GetItem", CALLS["GetItem"], limits)

    longest = [scale * 2**number for number in range(7)]
    for made in pauses:
        assert all(0 <= pause <= most for pause, most in zip(made, longest, strict=True))


@pytest.mark.parametrize(
    ("error", "scale"), [(RefusedError("GetItem", "ThrottlingException"), 1), (UnansweredError(), 0.025)]
)
def test_a_pause_doubles_with_each_attempt_up_to_twenty_seconds(
    give: Give, error: RefusedError | UnansweredError, scale: float
) -> None:
    give(between=lambda _, most: most)
    drawn = [aws_client.pause(error, attempt, 0.025) for attempt in range(1, 14)]

    assert drawn == [min(scale * 2**number, 20) for number in range(13)]


@pytest.mark.parametrize(("asked", "longest"), [("200", 0.2), ("60000", 5), ("-1", 0), ("soon", 0)])
def test_a_pause_is_as_long_as_the_service_asks_within_reason(  # noqa: PLR0913, PLR0917
    at: Callable[[Scripted], None],
    pauses: tuple[list[float], list[float]],
    monkeypatch: pytest.MonkeyPatch,
    asked: str,
    longest: float,
    give: Give,
) -> None:
    give(between=lambda least, _: least)
    monkeypatch.setattr(
        "botocore.retries.standard.ExponentialBackoff.__init__.__defaults__", (20, lambda: 0.0, None, None)
    )
    for through in (ours, boto3s):
        with scripted(answers({"__type": "ServiceUnavailable"}, 503, x_amz_retry_after=asked), answers({})) as server:
            at(server)
            through("GetItem", CALLS["GetItem"])

    assert pauses == ([longest], [longest])


@pytest.mark.usefixtures("pauses")
def test_an_outage_uses_up_the_repeats_and_answers_bring_them_back(at: Callable[[Scripted], None]) -> None:
    attempts = []
    with scripted(*[cuts] * 600, answers({})) as server:
        at(server)
        client = Client(DYNAMODB, LIMITS)
        for _ in range(30):
            before = len(server.requests)
            with pytest.raises(UnansweredError):
                client.call("GetItem", **CALLS["GetItem"])
            attempts.append(len(server.requests) - before)
        server.steps = [answers({})]
        for _ in range(aws_client.Quota.COST):
            client.call("GetItem", **CALLS["GetItem"])
        server.steps = [cuts]
        before = len(server.requests)
        with pytest.raises(UnansweredError):
            client.call("GetItem", **CALLS["GetItem"])

        assert attempts == [3] * 17 + [2] + [1] * 12  # 500 // 14 repeats
        assert len(server.requests) - before == 2


def test_an_error_shows_neither_what_was_sent_nor_what_aws_wrote(at: Callable[[Scripted], None]) -> None:
    item = {"Item": {"id": {"S": "item-secret"}}, "Message": "reason-secret", "Code": "ConditionalCheckFailed"}
    refusal = {"__type": "a#TransactionCanceledException", "message": "message-secret", "CancellationReasons": [item]}
    with scripted(answers(refusal, 400)) as server:
        at(server)
        client = Client(DYNAMODB, LIMITS)
        with pytest.raises(RefusedError) as raised:
            client.call("PutItem", TableName="t", Item={"id": {"S": "parameter-secret"}})

    shown = f"{raised.value} {raised.value!r} {raised.value.args} {raised.value.reasons}"
    assert "secret" not in shown
    assert str(raised.value) == "PutItem: TransactionCanceledException (400)"
    assert raised.value.message == "message-secret reason-secret"


def test_every_operation_of_the_store_is_compared() -> None:
    assert set(CALLS) <= set(METHODS)
