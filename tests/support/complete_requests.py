"""Requests in which every field of the specification is sent, and a shop that sends them all.

The bodies are functions of `Ids`: the objects of a stage they speak of. What a shop did is played once for a module.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from pyotp import TOTP

from chalicelib import outside
from chalicelib.domain import card
from chalicelib.domain.acquirer import AuthorizationRequest
from chalicelib.domain.card import CardInput
from chalicelib.domain.kinds import InputType
from chalicelib.domain.secret import Secret
from chalicelib.domain.transaction import Transaction
from chalicelib.gateways.acquirers.sandbox import Sandbox
from chalicelib.services import linked_cards
from chalicelib.store import agents
from infra.local import ports
from tests.support import builders, events, http, receivers
from tests.support.builders import JPEG, PASSWORD, PNG, Shop, a_shop, an_email
from tests.support.cards import EXP, PAN, chip_data
from tests.support.intercepted_calls import broken
from tests.support.spec_checks import Seen
from tests.support.stored import stored_record, stored_transaction
from tests.support.transactions import a_body, a_guid

PAYMENT = "/api/v1/payment"
MERCHANT = "/api/v1/merchant/{merchantId}"
ADDITIONAL = "installments=3"
CVV2 = "924"


@dataclass(frozen=True)
class Ids:
    """The objects requests name; those of no stage unless a shop replaces them."""

    agent: int = 1
    group: int = 1
    linked_card: int = 1
    cash: str = "6F9619FF-8B86-D011-B42D-00CF4FC964FF"  # payments
    chip: str = cash
    keyed: str = cash
    linked: str = cash
    drawer: str = cash
    paid: str = "2026-11-21T10:00:00.000"


def values(ids: Ids) -> dict[str, Any]:
    """Return the values of a cash payment that was taken offline, and of every card."""
    pictures = (("PHOTO", PNG), ("SIGNATURE", JPEG))
    return {
        "CurrentAccountID": ids.agent,
        "TerminalGroupID": ids.group,
        "GMT": 0,
        "InputType": 10,
        "Amount": 12.3,
        "AmountCashGot": 20,
        "ClientDateTime": ids.paid,
        "BasicTran.ID": a_guid(),
        "BasicReverseTran.ID": a_guid(),
        "ExtID": f"order-{a_guid()}",
        "Description": "Two coffees",
        "ExtTransData": '{"table": 5}',
        "Title": "Coffee",
        "Price": "6.30",
        "Discount": "0.30",
        "Quantity": "2",
        "TaxCode": ["VAT15"],
        "Taxes": ["VAT15"],
        "OfflineTran.Invoice": "OFF-7",
        "Paid": ids.paid,
        "OfflineLocation": {"Latitude": -26.2, "Longitude": 28.05},
        "AcquirerCode": "CASH",
        "AdditionalAcquiringFields": ADDITIONAL,
        "ForceSignatureRequirement": False,
        "Receipt.Phone": "+27829876543",
        "RetryNum": 2,
        "ClientProductCode": "CAFE",
        "Files": [{"FileType": kind, "FileCode": base64.b64encode(content).decode()} for kind, content in pictures],
        "CardInputMode": 2,
        "LinkedCardId": ids.linked_card,
        "CardDataInput": by_chip_or_keyed()["CardDataInput"],
    }


def by_chip() -> dict[str, Any]:
    return {"CardInputMode": 1, "CardDataInput": {"ReaderType": "EMV", "ReaderData": chip_data()}}


def keyed_in() -> dict[str, Any]:
    return {"CardInputMode": 1, "CardDataInput": {"PAN": PAN, "EXP": EXP, "CVV2": CVV2}}


def by_chip_or_keyed() -> dict[str, Any]:
    return {"CardInputMode": 1, "CardDataInput": keyed_in()["CardDataInput"] | by_chip()["CardDataInput"]}


def by_link(ids: Ids) -> dict[str, Any]:
    return {"CardInputMode": 2, "LinkedCardId": ids.linked_card}


def cash(ids: Ids) -> dict[str, Any]:
    """Return a cash payment that was taken offline, with everything but a card."""
    return EVERYTHING[f"{PAYMENT}/submit"](ids) | {"Card": None}


def with_card(ids: Ids, input_type: int, card_of_it: dict[str, Any], amount: float = 12.3) -> dict[str, Any]:
    """Return the same payment with a card, as it is taken online."""
    body = cash(ids)
    left_out = ("AmountCashGot", "OfflineTran")
    basic = {name: value for name, value in body["BasicTran"].items() if name not in left_out}
    basic |= {"InputType": input_type, "Amount": amount}
    acquirer = body["AcqTran"] | {"AcquirerCode": "SANDBOX", "SingleStepAuthMode": False}
    return body | {"BasicTran": basic, "AcqTran": acquirer, "Card": card_of_it, "Files": []}


def reversal(ids: Ids, path: str, transaction: str, card_of_it: dict[str, Any] | None = None, **basic: Any) -> Any:
    """Return the return of a part of a payment: of the cash payment, unless `basic` says otherwise."""
    body = EVERYTHING[path](ids)
    acquirer = "SANDBOX" if card_of_it else "CASH"
    return body | {
        "BasicReverseTran": body["BasicReverseTran"] | {"TransactionID": transaction, **basic},
        "AcqTran": body["AcqTran"] | {"AcquirerCode": acquirer},
        "Card": card_of_it,
    }


def period() -> dict[str, str]:
    today = datetime.now(UTC)
    return {"From": f"{today - timedelta(days=2):%Y-%m-%d}", "To": f"{today + timedelta(days=2):%Y-%m-%d}"}


def of_a_reversal(ids: Ids) -> dict[str, Any]:
    return {
        "TransactionID": ids.cash,
        "ReverseMode": 2,
        "Amount": 6.15,
        "Quantity": "1",
        "Description": "The cup was chipped",
    }


def of_a_list(ids: Ids) -> dict[str, Any]:
    """Return filters, each so that it matches the cash payment or, as InvoiceOriginal, nothing."""
    return {
        "Search": "coffee",
        "AccountID": ids.agent,
        "Sort": "Date desc",
        "ID": ids.cash,
        "Page": 1,
        "Invoice": "OFF-7",
        "InvoiceOriginal": "OFF-7",
        "RRN": "000000000000",
        "ExtID": "order-1",
        "Operation": 1,
        "Late": False,
        "Period": period(),
        "ClientProductCode": "ClientProductCode",
        "Format": "csv",
        "TaxRate": "Tax Exempt",
    }


def of_a_product(_: Ids) -> dict[str, Any]:
    given = {"AmountClient": "1500.00", "OrderId": "A-17"}
    return {
        "PrepareFields": [{"Name": name, "Value": value} for name, value in given.items()],
        "ProductDescCode": "Insurance",
        "ClientProductCode": "HOME",
    }


def of_cards(ids: Ids) -> dict[str, Any]:
    return {"AccountId": ids.agent, "State": 1, "Status": 3, "Deleted": 0, "Page": 1}


def of_takings(ids: Ids) -> dict[str, Any]:
    return {"Period": period(), "AccountID": ids.agent, "By": "hour"}


def of_a_drawer(ids: Ids) -> dict[str, Any]:
    entered = {"Float": 500, "Amount": "2.50", "Counted": "512.30", "Note": "Two notes are torn"}
    return {"Action": "in", "DrawerID": ids.drawer, "AccountID": ids.agent, "AgentID": ids.agent, **entered}


def of_a_till(_: Ids) -> dict[str, Any]:
    return {"Email": http.TILL[0], "Password": http.TILL[1]}


def _every_field(path: str, given: Callable[[Ids], dict[str, Any]]) -> Callable[[Ids], dict[str, Any]]:
    return lambda ids: builders.complete(path, values(ids) | given(ids))


# A body with every field at once, for each endpoint that takes payments or asks about them. To spoil one of its fields:
# what a payment or a reversal says does not go together.
EVERYTHING: dict[str, Callable[[Ids], dict[str, Any]]] = {
    path: _every_field(path, given)
    for path, given in {
        "/api/v1/user/login/session": of_a_till,
        f"{PAYMENT}/AuthAccount": lambda _: {},
        f"{PAYMENT}/submit": lambda _: {},
        f"{PAYMENT}/prepare": of_a_product,
        f"{PAYMENT}/listHistoryEx": of_a_list,
        f"{PAYMENT}/listByDaysEx": of_a_list,
        "/api/v1/report/export": of_a_list,
        f"{PAYMENT}/reverse": of_a_reversal,
        f"{PAYMENT}/reversecnp": lambda ids: of_a_reversal(ids) | {"ReverseMode": 5},
        f"{PAYMENT}/GetLinkedCards": of_cards,
        "/api/v1/report/takings": of_takings,
        "/api/v1/report/drawer": of_a_drawer,
    }.items()
}


@dataclass
class Made:
    """A payment or a reversal: what was sent, what was answered, what was stored, what an acquirer was sent."""

    sent: dict[str, Any]
    answer: Any
    stored: Transaction
    authorization: AuthorizationRequest | None = None


@dataclass
class Run:
    """What a shop did: every answer it got, and its payments and reversals by name."""

    shop: Shop
    till: tuple[str, str]
    ids: Ids
    seen: Seen = field(default_factory=Seen)
    made: dict[str, Made] = field(default_factory=dict)

    def post(self, endpoint: str, body: Any, login: tuple[str, str] | None = None) -> http.Reply:
        """Send a request to an endpoint of payments as the till, and look at the answer."""
        return self.look(endpoint, http.post(self.shop.stage, endpoint, body, login or self.till))

    def get(self, endpoint: str, path: str, login: tuple[str, str] | None = None) -> http.Reply:
        return self.look(endpoint, http.get(self.shop.stage, path, login or self.till))

    def look(self, endpoint: str, reply: http.Reply) -> http.Reply:
        self.seen.answer(endpoint, reply.status, reply.body)
        return reply

    def make(self, name: str, endpoint: str, body: dict[str, Any]) -> Made:
        """Make a payment or a reversal of this name."""
        requests: list[AuthorizationRequest] = []
        with broken(authorize=noting(Sandbox().authorize, requests)):
            reply = self.post(endpoint, body)
        assert reply.status == 200, reply.text
        answer = reply.body
        stored = stored_transaction(answer.get("TransactionReverseID") or answer["TransactionID"])
        self.made[name] = Made(body, answer, stored, next(iter(requests), None))
        return self.made[name]


def noting(method: Callable[..., Any], requests: list[Any]) -> Callable[..., Any]:
    """Return the method of an acquirer, which notes the requests it gets."""

    def note(request: Any, within_s: float) -> Any:
        requests.append(request)
        return method(request, within_s)

    return note


def a_run(stage: str) -> Run:
    """A new shop with a till, after it has used the whole interface."""
    shop = a_shop(stage)
    terminal = shop.terminal()
    agent = shop.agent(TerminalID=terminal["ID"], TID=terminal["Name"])
    chip, _ = card.read(InputType.CHIP, CardInput(reader_data=Secret(chip_data(exp="1249"))))
    record = stored_record(agents.key(agent["ID"]))
    assert chip is not None
    now = datetime.now(UTC)
    linked = linked_cards.link(record, chip, "Company card", now)
    paid = f"{now - timedelta(minutes=5):%Y-%m-%dT%H:%M:%S}.000"
    ids = Ids(agent["ID"], terminal["GroupID"], linked.id, paid=paid)
    run = Run(shop, (agent["Email"], PASSWORD), ids)

    manage(run)
    subscribe(run)
    pay(run)
    reverse(run)
    ask(run)
    tell(run)
    return run


def manage(run: Run) -> None:
    """Use the endpoints of merchants, agents and terminals."""
    shop, stage = run.shop, run.shop.stage
    run.look("/api/v1/merchant/create", shop.post("/api/v1/merchant/create", builders.merchant_body(), http.SYSTEM))
    run.look("/api/v1/health", http.get(stage, "/api/v1/health", None))
    run.look("/api/v1/merchant/list", http.post(stage, "/api/v1/merchant/list", {}, http.SYSTEM))
    run.look(f"{MERCHANT}/update", shop.post(f"{shop.path}/update", builders.merchant_update()))
    run.look(
        "/api/v1/terminal/create",
        shop.post("/api/v1/terminal/create", builders.terminal_body(shop.id, WithAccounts=True)),
    )
    body = builders.agent_body(shop.id)
    created = run.look(f"{MERCHANT}/pos/create", shop.post(f"{shop.path}/pos/create", body)).body["Pos"]
    path = f"{shop.path}/pos/{created['ID']}"
    assert http.get(stage, path, (body["Email"], PASSWORD)).status == 200  # a logon
    remembered = {"Email": body["Email"], "Password": PASSWORD, "Remember": True}
    sign_in_path = "/api/v1/user/login/session"
    run.look(sign_in_path, http.post(stage, sign_in_path, remembered, None, User_Agent="Till/7"))
    for _ in range(10):
        assert http.get(stage, path, (body["Email"], "a wrong password")).status == 401
    run.get(f"{MERCHANT}/pos/{{posId}}", path, shop.owner)  # locked
    run.look(f"{MERCHANT}/pos/{{posId}}/update", shop.post(f"{path}/update", builders.agent_update()))
    run.look(f"{MERCHANT}/pos/list", shop.post(f"{shop.path}/pos/list", {}))
    run.look(f"{MERCHANT}/terminal/list", shop.post(f"{shop.path}/terminal/list", {}))
    price_list = builders.complete(f"{MERCHANT}/pricelist/update", {"Version": 0, "CurrentAccountID": None})
    run.look(f"{MERCHANT}/pricelist/update", shop.post(f"{shop.path}/pricelist/update", price_list))
    run.look(f"{MERCHANT}/pricelist", http.get(shop.stage, f"{shop.path}/pricelist", shop.owner))
    item = {"Email": an_email(), "State": 1, "PrinterAndTaxSettings": {"PrinterID": 1}}
    run.look(f"{MERCHANT}/pos/updatebulk", shop.post(f"{shop.path}/pos/updatebulk", {"PosBulk": [item]}))


def pay(run: Run) -> None:
    """Take payments of every sort, one of them unknown, and be refused one."""
    submit = f"{PAYMENT}/submit"
    run.make("cash", submit, cash(run.ids))
    run.make("chip", submit, with_card(run.ids, 3, by_chip()))
    run.make("keyed", submit, with_card(run.ids, 1, keyed_in()))
    run.make("linked", submit, with_card(run.ids, 5, by_link(run.ids)))
    signed = with_card(run.ids, 3, by_chip())
    signed["AcqTran"]["ForceSignatureRequirement"] = True
    run.make("signed", submit, signed)
    run.make("pin", submit, with_card(run.ids, 1, keyed_in(), 10.65))
    run.make("lost", submit, with_card(run.ids, 1, keyed_in(), 10.69))
    late = {"OfflineMode": True, "Paid": f"{datetime.now(UTC) - timedelta(days=3):%Y-%m-%dT%H:%M:%S}"}
    assert run.post(submit, a_body(OfflineTran=late)).error == (200, 0)
    assert run.post(submit, {}).error == (400, 202)
    payments = {name: run.made[name].stored.id for name in ("cash", "chip", "keyed", "linked")}
    run.ids = replace(run.ids, **payments)  # type: ignore[arg-type]  # all are texts


def reverse(run: Run) -> None:
    """Give a part of each payment back."""
    ids, there, elsewhere = run.ids, f"{PAYMENT}/reverse", f"{PAYMENT}/reversecnp"
    run.make("cash back", there, reversal(ids, there, ids.cash))
    run.make("chip back", there, reversal(ids, there, ids.chip, by_chip_or_keyed(), InputType=3))
    run.make("keyed back", elsewhere, reversal(ids, elsewhere, ids.keyed, by_chip_or_keyed(), InputType=1))
    run.make("linked back", elsewhere, reversal(ids, elsewhere, ids.linked, by_link(ids), InputType=5))


def ask(run: Run) -> None:
    """Use what only answers."""
    for name in ("cash", "lost"):
        run.get(f"{PAYMENT}/{{tranId}}", f"{PAYMENT}/{run.made[name].stored.id}")
    run.get(f"{PAYMENT}/receipt/{{tranId}}", f"{PAYMENT}/receipt/{run.ids.cash}")
    later = builders.complete(f"{PAYMENT}/receipt/{{tranId}}", values(run.ids) | {"Phone": "+27829876543"})
    assert http.post(run.shop.stage, f"{PAYMENT}/receipt/{run.ids.cash}", later, run.till).error == (200, 0)
    run.get(f"{PAYMENT}/statusPublic/{{tranId}}", f"{PAYMENT}/statusPublic/{run.ids.cash}")
    run.post(f"{PAYMENT}/listHistoryEx", {})
    run.post(f"{PAYMENT}/listByDaysEx", {})
    run.post("/api/v1/report/takings", EVERYTHING["/api/v1/report/takings"](run.ids))
    today = datetime.now(UTC) + timedelta(hours=2)  # the merchant's
    run.post("/api/v1/report/takings", {"Period": {"To": f"{today:%Y-%m-%d}"}})  # a day has receipt numbers
    open_drawer(run, 500)
    run.post("/api/v1/report/drawer", EVERYTHING["/api/v1/report/drawer"](run.ids))
    run.post("/api/v1/report/drawer", {"Action": "close", "Counted": 510})
    open_drawer(run, 510)
    tomorrow = f"{today + timedelta(days=1):%Y-%m-%d}"
    for period in ({}, {"Period": {"From": tomorrow, "To": tomorrow}}):  # the open drawer is an earlier one
        run.post("/api/v1/report/drawer/list", period, run.shop.owner)
    run.post("/api/v1/report/export", {})
    run.post(f"{PAYMENT}/prepare", EVERYTHING[f"{PAYMENT}/prepare"](run.ids))
    run.post(f"{PAYMENT}/GetLinkedCards", EVERYTHING[f"{PAYMENT}/GetLinkedCards"](run.ids))
    query = "&".join(f"{name}={value}" for name, value in EVERYTHING[f"{PAYMENT}/AuthAccount"](run.ids).items())
    run.get(f"{PAYMENT}/AuthAccount", f"{PAYMENT}/AuthAccount?{query}")
    session = run.post("/api/v1/user/login/session", {"Email": run.till[0], "Password": PASSWORD})
    login = (run.till[0], session.body["Data"]["SessionID"])
    run.look("/api/v1/user/me", http.get(run.shop.stage, "/api/v1/user/me", login))
    switch_off(run, login, switch_on(run, login)[0])


TOTP_PATH = "/api/v1/user/totp"


def switch_on(run: Run, session: tuple[str, str]) -> list[str]:
    """Switch a second factor on, and return its recovery codes."""
    begun = run.look(TOTP_PATH, http.post(run.shop.stage, TOTP_PATH, {}, session)).body["Data"]
    code = {"Code": TOTP(begun["Secret"]).at(outside.now())}
    confirmed = run.look(TOTP_PATH, http.post(run.shop.stage, TOTP_PATH, code, session))
    codes: list[str] = confirmed.body["Data"]["RecoveryCodes"]
    return codes


def switch_off(run: Run, session: tuple[str, str], code: str) -> None:
    """Switch a second factor off."""
    run.look(TOTP_PATH, http.post(run.shop.stage, TOTP_PATH, {"Off": True, "Code": code}, session))


def subscribe(run: Run) -> None:
    """Create a webhook at a port where nobody listens, change it and list it."""
    shop = run.shop
    url = f"http://127.0.0.1:{ports.free_port()}/events"
    body = {"Url": url, "Types": ["payment.declined"], "Description": "Bookkeeping"}
    created = run.look(f"{MERCHANT}/webhook/create", shop.post(f"{shop.path}/webhook/create", body))
    path = f"{shop.path}/webhook/{created.body['Webhook']['ID']}"
    changes = {"Types": ["payment.approved"], "RotateSecret": True}
    run.look(f"{MERCHANT}/webhook/{{webhookId}}/update", shop.post(f"{path}/update", changes))
    run.look(f"{MERCHANT}/webhook/list", shop.post(f"{shop.path}/webhook/list", {}))


def open_drawer(run: Run, amount: int) -> http.Reply:
    """Open a drawer with this float, and remember it."""
    opened = run.post("/api/v1/report/drawer", {"Action": "open", "Float": amount})
    run.ids = replace(run.ids, drawer=opened.body["Drawer"]["DrawerID"])
    return opened


def tell(run: Run) -> None:
    """Let the webhook's receiver fail once and answer once, and list what became of the events."""
    shop = run.shop
    [hook] = shop.post(f"{shop.path}/webhook/list", {}).body["Webhooks"]
    events.deliver_all()
    with receivers.a_receiver(port=urlsplit(hook["Url"]).port or 0):
        path = f"{shop.path}/webhook/{hook['ID']}"
        run.look(f"{MERCHANT}/webhook/{{webhookId}}/test", shop.post(f"{path}/test", {}))
        events.deliver_all()
    listed = run.look(f"{MERCHANT}/event/list", shop.post(f"{shop.path}/event/list", {}))
    again = f"{shop.path}/event/{listed.body['Events'][-1]['ID']}/resend"
    run.look(f"{MERCHANT}/event/{{eventId}}/resend", shop.post(again, {}))
    run.look(f"{MERCHANT}/webhook/{{webhookId}}/delete", shop.post(f"{path}/delete", {}))
