"""Events over HTTP: one for each phase that payments and reversals reach, listed and sent again."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.services import deliveries, outcomes
from tests.support import events as support_events
from tests.support import http
from tests.support.builders import PASSWORD, Shop, a_shop, a_webhook
from tests.support.cards import a_card_body
from tests.support.cost import write_units
from tests.support.giving import Give
from tests.support.http import Reply
from tests.support.receivers import Receiver, a_receiver
from tests.support.stored import stored_transaction
from tests.support.transactions import a_body

SUBMIT, REVERSE = "/api/v1/payment/submit", "/api/v1/payment/reverse"
LOST, NEVER_ARRIVED, SIGNATURE = 12.68, 12.69, 12.08  # amounts that the sandbox knows


class Till:
    """A shop with a till, whose payments a test follows."""

    def __init__(self, stage: str) -> None:
        self.shop: Shop = a_shop(stage)
        terminal = self.shop.terminal()
        agent = self.shop.agent(TerminalID=terminal["ID"], TID=terminal["Name"])
        self.login = (agent["Email"], PASSWORD)

    def subscribe(self, url: str = "https://shop.example/events", **changes: Any) -> int:
        reply = self.shop.post(f"{self.shop.path}/webhook/create", a_webhook(Url=url, **changes))
        number: int = reply.body["Webhook"]["ID"]
        return number

    def pay(self, **basic: Any) -> str:
        paid: str = self.shop.post(SUBMIT, a_body(**basic), self.login).body["TransactionID"]
        return paid

    def pay_by_card(self, amount: float) -> str:
        paid: str = self.shop.post(SUBMIT, a_card_body(amount), self.login).body["TransactionID"]
        return paid

    def give_back(self, payment: str) -> str:
        body = {"BasicReverseTran": {"TransactionID": payment, "ReverseMode": 2, "InputType": 10}}
        reply = self.shop.post(REVERSE, body, self.shop.owner)
        given_back: str = reply.body["TransactionReverseID"]
        return given_back

    def events(self, **body: Any) -> list[dict[str, Any]]:
        reply = self.shop.post(f"{self.shop.path}/event/list", body)
        assert reply.status == 200, reply.text
        found: list[dict[str, Any]] = reply.body["Events"]
        return found

    def told(self, transaction: str) -> list[tuple[str, int, int]]:
        """Return what was told of a transaction yesterday and today, oldest first."""
        first, last = (f"{outside.now() + days * timedelta(days=1):%Y-%m-%d}" for days in (-1, 1))  # in any zone
        events = reversed(self.events(Period={"From": first, "To": last}))
        found = [one for one in events if one["TransactionID"] == transaction]
        return [(one["Type"], one["State"], one["Substate"]) for one in found]

    def resend(self, event_id: str, **body: Any) -> Reply:
        return self.shop.post(f"{self.shop.path}/event/{event_id}/resend", body)


@pytest.fixture
def till(stage: str) -> Till:
    return Till(stage)


@pytest.fixture
def receiver(till: Till) -> Iterator[Receiver]:
    """A receiver of the shop's events."""
    support_events.forget()
    with a_receiver() as running:
        till.subscribe(running.url)
        yield running


def test_a_merchant_without_webhooks_makes_no_event(till: Till) -> None:
    till.pay()

    assert till.events() == []


def test_each_phase_makes_its_event(till: Till) -> None:
    till.subscribe()
    cash = till.pay()
    back = till.give_back(cash)
    approved, declined, lost = (till.pay_by_card(amount) for amount in (12.30, 12.05, LOST))

    assert till.told(cash) == [("payment.approved", 400, 411)]
    assert till.told(back) == [("reversal.approved", 500, 502)]
    assert till.told(approved) == [("payment.approved", 400, 411)]
    assert till.told(declined) == [("payment.declined", 400, 412)]
    assert till.told(lost) == [("payment.unknown", 200, 201)]


def test_what_was_unknown_is_told_when_it_is_resolved(till: Till, give: Give) -> None:
    till.subscribe()
    lost, never = till.pay_by_card(LOST), till.pay_by_card(NEVER_ARRIVED)
    later = datetime.now(UTC) + timedelta(minutes=10)

    for one in (lost, never):
        stored = stored_transaction(one)
        outcomes.refresh(stored, later)
    give(now=lambda: later)  # perhaps on the next day

    assert [kind for kind, _, _ in till.told(lost)] == ["payment.unknown", "payment.approved"]
    assert [kind for kind, _, _ in till.told(never)] == ["payment.unknown", "payment.rejected"]


