import itertools
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from threading import current_thread, main_thread
from types import SimpleNamespace

import boto3
import pytest

from chalicelib.domain.secret import Secret
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways import secrets
from chalicelib.gateways.secrets import Remembered
from chalicelib.settings import settings
from chalicelib.store import aws_client
from chalicelib.store.aws_client import RefusedError, UnansweredError
from chalicelib.web import refuse
from infra.operator import stage_secret
from tests.support.giving import Give

pytestmark = pytest.mark.usefixtures("moto")
HOUR = timedelta(hours=1)


class _Clock:
    """A clock of the process that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(give: Give) -> _Clock:
    clock = _Clock()
    give(now=lambda: datetime.fromtimestamp(clock.now, UTC), elapsed=clock.monotonic)
    return clock


def _rewrite(**changes: object) -> None:
    """Change the document as an operator elsewhere does: this process does not learn of it."""
    client = boto3.client("secretsmanager")
    stored = json.loads(client.get_secret_value(SecretId=settings().secret_id)["SecretString"])
    client.put_secret_value(SecretId=settings().secret_id, SecretString=json.dumps({**stored, **changes}))


def test_a_digest_is_always_the_same_and_reveals_nothing() -> None:
    digest = secrets.keyed_digest(Secret("till-demo-secret-key-0001"))

    assert digest == secrets.keyed_digest(Secret("till-demo-secret-key-0001"))
    assert digest != secrets.keyed_digest(Secret("till-demo-secret-key-0002"))
    assert len(digest) == 64


def test_a_sealed_secret_opens_for_its_agent() -> None:
    sealed = secrets.seal(Secret("till-demo-secret-key-0001"), 17)

    assert secrets.unseal(sealed, 17).reveal() == "till-demo-secret-key-0001"
    assert b"till-demo" not in sealed


def test_a_sealed_secret_opens_for_no_other_agent() -> None:
    sealed = secrets.seal(Secret("till-demo-secret-key-0001"), 17)

    with pytest.raises(RefusedError):
        secrets.unseal(sealed, 18)


def test_a_rotation_keeps_the_secret_before_and_the_digest_key() -> None:
    digest = secrets.keyed_digest(Secret("key"))
    first, second = (stage_secret.rotate_signing(again=True) for _ in range(2))

    third = stage_secret.rotate_signing(Secret("given"), again=True)

    assert third == Secret("given")
    assert secrets.signing() == (third, second)
    assert first not in secrets.signing()
    assert len(second.reveal()) >= 64
    assert secrets.keyed_digest(Secret("key")) == digest


def test_a_rotation_elsewhere_is_seen_within_five_minutes(clock: _Clock) -> None:
    before = secrets.signing()

    _rewrite(signing=["elsewhere"])
    clock.now += secrets.REMEMBERED_S - 1
    remembered = secrets.signing()
    clock.now += 1

    assert remembered == before
    assert secrets.signing() == (Secret("elsewhere"),)


def test_a_stage_without_a_signing_secret_accepts_none() -> None:
    _rewrite(signing=[])
    secrets.remembered().forget()

    assert secrets.signing() == ()


def test_the_remembered_document_is_used_while_secrets_manager_is_out_of_reach(clock: _Clock, give: Give) -> None:
    calls = list[float]()

    def unreachable_later(secret_id: str) -> str:
        if clock.now >= 1000.0 + secrets.REMEMBERED_S:
            calls.append(clock.now)
            raise UnansweredError
        return secrets.fetch(secret_id)

    give(secret=unreachable_later)
    digest = secrets.keyed_digest(Secret("key"))
    clock.now += secrets.REMEMBERED_S

    assert {secrets.keyed_digest(Secret("key")) for _ in range(5)} == {digest}
    assert len(calls) == 1


@pytest.mark.parametrize("status", [500, 503])
def test_when_nothing_is_remembered_an_outage_is_903(give: Give, status: int) -> None:
    def unreachable(_: str) -> None:
        operation = "GetSecretValue"
        raise RefusedError(operation, "InternalServiceError", status=status)

    give(secret=unreachable)
    with pytest.raises(ServiceError) as refusal:
        secrets.keyed_digest(Secret("key"))

    assert refusal.value.error is ErrorCode.STORE_UNAVAILABLE
    assert refuse(refusal.value).headers["Retry-After"] == "1"


def test_what_was_fetched_early_is_not_fetched_again() -> None:
    threads = []

    def load() -> Mapping[str, str]:
        threads.append(current_thread())
        return {"digest_key": "key"}

    document = Remembered(load)
    document.begin()
    document.wait()

    assert [document(), document()] == [{"digest_key": "key"}] * 2
    assert len(threads) == 1
    assert threads[0] is not main_thread()


def test_after_an_early_fetch_that_failed_the_request_fetches_and_has_lost_the_time_it_waited(
    give: Give, capsys: pytest.CaptureFixture[str]
) -> None:
    def load() -> Mapping[str, str]:
        if current_thread() is not main_thread():
            raise ServiceError(ErrorCode.STORE_UNAVAILABLE, "a text that may quote something")
        return {"digest_key": "key"}

    give(elapsed=itertools.count(1000.0, 1.0).__next__)  # each look is a second later
    document = Remembered(load)
    document.begin()

    with aws_client.limit_lost_time(aws_client.HURRIED.longest + 0.5):
        document.wait()
        assert document() == {"digest_key": "key"}
        with pytest.raises(ServiceError):  # a second is lost, and less is left than the next call may take
            aws_client.limits()
    line = json.loads(capsys.readouterr().out)
    assert line == {"event": "secret_not_fetched_early", "stage": "local", "error": "ServiceError"}


def test_a_request_that_waited_in_vain_for_an_early_fetch_still_makes_its_own(clock: _Clock) -> None:
    def join(seconds: float) -> None:
        clock.now += seconds + 0.001  # a wait is never exact

    def load() -> Mapping[str, str]:
        aws_client.limits()
        return {"digest_key": "key"}

    document = Remembered(load)
    document._early = SimpleNamespace(join=join)  # type: ignore[assignment]  # noqa: SLF001  it hangs

    with aws_client.limit_lost_time(aws_client.HURRIED.longest + aws_client.HURRIED_SECRET.longest):
        document.wait()
        assert document() == {"digest_key": "key"}


def test_a_clock_that_is_set_back_does_not_make_a_secret_last(clock: _Clock) -> None:
    loaded = []

    def load() -> Mapping[str, str]:
        loaded.append(clock.now)
        return {"digest_key": "key"}

    document = Remembered(load)
    document()
    clock.now -= 86_400
    document()

    assert len(loaded) == 2


@pytest.mark.parametrize("document", ["not JSON", "[]", "{}", '{"digest_key": 5}', '{"digest_key": " "}'])
def test_a_document_that_somebody_wrote_wrongly_is_an_outage_that_the_log_names(
    clock: _Clock, capsys: pytest.CaptureFixture[str], document: str
) -> None:
    digest, client = secrets.keyed_digest(Secret("key")), boto3.client("secretsmanager")
    before = client.get_secret_value(SecretId=settings().secret_id)["SecretString"]
    client.put_secret_value(SecretId=settings().secret_id, SecretString=document)

    clock.now += secrets.REMEMBERED_S
    assert secrets.keyed_digest(Secret("key")) == digest  # the remembered document stays in use
    secrets.remembered().forget()
    with pytest.raises(ServiceError) as refusal:
        secrets.keyed_digest(Secret("key"))

    client.put_secret_value(SecretId=settings().secret_id, SecretString=before)
    secrets.remembered().forget()
    assert refusal.value.error is ErrorCode.STORE_UNAVAILABLE
    assert '"unreadable"' in capsys.readouterr().out
