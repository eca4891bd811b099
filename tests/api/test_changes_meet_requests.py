"""A change meets a request at each of its calls to the store: the result is that of one after the other.

Each request runs as often as it has calls; before one of them a whole change is made by somebody else. The other way
round too: a whole request is made before each call of a change. Answers and stored items must equal those of one of the
two orders without interleaving, so the test needs no rule of its own for any pair.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chalicelib.domain.agent import MobileSettings
from chalicelib.domain.kinds import Features
from chalicelib.domain.permissions import Right
from chalicelib.services import linked_cards, payment_sweep
from infra.operator import commands as operator
from tests.api.test_files import a_file
from tests.support import http
from tests.support.accounts import PASSWORD, Account, a_session, a_stored_merchant, a_stored_terminal, an_account
from tests.support.builders import CONTEXT, JPEG, an_email
from tests.support.cards import a_card, a_card_body
from tests.support.events import a_stored_hook
from tests.support.http import Reply
from tests.support.intercepted_calls import hooked
from tests.support.store_in_memory import StoreInMemory
from tests.support.transactions import a_body, a_guid

SUBMIT, REVERSE = "/api/v1/payment/submit", "/api/v1/payment/reverse"
EVERYTHING = Features(accept_cash=True, accept_prepaid=True, accept_credit=True, offline=True, auto_login=True)
FAR = timedelta(days=400)
LINES = [{"Title": "Coffee", "Price": "12.30", "Quantity": "1", "TaxCode": ["VAT15"]}]
TAXES = [{"Code": "VAT15", "Name": "VAT", "Rate": 15}]


@dataclass
class Shop:
    """A merchant with an owner, a till, and something of each kind that a request can be about."""

    stage: str
    payer: str = field(default_factory=an_email)

    def __post_init__(self) -> None:
        self.merchant = a_stored_merchant(events_until=datetime.now(UTC) + FAR)
        self.terminal = a_stored_terminal(self.merchant)
        self.path = f"/api/v1/merchant/{self.merchant.id}"
        self.owner = an_account(Right.ADMINISTRATOR, merchant=self.merchant)
        self.till = an_account(
            merchant=self.merchant, terminal_id=self.terminal, mobile_settings=MobileSettings(features=EVERYTHING)
        )
        self.session = a_session(self.till, datetime.now(UTC))
        self.card = linked_cards.link(self.till.agent, a_card(), "Company card", datetime.now(UTC)).id
        self.prices(Taxes=TAXES)
        a_stored_hook(self.merchant.id, "https://shop.example/events")
        self.paid = self.pay(Description="Bread").body["TransactionID"]
        self.owing = a_card_body("10.08", Receipt={"Email": self.payer})
        self.send(SUBMIT, self.owing)
        events = self.send(f"{self.path}/event/list", {}, self.owner).body["Events"]
        self.event = events[0]["ID"]

    def send(self, path: str, body: Any, who: Account | None = None) -> Reply:
        return http.call(self.stage, "POST", path, body, None, {"Authorization": (who or self.till).basic_with_key})

    def pay(self, **basic: Any) -> Reply:
        return self.send(SUBMIT, a_body(**basic) | {"Receipt": {"Email": self.payer}})

    def goods(self) -> Reply:
        return self.pay(AuxDataInput={"AuxData": {"Purchases": LINES}})

    def by_link(self) -> Reply:
        basic = {"Amount": "10.00", "CurrencyID": "ZAR", "InputType": 5}
        return self.send(SUBMIT, {"BasicTran": basic, "Card": {"LinkedCardId": self.card, "CardInputMode": 2}})

    def give_back(self, who: Account | None = None) -> Reply:
        basic = {"TransactionID": self.paid, "ReverseMode": 2, "Amount": "5.00", "PartialReverse": True, "ID": a_guid()}
        return self.send(REVERSE, {"BasicReverseTran": basic}, who)

    def give_back_all(self) -> Reply:
        return self.send(REVERSE, {"BasicReverseTran": {"TransactionID": self.paid, "ReverseMode": 2}}, self.owner)

    def sign(self) -> Reply:
        return self.send(SUBMIT, {**self.owing, "Files": [a_file("SIGNATURE", JPEG)]})

    def send_receipt(self) -> Reply:
        return self.send(f"/api/v1/payment/receipt/{self.paid}", {"Email": self.payer})

    def open_drawer(self) -> Reply:
        return self.send("/api/v1/report/drawer", {"Action": "open", "Float": 12, "Note": "One coin"})

    def resend(self) -> Reply:
        return self.send(f"{self.path}/event/{self.event}/resend", {}, self.owner)

    def rename(self) -> Reply:
        return self.send(f"{self.path}/pos/{self.till.agent.id}/update", {"Name": "Door"}, self.owner)

    def look_by_session(self) -> Reply:
        header = {"Authorization": f"Session {self.session}"}
        return http.call(self.stage, "GET", f"/api/v1/payment/{self.paid}", None, None, header)

    def update_till(self, **changes: Any) -> Reply:
        return self.send(f"{self.path}/pos/{self.till.agent.id}/update", changes, self.owner)

    def prices(self, *, version: int = 0, **content: Any) -> Reply:
        return self.send(f"{self.path}/pricelist/update", {"Version": version, "Items": [], **content}, self.owner)

    def block_in_bulk(self) -> Reply:
        bulk = {"PosBulk": [{"Email": self.till.email, "State": 0}]}
        return self.send(f"{self.path}/pos/updatebulk", CONTEXT | bulk, self.owner)

    def erase(self) -> None:
        """Erase the payer as another process: the permissions of the function that runs meanwhile do not count."""
        words = ["payer", "erase", "--email", self.payer, "--merchant", str(self.merchant.id), "--yes"]

        def erase() -> None:
            with suppress(SystemExit):  # nothing is stored for this payer
                operator.main(words)

        with ThreadPoolExecutor(1) as other:
            other.submit(erase).result()

    def sweep(self) -> None:
        with ThreadPoolExecutor(1) as other:
            other.submit(payment_sweep.run, datetime.now(UTC)).result()


Operation = Callable[[Shop], Reply | None]
REQUESTS: dict[str, Operation] = {
    "cash": Shop.pay,
    "card": lambda shop: shop.send(SUBMIT, a_card_body("10.00", Receipt={"Email": shop.payer})),
    "goods": Shop.goods,
    "linked card": Shop.by_link,
    "signature": Shop.sign,
    "part given back": Shop.give_back,
    "all given back": Shop.give_back_all,
    "receipt later": Shop.send_receipt,
    "drawer": Shop.open_drawer,
    "resent event": Shop.resend,
    "name": Shop.rename,
    "session": Shop.look_by_session,
}
CHANGES: dict[str, Operation] = {
    "block": lambda shop: shop.update_till(State=0),
    "block in bulk": Shop.block_in_bulk,
    "new credentials": lambda shop: shop.update_till(
        Password=f"{PASSWORD}, another", SecretKey="another key of this till"
    ),
    "end sessions": lambda shop: shop.update_till(EndSessions=True),
    "without cash": lambda shop: shop.update_till(MobileSettings={"Features": {"AcceptCash": False}}),
    "price list": lambda shop: shop.prices(version=1, Taxes=[{**TAXES[0], "Rate": 16}]),
    "erasure": Shop.erase,
    "sweep": Shop.sweep,
    "another part": lambda shop: shop.give_back(shop.owner),
}


@dataclass(frozen=True)
class Result:
    """What a request and a change answered, and the items that they left, without what differs in each run."""

    answers: tuple[Any, Any]
    items: tuple[str, ...]


VARYING = re.compile(
    r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"  # GUIDs
    r"|\d{4}-\d\d-\d\dT[\d:.]+Z?|[0-9a-f]{20,}|[0-9a-f]{12}@\w+\.example"
    r'|(?<=#)[0-9a-f]{8}(?=")|(?<=[A-Za-z]\.)\d(?=["@])|(?<=")\d+(?=":)|(?<=[0-9a-fM]#)\d+(?=")'  # ends of keys, shards
)
VARYING_NAMES = {
    "counted_as",
    "rrn",
    "stan",
    "approval_code",
    "secret_sealed",
    "secret_key_sealed",
    "password_hash",
    "expires_at",
    "acquirer_tran_id",
    "additional_fields",
    "card_entry_linked_id",
    "link_id",
    "storage_id",
    "webhook_id",
    *("result_rrn", "result_approval_code", "result_acquirer_tran_id", "result_additional_fields"),
}
ERASED = {"S": "[erased]"}
MOST = 4  # calls of one operation at which the other is made; of one that has more, each pair tries others
BUSY = (409, 301)  # a client repeats it


def seen(answer: Reply | None) -> Any:
    return answer and (*answer.error, answer.findings)


@contextmanager
def noted(store: StoreInMemory) -> Iterator[tuple[dict[Any, Any], Counter[str]]]:
    """Note, until it ends, the last image of each item that is written, and the sum of each counter's growth."""
    images: dict[Any, Any] = {}
    grown: Counter[str] = Counter()

    def note(change: Any) -> None:
        counter = re.match("(days|hours)#", (change.after or {}).get("at", {}).get("S", ""))
        if not counter:
            images[change.table.name, change.key] = change.after
            return
        for name, value in change.after.items():
            if "N" in value:
                before = (change.before or {}).get(name, {"N": "0"})["N"]
                grown[f"{counter[1]} {re.sub('[0-9]+', '', name)}"] += int(value["N"]) - int(before)

    store.store.watched.append(note)
    yield images, grown
    store.store.watched.remove(note)


