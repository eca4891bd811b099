"""Receipt numbers: each agent's count from 1 each day, without gap or repeat, after any race or crash."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from chalicelib.domain.agent import NO_CLIENT, BranchActions, Caller, MobileSettings
from chalicelib.domain.kinds import Features
from chalicelib.domain.permissions import Right
from chalicelib.domain.reversibility import CARD_PRESENT, ReverseMode
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.schemas.reversals import ReversePayment
from chalicelib.schemas.takings import ReportTakings
from chalicelib.services import reversals, takings
from chalicelib.store.table import put_new, write_one
from tests.support.builders import an_agent
from tests.support.cards import a_card_body
from tests.support.cost import store_calls, write_units
from tests.support.giving import Give
from tests.support.intercepted_calls import hooked, stopping
from tests.support.interleaving import Turns
from tests.support.tills import Till, a_till, kept
from tests.support.transactions import NOW, a_body, a_guid

on_both_engines = pytest.mark.usefixtures("engine")


def numbers_of(made: list[Transaction], till: Till, day: str = "260314") -> list[int]:
    """Return the numbers of these transactions, all of this agent and day."""
    prefix = f"{day}.{till.agent.id}."
    assert all(one.invoice.startswith(prefix) for one in made), [one.invoice for one in made]
    return [int(one.invoice.removeprefix(prefix)) for one in made]


@on_both_engines
def test_payments_and_reversals_of_any_outcome_count_from_one() -> None:
    till = a_till()
    cash = till.pay(a_body())
    declined = till.pay(a_card_body("10.05"))
    returned = till.give_back(cash, Amount="1.00", ID=a_guid())
    last = till.pay(a_body())
    payment = kept(cash.id)

    assert numbers_of([cash, declined, returned, last], till) == [1, 2, 3, 4]
    assert payment is not None
    assert (returned.original.invoice, payment.reversals.latest_invoice) == (cash.invoice, returned.invoice)


@on_both_engines
def test_a_refused_request_and_a_replay_take_no_number() -> None:
    till, body = a_till(), a_body()
    first = till.pay(body)
    with pytest.raises(ServiceError):
        till.pay(a_body(Amount=-1))
    again, replayed = till.submit(body)

    assert replayed
    assert numbers_of([first, again, till.pay(a_body())], till) == [1, 1, 2]


@on_both_engines
def test_each_agent_and_each_day_of_the_merchant_counts_by_itself() -> None:
    one, other = a_till(), a_till()
    evening = datetime(2026, 3, 31, 21, 59, tzinfo=UTC)  # 23:59 of the merchants
    made = [one.pay(a_body(), at) for at in (evening, evening + timedelta(minutes=2), evening)]

    assert [number.invoice for number in made] == [
        f"{day}.{one.agent.id}.{number}" for day, number in (("260331", 1), ("260401", 1), ("260331", 2))
    ]
    assert numbers_of([other.pay(a_body(), evening)], other, "260331") == [1]


@on_both_engines
def test_an_offline_payment_keeps_the_number_of_its_till_and_no_other_does() -> None:
    till = a_till(mobile_settings=MobileSettings(Features(offline=True)))
    offline = {"OfflineMode": True, "Invoice": "TILL1-0042", "Paid": "2026-03-13T18:00:00"}
    made = [till.pay(a_body(OfflineTran=sent)) for sent in (offline, None, {**offline, "OfflineMode": False})]

    assert made[0].invoice == "TILL1-0042"
    assert numbers_of(made[1:], till) == [1, 2]


@on_both_engines
def test_an_offline_payment_without_a_number_gets_one_of_the_day_on_which_it_is_recorded() -> None:
    till = a_till(mobile_settings=MobileSettings(Features(offline=True)))
    offline = {"OfflineMode": True, "Paid": "2026-02-13T18:00:00"}
    made = [till.pay(a_body(OfflineTran=sent)) for sent in (offline, None, offline)]

    assert numbers_of(made, till) == [1, 2, 3]


@on_both_engines
def test_no_number_of_a_past_day_is_given() -> None:
    till = a_till(mobile_settings=MobileSettings(Features(offline=True)))
    first, tomorrow = till.pay(a_body()), till.pay(a_body(), NOW + timedelta(days=1))
    late = till.pay(a_body(OfflineTran={"OfflineMode": True, "Paid": "2026-03-14T01:00:00"}), NOW + timedelta(days=1))

    assert numbers_of([first], till) == [1]
    assert numbers_of([tomorrow, late], till, "260315") == [1, 2]


@on_both_engines
def test_a_day_goes_on_counting_after_the_first_number_of_another_day() -> None:
    till = a_till()
    made = [till.pay(a_body(), NOW + timedelta(days=days)) for days in (0, 1, 0)]

    assert numbers_of([made[0], made[2]], till) == [1, 2]
    assert numbers_of([made[1]], till, "260315") == [1]


@on_both_engines
def test_nine_requests_at_once_share_no_number_and_leave_none_out() -> None:
    till = a_till()
    payments = [till.pay(a_body()) for _ in range(3)]

    def work(number: int) -> Transaction:
        if number % 3:
            return till.pay(a_body() if number % 2 else a_card_body("10.00"))
        return till.give_back(payments[number // 3], Amount="1.00", ID=a_guid())

    with ThreadPoolExecutor(9) as requests:
        made = list(requests.map(work, range(9)))

    assert sorted(numbers_of([*payments, *made], till)) == list(range(1, 13))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_the_order_of_calls_makes_no_gap(seed: int, moto: str) -> None:
    del moto
    till, made, turns = a_till(), list[Transaction](), Turns(seed)
    original = till.pay(a_body())
    with hooked(turns.hook):
        turns.run(
            lambda: made.append(till.pay(a_body())),
            lambda: made.append(till.pay(a_card_body("10.00"))),
            lambda: made.append(till.give_back(original, Amount="1.00", ID=a_guid())),
        )

    assert sorted(numbers_of(made, till)) == [2, 3, 4]


@on_both_engines
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(1, 6))
def test_a_process_that_dies_makes_no_gap(number: int, when: str) -> None:
    till, body = a_till(), a_card_body("10.00")
    with stopping(number, when):
        till.pay(body)
    stored, _ = till.submit(body, NOW + timedelta(minutes=2))

    assert numbers_of([stored, till.pay(a_body())], till) == [1, 2]


@on_both_engines
def test_an_agent_whose_numbers_are_always_taken_gets_an_answer(give: Give) -> None:
    till, others, clock = a_till(), [True], [0.0]
    give(elapsed=lambda: clock[0])

    def take_a_number(when: str, name: str) -> None:
        if (when, name) == ("before", "TransactWriteItems") and others.pop():
            others.append(False)  # nobody disturbs the other payment
            till.pay(a_body())
            clock[0] += 1
            others[:] = [True]

    with hooked(take_a_number), pytest.raises(ServiceError) as refused:
        till.pay(a_body())

    assert refused.value.error is ErrorCode.STORE_UNAVAILABLE


def test_a_number_costs_no_call_and_at_most_two_write_units(dynamodb_local: str) -> None:
    del dynamodb_local
    till = a_till()
    till.pay(a_body())
    with store_calls() as calls, write_units() as charged:
        till.pay(a_body())

    assert calls == ["BatchGetItem", "TransactWriteItems"]
    assert dict(charged)["drawers"] <= 2


def owner(till: Till) -> Caller:
    """Return an administrator of the till's merchant."""
    actions = (BranchActions(till.merchant.id, (int(Right.ADMINISTRATOR),)),)
    agent = an_agent(client_id=till.merchant.id, branches_actions=actions)
    write_one(put_new("agents", agent, "id"))
    return Caller(agent.id, agent.client_id, agent.credential_version)


