"""Receipts that are sent later: who asks for them, how often and under which key, and the invariants."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from infra.stack.resources import STACK
from tests.simulation.erasure_acts import RECEIPTS
from tests.simulation.scenario_script import OWNER, STRANGER, TILLS, TRAINEE, Script, soon

if TYPE_CHECKING:
    from tests.simulation.actors import Person
    from tests.simulation.clients import Clients, Seen
    from tests.simulation.scenario import Scenario
    from tests.simulation.scenario_script import Act

SHARE, OFTEN = 0.12, 0.5  # of the scenarios in which somebody pays; of those with an erasure
SHARE_OF_CROWDS, SHARE_OF_SPENT, SHARE_OF_REPEATS = 0.35, 0.25, 0.4
PER_ADDRESS, PER_AGENT = 10, 500  # messages of a day (contract, section 7)
LATER = "/api/v1/payment/receipt/{tranId}"
PHONE = "+27829876543"
WISHES: Mapping[str, dict[str, Any]] = {  # what a request names
    "email": {"Email": "ann@home.example"},
    "another": {"Emails": ["bob@home.example"], "Lang": "af"},
    "two": {"Emails": ["ann@home.example", "bob@home.example"]},
    "local": {"Phone": "082 987 6543", "Email": "ann@home.example"},  # a number of the merchant's country
    "nobody": {},
    **{name: {"Emails": [one for one in to if "@" in one]} for name, to in RECEIPTS.items()},
    "eve by phone": {"Phones": [one for one in RECEIPTS["eve in two ways"] if "@" not in one]},
}
REUSED, UNFINISHED, INVALID, NOT_THERE, IN_PROGRESS = 302, 309, 202, 568, 301
ELSEWHERE = frozenset(range(101, 109))  # the caller is refused first
MOVED = frozenset({"approved", "owed", "given_back"})  # phases with a receipt


class Message(NamedTuple):
    """A message as it was stored: when, whose transaction's, and to whom."""

    at: float
    transaction: str
    occasion: str  # "": with the transaction; "signed": with its signature; else a receipt that was sent later
    to: tuple[str, ...]
    day: str  # in UTC

    @property
    def is_later(self) -> bool:
        """Whether a request of its own asked for it."""
        return self.occasion not in {"", "signed"}


def message_of(item: Mapping[str, Any], at: float) -> Message:
    """Return a message from its item."""
    transaction, _, rest = item["id"]["S"].partition(".")
    occasion, _, _ = rest.rpartition(".")
    return Message(at, transaction, occasion, tuple(one["S"] for one in item["to"]["L"]), item["created_at"]["S"][:10])


def add_receipts(script: Script, chance: Random) -> None:
    """Let tills and the owner send receipts later: once, again under the same key, and more than an address may get."""
    acts = script.every()
    paid = sorted({act.label: act.at for act in acts if act.kind == "pay"}.items())
    is_erased = any(act.kind == "erase" for act in acts)
    is_closed = any(act.kind == "close" for act in acts)
    if not paid or is_closed or chance.random() >= (OFTEN if is_erased else SHARE):
        return
    wishes = ["eve by phone", *RECEIPTS] if is_erased else ["email", "email", "another", "two", "local"]
    if chance.random() < SHARE_OF_SPENT:
        script.add(chance, 0, "operator", "spend", facts={"of": chance.choice(TILLS), "left": chance.choice((0, 1, 3))})
    for number in range(chance.choice((1, 2, 3))):
        label, at = chance.choice(paid)
        client = chance.choice((*TILLS, *TILLS, OWNER, STRANGER, TRAINEE))
        facts = {
            "to": chance.choice((*wishes, *wishes, "nobody")),
            "is_of_reversal": chance.random() < 0.2,
            "key": chance.choice((None, f"receipt {number}", f"receipt {number}")),
        }
        at += chance.choice((soon(chance), soon(chance), chance.uniform(400, 900)))
        script.add(chance, at, client, "receipt", label, facts)
        while chance.random() < SHARE_OF_REPEATS:
            other = {"client": chance.choice((*TILLS, OWNER))} if chance.random() < 0.3 else {}
            changed = {"to": chance.choice(wishes)} if chance.random() < 0.3 else {}
            script.add(chance, at + soon(chance), other.get("client", client), "receipt", label, {**facts, **changed})
    if chance.random() < SHARE_OF_CROWDS:
        _add_crowd(script, chance, *chance.choice(paid), chance.choice(wishes))


