"""The cases of section 9 of the interface, on a connection, with the bank's pauses shortened."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.gateways.acquirers.sandbox import PANS
from infra.bank import faults
from infra.bank.bank import Bank
from infra.bank.codec import Message, NotAMessageError, decode
from infra.bank.server import Server
from tests.infra.bank.messages import PAN, QUICK, a_line, a_purchase, a_refund, again, an_advice, ask, code

DECLINES = {5: "05", 14: "14", 51: "51", 54: "54", 82: "82", 91: "91", 96: "96", 65: "65", 66: "70", 81: "N7"}


@pytest.fixture
def host() -> Iterator[Server]:
    with Server(Bank(timing=QUICK)) as server:
        yield server


def reversed_at(host: Server, original: Message) -> bool:
    """Send the advice; return whether it was acknowledged and nothing is held."""
    answer = ask(host, an_advice(original))
    assert answer
    return answer.text(39) == "00" and host.bank.held(PAN) == 0


@pytest.mark.parametrize(("cents", "expected"), DECLINES.items())
def test_the_cents_decline_purchases_and_refunds(cents: int, expected: str) -> None:
    bank = Bank()
    purchase = a_purchase(5000)
    assert code(bank, purchase) == "00"

    assert code(bank, a_purchase(2000 + cents)) == expected
    assert code(bank, refund := a_refund(purchase, 2000 + cents)) == expected
    assert bank.held(PAN) == 5000
    assert code(bank, an_advice(refund)) == "00"
    assert bank.violations == []


def test_a_signature_and_a_part_are_of_purchases_alone() -> None:
    bank = Bank()
    purchase = a_purchase(5008)

    assert code(bank, purchase) == "08"
    assert code(bank, a_purchase(70)) == "10"
    assert [code(bank, a_refund(purchase, 1008)), code(bank, a_refund(purchase, 1070))] == ["00", "00"]
    assert bank.held(PAN) == 5008 + 35 - 1008 - 1070


def test_the_cents_of_an_advice_decide_nothing() -> None:
    bank = Bank()

    for amount_minor in (2005, 2067, 2069, 2072, 2081):
        assert code(bank, an_advice(a_purchase(amount_minor), "4000")) == "00"


def test_the_cards_that_the_sandbox_declines_are_declined_alike() -> None:
    bank = Bank()

    answered = {pan: code(bank, a_purchase(pan=pan)) for pan in PANS}
    assert answered == {pan: f"{number:02}" for pan, number in PANS.items()}
    assert set(faults.CARDS) < set(PANS)


@pytest.mark.parametrize("cents", [67, 77])
def test_a_purchase_that_was_carried_out_may_end_without_an_answer(host: Server, cents: int) -> None:
    purchase = a_purchase(3000 + cents)

    with a_line(host) as line:
        line.send(purchase)
        rest = line.exactly(4096)

    with pytest.raises(NotAMessageError):
        decode(rest[2:])
    assert host.bank.held(PAN) == 3000 + cents
    assert reversed_at(host, purchase)


def test_a_silent_host_has_carried_out(host: Server) -> None:
    purchase = a_purchase(3068)

    assert ask(host, purchase) is None
    assert host.bank.held(PAN) == 3068
    assert reversed_at(host, purchase)


def test_a_purchase_that_was_dropped_is_not_carried_out_and_is_refused_when_it_comes_after_its_advice(
    host: Server,
) -> None:
    purchase = a_purchase(3069)

    assert ask(host, purchase) is None
    assert host.bank.held(PAN) == 0
    assert reversed_at(host, purchase)
    assert purchase.text(37) in {entry.rrn for entry in host.bank.ledger.remembered.values()}


def test_a_part_is_approved_with_the_amount_of_the_part(host: Server) -> None:
    purchase = a_purchase(3070)

    answer = ask(host, purchase)

    assert answer
    assert (answer.text(39), int(answer.text(4)), host.bank.held(PAN)) == ("10", 1535, 1535)
    assert reversed_at(host, purchase)


@pytest.mark.parametrize("cents", [71, 74])
def test_a_late_answer_and_one_in_segments_are_right(host: Server, cents: int) -> None:
    answer = ask(host, a_purchase(3000 + cents))

    assert answer
    assert (answer.text(39), int(answer.text(4))) == ("00", 3000 + cents)


def test_bytes_that_do_not_decode_have_a_right_frame(host: Server) -> None:
    purchase = a_purchase(3072)

    with a_line(host) as line:
        line.send(purchase)
        content = line.frame()

    with pytest.raises(NotAMessageError):
        decode(content or b"")
    assert reversed_at(host, purchase)


@pytest.mark.parametrize(("cents", "number"), [(73, 37), (76, 11), (79, 4)])
def test_an_answer_may_have_another_rrn_stan_or_amount(host: Server, cents: int, number: int) -> None:
    purchase = a_purchase(3000 + cents)

    answer = ask(host, purchase)

    assert answer
    assert {n for n in (3, 4, 7, 11, 37, 41, 42, 49) if answer.text(n) != purchase.text(n)} == {number}
    assert number != 4 or int(answer.text(4)) == 3078
    assert reversed_at(host, purchase)


def test_an_answer_may_come_twice_and_the_connection_goes_on(host: Server) -> None:
    with a_line(host) as line:
        first = line.ask(a_purchase(3075))
        again_ = line.frame()
        other = line.ask(purchase := a_purchase(3000))

    assert first
    assert first == decode(again_ or b"")
    assert other
    assert other.text(37) == purchase.text(37)


def test_a_length_header_may_be_200_too_many(host: Server) -> None:
    purchase = a_purchase(3078)

    with a_line(host) as line:
        line.send(purchase)
        header = int.from_bytes(line.exactly(2), "big")
        content = line.exactly(header)

    assert header == len(content) + 200
    assert decode(content).text(39) == "00"
    assert reversed_at(host, purchase)


def test_three_answers_of_62_00_are_lost_and_the_last_one_is_given(host: Server) -> None:
    purchase = a_purchase(6200)
    advice = an_advice(purchase)

    lost = [ask(host, purchase), ask(host, advice), ask(host, again(advice))]

    assert lost == [None, None, None]
    answer = ask(host, again(advice))
    assert answer
    assert (answer.text(39), host.bank.held(PAN)) == ("00", 0)
    assert len(host.bank.ledger.advices) == 1
    assert host.bank.violations == []


def test_63_00_is_an_outage_of_everything_after_which_the_advice_is_acknowledged() -> None:
    bank = Bank()
    start = bank.clock()
    bank.clock = lambda: start
    purchase = a_purchase(6300)
    advice = an_advice(purchase)

    with Server(bank) as host:
        assert ask(host, purchase) is None
        bank.clock = lambda: start + timedelta(seconds=44)
        assert [ask(host, a_purchase()), ask(host, advice)] == [None, None]
        bank.clock = lambda: start + timedelta(seconds=46)
        answer = ask(host, again(advice))

    assert answer
    assert (answer.text(39), bank.held(PAN)) == ("00", 0)


@pytest.mark.parametrize("cents", [67, 69, 72])
def test_a_refund_meets_the_same_faults_and_its_advice_takes_it_back(host: Server, cents: int) -> None:
    purchase = a_purchase(10_000)
    assert ask(host, purchase)
    refund = a_refund(purchase, 2000 + cents)

    with a_line(host) as line:
        line.send(refund)
        line.frame()
    assert host.bank.held(PAN) == 10_000 - (0 if cents == 69 else 2000 + cents)

    advice = ask(host, an_advice(refund))
    assert advice
    assert (advice.text(39), host.bank.held(PAN)) == ("00", 10_000)


def test_a_hook_decides_for_one_message_and_for_the_first_so_many(host: Server) -> None:
    one, other = a_purchase(), a_purchase()
    host.bank.hooks.append(faults.times(1, faults.lost(carries_out=False), "0200", f37=one.text(37)))
    host.bank.hooks.append(faults.times(1, faults.segments(0.0), "0200"))

    assert ask(host, one) is None
    answer = ask(host, other)
    assert answer
    assert answer.text(37) == other.text(37)
    assert host.bank.held(PAN) == 3000


def test_the_checker_sees_what_was_dropped(host: Server) -> None:
    purchase = a_purchase(3069)
    advice = an_advice(purchase)
    assert [ask(host, purchase), ask(host, purchase)] == [None, None]
    assert [ask(host, advice), ask(host, advice)] != [None, None]
    other_time = replace(purchase, fields={**purchase.fields, 12: "101010"})

    ask(host, an_advice(other_time))

    assert [line.split(": ", 1)[1] for line in host.bank.violations] == [
        "an 0200 with this RRN was sent before",
        "another message had this STAN on this day, or it is a repeat that differs",
        "an advice is sent again as 0421, not as 0420",
        "its local_time is not that of its original",
    ]


def test_a_hook_may_hold_a_purchase_back_until_its_advice_was_acknowledged(host: Server) -> None:
    purchase, acknowledged = a_purchase(), threading.Event()

    def hold(message: Message) -> None:
        if message.mti == "0200":
            acknowledged.wait(5)

    host.bank.hooks.append(hold)
    with a_line(host) as line:
        line.send(purchase)
        assert reversed_at(host, purchase)
        acknowledged.set()
        answer = decode(line.frame() or b"")

    assert (answer.text(39), host.bank.held(PAN), host.bank.violations) == ("68", 0, [])