def plain(item: Any, names: dict[str, str]) -> str:
    """Return an item as text, with a name for each value that is another one in each run."""
    if item is None:
        return "deleted"
    if (item.get("state"), item.get("attempts")) == ({"S": "pending"}, {"N": "0"}):
        return ""  # a delivery that an erasure began, else the stream, which does not run here
    is_erased = "erased" in item or ERASED in item.get("to", {}).get("L", ())
    if item.get("name", {}).get("S", "").startswith("messages#") or (is_erased and "given_up_at" in item):
        return (
            ""  # counted before it is stored, so again with each attempt; a message that an erasure did not let be sent
        )
    kept = {name: value for name, value in item.items() if name not in VARYING_NAMES}
    for name in (
        *(["id"] if "alias" in kept else []),
        *(["version"] if is_erased or "name" in kept else []),
    ):  # of a linked card
        del kept[name]
    text = json.dumps(kept, sort_keys=True, default=repr)
    for value, name in names.items():
        text = re.sub(rf"(?<![0-9a-f]){re.escape(value)}(?![0-9a-f])", name, text)
    return VARYING.sub("~", text)


def run(stage: str, store: StoreInMemory, first: Operation, second: Operation, at: int) -> tuple[Result, int]:
    """Run `first`, and `second` before its call of this number: 0 is before all. Return the result and its calls."""
    shop = Shop(stage)
    names = {str(shop.merchant.id): "M", str(shop.till.agent.id): "A", str(shop.owner.agent.id): "O"}
    names |= {str(shop.terminal): "T", shop.paid: "PAID", shop.owing["BasicTran"]["ID"]: "OWING"}
    names |= {shop.till.email: "till@", shop.owner.email: "owner@"}
    calls, is_inside = 0, False
    answers: dict[int, Any] = {}

    def send(number: int) -> None:
        answers[number] = (first, second)[number](shop)

    def hook(when: str, _name: str) -> None:
        nonlocal calls, is_inside
        if when == "before" and not is_inside:
            calls += 1
            if calls == at:
                is_inside = True
                send(1)
                is_inside = False

    with noted(store) as (images, grown):
        if at == 0:
            send(1)
        with hooked(hook):
            send(0)
        for number in (0, 1):
            if number not in answers or (answers[number] and answers[number].error == BUSY):
                send(number)
    items = [f"{table} {text}" for (table, _), item in images.items() if (text := plain(item, names))]
    counters = [f"{name} {number}" for name, number in grown.items()]
    return Result((seen(answers[0]), seen(answers[1])), tuple(sorted(items + counters))), calls