def _add_crowd(script: Script, chance: Random, label: str, at: float, wish: str) -> None:
    """Let many ask for the same receipt, in the same moment or in turn."""
    at += chance.choice((5.0, 60.0))
    apart = chance.choice((0.0, 0.02, 3.0))
    for number in range(chance.choice((5, 9, 12))):
        key = {"key": chance.choice((None, f"crowd {number}")), "attempts": 1}
        script.add(chance, at + number * apart, chance.choice(TILLS), "receipt", label, {"to": wish, **key})


def send_receipt(clients: "Clients", act: "Act", person: "Person") -> None:
    """Send the receipt of a payment, or of its last reversal."""
    known = clients.reversals if act.facts.get("is_of_reversal") else clients.payments
    if transaction := known.get(act.label):
        body = WISHES[act.facts["to"]]
        clients.repeatedly(act, person, "POST", LATER, body, tranId=transaction, key=act.facts["key"])


KINDS: Mapping[str, Callable[["Clients", "Act", "Person"], None]] = {"receipt": send_receipt}


def addresses_of(seen: "Seen") -> dict[str, str]:
    """Return the addresses of a request by their paths."""
    found = {}
    for name, value in (seen.body or {}).items():
        if name in {"Email", "Phone"}:
            found[name] = PHONE if name == "Phone" else value
        elif name in {"Emails", "Phones"}:
            found |= {f"{name}[{number}]": one for number, one in enumerate(value)}
    return found


def later_to(scenario: "Scenario", address: str, before: float = math.inf) -> dict[str, Message]:
    """Return the messages with receipts that were sent to an address later, stored before a time."""
    return {
        name: message
        for name, message in scenario.messages.items()
        if message.is_later and address in message.to and message.at < before
    }


def _asked(scenario: "Scenario") -> list["Seen"]:
    return [seen for seen in scenario.clients.seen if seen.kind == "receipt"]


def _withheld(seen: "Seen") -> set[str]:
    """Return the addresses that get no message, as the answer says."""
    paths = {item["Property"] for item in seen.answer.get("Validations") or ()}
    return {address for path, address in addresses_of(seen).items() if path in paths}


def _content(seen: "Seen") -> tuple[str | None, frozenset[str]]:
    return seen.about, frozenset(addresses_of(seen).values())


def _wish(seen: "Seen") -> tuple[object, ...]:
    """Return what equal requests have in common: a key is its client's. Without one, each is another wish."""
    key = seen.act.facts["key"]
    return (seen.act.client, key) if key else (id(seen),)


def later_receipts_are_sent_once(scenario: "Scenario") -> Iterator[str]:
    """A receipt later goes to each address of its request: once for each key, and to nobody else."""
    sent: Counter[tuple[str | None, str]] = Counter()
    for message in scenario.messages.values():
        if message.is_later:
            sent.update((message.transaction, address) for address in message.to)
    least: Counter[tuple[str | None, str]] = Counter()
    most: Counter[tuple[str | None, str]] = Counter()
    wishes: defaultdict[tuple[object, ...], list[Seen]] = defaultdict(list)
    for seen in _asked(scenario):
        wishes[_wish(seen)].append(seen)
    for asked in wishes.values():
        done = [seen for seen in asked if seen.status == 200]
        for seen in done[:1]:
            told = set(addresses_of(seen).values()) - _withheld(seen)
            least.update((seen.about, address) for address in told)
            most.update((seen.about, address) for address in told)
        for about, addresses in {_content(seen) for seen in asked if not seen.status or seen.status >= 500}:
            if not done:
                most.update((about, address) for address in addresses)
    for key in sent | least:
        if not least[key] <= sent[key] <= most[key]:
            yield f"{sent[key]} receipts of {key[0]} went to {key[1]} later, asked for were {least[key]} to {most[key]}"


