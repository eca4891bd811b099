"""The clients of a simulated life: what they ask for, how they repeat it, and what they have seen."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from infra.deployed.requests import Reply
from tests.simulation.gateway import Gateway, a_request
from tests.simulation.people import People, Person
from tests.simulation.scheduler import Scheduler
from tests.simulation.script import AT_HOST, CASH, Act

API = "/api/v1"
PAN = "4111111111111111"
REPEATED = frozenset({429, 500, 502, 503, 504})
IN_PROGRESS = 301
LAST = 9000  # the number of the act that comes last
ADDRESSES = {"email": {"Email": "ann@home.example"}, "both": {"Email": "ann@home.example", "Phone": "+27829876543"}}


@dataclass
class Seen:
    """One request, and what came of it: the times are those of the client."""

    act: Act
    asked_at: float
    kind: str
    payment: str | None  # the ID of the payment it is about, if the client knows it
    header: str
    body: Any = None
    answered_at: float | None = None
    status: int = 0
    answer: dict[str, Any] = field(default_factory=dict)

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


@dataclass
class Clients:
    """Everybody who asks, and everything that was answered."""

    scheduler: Scheduler
    gateway: Gateway
    people: People
    trace: Callable[[str], None] | None = None
    seen: list[Seen] = field(default_factory=list)
    payments: dict[str, str] = field(default_factory=dict)  # the IDs by their labels
    changes: list[Change] = field(default_factory=list)
    sessions: dict[str, Seen] = field(default_factory=dict)  # by their IDs, what opened them
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
            "change": self._change,
            "account": self._account,
            "guess": self._guess,
            "sign in": self._sign_in,
        }
        kinds[act.kind](act, person)

    def last_acts(self) -> list[Act]:
        """Return what is asked at the end: every payment, and the lists of the day."""
        facts = {"patience": 40.0, "attempts": 3, "pauses": [1.0] * 4, "signs": "key", "days": False}
        return [Act(LAST, 0, "owner", "list", facts=facts)]

    def _pay(self, act: Act, person: Person) -> None:
        facts = act.facts
        body: dict[str, Any] = {
            "BasicTran": {"CurrencyID": "ZAR", "Amount": f"{facts['amount'] / 100:.2f}", "InputType": 10},
            "GMT": 2,
        }
        if facts["way"] == CASH:
            body["AcqTran"] = {"AcquirerCode": "CASH"}
        else:
            body["BasicTran"]["InputType"] = 1
            body["AcqTran"] = {"AcquirerCode": "ISO8583" if facts["way"] == AT_HOST else "SANDBOX"}
            body["Card"] = {"CardInputMode": 1, "CardDataInput": {"PAN": PAN, "EXP": "1230", "CVV2": "123"}}
        if facts["ext_id"]:
            body["BasicTran"]["ExtID"] = facts["ext_id"]
        if facts["receipt"]:
            body["Receipt"] = ADDRESSES[facts["receipt"]]
        key = None
        if facts["named"] == "id":
            body["BasicTran"]["ID"] = facts["id"]
            self.payments.setdefault(act.label, facts["id"])
        elif facts["named"] == "key":
            key = facts["id"]
        attempts = 1 if facts["named"] == "nothing" else facts["attempts"]
        self._repeatedly(act, person, "POST", f"{API}/payment/submit", body, attempts=attempts, key=key)

    def _reverse(self, act: Act, person: Person) -> None:
        facts, payment = act.facts, self.payments.get(act.label)
        if payment is None:
            return
        is_cash = facts["way"] == CASH
        modes = {("cancel", True): 1, ("return", True): 2, ("cancel", False): 3, ("return", False): 5}
        basic: dict[str, Any] = {"TransactionID": payment, "ReverseMode": modes[facts["mode"], is_cash]}
        if facts.get("amount") is not None and facts["mode"] == "return":
            basic |= {"Amount": f"{facts['amount'] / 100:.2f}", "PartialReverse": True}
        named, key = facts.get("named", "nothing"), None
        if named == "id":
            basic["ID"] = facts["id"]
        elif named == "key":
            key = facts["id"]
        elif named == "time":
            basic["ClientDateTime"] = f"2026-03-14T09:{act.number % 60:02d}:00"
        path = "reverse" if is_cash else "reversecnp"
        self._repeatedly(act, person, "POST", f"{API}/payment/{path}", {"BasicReverseTran": basic}, key=key)

    def _look(self, act: Act, person: Person) -> None:
        if payment := self.payments.get(act.label):
            self._repeatedly(act, person, "GET", f"{API}/payment/{{tranId}}", None, tranId=payment)

    def _status(self, act: Act, person: Person) -> None:
        if payment := self.payments.get(act.label):
            self._repeatedly(act, person, "GET", f"{API}/payment/statusPublic/{{tranId}}", None, tranId=payment)

    def _list(self, act: Act, person: Person) -> None:
        path = "listByDaysEx" if act.facts["days"] else "listHistoryEx"
        self._repeatedly(act, person, "POST", f"{API}/payment/{path}", {"ListBasicModel": {"Page": 1}})

    def _account(self, act: Act, person: Person) -> None:
        self._repeatedly(
            act, person, "POST", f"{API}/payment/listHistoryEx", {"ListBasicModel": {"Page": 1}}, attempts=1
        )

    def _guess(self, act: Act, person: Person) -> None:
        body = {"Email": person.email, "Password": "not the password"}
        self._once(act, "POST", f"{API}/user/login/session", "", body)

    def _sign_in(self, act: Act, person: Person) -> None:
        body = {"Email": person.email, "Password": person.password}
        seen = self._once(act, "POST", f"{API}/user/login/session", "", body)
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
        }
        before = {"password": till.password, "key": till.key}.get(what, "")
        change = Change(till.name, what, value, before, self.scheduler.now)
        self.changes.append(change)
        path = f"{API}/merchant/{{merchantId}}/pos/{{posId}}/update"
        body = {**CONTEXT, "ID": till.id, **possible[what]}
        seen = self._repeatedly(act, person, "POST", path, body, merchantId=till.merchant_id, posId=till.id)
        if seen is None or seen.status != 200:
            return
        change.done_at = self.scheduler.now
        if what == "password":
            till.old_password, till.password = till.password, value
        if what == "key":
            till.old_key, till.key = till.key, value

    def _repeatedly(self, act: Act, person: Person, method: str, resource: str, body: Any, **more: Any) -> Seen | None:
        """Ask until there is an answer that means something, as often as this client asks."""
        seen = None
        for number in range(more.pop("attempts", act.facts["attempts"])):
            header = person.header(act.facts["signs"])
            seen = self._once(act, method, resource, header, body, **more)
            if seen.status and seen.status not in REPEATED and seen.error != IN_PROGRESS:
                break
            self.scheduler.pause(act.facts["pauses"][number])
        return seen

    def _once(self, act: Act, method: str, resource: str, header: str, body: Any, **more: Any) -> Seen:
        request, match = a_request(method, resource, header, body, self._name_of(act), **more)
        seen = Seen(act, self.scheduler.now, act.kind, self.payments.get(act.label), header, body)
        self.seen.append(seen)
        if self.trace is not None:
            self.trace(
                f"asks {method} {request.path} {_shown(body)}{' key ' + more['key'][:8] if more.get('key') else ''}"
            )
        reply = self.gateway.ask(request, match, act.facts["patience"])
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
        seen.answered_at, seen.status = self.scheduler.now, reply.status
        seen.answer = json.loads(reply.body)
        view = seen.answer.get("Transaction")
        if self.trace is not None:
            shown = f": {view['StateDisplay']}, {view['AmountRvs']} of {view['Amount']} reversed" if view else ""
            self.trace(f"is answered {reply.status}/{seen.error} {seen.answer.get('ErrorMessage') or ''}{shown}")
        if seen.kind == "pay" and view and seen.act.label not in self.payments:
            self.payments[seen.act.label] = seen.answer["TransactionID"]
        if seen.kind == "pay" and view:
            seen.payment = seen.answer["TransactionID"]


def _shown(body: Any) -> str:
    if not isinstance(body, dict):
        return ""
    basic = body.get("BasicTran") or body.get("BasicReverseTran") or {}
    return " ".join(f"{name}={value}" for name, value in basic.items())


CONTEXT: dict[str, Any] = {"Lang": "en"}
