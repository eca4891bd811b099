"""A reversal that is requested again: while the first is unknown, and at the same moment."""

from datetime import UTC, datetime
from typing import Any

import pytest

from chalicelib.domain.acquirer import AcquirerAnswer, AnswerLostError, UnusableAnswerError
from chalicelib.domain.permissions import Right
from chalicelib.domain.phases import Phase
from chalicelib.domain.reversibility import CANCELS, ReverseMode
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store.aws_client import Client
from infra.bench.client import through
from tests.support.cards import STEADY, a_card_body
from tests.support.giving import Give
from tests.support.intercepted_calls import before, broken, failing, hooked
from tests.support.stored import stored_transaction
from tests.support.tills import MINUTE, SECOND, Till, a_till, colleague
from tests.support.transactions import NOW, a_body, a_guid

pytestmark = pytest.mark.usefixtures("engine")
LOST = failing(AnswerLostError())
DAY = 24 * 60 * MINUTE


def paid(till: Till) -> Transaction:
    """A keyed-in card payment of 100."""
    return till.pay(a_card_body("100", STEADY))


def counted(payment: Transaction) -> tuple[int, int]:
    """What was taken from the payment: minor units, and reversals."""
    found = stored_transaction(payment.id)
    return found.reversals.amount_minor, found.reversals.count


@pytest.mark.parametrize("minutes", [1, 3, 20])
def test_while_the_outcome_is_unknown_the_request_is_repeated(minutes: int) -> None:
    till = a_till()
    payment = paid(till)
    with broken(reverse=LOST, inquire=LOST):
        first = till.give_back(payment, NOW, Amount="40")
        again = till.give_back(payment, NOW + minutes * MINUTE, Amount="40")

    assert first.phase is Phase.RETURNING
    assert again.id == first.id
    assert counted(payment) == (4000, 1)


@pytest.mark.parametrize("own", ["key", "ID", "ClientDateTime", None])
@pytest.mark.parametrize("fault", [AnswerLostError(), UnusableAnswerError()], ids=repr)
@pytest.mark.parametrize("mode", [ReverseMode.CANCEL_CNP, ReverseMode.RETURN_CNP])
def test_a_repeat_right_after_a_lost_answer_is_told_that_the_outcome_is_unknown(
    own: str | None, fault: Exception, mode: ReverseMode
) -> None:
    till = a_till()
    payment = paid(till)
    name = {own: "2026-03-14T11:00:00" if own == "ClientDateTime" else a_guid()} if own else {}
    seconds = (0, 0, 1, 29)
    with broken(reverse=failing(fault), inquire=LOST):
        first, *again = (till.give_back(payment, NOW + s * SECOND, ReverseMode=int(mode), **name) for s in seconds)

    assert {one.id for one in again} == {first.id}
    assert {one.phase for one in (first, *again)} == {Phase.CANCELLING if mode in CANCELS else Phase.RETURNING}
    assert counted(payment) == (10000, 1)


def test_while_its_first_request_runs_a_reversal_is_in_progress() -> None:
    till, refused = a_till(), list[ErrorCode]()
    payment = paid(till)

    def repeat(*_: object) -> AcquirerAnswer:
        with pytest.raises(ServiceError) as error:
            till.give_back(payment, NOW + SECOND, key="R-1")
        refused.append(error.value.error)
        raise AnswerLostError

    with broken(reverse=repeat):
        till.give_back(payment, NOW, key="R-1")

    assert refused == [ErrorCode.IN_PROGRESS]


def test_after_two_minutes_an_equal_request_is_another_return() -> None:
    till = a_till()
    payment = paid(till)
    first, again, other = (till.give_back(payment, NOW + seconds * SECOND, Amount="40") for seconds in (0, 119, 120))

    assert first.id == again.id != other.id
    assert counted(payment) == (8000, 2)


@pytest.mark.parametrize(
    "modes", [(ReverseMode.RETURN_CNP, ReverseMode.CANCEL_CNP), (ReverseMode.CANCEL_CNP, ReverseMode.RETURN_CNP)]
)
def test_a_reversal_in_another_mode_is_no_repeat(modes: tuple[ReverseMode, ReverseMode]) -> None:
    till = a_till()
    payment = paid(till)
    till.give_back(payment, NOW, ReverseMode=int(modes[0]))

    with pytest.raises(ServiceError):
        till.give_back(payment, NOW + SECOND, ReverseMode=int(modes[1]))
    assert counted(payment) == (10000, 1)


