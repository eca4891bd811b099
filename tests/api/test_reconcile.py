"""What a till does over HTTP, and the list that its host makes of the messages it got."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chalicelib.domain.acquirer import AuthorizationRequest, ReversalKind, ReversalRequest
from chalicelib.domain.money import from_minor
from infra.operator import commands as operator
from infra.operator.reconciliation import PURCHASE, REFUND, Row
from tests.support.cards import STEADY, a_card_body
from tests.support.host_without_inquiry import Host, without_inquiries
from tests.support.http import get, post
from tests.support.reconciliations import as_csv


@pytest.fixture
def host(stage: str) -> Iterator[Host]:
    del stage
    with without_inquiries() as host:
        yield host


def pay(stage: str, amount: str, pan: str = STEADY) -> str:
    transaction_id: str = post(stage, "/api/v1/payment/submit", a_card_body(amount, pan)).body["Transaction"]["ID"]
    return transaction_id


def take_back(stage: str, transaction_id: str, mode: int, **basic: Any) -> str:
    body = {"BasicReverseTran": {"TransactionID": transaction_id, "ReverseMode": mode, **basic}}
    reversal_id: str = post(stage, "/api/v1/payment/reversecnp", body).body["Transaction"]["ID"]
    return reversal_id


def approval_code(stage: str, transaction_id: str) -> str:
    return get(stage, f"/api/v1/payment/{transaction_id}").body["Transactions"][0]["ApprovalCode"] or ""


def row(stage: str, request: AuthorizationRequest | ReversalRequest) -> Row:
    """The host's row of a message that it carried out."""
    message = request.message
    assert message is not None
    return Row(
        line=2,
        day=message.local_time.date(),
        rrn=message.rrn,
        stan=message.trace.stan,
        tid=f"{message.tid:8}",
        type=REFUND if isinstance(request, ReversalRequest) else PURCHASE,
        amount=from_minor(request.amount_minor, request.currency),
        currency=request.currency.number,
        approval_code=approval_code(stage, request.reference),
    )


def test_the_books_of_a_day_agree_with_the_messages_that_the_host_carried_out(
    stage: str, host: Host, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paid, cancelled, refunded = (pay(stage, amount) for amount in ("30.00", "10.00", "100.00"))
    declined = pay(stage, "10.00", "4000000000000002")
    take_back(stage, cancelled, 3)
    refund = take_back(stage, refunded, 5, Amount="33.40", PartialReverse=True)
    returns = [one for one in host.reversals if one.kind is ReversalKind.RETURN]
    messages: list[AuthorizationRequest | ReversalRequest] = [*host.purchases, *returns]
    rows = {one.reference: row(stage, one) for one in messages}
    assert rows.keys() == {paid, cancelled, refunded, declined, refund}
    path, day = tmp_path / "host.csv", rows[paid].day
    arguments = ["reconcile", "--acquirer", "SANDBOX", "--date", str(day), "--file", str(path)]

    path.write_text(as_csv(rows[one] for one in (paid, refunded, refund)))
    operator.main(arguments)
    agreed = capsys.readouterr().out
    path.write_text(as_csv(rows.values()))
    with pytest.raises(SystemExit, match="1"):
        operator.main(arguments)
    differing = capsys.readouterr().out

    assert "0 differences, 0 open; 3 in our books, 3 in the list.\n" in agreed
    for one, state in ((cancelled, "cancelled"), (declined, "declined")):
        assert (
            f"{one}  {rows[one].rrn}  state          ours {state}, theirs listed; merchant 1, terminal DEMO0001\n"
            in differing
        )
    assert "2 differences, 0 open; 3 in our books, 5 in the list.\n" in differing
