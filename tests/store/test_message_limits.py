"""The counters of a day's messages."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta

import pytest

from chalicelib.domain.message_limits import Limit
from chalicelib.domain.transaction import ERASED, ReceiptAddresses
from chalicelib.services import message_limits as service
from chalicelib.store import message_limits
from chalicelib.store.message_limits import LimitReachedError
from chalicelib.store.table import commit, read_item
from tests.support.builders import an_email
from tests.support.giving import Give
from tests.support.outages import lose_an_answer
from tests.support.transactions import a_payment

DAY = date(2026, 3, 14)
NOW = datetime(2026, 3, 14, 12, 0, tzinfo=UTC)
_names = itertools.count()


def a_limit(most: int) -> Limit:
    return Limit(f"test#{next(_names)}", most)


def count(*limits: Limit, number: int = 1, day: date = DAY) -> None:
    commit(*message_limits.additions(dict.fromkeys(limits, number), day))


@pytest.mark.usefixtures("engine")
def test_a_counter_reaches_its_limit_and_never_exceeds_it() -> None:
    limit = a_limit(5)
    count(limit, number=4)
    with pytest.raises(LimitReachedError):
        count(limit, number=2)
    count(limit)
    with pytest.raises(LimitReachedError):
        count(limit)

    assert message_limits.counted([limit], DAY) == {limit: 5}


@pytest.mark.parametrize(
    ("address", "after", "is_uncounted"),
    [
        ("payer@shop.example", timedelta(0), True),
        ("payer@shop.example", timedelta(hours=11, minutes=59, seconds=59), True),
        ("payer@shop.example", timedelta(hours=12), False),  # the counters of the day no longer matter
        (ERASED, timedelta(0), False),
    ],
)
def test_a_receipt_that_is_never_sent_is_uncounted_on_its_day(
    address: str, after: timedelta, *, is_uncounted: bool
) -> None:
    payment = a_payment(created_at=NOW, addresses=ReceiptAddresses((address,), paths=("Receipt.Email",)))

    assert bool(service.uncount_receipt(payment, NOW + after)) is is_uncounted


@pytest.mark.usefixtures("engine")
def test_all_counters_count_or_none() -> None:
    full, free = a_limit(1), a_limit(1)
    count(full)
    with pytest.raises(LimitReachedError):
        count(free, full)

    assert message_limits.counted([full, free], DAY) == {full: 1}


@pytest.mark.usefixtures("engine")
def test_each_day_counts_from_the_beginning_and_its_counters_expire() -> None:
    limit = a_limit(1)
    count(limit)
    count(limit, day=DAY + timedelta(days=1))

    (expiry,) = read_item(message_limits.key(limit, DAY))["expires_at"].values()
    assert datetime.fromtimestamp(int(expiry), UTC) == datetime(2026, 3, 16, tzinfo=UTC)


@pytest.mark.usefixtures("engine")
def test_a_message_that_is_never_sent_is_taken_back() -> None:
    limit = a_limit(2)
    count(limit, number=2)
    commit(*message_limits.subtractions({limit: 2}, DAY))

    assert message_limits.counted([limit], DAY) == {limit: 0}


@pytest.mark.usefixtures("dynamodb_local")  # moto knows no ClientRequestToken
def test_a_lost_answer_counts_once(give: Give) -> None:
    limit = a_limit(9)
    seen = lose_an_answer(give, "TransactWriteItems", "sequences")
    count(limit)

    assert len(seen) == 2
    assert message_limits.counted([limit], DAY) == {limit: 1}


@pytest.mark.usefixtures("dynamodb_local")
def test_of_messages_at_the_same_time_an_address_and_an_agent_get_exactly_their_limits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    to, agent = an_email(), a_limit(16)
    others = [an_email() for _ in range(16)]
    monkeypatch.setattr(service, "_shared", lambda *_: [agent])

    def send(number: int) -> tuple[str, ...]:
        return service.admit([to, others[number % 16]], 1, 1, NOW)

    with ThreadPoolExecutor(8) as pool:
        sent = [address for admitted in pool.map(send, range(32)) for address in admitted]

    assert sent.count(to) <= 10
    assert len(sent) == 16
    assert message_limits.counted([agent], DAY) == {agent: 16}