def check(stage: str, store: StoreInMemory, first: Operation, second: Operation, offset: int = 0) -> None:
    """Check each call of `first`; of an operation with many calls, those from the offset on."""
    before, _ = run(stage, store, first, second, 0)
    after, calls = run(stage, store, first, second, 10**6)
    step = calls // MOST + 1
    for at in range(1 + offset % step, calls + 1, step):
        result, _ = run(stage, store, first, second, at)
        if result not in (before, after):
            nearest = min((before, after), key=lambda one: len(set(one.items) ^ set(result.items)))
            mine, theirs = set(result.items), set(nearest.items)
            pytest.fail(
                f"before call {at} of {calls}: {result.answers}, in order {before.answers} or {after.answers}\n"
                + "\n".join(
                    [*(f"+ {one}" for one in sorted(mine - theirs)), *(f"- {one}" for one in sorted(theirs - mine))]
                )
            )


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("request_", REQUESTS)
def test_a_change_during_a_request(
    stage_in_memory: str, store_in_memory: StoreInMemory, request_: str, change: str
) -> None:
    check(stage_in_memory, store_in_memory, REQUESTS[request_], CHANGES[change], list(CHANGES).index(change))


@pytest.mark.release
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("request_", REQUESTS)
def test_a_request_during_a_change(
    stage_in_memory: str, store_in_memory: StoreInMemory, request_: str, change: str
) -> None:
    check(stage_in_memory, store_in_memory, CHANGES[change], REQUESTS[request_], list(REQUESTS).index(request_))
