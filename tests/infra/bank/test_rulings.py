"""What the bank rules: each row of sections 4, 5 and 6 of the interface, without a connection."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import integers, lists, sampled_from, tuples

from infra.bank import faults
from infra.bank.bank import Bank
from infra.bank.codec import Message
from tests.infra.bank.messages import (
    CHIP,
    NOW,
    OTHER_PAN,
    PAN,
    a_chip_purchase,
    a_purchase,
    a_refund,
    again,
    an_advice,
    code,
    told,
)


@pytest.fixture
def bank() -> Iterator[Bank]:
    bank = Bank()
    yield bank
    bank.close()


def paid(bank: Bank, amount_minor: int = 10_000) -> Message:
    """A purchase that the bank approved."""
    purchase = a_purchase(amount_minor)
    assert code(bank, purchase) == "00"
    return purchase


def test_a_purchase_is_approved_held_and_answered_with_what_was_sent(bank: Bank) -> None:
    purchase = a_purchase(3000)

    answer = told(bank, purchase)

    echoed = (3, 4, 7, 11, 12, 13, 32, 37, 41, 42, 49)
    assert [answer.text(number) for number in echoed] == [purchase.text(number) for number in echoed]
    assert (answer.mti, answer.text(39), answer.text(63)) == ("0210", "00", "HOST000000000001")
    assert len(answer.text(38)) == 6
    assert answer.text(48) == "8701M"
    assert set(answer.fields) == {*echoed, 15, 38, 39, 48, 63}
    assert bank.held(PAN) == 3000
    assert bank.violations == []


def test_a_chip_is_answered_with_issuer_data_also_when_it_is_declined(bank: Bank) -> None:
    approved, declined = told(bank, a_chip_purchase(3000)), told(bank, a_chip_purchase(3051))

    assert approved.fields[55] == bytes.fromhex("8A023030910A11223344556677883030")
    assert declined.fields[55] == bytes.fromhex("8A023531910A11223344556677883531")
    assert 55 not in told(bank, a_purchase()).fields
    assert 48 not in approved.fields


@pytest.mark.parametrize("again_with", ["f37", "f11"])
def test_an_0200_whose_rrn_or_stan_was_used_is_answered_94_and_not_carried_out(bank: Bank, again_with: str) -> None:
    first = paid(bank)
    used: dict[str, Any] = {again_with: first.text(int(again_with[1:]))}
    second = a_purchase(5000, f7=first.text(7), **used)

    assert code(bank, second) == "94"
    assert bank.held(PAN) == 10_000
    assert len(bank.violations) == 2


def test_an_0200_that_was_declined_has_used_its_rrn_too(bank: Bank) -> None:
    declined = a_purchase(3051)
    assert code(bank, declined) == "51"

    assert code(bank, declined) == "94"


def test_the_same_stan_is_free_at_another_terminal_and_on_another_day(bank: Bank) -> None:
    now = datetime.now(UTC)
    first = paid(bank)

    assert code(bank, a_purchase(5000, f11=first.text(11), f7=first.text(7), f41="DEMO0002")) == "00"
    assert code(bank, a_purchase(5000, f11=first.text(11), f7=first.text(7), f42="DEMOBANK0000002")) == "00"
    bank.clock = lambda: now + timedelta(days=1)
    assert code(bank, a_purchase(5000, f11=first.text(11), now=now + timedelta(days=1))) == "00"


def test_the_advice_for_a_94_takes_back_the_earlier_copy_and_no_other_payment(bank: Bank) -> None:
    first, other = paid(bank), paid(bank)
    copy = first
    stranger = a_purchase(5000, f37=other.text(37))
    assert (code(bank, copy), code(bank, stranger)) == ("94", "94")

    assert code(bank, an_advice(copy, "4020")) == "00"
    assert code(bank, an_advice(stranger, "4020")) == "00"
    assert bank.held(PAN) == 10_000


def test_an_advice_takes_back_all_of_a_purchase_and_its_repeats_do_nothing_again(bank: Bank) -> None:
    purchase = paid(bank)
    paid(bank)
    advice = an_advice(purchase)

    answers = [told(bank, advice), told(bank, again(advice)), told(bank, again(advice))]

    assert [answer.text(39) for answer in answers] == ["00", "00", "00"]
    assert answers[0].fields == answers[1].fields
    assert answers[0].text(90) == advice.text(90)
    assert set(answers[0].fields) == {3, 4, 7, 11, 12, 13, 32, 37, 39, 41, 42, 49, 90}
    assert bank.held(PAN) == 10_000
    assert bank.violations == []


def test_an_0421_whose_0420_never_came_counts_as_the_first(bank: Bank) -> None:
    assert code(bank, again(an_advice(paid(bank)))) == "00"
    assert bank.held(PAN) == 0
    assert bank.violations == []


def test_a_repeat_has_the_code_of_the_first_even_when_the_world_has_changed(bank: Bank) -> None:
    purchase = paid(bank)
    refund = a_refund(purchase, 4000)
    assert code(bank, refund) == "00"
    cancel = an_advice(purchase, "4000")
    assert code(bank, cancel) == "12"
    assert code(bank, an_advice(refund)) == "00"

    assert code(bank, again(cancel)) == "12"


def test_a_repeat_that_differs_is_refused(bank: Bank) -> None:
    advice = an_advice(purchase := paid(bank))
    assert code(bank, advice) == "00"

    assert code(bank, again(replace(advice, fields={**advice.fields, 56: "4000"}))) == "30"
    assert purchase.text(37) in bank.violations[0]


def test_an_advice_for_an_0200_that_never_came_is_remembered_and_the_0200_refused(bank: Bank) -> None:
    purchase = a_purchase()

    assert code(bank, an_advice(purchase)) == "00"
    assert code(bank, an_advice(purchase)) == "00"
    assert code(bank, purchase) == "68"
    assert code(bank, an_advice(purchase)) == "00"
    assert bank.held(PAN) == 0
    assert bank.violations == []


def test_an_advice_for_a_refund_that_never_came_is_remembered(bank: Bank) -> None:
    refund = a_refund(paid(bank), 4000)

    assert code(bank, an_advice(refund)) == "00"
    assert code(bank, refund) == "68"
    assert bank.held(PAN) == 10_000


@pytest.mark.parametrize("change", [{"f37": "ANOTHER00001"}, {"f3": "200000"}, {"f4": "000000000001"}, {"f49": "978"}])
def test_an_advice_with_another_rrn_kind_amount_or_currency_than_its_original_is_refused(
    bank: Bank, change: dict[str, str]
) -> None:
    assert code(bank, an_advice(paid(bank), **change)) == "30"
    assert bank.held(PAN) == 10_000
    assert len(bank.violations) == 2


@pytest.mark.parametrize("change", [{"f41": "DEMO0002"}, {"f42": "DEMOBANK0000002"}])
def test_an_advice_of_another_terminal_is_for_another_message(bank: Bank, change: dict[str, str]) -> None:
    assert code(bank, an_advice(paid(bank), **change)) == "00"
    assert bank.held(PAN) == 10_000


def test_an_advice_for_what_was_declined_or_reversed_is_acknowledged_and_changes_nothing(bank: Bank) -> None:
    declined = a_purchase(3051)
    assert code(bank, declined) == "51"
    purchase = paid(bank)

    assert code(bank, an_advice(declined)) == "00"
    assert [code(bank, an_advice(purchase)), code(bank, an_advice(purchase))] == ["00", "00"]
    assert bank.held(PAN) == 0


def test_a_partial_reversal_leaves_what_it_says_and_no_more_can_be_given_back(bank: Bank) -> None:
    purchase = paid(bank)

    def remains(amount_minor: int) -> str:
        return f"{amount_minor:012}{'0' * 12}C00000000C00000000"

    part = an_advice(purchase, "4000", f95=remains(6000))
    assert told(bank, part).text(95) == remains(6000)
    assert bank.held(PAN) == 6000
    assert code(bank, an_advice(purchase, "4000", f95=remains(6001))) == "13"
    assert code(bank, a_refund(purchase, 6001)) == "13"
    assert code(bank, a_refund(purchase, 6000)) == "00"
    assert code(bank, an_advice(a_refund(purchase, 1), "4000", f95=remains(1))) == "30"
    assert bank.held(PAN) == 0


def test_refunds_give_back_no_more_than_was_paid_and_one_that_is_reversed_counts_as_never_made(bank: Bank) -> None:
    purchase = paid(bank)
    first = a_refund(purchase, 3340)

    assert [code(bank, first), code(bank, a_refund(purchase, 2660))] == ["00", "00"]
    assert bank.held(PAN) == 4000
    assert code(bank, a_refund(purchase, 4001)) == "13"
    assert code(bank, an_advice(first)) == "00"
    assert bank.held(PAN) == 7340
    assert code(bank, a_refund(purchase, 7340)) == "00"
    assert bank.held(PAN) == 0


def test_a_purchase_of_which_a_refund_stands_is_not_cancelled(bank: Bank) -> None:
    purchase = paid(bank)
    refund = a_refund(purchase, 1)
    assert code(bank, refund) == "00"

    assert code(bank, an_advice(purchase, "4000")) == "12"
    assert bank.held(PAN) == 9999
    assert code(bank, an_advice(refund)) == "00"
    assert code(bank, an_advice(purchase, "4000")) == "00"
    assert bank.held(PAN) == 0


def test_a_refund_needs_a_purchase_that_was_approved_and_not_reversed(bank: Bank) -> None:
    declined, partial, reversed_one, refunded = a_purchase(3051), a_purchase(3070), paid(bank), paid(bank)
    assert [code(bank, declined), code(bank, partial), code(bank, an_advice(reversed_one))] == ["51", "10", "00"]
    refund = a_refund(refunded, 100)
    assert code(bank, refund) == "00"

    assert code(bank, a_refund(a_purchase(), 100)) == "25"
    assert code(bank, a_refund(refund, 100)) == "25"
    assert [code(bank, a_refund(one, 100)) for one in (declined, partial, reversed_one)] == ["12", "12", "12"]
    assert code(bank, a_refund(refunded, 100, f49="978")) == "12"
    assert code(bank, a_refund(refunded, 9901)) == "13"
    assert code(bank, a_refund(refunded, 100, f2=OTHER_PAN, f14="3012", f22="012")) == "14"
    assert code(bank, a_refund(refunded, 100, f2=PAN, f14="3012", f22="012")) == "00"


def test_refunds_are_taken_for_a_year_and_advices_for_a_month(bank: Bank) -> None:
    start = datetime.now(UTC)
    purchase, other = paid(bank), paid(bank)

    bank.clock = lambda: start + timedelta(days=31)
    assert code(bank, an_advice(purchase)) == "12"
    bank.clock = lambda: start + timedelta(days=364)
    assert code(bank, a_refund(purchase, 100, f7=f"{bank.clock():%m%d%H%M%S}")) == "00"
    bank.clock = lambda: start + timedelta(days=366)
    assert code(bank, a_refund(other, 100, f7=f"{bank.clock():%m%d%H%M%S}")) == "25"


@pytest.mark.parametrize(("minutes", "expected"), [(-6, "30"), (-4, "00"), (4, "00"), (6, "30")])
def test_field_7_is_within_five_minutes_of_the_banks_clock(minutes: int, expected: str) -> None:
    bank = Bank(clock=lambda: NOW)

    assert code(bank, a_purchase(now=NOW + timedelta(minutes=minutes))) == expected


def test_the_clock_is_compared_across_the_end_of_a_year() -> None:
    bank = Bank(clock=lambda: datetime(2027, 1, 1, 0, 1, tzinfo=UTC))

    assert code(bank, a_purchase(now=datetime(2026, 12, 31, 23, 59, tzinfo=UTC))) == "00"


def test_an_echo_is_answered(bank: Bank) -> None:
    fields = {7: "1121180003", 11: "000001", 32: "123456", 70: "301"}

    assert told(bank, Message("0800", fields)) == Message("0810", {**fields, 39: "00"})


def test_an_injected_code_carries_nothing_out_and_is_no_code_of_a_repeat(bank: Bank) -> None:
    purchase = paid(bank)
    bank.hooks.append(faults.times(1, faults.refused("96"), "042"))
    cancel = an_advice(purchase, "4000")

    assert code(bank, cancel) == "96"
    assert bank.held(PAN) == 10_000
    assert code(bank, again(cancel)) == "00"
    assert bank.held(PAN) == 0
    assert bank.violations == []


STEPS = lists(tuples(sampled_from(["refund", "advice", "reverse a refund", "partial"]), integers(1, 1500)), max_size=12)


@given(STEPS)
def test_whatever_comes_a_card_is_never_given_more_than_it_paid(steps: list[tuple[str, int]]) -> None:
    bank = Bank()
    purchase, refunds = a_purchase(1000), [a_refund(a_purchase(), 1)]
    bank.hooks.append(lambda _: faults.Fault("the cents decide nothing", code=None))
    code(bank, purchase)

    for step, amount_minor in steps:
        if step == "refund":
            refunds.append(a_refund(purchase, amount_minor))
            code(bank, refunds[-1])
        elif step == "advice":
            code(bank, an_advice(purchase))
        elif step == "partial":
            code(bank, an_advice(purchase, f95=f"{amount_minor:012}{'0' * 12}C00000000C00000000"))
        else:
            code(bank, an_advice(refunds[amount_minor % len(refunds)]))

        standing = [one for one in bank.ledger.standing() if one.entry.kind == "refund"]
        kept = sum(one.left_minor for one in bank.ledger.standing() if one.entry.kind == "purchase")
        assert 0 <= bank.held(PAN) == kept - sum(one.left_minor for one in standing) <= 1000


def test_nothing_of_a_card_is_in_what_the_bank_keeps(bank: Bank) -> None:
    swiped: dict[str, Any] = {"f22": "902", "f25": "00", "f48": "610207", "f35": f"{PAN}=30122011234567890123"}
    keyed, badly = a_purchase(), a_purchase(f55=CHIP)

    assert [code(bank, one) for one in (keyed, a_chip_purchase(), a_purchase(**swiped), badly)] == ["00"] * 3 + ["30"]

    seen = repr((vars(bank), vars(bank.ledger), bank.ledger.accounts, bank.violations))
    assert PAN not in seen
    assert "20112345" not in seen
