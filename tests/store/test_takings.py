"""What counters say of money: the names in them, their size, and that adding them up is a recount."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.counters import MONEY, slot_counters, total_counters
from chalicelib.domain.history_entry import entry_of
from chalicelib.domain.money import Currency
from chalicelib.domain.phases import Phase
from chalicelib.domain.takings import Moved, takings_of
from chalicelib.domain.transaction import AgentSnapshot, InputType, Transaction
from chalicelib.store import counters
from chalicelib.store.takings import moved_in_slots, moved_in_total
from tests.support.ledger import sums_of
from tests.support.transactions import ZAR, a_payment

MONTH = datetime(2026, 3, 1, tzinfo=UTC)
KINDS = ((InputType.CASH, "CASH"), (InputType.CHIP, "SANDBOX"), (InputType.CHIP, "ISO8583"))
CURRENCIES = (ZAR, Currency("JPY", "392", 0))


@st.composite
def transactions(draw: st.DrawFn) -> Transaction:
    kind, acquirer = draw(st.sampled_from(KINDS))
    is_reversal = draw(st.booleans())
    agent = draw(st.integers(1, 2))
    return a_payment(
        agent=AgentSnapshot(agent, "till@shop.example", "Till", "+27829876543"),
        phase=draw(st.sampled_from(Phase)),
        input_type=kind,
        acquirer=acquirer,
        currency=draw(st.sampled_from(CURRENCIES)),
        amount_minor=draw(st.integers(1, 10**12)),
        created_at=MONTH + draw(st.integers(0, 30 * 1440)) * timedelta(minutes=1),
        gmt=0,
        **({"original_id": "A", "original_mode": draw(st.sampled_from((1, 2)))} if is_reversal else {}),
    )


def counted(many: list[Transaction], *, by_hour: bool) -> Iterator[Moved]:
    """Count the transactions as the store does, and read the counters."""
    items: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in map(entry_of, many):
        key = (counters.slots_key if by_hour else counters.total_key)(7, entry)
        items[str(key.key["at"])].update(
            (slot_counters if by_hour else total_counters)(entry.at, entry.moved_minor, ())
        )
    for at, numbers in items.items():
        if by_hour:
            yield from moved_in_slots(MONTH.date().replace(day=counters.day_of_slots(at)), at, numbers)
        else:
            yield from moved_in_total(MONTH.date(), at, numbers)


def recounted(many: list[Transaction], *, by_hour: bool) -> dict[tuple[Any, ...], tuple[int, Decimal, int, Decimal]]:
    """Add up the transactions themselves, without any of the service's own code."""
    found: dict[tuple[Any, ...], list[Any]] = {}
    for one in many:
        took = one.original.id is None and one.phase in {Phase.APPROVED, Phase.AWAITING_COMPLETION}
        gave = one.original.id is not None and one.phase is Phase.REVERSAL_APPROVED
        if not took and not gave:
            continue
        at = one.created_at
        about = at.date(), at.hour if by_hour else None, one.agent.id, int(one.input_type), one.acquirer
        row = found.setdefault((*about, one.currency.code), [0, Decimal(), 0, Decimal()])
        row[0 if took else 2] += 1
        row[1 if took else 3] += Decimal(one.amount_minor) / 10**one.currency.digits
    return {about: (row[0], row[1], row[2], row[3]) for about, row in found.items()}


@given(st.lists(transactions(), max_size=30), st.booleans())
def test_takings_are_a_recount_of_the_transactions(many: list[Transaction], by_hour: bool) -> None:  # noqa: FBT001
    rows = takings_of(counted(many, by_hour=by_hour)).rows

    assert sums_of(rows) == recounted(many, by_hour=by_hour)
    assert [(row.day, row.hour or 0) for row in rows] == sorted((row.day, row.hour or 0) for row in rows)


def size(key: Mapping[str, Any], numbers: Mapping[str, int]) -> int:
    """Return the bytes of an item as DynamoDB counts them: names, texts, two digits of a number in a byte, and one."""
    texts = sum(len(name) + len(str(value)) for name, value in key.items())
    return texts + sum(len(name) + -(-len(str(number)) // 2) + 1 for name, number in numbers.items())


def busy(amount_minor: int) -> Transaction:
    """A payment of a big merchant at an acquirer whose code is as long as any should be."""
    return a_payment(
        client_id=10**9,
        agent=AgentSnapshot(10**12 + 7, "till@shop.example", "Till", "+27829876543"),
        acquirer="ACQUIRER-OF-NORTH-TRANSVAAL-0001",
        amount_minor=amount_minor,
        created_at=datetime(2026, 3, 31, 23, 45, tzinfo=UTC),
        gmt=0,
    )


def test_counters_of_a_till_that_is_busy_to_the_last_minute_are_below_a_kilobyte() -> None:
    entry = entry_of(busy(1))
    days, hours = ([f"{number:02d}" for number in numbers] for numbers in (range(1, 32), range(24)))
    month = {f"n{day}": 86_399 for day in days} | {f"k{day}": 86_399 for day in days}
    day = {f"{quarter:02d}": 899 for quarter in range(96)} | {f"k{hour}": 3_599 for hour in hours}

    total = size(counters.total_key(10**9, entry).key, month | {f"m{day}": 10**14 - 1 for day in days})
    slots = size(counters.slots_key(10**9, entry).key, day | {f"m{hour}": 10**12 - 1 for hour in hours})

    assert (total, slots) == (864, 956)  # of 1024: a kilobyte is a write unit


def test_each_number_of_a_payment_and_of_a_reversal_has_its_name() -> None:
    paid = entry_of(busy(1230))
    given_back = entry_of(
        a_payment(created_at=MONTH, gmt=0, original_id="A", original_mode=2, phase=Phase.REVERSAL_APPROVED)
    )

    assert total_counters(paid.at, paid.moved_minor, ()) == {"n31": 1, "m31": 1230, "k31": 1}
    assert slot_counters(paid.at, paid.moved_minor, ()) == {"95": 1, "m23": 1230, "k23": 1}
    assert total_counters(given_back.at, given_back.moved_minor, ()) == {"n01": 1, "g01": 1230, "k01": 1}
    assert slot_counters(given_back.at, given_back.moved_minor, ()) == {"00": 1, "g00": 1230, "k00": 1}


def test_no_list_adds_up_what_reversals_gave_back() -> None:
    given_back = a_payment(created_at=MONTH, gmt=0, original_id="A", original_mode=2, phase=Phase.REVERSAL_APPROVED)
    entry = entry_of(given_back)

    assert not any(
        name.startswith(MONEY)
        for count in (total_counters, slot_counters)
        for name in count(entry.at, entry.moved_minor, ())
    )


def test_the_totals_of_an_agent_are_not_those_of_a_longer_id() -> None:
    own, other = (
        counters.total_key(7, entry_of(a_payment(agent=AgentSnapshot(agent_id, "till@shop.example", "Till", ""))))
        for agent_id in (1, 10)
    )

    assert own.key["at"].startswith(counters.total_prefix(1))
    assert not other.key["at"].startswith(counters.total_prefix(1))