def later_receipts_are_answered_rightly(scenario: "Scenario") -> Iterator[str]:
    """A receipt later is refused without an address, while no money moved, and under a key with another content."""
    stored = {item["id"]["S"]: item for item in scenario.store.items(f"{STACK}-transactions")}
    for seen in _asked(scenario):
        if not seen.status or seen.status >= 500 or seen.error in ELSEWHERE:
            continue
        item: Mapping[str, Any] = stored.get(seen.about or "", {})
        phase = item.get("phase", {}).get("S")
        is_own = item.get("client_id") == {"N": str(scenario.clients.people.by_name[seen.act.client].merchant_id)}
        since = scenario.decided.get(seen.about or "", scenario.begun.get(seen.about or "", math.inf))
        same = [one for one in _asked(scenario) if one is not seen and _wish(one) == _wish(seen)]
        others = [one for one in same if _content(one) != _content(seen)]
        may = {0} if is_own and phase in MOVED and addresses_of(seen) else set()
        may |= {INVALID} if not addresses_of(seen) else set()
        may |= {UNFINISHED} if phase not in MOVED or since > seen.asked_at else set()
        may |= {IN_PROGRESS} if same else set()
        may |= {REUSED} if any(one.asked_at <= (seen.answered_at or 0) for one in others) else set()
        may |= {NOT_THERE} if not is_own or scenario.begun.get(seen.about or "", math.inf) > seen.asked_at else set()
        if seen.error not in may and seen.act.client not in {STRANGER, TRAINEE}:
            yield f"{seen.act.name} was answered {seen.status}/{seen.error} about {seen.about}, which is {phase}"
        if seen.status == 200 and any(one.status == 200 for one in others):
            yield f"{seen.act.name} used a key for another content, and was answered as done"
        if "Idempotent-Replayed" in seen.headers and not same:
            yield f"{seen.act.name} was told that its own request is a repeated one"


def messages_have_limits(scenario: "Scenario") -> Iterator[str]:
    """An address gets at most ten messages a day, an agent sends at most 500. No message is withheld before that."""
    got = Counter((message.day, address) for message in scenario.messages.values() for address in message.to)
    for (day, address), number in got.items():
        if number > PER_ADDRESS:
            yield f"{address} got {number} messages on {day}"
    left = {act.facts["of"] for act in scenario.acts if act.kind == "spend"}
    sent: Counter[str] = Counter()
    for seen in _asked(scenario):
        if seen.status != 200:
            continue
        if "Idempotent-Replayed" not in seen.headers:
            sent[seen.act.client] += len(set(addresses_of(seen).values()) - _withheld(seen))
        for address in _withheld(seen) if seen.act.client not in left else ():
            before = [one for one in scenario.clients.seen if one.asked_at <= (seen.answered_at or 0)]
            if sum(_names(one, address) for one in before) < PER_ADDRESS:
                yield f"{seen.act.name} may send nothing to {address}, which many asked for"
    for client, most in scenario.left.items():
        if sent[client] > most:
            yield f"{client} sent {sent[client]} receipts later, and had {most} messages left"


def _names(seen: "Seen", address: str) -> bool:
    """Return whether a request names an address for a receipt."""
    if seen.kind == "receipt":
        return address in addresses_of(seen).values()
    return isinstance(seen.body, dict) and address in str(seen.body.get("Receipt"))


RULES = (later_receipts_are_sent_once, later_receipts_are_answered_rightly, messages_have_limits)