def test_a_repeated_request_makes_no_second_event(till: Till) -> None:
    till.subscribe()
    body = a_body()
    for _ in range(3):
        till.shop.post(SUBMIT, body, till.login)

    assert len(till.events()) == 1


def test_a_payment_that_began_before_the_first_webhook_is_not_told_and_its_reversal_is(till: Till) -> None:
    cash, lost = till.pay(), till.pay_by_card(LOST)
    till.subscribe()
    stored = stored_transaction(lost)
    outcomes.refresh(stored, datetime.now(UTC) + timedelta(minutes=10))

    back = till.give_back(cash)

    assert (till.told(lost), till.told(back)) == ([], [("reversal.approved", 500, 502)])


def test_a_system_user_reverses_as_the_merchant_does(till: Till) -> None:
    till.subscribe()
    body = {"BasicReverseTran": {"TransactionID": till.pay(), "ReverseMode": 2, "InputType": 10}}
    back = till.shop.post(REVERSE, body, http.SYSTEM).body["TransactionReverseID"]

    assert till.told(back) == [("reversal.approved", 500, 502)]


def test_an_event_costs_two_write_units_and_two_in_the_index_and_a_merchant_without_webhooks_none(
    stage_on_dynamodb_local: str,
) -> None:
    till = Till(stage_on_dynamodb_local)
    till.pay()
    with write_units() as without:
        till.pay()
    till.subscribe()
    with write_units() as with_webhook:
        till.pay()

    assert sum(units for _, units in with_webhook) - sum(units for _, units in without) == 2 + 2


def test_a_receiver_gets_what_a_look_up_shows_by_then(till: Till, receiver: Receiver) -> None:
    paid = till.pay()

    support_events.deliver_all()

    [call] = receiver.calls
    shown = till.shop.post("/api/v1/payment/listHistoryEx", {"ListBasicModel": {"ID": paid}}, till.login).body
    data, [found] = call.event["data"], shown["Transactions"]
    assert data["TransactionID"] == paid
    same = ("State", "Substate", "ClientID", "PosID", "InputType", "Amount", "CurrencyID", "ExtID")
    assert {name: data[name] for name in same} == {name: found[name] for name in same} | {
        "Amount": float(found["Amount"])
    }
    assert call.event_id == till.events()[0]["ID"]
    assert call.event["timestamp"] == till.events()[0]["Timestamp"]


