"""What counters say of money: the names in them, their size, and that adding them up is a recount."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.history_entry import entry_of, tax_key
from chalicelib.domain.kinds import InputType
from chalicelib.domain.money import Currency
from chalicelib.domain.phases import Phase
from chalicelib.domain.takings import Moved, takings_of
from chalicelib.domain.taxes import Tax, TaxAmount
from chalicelib.domain.transaction import AgentSnapshot, Transaction
from chalicelib.store import history, history_lists
from chalicelib.store.table import Item, value_of
from chalicelib.store.takings import moved_in_hours, moved_on_days
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
    added: dict[str, Counter[str]] = defaultdict(Counter)
    items: dict[str, Item] = defaultdict(dict)
    for entry in map(entry_of, many):
        one = history.additions(7, entry)[by_hour]
        at = one.key.key["at"]
        added[at].update(one.numbers)
        numbers = {name: value_of(number) for name, number in added[at].items()}
        items[at] = {
            **items[at],
            **one.key.wire(),
            **numbers,
            **{name: value_of(tax) for name, tax in one.taxes.items()},
        }
    for item in items.values():
        yield from (moved_in_hours if by_hour else moved_on_days)(MONTH.date(), item)


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


@pytest.mark.slow
@given(st.lists(transactions(), max_size=30), st.booleans())
def test_takings_are_a_recount_of_the_transactions(many: list[Transaction], by_hour: bool) -> None:  # noqa: FBT001
    rows = takings_of(counted(many, by_hour=by_hour)).rows

    assert sums_of(rows) == recounted(many, by_hour=by_hour)
    assert [(row.day, row.hour or 0) for row in rows] == sorted((row.day, row.hour or 0) for row in rows)


def size(key: Mapping[str, Any], numbers: Mapping[str, int]) -> int:
    """Return the bytes of an item as DynamoDB counts them: names, texts, two digits of a number in a byte, and one."""
    texts = sum(len(name) + len(str(value)) for name, value in key.items())
    return texts + sum(len(name) + -(-len(str(number)) // 2) + 1 for name, number in numbers.items())


def busy(amount_minor: int, taxes: tuple[TaxAmount, ...] = ()) -> Transaction:
    """A payment of a big merchant at an acquirer whose code is as long as any should be."""
    return a_payment(
        client_id=10**9,
        agent=AgentSnapshot(10**12 + 7, "till@shop.example", "Till", "+27829876543"),
        acquirer="ACQUIRER-OF-NORTH-TRANSVAAL-0001",
        amount_minor=amount_minor,
        tax_amounts=taxes,
        created_at=datetime(2026, 3, 31, 23, 45, tzinfo=UTC),
        gmt=0,
    )


BUSIEST = {"n": 86_399, "k": 86_399, "m": 10**14 - 1}


def test_counters_of_a_till_that_is_busy_to_the_last_minute_are_below_a_kilobyte() -> None:
    by_day, by_hour = history.additions(10**9, entry_of(busy(1)))
    month = {f"{letter}{day:02d}": number for letter, number in BUSIEST.items() for day in range(1, 32)}
    day = {f"{letter}{hour:02d}": number for letter, number in BUSIEST.items() for hour in range(24)}

    assert (size(by_day.key.key, month), size(by_hour.key.key, day)) == (
        861,
        690,
    )  # of 1024: a kilobyte is a write unit


def test_a_tax_adds_a_kilobyte_at_most_to_the_counters_of_a_till() -> None:
    taxes = (TaxAmount("VAT", "VAT", Decimal(15), 1230, 160),)
    names = [name for name in history.additions(7, entry_of(busy(1230, taxes)))[0].numbers if len(name) > 3]
    month = {f"{name[0]}{day:02d}{name[3:]}": 9_999_999 for name in names for day in range(1, 32)}

    assert (len(month), size({}, month)) == (62, 992)


def test_each_number_of_a_payment_and_of_a_reversal_has_its_name() -> None:
    taxes = (TaxAmount("VAT", "VAT", Decimal(15), 1230, 160), TaxAmount("ZERO", "None", Decimal(0), 500, 0))
    paid = history.additions(7, entry_of(busy(1230, taxes)))
    facts = {"original_id": "A", "original_mode": 2, "phase": Phase.REVERSAL_APPROVED}
    given_back = history.additions(7, entry_of(a_payment(created_at=MONTH, gmt=0, **facts)))

    vat, zero = (key for key, tax in sorted(paid[0].taxes.items(), key=lambda one: one[1].code == "ZERO"))
    assert [one.numbers for one in paid] == [
        {f"n{at}": 1, f"k{at}": 1, f"m{at}": 1230, f"g{at}{vat}": 1230, f"t{at}{vat}": 160, f"g{at}{zero}": 500}
        for at in ("31", "23")
    ]
    assert [one.numbers for one in given_back] == [{f"n{at}": 1, f"k{at}": 1, f"m{at}": 1230} for at in ("01", "00")]
    later = history.additions(7, entry_of(busy(1230)), is_new=False)
    assert [one.numbers for one in later] == [{"k31": 1, "m31": 1230}, {"k23": 1, "m23": 1230}]


def test_a_payment_that_took_no_money_adds_none_and_no_tax() -> None:
    taxes = (TaxAmount("VAT", "VAT", Decimal(15), 1230, 160),)
    declined = entry_of(a_payment(phase=Phase.DECLINED, created_at=MONTH, gmt=0, tax_amounts=taxes))

    assert [(one.numbers, one.taxes) for one in history.additions(7, declined)] == [({"n01": 1}, {}), ({"n00": 1}, {})]


@pytest.mark.parametrize("other", [{"code": "VAT2"}, {"name": "Tax"}, {"rate": Decimal("15.5")}], ids=str)
def test_a_tax_of_another_code_name_or_rate_has_another_key(other: dict[str, Any]) -> None:
    tax = Tax("VAT", "VAT", Decimal(15))

    assert tax_key(tax) == tax_key(replace(tax, rate=Decimal("15.0")))
    assert tax_key(tax) != tax_key(replace(tax, **other))


def test_the_totals_of_an_agent_are_not_those_of_a_longer_id() -> None:
    own, other = (
        history.additions(7, entry_of(a_payment(agent=AgentSnapshot(agent_id, "till@shop.example", "Till", ""))))[0]
        for agent_id in (1, 10)
    )

    assert own.key.key["at"].startswith(history_lists.days_prefix(1))
    assert not other.key.key["at"].startswith(history_lists.days_prefix(1))


@pytest.mark.parametrize("agent_id", [1, 9, 99, 987654321])
def test_the_counters_of_some_days_are_those_of_every_agent(agent_id: int) -> None:
    span = history_lists.hours_range(7, date(2026, 3, 13), date(2026, 3, 14))

    for day in (13, 14):
        assert span.low <= f"{history.HOURS}{day}#{agent_id}#10" <= span.high
