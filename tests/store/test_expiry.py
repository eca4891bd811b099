"""No record is deleted before the last rule that reads it: for each kind of expiring record the rule and its time."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from secrets import token_hex
from typing import Any

import pytest

from chalicelib.domain import deliveries, events, message_limits, outbox, sessions
from chalicelib.domain.drawer import OPEN, Drawer, Movement
from chalicelib.domain.password_lock import COUNTED_FOR, LOCK_AFTER, LOCK_FOR, FailedAttempts, finished, is_over
from chalicelib.errors import ServiceError
from chalicelib.store import drawers, password_lock, receipt_numbers
from chalicelib.store import message_limits as message_counters
from chalicelib.store import outbox as messages
from chalicelib.store.agents import LOGINS
from chalicelib.store.events import TABLE as EVENTS
from chalicelib.store.sessions import TABLE as SESSIONS
from chalicelib.store.table import client, read, table_name, update, write_one
from infra.stack import resources
from tests.support.accounts import an_account
from tests.support.events import an_event
from tests.support.receipts import an_entry
from tests.support.transactions import NOW, ZAR, a_payment

DAY = timedelta(days=1)
LATEST_SALE = timedelta(days=365)  # a till may send a sale, and its copy, so long after it was paid
LISTED = timedelta(days=30)  # an event, by its merchant
LOOKED_UP = timedelta(days=30)  # a finished message, by whoever asks why it did not come
Expiry = tuple[float, datetime]  # epoch s, and the last moment in which a rule reads the record


def a_session(*, remembered: bool) -> Expiry:
    """A till that goes on with an ended session does not guess passwords."""
    session = sessions.new_session("digest", 17, 1, NOW)
    session = sessions.remember(session, "a telephone") if remembered else session
    return session.expires_at, sessions.ends_at(session) + sessions.KNOWN_FOR


def a_used_session() -> Expiry:
    session = sessions.new_session("digest", 17, 1, NOW)
    later = NOW + timedelta(minutes=20)
    return sessions.expiry(session, later), sessions.ends_at(replace(session, used_at=later)) + sessions.KNOWN_FOR


def an_event_of_a_payment() -> Expiry:
    """A delivery reads its event at each attempt, for three days; the merchant lists both for thirty."""
    return an_event(at=NOW).expires_at, NOW + LISTED


def a_test_event() -> Expiry:
    return events.ping("token", 17, 1, NOW).expires_at, NOW + LISTED


def a_delivery() -> Expiry:
    return deliveries.begun(an_event(at=NOW), 1, NOW + deliveries.TRIED_FOR).expires_at, NOW + LISTED


def a_sent_message() -> Expiry:
    return outbox.sent(an_entry(), NOW).expires_at or 0, NOW + LOOKED_UP


def a_message_that_was_given_up() -> Expiry:
    return outbox.given_up(an_entry(), NOW).expires_at or 0, NOW + LOOKED_UP


def a_counter_of_messages() -> Expiry:
    """The day's last message is counted at its end."""
    (write,) = message_counters.additions({message_limits.of_agent(3): 1}, date(2026, 3, 14))
    return _values(write)["expires_at"], datetime.combine(date(2026, 3, 15), time(), UTC)


def the_number_of_an_offline_sale() -> Expiry:
    """A copy of the sale from another device is named as one."""
    payment = a_payment()
    particulars = replace(payment.particulars, offline_queue_id="ABCDE:1")
    (write,) = receipt_numbers.register_offline_sale(replace(payment, invoice="ABCDE-000001", particulars=particulars))
    return _values(write)["expires_at"], payment.created_at + LATEST_SALE


def a_request_for_a_drawer() -> Expiry:
    """A repeated request with its key is the same action for 30 days."""
    opening = Movement(NOW, 17, OPEN, 0)
    drawer = Drawer(7, "drawer#1", agent_id=17, currency=ZAR, opened_at=NOW, movements=(opening,))
    item = drawers.put_request(drawers.request_key("1"), "", drawer, NOW).parameters["Item"]
    return float(item["expires_at"]["N"]), NOW + timedelta(days=30)


def _values(write: Any) -> dict[str, float]:
    return {
        name[1:]: float(value["N"])
        for name, value in write.parameters["ExpressionAttributeValues"].items()
        if "N" in value
    }


RECORDS: dict[Callable[[], Expiry], str] = {
    lambda: a_session(remembered=False): SESSIONS,
    lambda: a_session(remembered=True): SESSIONS,
    a_used_session: SESSIONS,
    an_event_of_a_payment: EVENTS,
    a_test_event: EVENTS,
    a_delivery: EVENTS,
    a_sent_message: messages.TABLE,
    a_message_that_was_given_up: messages.TABLE,
    a_counter_of_messages: message_counters.TABLE,
    the_number_of_an_offline_sale: receipt_numbers.OFFLINE,
    a_request_for_a_drawer: drawers.REQUESTS,
}


@pytest.mark.parametrize("made", RECORDS)
def test_a_record_expires_after_the_last_rule_that_reads_it(made: Callable[[], Expiry]) -> None:
    expires_at, read_until = made()

    assert expires_at >= int(read_until.timestamp())


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("is_known", [True, False], ids=["known", "unknown"])
def test_a_lock_that_comes_late_lasts_as_long_as_any(*, is_known: bool) -> None:
    """The process that counted the last failure crashed before the lock; another finds the full count a day later."""
    counter = password_lock.counter(an_account().email) if is_known else password_lock.counter_of_unknown(token_hex(12))
    for _ in range(LOCK_AFTER):
        password_lock.count_failure(counter, finished(NOW), "source", begins_anew=False)
    write_one(update(counter.key, remove=("locked_until",), condition="attribute_exists(#locked_until)"))
    late = NOW + COUNTED_FOR - timedelta(minutes=1)
    with pytest.raises(ServiceError):
        password_lock.count_failure(counter, finished(late), "source", begins_anew=False)
    item = client().call("GetItem", TableName=table_name(LOGINS), Key=counter.key.wire())["Item"]
    attempts = read(counter.key) or FailedAttempts()

    assert not is_over(attempts, late + LOCK_FOR - timedelta(seconds=1))
    assert is_known or float(item["expires_at"]["N"]) >= (late + LOCK_FOR).timestamp()


def test_only_these_tables_delete_records() -> None:
    expiring = set(resources.ttl_specifications(resources.STACK))

    assert expiring == {table_name(name) for name in {LOGINS, *RECORDS.values()}}