def test_the_list_says_what_became_of_each_delivery(
    till: Till, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    with a_receiver(lambda _: 503, body=b"closed\r\non \x00Sundays") as closed:
        other = till.subscribe(closed.url)
        till.pay()
        support_events.deliver_all()

    [event] = till.events()
    assert '"unreadable"' not in capsys.readouterr().out
    fine, failed = event["Deliveries"]
    assert (fine["State"], fine["Attempts"], fine["LastStatus"], fine["NextAttempt"]) == ("delivered", 1, 200, None)
    assert (failed["WebhookID"], failed["State"], failed["Attempts"], failed["LastStatus"]) == (
        other,
        "pending",
        1,
        503,
    )
    assert failed["NextAttempt"] > event["Timestamp"]
    assert failed["AttemptList"][0]["Answer"] == "closed  on  Sundays"
    assert len(receiver.calls) == 1


def test_what_waits_for_a_deleted_webhook_is_given_up_and_what_it_got_stays_delivered(
    till: Till, receiver: Receiver
) -> None:
    statuses = iter((200, 503))
    with a_receiver(lambda _: next(statuses)) as closed:
        other = till.subscribe(closed.url)
        for _ in range(2):
            till.pay()
            support_events.deliver_all()
        deleted = till.shop.post(f"{till.shop.path}/webhook/{other}/delete", {})
        deliveries.sweep(datetime.now(UTC) + timedelta(hours=1), seconds=0.5)
    event, earlier = till.events()
    shown, shown_earlier = (
        [(delivery["State"], delivery["Attempts"], delivery["NextAttempt"]) for delivery in one["Deliveries"]]
        for one in (event, earlier)
    )

    assert (deleted.error, receiver.ids) == ((200, 0), [earlier["ID"], event["ID"]])
    assert shown == [("delivered", 1, None), ("given up", 1, None)]
    assert shown_earlier == [("delivered", 1, None)] * 2
    assert len(closed.calls) == 2
    assert till.resend(event["ID"], WebhookID=other).error == (404, 570)


def test_a_ping_goes_to_one_webhook_alone(till: Till, receiver: Receiver) -> None:
    with a_receiver() as other:
        number = till.subscribe(other.url, Types=["payment.declined"])
        reply = till.shop.post(f"{till.shop.path}/webhook/{number}/test", {})
        support_events.deliver_all()

    assert (receiver.calls, other.ids) == ([], [reply.body["EventID"]])
    assert other.calls[0].event["type"] == "ping"
    assert other.calls[0].event["data"] == {"ClientID": till.shop.id}


def test_an_event_is_sent_again_under_its_id(till: Till, receiver: Receiver) -> None:
    till.pay()
    support_events.deliver_all()
    [event] = till.events()

    assert till.resend(event["ID"]).error == (200, 0)
    support_events.deliver_all()

    assert receiver.ids == [event["ID"]] * 2
    assert receiver.calls[0].body == receiver.calls[1].body
    assert till.events()[0]["Deliveries"][0]["State"] == "delivered"


def test_a_webhook_that_is_named_gets_also_what_it_did_not_take(till: Till, receiver: Receiver) -> None:
    paid = till.pay()
    support_events.deliver_all()
    with a_receiver() as other:
        number = till.subscribe(other.url, Types=["payment.declined"])
        till.resend(till.events()[0]["ID"])
        till.resend(till.events()[0]["ID"], WebhookID=number)
        support_events.deliver_all()

    assert [call.event["data"]["TransactionID"] for call in other.calls] == [paid]
    assert len(receiver.calls) == 2


def test_what_cannot_be_sent_again_is_refused(till: Till, stage: str) -> None:
    off = till.subscribe()
    till.pay()
    [event] = till.events()
    till.shop.post(f"{till.shop.path}/webhook/{off}/update", {"State": 0})
    other = Till(stage)
    foreign = other.subscribe()

    assert till.resend("evt_" + "0" * 32).error == (404, 571)
    assert till.resend("x").error == (404, 571)
    assert other.resend(event["ID"]).error == (404, 571)
    assert till.resend(event["ID"], WebhookID=foreign).error == (404, 570)
    assert till.resend(event["ID"], WebhookID=off).findings == [("WebhookID", 12)]
    assert till.resend(event["ID"], WebhookID="1").findings == [("WebhookID", 2)]


def test_a_list_is_newest_first_by_pages_and_kinds(till: Till) -> None:
    till.subscribe()
    paid = [till.pay() for _ in range(3)]
    till.give_back(paid[0])

    newest, *_, oldest = till.events()
    assert (newest["Type"], oldest["TransactionID"]) == ("reversal.approved", paid[0])
    assert [one["TransactionID"] for one in till.events(Types=["payment.approved"])] == paid[::-1]
    assert till.events(Page=2) == []
    assert till.events(Types=["ping"]) == []


@pytest.mark.parametrize(
    "period",
    [
        {"From": "0001-01-01", "To": "0001-01-01"},
        {"From": "0001-01-01", "To": "0001-01-02"},
        {"From": "9999-12-31", "To": "9999-12-31"},
        {"To": "2020-01-01"},
    ],
)
def test_a_period_without_events_is_empty(till: Till, period: dict[str, str]) -> None:
    till.subscribe()
    till.pay()

    assert till.events(Period=period) == []
    assert len(till.events(Period={"From": f"{datetime.now(UTC) - timedelta(days=2):%Y-%m-%d}"})) == 1


@pytest.mark.parametrize(
    ("body", "finding"),
    [
        ({"Types": ["none"]}, ("Types[0]", 6)),
        ({"Page": -1}, ("Page", 5)),
        ({"Page": "1"}, ("Page", 2)),
        ({"Period": {"From": "2026-01-02", "To": "2026-01-01"}}, ("Period.From", 12)),
        ({"Period": {"From": "2026-13-01"}}, ("Period.From", 3)),
    ],
)
def test_a_fault_of_a_list_is_named(till: Till, body: dict[str, Any], finding: tuple[str, int]) -> None:
    reply = till.shop.post(f"{till.shop.path}/event/list", body)

    assert (reply.error, reply.findings) == ((400, 202), [finding])


def test_a_page_that_no_merchant_has_is_empty(till: Till) -> None:
    assert till.events(Page=10**15) == []