@on_both_engines
def test_a_system_user_has_numbers_of_its_own_at_each_merchant() -> None:
    tills = [a_till() for _ in range(2)]
    user = an_agent(client_id=NO_CLIENT, is_system_user=True)
    write_one(put_new("agents", user, "id"))
    system = Caller(user.id, NO_CLIENT, user.credential_version)

    def give_back(till: Till) -> str:
        basic = {"TransactionID": till.pay(a_body()).id, "ReverseMode": int(ReverseMode.RETURN)}
        body = ReversePayment.model_validate({"BasicReverseTran": basic})
        return reversals.reverse(body, system, NOW, endpoint=CARD_PRESENT, key=None)[0].invoice

    made = [give_back(tills[number]) for number in (0, 1, 0)]

    assert made == [f"260314.{user.id}.{number}" for number in (1, 1, 2)]
    day = ReportTakings.model_validate({"Period": {"From": "2026-03-14", "To": "2026-03-14"}})
    last = [takings.report(day, owner(till), NOW).last_numbers for till in tills]
    assert last == [{tills[0].agent.id: 2, user.id: 2}, {tills[1].agent.id: 1, user.id: 1}]


@on_both_engines
def test_the_report_of_a_day_has_a_till_whose_payments_were_declined() -> None:
    till = a_till()
    till.pay(a_card_body("10.05"))
    day = ReportTakings.model_validate({"Period": {"From": "2026-03-14", "To": "2026-03-14"}})

    assert takings.report(day, till.caller, NOW).last_numbers == {till.agent.id: 1}


@on_both_engines
def test_the_report_of_a_day_has_the_first_and_the_last_number_of_each_till() -> None:
    till = a_till()
    for _ in range(3):
        till.pay(a_body())
    for period, expected in (("2026-03-14", {till.agent.id: 3}), ("2026-03-13", {})):
        body = ReportTakings.model_validate({"Period": {"From": period, "To": period}})
        assert takings.report(body, till.caller, NOW).last_numbers == expected

    hourly = ReportTakings.model_validate({"Period": {"From": "2026-03-14", "To": "2026-03-14"}, "By": "hour"})
    assert takings.report(hourly, till.caller, NOW).day is None
