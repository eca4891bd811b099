"""The digest key is rotated, and no till notices: with a key, a session, a password, or the card of an old payment."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib import clock
from chalicelib.domain.secret import Secret
from chalicelib.gateways import secrets
from chalicelib.services import message_limits
from chalicelib.settings import settings
from chalicelib.store import agents
from chalicelib.store.table import client, read, table_name, update, write_one
from infra.operator import digest_key, items, stage_secret
from infra.operator.commands import main
from infra.stack import config
from infra.stack.package import ROOT
from tests.support.accounts import Account, a_session, accept_test_tokens, an_account, refusal_of
from tests.support.card_guesses import OTHERS, card
from tests.support.cards import PAN, a_card_body
from tests.support.http import TILL, TILL_BY_KEY, basic, post
from tests.support.stored import stored_transaction
from tests.support.transactions import a_guid

pytestmark = pytest.mark.usefixtures("moto")  # a rotation reads whole tables: those of this module alone
SUBMIT, REVERSE = "/api/v1/payment/submit", "/api/v1/payment/reversecnp"


@pytest.fixture(autouse=True)
def as_before(stage: str) -> Iterator[None]:
    """Put the digest keys and the logins back after the test."""
    del stage
    name = table_name(agents.LOGINS)
    before = [item for page in items.pages(name) for item in page]
    yield
    _put_keys({})
    for page in items.pages(name):
        for item in page:
            client().call("DeleteItem", TableName=name, Key={"email": item["email"]})
    for item in before:
        client().call("PutItem", TableName=name, Item=item)


def _put_keys(document: Any) -> None:
    text = json.dumps(document)
    boto3.client("secretsmanager").put_secret_value(SecretId=settings().digest_secret_id, SecretString=text)
    secrets.document.cache_clear()


@pytest.fixture
def quick_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the clock forward instead of waiting."""

    def wait(until: datetime) -> None:
        before, by = clock.now, max(until - clock.now(), timedelta())
        monkeypatch.setattr(clock, "now", lambda: before() + by)

    monkeypatch.setattr(digest_key, "_wait_until", wait)


def rotate(*more: str) -> None:
    with ThreadPoolExecutor(1) as other:  # as another process: the permissions of no function count
        other.submit(main, ["rotate-digest", *more]).result()


def seal_key(account: Account) -> None:
    """Store the secret key of an account also as an update does."""
    sealed = {"sealed": secrets.seal(Secret(account.key), account.agent.id)}
    write_one(update(agents.key(account.agent.id), "SET #secret_key_sealed = :sealed", sealed))


