"""The clients of a scenario: what they ask for, how they repeat it, and what they have seen."""

import base64
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from infra.demo.partner import PRODUCT
from tests.simulation import account_acts, later_receipts, shop_acts, webhook_changes
from tests.simulation.account_acts import Bulk, End, device_of
from tests.simulation.actors import ZONE, People, Person
from tests.simulation.edges import EDGES, with_edge
from tests.simulation.environment import MORNING
from tests.simulation.erasure_acts import RECEIPTS
from tests.simulation.gateway import Gateway, Reply, a_request
from tests.simulation.goods import lines_of, returned_line
from tests.simulation.scenario_script import AT_HOST, AT_STRIPE, CARD, CASH, IN_HAND, LINKED, OWNER, PREPAID, Act
from tests.simulation.scheduler import Scheduler
from tests.simulation.webhook_changes import Hook
from tests.support.accounts import basic
from tests.support.builders import PNG

API = "/api/v1"
SIGN_IN = f"{API}/user/login/session"
PAN = "4111111111111111"
REPEATED = frozenset({429, 500, 502, 503, 504})
IN_PROGRESS = 301
SECTIONS = ("NotFinishedActualTrans", "InProcess", "Transactions")
MOST_TOLD = 4  # of what a list shows
FIELDS = ("AmountClient", "OrderId")  # that the till fills in of the partner's product
# The numbers of the acts that come last.
LAST, LAST_DAYS, LAST_HOURS, LAST_EXPORT, LAST_BY_DAYS, LAST_FILTER = 9000, 9001, 9002, 9003, 9004, 9010
LAST_AGENTS, LAST_PRICES, LAST_DRAWERS, LAST_EVENTS = 9005, 9006, 9007, 9008
MOST_PAGES = 40
BY_CARD = (1, "SANDBOX")
TENDERS = {
    CASH: (10, "CASH"),
    PREPAID: (8, "PREPAID"),
    AT_HOST: (1, "ISO8583"),
    AT_STRIPE: (1, "STRIPE"),
    LINKED: (5, "SANDBOX"),
}
PICTURES = {number: base64.b64encode(PNG + bytes([number])).decode() for number in (1, 2, 3, 4)}


def _sorted(addresses: tuple[str, ...]) -> dict[str, Any]:
    """Return the receipt of a request with these addresses."""
    phones = [one for one in addresses if "@" not in one]
    return {"Emails": [one for one in addresses if "@" in one], **({"Phones": phones} if phones else {})}


ADDRESSES: dict[str, dict[str, Any]] = {
    "email": {"Email": "ann@home.example"},
    "both": {"Email": "ann@home.example", "Phone": "+27829876543"},
    "two": {"Emails": ["ann@home.example", "bob@home.example"]},
    **{name: _sorted(addresses) for name, addresses in RECEIPTS.items()},
}


@dataclass
class Seen:
    """One request, and what came of it: the times are those of the client."""

    act: Act
    asked_at: float
    kind: str
    payment: str | None  # the ID of the payment it is about, if the client knows it
    header: str
    secret: str = ""  # what the client proves who it is with
    body: Any = None
    about: str | None = None  # the transaction or the event in its path
    answered_at: float | None = None
    status: int = 0
    answer: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)  # of the answer

    @property
    def error(self) -> int:
        """Its ErrorCode."""
        return int(self.answer.get("ErrorCode", -1))


@dataclass
class Change:
    """A change of a till's credential or state that its owner asked for."""

    till: str
    what: str
    value: str
    before: str
    asked_at: float
    done_at: float | None = None
    is_settled: bool = False  # no request for it is still on its way