@pytest.mark.parametrize("amount", ["100", "60"])
def test_an_equal_request_that_looked_early_gets_the_first_answer(give: Give, amount: str) -> None:
    till = a_till()
    payment = paid(till)
    first = till.give_back(payment, NOW, key="one", Amount=amount)

    def before_the_first(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
        answer = client.call(operation, **parameters)
        for found in answer["Responses"].values() if operation == "BatchGetItem" else ():
            found[:] = [item for item in found if item.get("id") != {"S": first.id}]
        return answer

    give(client=through(before_the_first))
    assert till.give_back(payment, NOW, key="one", Amount=amount).id == first.id
    with pytest.raises(ServiceError):
        till.give_back(payment, NOW, key="two", Amount=amount)
    assert counted(payment) == (int(amount) * 100, 1)


def test_a_request_without_a_key_that_an_equal_one_overtakes_is_no_second_return(
    give: Give,
) -> None:
    till = a_till()
    payment = paid(till)
    first: list[Transaction] = []
    give(client=before("TransactWriteItems", lambda: first.append(till.give_back(payment, NOW, Amount="40"))))

    assert till.give_back(payment, NOW, Amount="40").id == first[0].id
    assert counted(payment) == (4000, 1)


def test_a_full_return_that_only_its_client_time_names_is_the_same_an_hour_later() -> None:
    till = a_till()
    payment = paid(till)
    first, again = (
        till.give_back(payment, at, ClientDateTime="2026-11-21T10:00:00") for at in (NOW, NOW + 60 * MINUTE)
    )

    assert first.id == again.id
    assert counted(payment) == (10000, 1)


def test_half_that_only_its_client_time_names_is_not_the_other_half() -> None:
    """After the first half, its amount is all that remains, which the first request did not leave out."""
    till = a_till()
    payment = paid(till)
    first, again, other = (
        till.give_back(payment, ClientDateTime=time, Amount="50") for time in ("2026-11-21", "2026-11-21", "2026-11-22")
    )

    assert first.id == again.id != other.id
    assert counted(payment) == (10000, 2)


def test_the_key_of_the_header_counts_and_not_the_id_in_the_request() -> None:
    till = a_till()
    payment = paid(till)
    first, again = (till.give_back(payment, key="R-1", ID=a_guid(), Amount="40") for _ in range(2))

    assert first.id == again.id
    assert counted(payment) == (4000, 1)


def test_an_id_is_the_same_in_any_capitals() -> None:
    till, name = a_till(), a_guid()
    payment = paid(till)
    first, again = (till.give_back(payment, ID=text, Amount="40") for text in (name.lower(), name.upper()))

    assert first.id == again.id == name.upper()
    assert counted(payment) == (4000, 1)


def test_a_key_belongs_to_its_agent() -> None:
    till = a_till()
    payment, other = paid(till), colleague(till, Right.REVERSE_OTHERS)
    first, second = (one.give_back(payment, key="R-1", Amount="40") for one in (till, other))

    assert first.id != second.id
    assert counted(payment) == (8000, 2)


def test_a_return_is_open_after_the_deadline_and_a_cancel_is_not() -> None:
    till = a_till()
    paid = till.pay(a_body())
    later = paid.deadline + MINUTE
    with pytest.raises(ServiceError) as refused:
        till.give_back(paid, later, ReverseMode=1)

    assert refused.value.error is ErrorCode.CANCEL_WINDOW_CLOSED
    assert till.give_back(paid, later).phase is Phase.REVERSAL_APPROVED


@pytest.mark.parametrize(("minutes", "days"), [(61, 0), (59, 1)])
def test_a_return_has_an_hour_at_least_until_its_deadline(minutes: int, days: int) -> None:
    till = a_till()
    payment = paid(till)
    returned = till.give_back(payment, payment.deadline - minutes * MINUTE, Amount="40")

    assert returned.deadline == payment.deadline + days * DAY


def test_equal_requests_around_the_end_of_a_month_give_back_once() -> None:
    """Their receipt numbers are of two months, so only the payment shows that one came first."""
    till, first = a_till(), list[Transaction]()
    payment = paid(till)
    midnight = datetime(2026, 3, 31, 22, tzinfo=UTC)  # of the merchant

    def come_first(when: str, name: str) -> None:
        if (when, name) == ("before", "TransactWriteItems") and not first:
            first.append(payment)  # the first request disturbs nobody
            first[:] = [till.give_back(payment, midnight - SECOND, Amount="40")]

    with hooked(come_first):
        second = till.give_back(payment, midnight + SECOND, Amount="40")

    assert [second.id] == [one.id for one in first]
    assert counted(payment) == (4000, 1)