def dying(real: Callable[..., Any], lives: Iterator[int]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        next(lives)  # StopIteration ends the command, as a kill does
        return real(*arguments, **named)

    return call


def accepted(credential: str) -> bool:
    return refusal_of(credential, clock.now()) is None


def a_card_payment(stage: str) -> dict[str, Any]:
    body = a_card_body("12.00", Card=card(PAN))
    assert post(stage, SUBMIT, body).error == (200, 0)
    return body


def give_back(stage: str, payment: dict[str, Any], pan: str, amount: str = "0.10") -> tuple[int, int]:
    tran = {"TransactionID": payment["BasicTran"]["ID"], "ReverseMode": 5, "Amount": amount, "ID": a_guid()}
    return post(stage, REVERSE, {"BasicReverseTran": tran, "Card": card(pan)}).error


def numbers(table: str, name: str) -> set[int]:
    """Return the numbers of the keys that made the stored digests of an attribute."""
    found = (item[name]["S"] for page in items.pages(table_name(table)) for item in page if name in item)
    return {secrets.number_of(one) for one in found}


def kept() -> Any:
    return stage_secret.current(settings().digest_secret_id).document


def test_a_rotation_waits_for_the_longest_request_that_began_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    begins, waited = clock.now(), list[datetime]()
    monkeypatch.setattr(digest_key, "_begin", lambda **_: (1, begins))
    monkeypatch.setattr(digest_key, "_wait_until", waited.append)
    monkeypatch.setattr(digest_key, "_digest_logins", lambda _: sys.exit("It looks for digests."))

    with pytest.raises(SystemExit, match="It looks for digests"):
        main(["rotate-digest", "--again"])

    assert waited[0] >= begins + timedelta(seconds=config.read(ROOT)["lambda_timeout"])


@pytest.mark.usefixtures("quick_waits")
def test_a_rotation_touches_no_till_and_leaves_no_digest_of_the_earlier_key(stage: str) -> None:
    account = an_account()
    seal_key(account)
    accept_test_tokens()
    session = f"Session {a_session(account, clock.now())}"
    credentials = [basic(TILL_BY_KEY), basic(TILL), session, account.jwt()]
    payment, keyed = a_card_payment(stage), a_card_body("3.00", Card=card(PAN), basic={"ID": None})
    assert post(stage, SUBMIT, keyed, Idempotency_Key="order-1").status == 200

    def works() -> None:
        assert all(map(accepted, credentials))
        assert post(stage, SUBMIT, payment).headers["Idempotent-Replayed"] == "true"
        assert post(stage, SUBMIT, keyed, Idempotency_Key="order-1").headers["Idempotent-Replayed"] == "true"
        assert post(stage, SUBMIT, {**payment, "Card": card(OTHERS[0])}).error == (422, 302)
        assert give_back(stage, payment, PAN) == (200, 0)

    works()
    for number in (2, 3):
        rotate("--again")
        works()
        late = a_card_payment(stage)
        assert post(stage, SUBMIT, late).headers["Idempotent-Replayed"] == "true"
        assert give_back(stage, late, PAN) == (200, 0)
        assert not numbers("transactions", "card_entry_digest") & set(range(number))
        assert number in numbers("logins", "key_digest")
        stored = read(agents.login_key(TILL[0]))
        assert stored
        assert secrets.number_of(stored.key_digest or "") == number
    assert [give_back(stage, payment, pan) for pan in OTHERS[1:4]] == [(400, 202), (400, 202), (409, 313)]


def test_a_new_key_begins_when_no_process_remembers_the_keys_before_it() -> None:
    assert digest_key.KNOWN_IN.total_seconds() > secrets.REMEMBERED_S


@pytest.mark.usefixtures("quick_waits")
def test_a_run_that_a_later_rotation_overtook_leaves_no_card_behind(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_card_payment(stage)
    with monkeypatch.context() as patch:
        patch.setattr(digest_key, "_wrap_cards", lambda _: 0)
        rotate()
    wrap = digest_key._wrap  # noqa: SLF001

    def overtaken(number: int, item: Any) -> bool:
        wrap(2, item)  # by the earlier run, after this one has read the payment
        return wrap(number, item)

    monkeypatch.setattr(digest_key, "_wrap", overtaken)
    rotate("--again")

    assert numbers("transactions", "card_entry_digest") == {3}


def test_before_the_new_key_begins_nothing_is_made_with_it_and_both_are_accepted(
    stage: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(digest_key, "_wait_until", lambda _: sys.exit(9))  # the operator stops the command
    with pytest.raises(SystemExit):
        rotate()

    payment = a_card_payment(stage)
    digest = stored_transaction(payment["BasicTran"]["ID"]).card_entry.digest
    assert secrets.number_of(digest or "") == 1
    assert len(kept()["digest_keys"]) == 2
    capsys.readouterr()
    with pytest.raises(SystemExit):
        rotate("--again")
    main(["show-secrets"])
    assert len(kept()["digest_keys"]) == 2
    printed, since = capsys.readouterr().out, kept()["digest_keys"][1]["since"]
    assert f"Key 2 begins at {since}. This run finishes its rotation. After that, --again makes another" in printed
    assert f"digest_key               changes at {since}; key 2" in printed


@pytest.mark.usefixtures("quick_waits")
def test_a_run_that_is_killed_at_any_write_is_finished_by_the_next_one(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    payments = [a_card_payment(stage) for _ in range(2)]
    for most in range(1, 60):
        with monkeypatch.context() as patch:
            for module, name in ((digest_key, "write_one"), (stage_secret, "_client")):
                patch.setattr(module, name, dying(getattr(module, name), iter(range(most))))
            try:
                rotate()
            except (StopIteration, RuntimeError):
                pass
            else:
                break
        assert accepted(basic(TILL_BY_KEY))
        assert give_back(stage, payments[0], PAN) == (200, 0)

    assert kept()["done"] is True
    assert len(kept()["digest_keys"]) == 2
    digests = [stored_transaction(one["BasicTran"]["ID"]).card_entry.digest or "" for one in payments]
    assert [secrets.number_of(one) for one in digests] == [2, 2]
    assert all(give_back(stage, one, PAN) == (200, 0) for one in payments)


@pytest.mark.usefixtures("quick_waits")
def test_of_two_operators_at_once_one_makes_a_key() -> None:
    def run(_: int) -> str | None:
        try:
            main(["rotate-digest"])
        except SystemExit as ended:
            return str(ended.code)
        return None

    with ThreadPoolExecutor(2) as pool:
        ended = set(pool.map(run, range(2)))

    assert ended <= {None, stage_secret.OVERTAKEN}
    assert len(kept()["digest_keys"]) == 2


@pytest.mark.usefixtures("quick_waits")
def test_a_secret_key_that_changes_meanwhile_stays_and_one_that_cannot_be_digested_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    login = read(agents.login_key(TILL[0]))
    assert login
    changed = secrets.keyed_digest(Secret("a key that an update stores"))
    unsealed = digest_key._digest_of  # noqa: SLF001

    def overtaken(*arguments: Any) -> str | None:
        found = unsealed(*arguments)
        if arguments[0].email == TILL[0]:
            client().call(
                "UpdateItem",
                TableName=table_name(agents.LOGINS),
                Key={"email": {"S": TILL[0]}},
                UpdateExpression="SET key_digest = :new",
                ExpressionAttributeValues={":new": {"S": changed}},
            )
        return found

    monkeypatch.setattr(digest_key, "_digest_of", overtaken)
    lost = an_account()  # its agent has no sealed key
    with pytest.raises(SystemExit, match=f"login {lost.email}: its agent has no secret key"):
        rotate()

    now = read(agents.login_key(TILL[0]))
    assert now
    assert now.key_digest == changed
    assert accepted(basic((lost.email, lost.key)))


@pytest.mark.usefixtures("quick_waits")
def test_no_other_change_reaches_the_digest_keys_and_no_value_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    rotate()
    before = kept()
    for _ in range(2):  # the first one may have no secret before it
        stage_secret.rotate_signing(again=True)
    main(["undo-secret"])
    main(["undo-secret"])
    main(["show-secrets"])

    assert kept() == before
    rotate()
    printed = "".join(capfd.readouterr())
    assert "digest_key               changed " in printed
    assert re.search(r"Key 2 began at \S+Z\. This run looks for digests that are left\.", printed)
    shown = [one["key"] for one in before["digest_keys"] if one["key"] in printed]
    assert shown == []
    assert before["digest_keys"][1]["key"] not in repr(stage_secret.current(settings().digest_secret_id))


@pytest.mark.usefixtures("quick_waits")
def test_an_address_gets_no_more_messages_on_the_day_of_a_rotation() -> None:
    today, name = clock.now().date(), message_limits._of_address  # noqa: SLF001
    before = name("ann@home.example", today)
    rotate()

    assert name("ann@home.example", today) == before
    assert name("ann@home.example", today + timedelta(days=2)) != before


@given(st.integers(1, 5), st.data())
def test_every_form_of_a_digest_is_known_and_no_other(count: int, data: st.DataObject) -> None:
    """A digest of any key, inside digests of later keys, is the card's; another card's is not."""
    keys = [{"key": f"key {number}"} for number in range(count)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "_document", lambda: {"digest_keys": keys})
        made = data.draw(st.sampled_from(sorted(secrets.card_digests("A", Secret(PAN)))))
        number = data.draw(st.integers(secrets.number_of(made), count))
        found = secrets.wrapped(made, number)

        assert found in secrets.card_digests("A", Secret(PAN))
        assert secrets.number_of(found) == max(number, secrets.number_of(made))
        assert found not in secrets.card_digests("A", Secret(OTHERS[0]))
        assert found not in secrets.card_digests("B", Secret(PAN))