@dataclass
class Clients:
    """Everybody who asks, and everything that was answered."""

    scheduler: Scheduler
    gateway: Gateway
    people: People
    trace: Callable[[str], None] | None = None
    seen: list[Seen] = field(default_factory=list)
    payments: dict[str, str] = field(default_factory=dict)  # the IDs by their labels
    reversals: dict[str, str] = field(default_factory=dict)  # of each payment the last that was answered
    changes: list[Change] = field(default_factory=list)
    settings: list[Change] = field(default_factory=list)  # that decide nothing about who gets in
    bulks: list[Bulk] = field(default_factory=list)
    sessions: dict[str, Seen] = field(default_factory=dict)  # by their IDs, what opened them
    ends: list[End] = field(default_factory=list)  # of sessions
    hooks: dict[str, Hook] = field(default_factory=dict)  # by their addresses
    events: dict[str, list[int]] = field(default_factory=dict)  # that the owner has seen, with their webhooks
    resent: Counter[tuple[str, int | None]] = field(default_factory=Counter)  # see `Webhooks.resent`
    _asked: Counter[int] = field(default_factory=Counter)

    def do(self, act: Act) -> None:
        """Do what the script says, and repeat it as this client does."""
        person = self.people.by_name[act.client]
        kinds: dict[str, Callable[[Act, Person], None]] = {
            "pay": self._pay,
            "reverse": self._reverse,
            "look": self._look,
            "status": self._status,
            "list": self._list,
            "find": self._find,
            "change": self._change,
            "account": self._account,
            "guess": self._guess,
            "sign in": self._sign_in,
            "sign": self._pay,
            "cards": self._cards,
            "report": self._report,
            "export": self._export,
            "prepare": self._prepare,
            "peek": self._peek,
            "configuration": self._configuration,
            "wrong": self._wrong,
        }
        if act.kind in kinds:
            kinds[act.kind](act, person)
        else:
            OTHERS[act.kind](self, act, person)

    def last_acts(self, wanted: Mapping[str, Any] | None, kinds: set[str], day: str) -> list[Act]:
        """Return what is asked at the end: all pages of the list, and the report by day. With a filter, much more.

        After acts of some kinds, also what they changed; `day` is the first one of the scenario.
        """
        facts = {"patience": 40.0, "attempts": 3, "pauses": [1.0] * 4, "signs": "key", "days": False}
        acts = [
            Act(LAST, 0, OWNER, "list", facts={**facts, "is_whole": True}),
            Act(LAST_DAYS, 0, OWNER, "report", facts={**facts, "by": "day"}),
        ]
        if kinds & {"bulk", "change"}:
            acts.append(Act(LAST_AGENTS, 0, OWNER, "agents", facts=facts))
        if "prices" in kinds:
            acts.append(Act(LAST_PRICES, 0, OWNER, "last prices", facts=facts))
        if "drawer" in kinds:
            acts.append(Act(LAST_DRAWERS, 0, OWNER, "drawers", facts={**facts, "day": day}))
        if "resend" in kinds:
            acts.append(Act(LAST_EVENTS, 0, OWNER, "events", facts=facts))
        if wanted is not None:
            named = dict(wanted)
            if "AccountID" in named:
                named["AccountID"] = self.people.by_name[named["AccountID"]].id
            acts += [
                Act(LAST_BY_DAYS, 0, OWNER, "list", facts={**facts, "is_whole": True, "days": True}),
                Act(LAST_FILTER, 0, OWNER, "list", facts={**facts, "is_whole": True, "filter": named}),
                Act(LAST_HOURS, 0, OWNER, "report", facts={**facts, "by": "hour"}),
                Act(LAST_EXPORT, 0, OWNER, "export", facts=facts),
            ]
        return acts

    def _pay(self, act: Act, person: Person) -> None:
        facts = act.facts
        body: dict[str, Any] = {
            "BasicTran": {"CurrencyID": "ZAR", "Amount": f"{facts['amount'] / 100:.2f}", "InputType": 10},
            "GMT": facts["gmt"],
        }
        if not self._add_means(body, facts):
            return
        body.setdefault("AcqTran", {}).update(_steps(facts))
        if facts.get("goods"):
            body["BasicTran"]["AuxDataInput"] = lines_of(facts["amount"])
        texts = {"ExtID": facts["ext_id"], "Description": facts.get("note")}
        body["BasicTran"] |= {name: text for name, text in texts.items() if text}
        if facts["receipt"]:
            body["Receipt"] = ADDRESSES[facts["receipt"]]
        files = {"SIGNATURE": facts.get("picture"), "PHOTO": facts.get("photo")}
        if any(files.values()):
            body["Files"] = [{"FileType": kind, "FileCode": PICTURES[one]} for kind, one in files.items() if one]
        if "device" in facts:
            body["DeviceInfo"] = {"DeviceID": facts["device"]}
        key = None
        if facts["named"] == "id":
            body["BasicTran"]["ID"] = facts["id"] if act.number % 2 else facts["id"].lower()
            self.payments.setdefault(act.label, facts["id"])
        elif facts["named"] == "key":
            key = facts["id"]
        elif act.kind == "sign":
            return  # without a name it would be another payment
        attempts = 1 if facts["named"] == "nothing" else facts["attempts"]
        self.repeatedly(act, person, "POST", f"{API}/payment/submit", body, attempts=attempts, key=key)

    def _add_means(self, body: dict[str, Any], facts: dict[str, Any]) -> bool:
        """Add what it is paid with; return False while the linked card is not there yet."""
        if facts["way"] in IN_HAND:
            body["BasicTran"]["InputType"], code = TENDERS[facts["way"]]
            body["AcqTran"] = {"AcquirerCode": code}
            body["BasicTran"] |= _offline(facts["days_ago"], facts["invoice"], facts["gmt"])
        elif facts["way"] == LINKED:
            card = self.people.cards.get(facts["card"])
            if card is None:
                return False
            body["BasicTran"]["InputType"] = 5
            body["Card"] = {"CardInputMode": 2, "LinkedCardId": card}
        else:
            body["BasicTran"]["InputType"] = 1
            body["AcqTran"] = {"AcquirerCode": TENDERS.get(facts["way"], BY_CARD)[1]}
            body["Card"] = {
                "CardInputMode": 1,
                "CardDataInput": {"PAN": facts.get("pan", PAN), "EXP": facts.get("exp", "1230"), "CVV2": "123"},
            }
        return True

    def _wrong(self, act: Act, person: Person) -> None:
        """Ask for what is wrong in one point: nobody may take it, nor ask an acquirer for it."""
        edge, payment = EDGES[act.facts["edge"]], self.payments.get(act.label)
        if not edge.is_reversal:
            paid = {"CurrencyID": "ZAR", "Amount": "10.00", "InputType": 10, "ID": act.facts["id"]}
            if edge.field == "Card":
                paid["InputType"] = 1
            body = with_edge({"BasicTran": paid, "GMT": 2}, edge)
            self.repeatedly(act, person, "POST", f"{API}/payment/submit", body)
        elif payment is not None:
            returned = {"TransactionID": payment, "ReverseMode": 5, "ID": act.facts["id"]}
            body = with_edge({"BasicReverseTran": returned}, edge)
            self.repeatedly(act, person, "POST", f"{API}/payment/reversecnp", body)

    def _reverse(self, act: Act, person: Person) -> None:
        facts, payment = act.facts, self.payments.get(act.label)
        if payment is None:
            return
        is_cash = facts["way"] in IN_HAND
        modes = {("cancel", True): 1, ("return", True): 2, ("cancel", False): 3, ("return", False): 5}
        basic: dict[str, Any] = {"TransactionID": payment, "ReverseMode": modes[facts["mode"], is_cash]}
        if facts.get("amount") is not None and facts["mode"] == "return":
            basic |= {"Amount": f"{facts['amount'] / 100:.2f}", "PartialReverse": True}
        if facts.get("coffee"):
            basic["AuxDataInput"] = returned_line(facts["amount"])
        named, key = facts.get("named", "nothing"), None
        if named == "id":
            basic["ID"] = facts["id"] if act.number % 2 else facts["id"].lower()
        elif named == "key":
            key = facts["id"]
        elif named == "time":
            basic["ClientDateTime"] = f"2026-03-14T{facts['time']}"
        path = "reverse" if is_cash else "reversecnp"
        body = {"BasicReverseTran": basic}
        if facts.get("receipt"):
            body["Receipt"] = ADDRESSES[facts["receipt"]]
        self.repeatedly(act, person, "POST", f"{API}/payment/{path}", body, key=key)

    def _look(self, act: Act, person: Person) -> None:
        known = self.reversals if act.facts.get("is_of_reversal") else self.payments
        if transaction := known.get(act.label):
            zone = {"query": f"?GMT={zone_of_look(act)}"} if zone_of_look(act) != ZONE else {}
            self.repeatedly(act, person, "GET", f"{API}/payment/{{tranId}}", None, tranId=transaction, **zone)

    def _status(self, act: Act, person: Person) -> None:
        if payment := self.payments.get(act.label):
            self.repeatedly(act, person, "GET", f"{API}/payment/statusPublic/{{tranId}}", None, tranId=payment)

    def _list(self, act: Act, person: Person) -> None:
        path = "listByDaysEx" if act.facts["days"] else "listHistoryEx"
        wanted = {"Page": act.facts.get("page", 1), **act.facts.get("filter", {})}
        for page in range(wanted["Page"], MOST_PAGES):
            body = {"ListBasicModel": {**wanted, "Page": page}}
            seen = self.repeatedly(act, person, "POST", f"{API}/payment/{path}", body)
            counters = seen.answer.get("TransactionsCounters") if seen else None
            if not act.facts.get("is_whole") or not counters or page >= counters["PageCount"]:
                return

    def _find(self, act: Act, person: Person) -> None:
        if payment := self.payments.get(act.label):
            self.repeatedly(act, person, "POST", f"{API}/payment/listHistoryEx", {"ListBasicModel": {"ID": payment}})

    def _account(self, act: Act, person: Person) -> None:
        body: dict[str, Any] = {"ListBasicModel": {"Page": 1}}
        if "as" in act.facts:
            body["CurrentAccountID"] = self.people.by_name[act.facts["as"]].id
        self.repeatedly(act, person, "POST", f"{API}/payment/listHistoryEx", body, attempts=1)

    def _peek(self, act: Act, person: Person) -> None:
        body = {"ListBasicModel": {"AccountID": self.people.by_name[act.facts["of"]].id}}
        self.repeatedly(act, person, "POST", f"{API}/payment/listHistoryEx", body)

    def _configuration(self, act: Act, person: Person) -> None:
        self.repeatedly(act, person, "GET", f"{API}/payment/AuthAccount", None, attempts=1)

    def _cards(self, act: Act, person: Person) -> None:
        self.repeatedly(act, person, "POST", f"{API}/payment/GetLinkedCards", {})

    def _report(self, act: Act, person: Person) -> None:
        body = {"By": act.facts["by"], "Period": {"From": "2026-03-05"}}
        self.repeatedly(act, person, "POST", f"{API}/report/takings", body)

    def _export(self, act: Act, person: Person) -> None:
        body = {"ListBasicModel": {"Page": 1, "Sort": "Date asc"}}
        self.repeatedly(act, person, "POST", f"{API}/report/export", body)

    def _prepare(self, act: Act, person: Person) -> None:
        fields = [{"Name": name, "Value": act.facts[name]} for name in FIELDS]
        body = {"ProductDescCode": PRODUCT, "ClientProductCode": act.facts["plan"], "PrepareFields": fields}
        self.repeatedly(act, person, "POST", f"{API}/payment/prepare", body)

    def _guess(self, act: Act, person: Person) -> None:
        other = next(one for one in self.people.by_name.values() if one is not person)
        password = other.password if act.facts["is_of_other"] else "not the password"
        self.once(act, "POST", SIGN_IN, "", {"Email": person.email, "Password": password}, password, source=_place(act))

    def _sign_in(self, act: Act, person: Person) -> None:
        password = person.secret("old password" if act.facts.get("is_old") else "password")
        body: dict[str, Any] = {"Email": person.email, "Password": password}
        device = device_of(act) if act.facts.get("is_remembered") else None
        if device:
            body["Remember"] = True
        seen = self.once(act, "POST", SIGN_IN, "", body, secret=password, device=device)
        if seen.status == 200:
            person.session = seen.answer["Data"]["SessionID"]
            self.sessions[person.session] = seen

    def _change(self, act: Act, person: Person) -> None:
        till, what = self.people.by_name[act.facts["till"]], act.facts["what"]
        value = f"{what} number {act.number} of {till.name}, long enough"
        possible: dict[str, dict[str, Any]] = {
            "password": {"Password": value},
            "key": {"SecretKey": value},
            "block": {"State": 0},
            "unblock": {"State": 1},
            "unlock": {"Unlock": True},
            "email": {"Email": f"moved.{act.number}.{till.email}"},
        }
        change = self.begin_change(till.name, what, value)
        path = f"{API}/merchant/{{merchantId}}/pos/{{posId}}/update"
        body = {**CONTEXT, "ID": till.id, **possible[what]}
        seen = self.repeatedly(act, person, "POST", path, body, merchantId=till.merchant_id, posId=till.id)
        if seen is None or seen.status != 200:
            return
        self.end_change(change, act)
        if what == "password":
            till.old_password, till.password = till.password, value
        if what == "key":
            till.old_key, till.key = till.key, value
        if what == "email":
            till.old_email, till.email = till.email, possible[what]["Email"]

    def begin_change(self, name: str, what: str, value: str) -> Change:
        """Note a change of a till that its owner asks for."""
        till = self.people.by_name[name]
        before = {"password": till.password, "key": till.key, "email": till.email}.get(what, "")
        change = Change(name, what, value, before, self.scheduler.now)
        (self.settings if what in {"printer", "rights"} else self.changes).append(change)
        return change

    def end_change(self, change: Change, act: Act) -> None:
        """Note that a change is done."""
        change.done_at = self.scheduler.now
        change.is_settled = all(0 < seen.status < 500 for seen in self.seen if seen.act is act)

    def session_of(self, person: Person, act: Act) -> str | None:
        """Return the session of a client that an act is about, by the order of their sign-ins; None without any."""
        own = [session for session, opened in self.sessions.items() if opened.act.client == person.name]
        return own[act.facts["session"] % len(own)] if own else None

    def repeatedly(self, act: Act, person: Person, method: str, resource: str, body: Any, **more: Any) -> Seen | None:
        """Ask until there is an answer that means something, as often as this client asks."""
        seen = None
        for number in range(more.pop("attempts", act.facts["attempts"])):
            signs = act.facts["signs"]
            header = self._borrowed(person) if signs == "borrowed session" else person.header(signs)
            seen = self.once(act, method, resource, header, body, secret=person.secret(signs), **more)
            if seen.status and seen.status not in REPEATED and seen.error != IN_PROGRESS:
                break
            self.scheduler.pause(act.facts["pauses"][number])
        return seen

    def _borrowed(self, person: Person) -> str:
        """Return the header of a client that names itself, and proves it by the session of a colleague."""
        others = (one.session for one in self.people.by_name.values() if one is not person and one.session)
        return basic(person.email, next(others, "no session"))

    def once(  # noqa: PLR0913, PLR0917  each is a thing of its own
        self, act: Act, method: str, resource: str, header: str, body: Any, secret: str, **more: Any
    ) -> Seen:
        request = a_request(method, resource, header, body, self._name_of(act), **more)
        seen = Seen(act, self.scheduler.now, act.kind, self.payments.get(act.label), header, secret, body)
        seen.about = more.get("tranId") or more.get("eventId")
        self.seen.append(seen)
        if self.trace is not None:
            self.trace(
                f"asks {method} {request.path} {_shown(body)}{' key ' + more['key'][:8] if more.get('key') else ''}"
            )
        reply = self.gateway.ask(request, act.facts["patience"])
        if reply is None:
            if self.trace is not None:
                self.trace("waits no longer for an answer")
            return seen
        self._noted(seen, reply)
        return seen

    def _name_of(self, act: Act) -> str:
        """Return the name of a request, which no other client changes."""
        self._asked[act.number] += 1
        return f"request {self._asked[act.number]}"

    def _noted(self, seen: Seen, reply: Reply) -> None:
        seen.answered_at, seen.status, seen.headers = self.scheduler.now, reply.status, dict(reply.headers)
        seen.answer = json.loads(reply.body)
        view = seen.answer.get("Transaction")
        if self.trace is not None:
            listed = (
                [view]
                if isinstance(view, dict) and "AmountRvs" in view
                else [one for name in SECTIONS for one in seen.answer.get(name) or ()][:MOST_TOLD]
            )
            told = [
                f"{one['ID'][:8]} {one['StateDisplay']}, {one['AmountRvs']} of {one['Amount']} reversed"
                for one in listed
            ]
            shown = f": {'; '.join(told)}" if told else ""
            self.trace(f"is answered {reply.status}/{seen.error} {seen.answer.get('ErrorMessage') or ''}{shown}")
        if seen.kind in {"pay", "sign"} and view and seen.act.label not in self.payments:
            self.payments[seen.act.label] = seen.answer["TransactionID"]
        if seen.kind in {"pay", "sign"} and view:
            seen.payment = seen.answer["TransactionID"]
        if seen.kind == "reverse" and view:
            self.reversals[seen.act.label] = view["ID"]


def name_of(seen: Seen) -> tuple[object, ...]:
    """Return what a request is the same as another by: an ID is everybody's, a key its client's."""
    facts = seen.act.facts
    named = facts.get("named", "nothing")
    whose = "" if named == "id" else seen.act.client
    return named, whose, seen.kind == "reverse", facts["id"] if named in {"id", "key"} else id(seen)


def _steps(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what says that a payment is not complete before its Deadline; nothing of one of a single step."""
    is_two_step = facts.get("is_two_step") and facts["way"] in {CARD, LINKED}
    return {"SingleStepAuthMode": False} if is_two_step else {}


def zone_of_look(act: Act) -> int:
    """Return the zone in which a look-up asks for the times of a payment."""
    return ZONE if act.number % 4 else 5


def _place(act: Act) -> str:
    """Return the address that a guess comes from."""
    return f"203.0.113.{act.number % 9 + 1}"


def _offline(days_ago: float, invoice: str | None, gmt: int) -> dict[str, Any]:
    """Return what says that a till without connection took a payment days ago. One that is taken now is not offline."""
    if not days_ago:
        return {"OfflineTran": {"OfflineMode": False, "Invoice": invoice}} if invoice else {}
    paid = MORNING - timedelta(days=days_ago) + timedelta(hours=gmt)
    facts = {"OfflineMode": True, "Paid": f"{paid:%Y-%m-%dT%H:%M:%S}", **({"Invoice": invoice} if invoice else {})}
    return {"OfflineTran": facts}


def _shown(body: Any) -> str:
    if not isinstance(body, dict):
        return ""
    basic = body.get("BasicTran") or body.get("BasicReverseTran") or {}
    return " ".join(f"{name}={value}" for name, value in basic.items())


OTHERS = {**account_acts.KINDS, **webhook_changes.KINDS, **shop_acts.KINDS, **later_receipts.KINDS}
CONTEXT: dict[str, Any] = {"Lang": "en"}
