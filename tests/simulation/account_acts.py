"""Agents that are changed in bulk, and sessions that are listed and ended: what clients want and how they ask."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from tests.simulation.scenario_script import OWNER, SIGNS, STRANGER, TILLS, Script, soon

if TYPE_CHECKING:
    from tests.simulation.actors import Person
    from tests.simulation.clients import Clients, Seen
    from tests.simulation.scenario_script import Act

ACCOUNTS, OTHERS = 0.6, 0.04  # shares of the scenarios of the theme, and of all others
SHARE_OF_LONG_DAYS = 0.2  # of the scenarios with sessions
NOBODY, MISSING_PRINTER, MISSING_STATE = "nobody@nowhere.example", 99, 7
PRINTERS, RIGHTS = (1, 2), (200, 210)  # rights that permit nothing, besides the one that every till has
STATES = {"block": 0, "unblock": 1, "unlock": 1}
NO_AGENT, NO_PRINTER, RANGE, TWICE = 563, 564, 5, 11  # the Code of a finding (contract, section 2)
MERCHANT = "/api/v1/merchant/{merchantId}"
OF_AGENT = f"{MERCHANT}/pos/{{posId}}"


@dataclass
class End:
    """A request that ends sessions of a till: those of a set, or all that it has."""

    till: str
    sessions: frozenset[str] | None
    asked_at: float
    done_at: float | None = None


@dataclass
class Bulk:
    """A change of several agents: the findings that its answer must have, by Property and Code."""

    tills: frozenset[str]
    expected: list[tuple[str, int]]
    asked: list["Seen"] = field(default_factory=list)


def add_accounts(script: Script, chance: Random) -> None:
    """Add changes in bulk, and sessions that somebody ends, to a script."""
    share = ACCOUNTS if script.theme == "accounts" else OTHERS
    if script.theme == "guesses":  # a state that changes meanwhile would hide what a guess comes to
        return
    if chance.random() < share:
        _add_bulk(script, chance)
    if chance.random() < share:
        add = _add_long_day if chance.random() < SHARE_OF_LONG_DAYS else _add_sessions
        add(script, chance)


def _add_bulk(script: Script, chance: Random) -> None:
    """Let the owner change tills in bulk, back and forth, while they use what they have."""
    at, tills = chance.uniform(20, 300), chance.sample(TILLS, chance.choice((1, 2)))
    for till in tills:
        signs = {"attempts": 1, "is_remembered": chance.random() < 0.5}
        script.add(chance, at - chance.uniform(5, 15), till, "sign in", facts=signs)
        _use(script, chance, at - chance.uniform(0, 2), till)
    for whats in ((*["block"] * 6, "printer", "rights"), (*["unblock"] * 4, "block", "rights")):
        items = [{"till": till, "what": chance.choice(whats)} for till in tills]
        items += [_an_odd_item(chance, tills[0])] if chance.random() < 0.5 else []
        chance.shuffle(items)
        script.add(chance, at, OWNER, "bulk", facts={"items": items, "signs": "key"})
        for _ in range(chance.choice((1, 2, 3))):
            _use(script, chance, at + soon(chance), chance.choice(tills))
        at += chance.choice((3.0, 30.0, soon(chance)))
    for till in tills:
        script.add(chance, at + chance.uniform(30, 90), till, "use", facts={"session": -1, "is_secret": False})


def _an_odd_item(chance: Random, till: str) -> dict[str, Any]:
    """Return an item that changes nothing: of another merchant's agent or nobody, twice, or with a wrong field."""
    other = TILLS[till == TILLS[0]]
    odd = ((None, ""), (STRANGER, ""), (till, ""), (other, "printer"), (other, "state"))
    name, fault = chance.choice(odd)
    return {"till": name, "what": "block", "fault": fault}


def _use(script: Script, chance: Random, at: float, till: str) -> None:
    if chance.random() < 0.6:
        facts = {"session": chance.choice((0, 0, 1, 2)), "is_secret": chance.random() < 0.3}
        script.add(chance, at, till, "use", facts=facts)
    else:
        script.add(chance, at, till, "account", facts={"signs": chance.choice(SIGNS)})


def _add_sessions(script: Script, chance: Random) -> None:
    """Let a till have several sessions, and it or its owner end some of them."""
    till, at = chance.choice(TILLS), chance.uniform(20, 300)
    for _ in range(chance.choice((2, 3))):
        signs = {"attempts": 1, "is_remembered": chance.random() < 0.7}
        script.add(chance, at - chance.uniform(3, 20), till, "sign in", facts=signs)
    for _ in range(chance.choice((1, 2, 2))):
        if chance.random() < 0.4:
            script.add(chance, at, till, "sign out", facts={"session": chance.choice((0, 1, 2)), "attempts": 1})
        else:
            facts: dict[str, Any] = {"of": till, "which": chance.choice(("all", "one", "one", "some")), "signs": "key"}
            script.add(chance, at, OWNER, "end sessions", facts=facts)
        for _ in range(chance.choice((2, 3, 4))):
            _use(script, chance, at + soon(chance), till)
        for later in (soon(chance), chance.uniform(3, 60)):
            script.add(chance, at + later, OWNER, "sessions", facts={"of": till, "signs": "key"})
        at += soon(chance)


def _add_long_day(script: Script, chance: Random) -> None:
    """Let a till use one session for more than twelve hours, and never leave it unused for half an hour."""
    till, at = chance.choice(TILLS), chance.uniform(1000, 2000)
    script.add(chance, at, till, "sign in", facts={"attempts": 1})
    for number in range(1, 30):
        facts = {"session": -1, "is_secret": False}
        script.add(chance, at + number * 26 * 60 + chance.uniform(0, 30), till, "use", facts=facts)


# How clients ask


def change_in_bulk(clients: "Clients", act: "Act", person: "Person") -> None:
    """Change several agents in one request."""
    body, expected, changes = [], list[tuple[str, int]](), []
    for number, item in enumerate(act.facts["items"]):
        till = clients.people.by_name.get(item["till"])
        sent, value = _item(item, till.email if till else NOBODY, person.merchant_id)
        body.append(sent)
        before = [one["Email"] for one in body[:-1]]
        findings = _findings(number, item, sent["Email"], is_twice=sent["Email"] in before)
        expected += findings
        if not findings:
            changes.append((sent["Email"], clients.begin_change(item["till"], item["what"], value)))
    bulk = Bulk(frozenset(item["till"] for item in act.facts["items"] if item["till"] in TILLS), expected)
    clients.bulks.append(bulk)
    path = f"{MERCHANT}/pos/updatebulk"
    seen = clients.repeatedly(act, person, "POST", path, {"PosBulk": body}, merchantId=person.merchant_id)
    bulk.asked += [one for one in clients.seen if one.act is act]
    if seen is None or seen.status != 200:
        return
    refused = {one["Property"] for one in seen.answer["Validations"] or ()}
    for email, change in changes:
        if email not in refused:
            clients.end_change(change, act)


def _item(item: Mapping[str, Any], email: str, merchant_id: int) -> tuple[dict[str, Any], str]:
    """Return an item as it is sent, and the value that its field has afterwards."""
    what, fault = item["what"], item.get("fault")
    sent: dict[str, Any] = {"Email": email}
    value = ""
    if what in STATES:
        sent["State"] = STATES[what]
    elif what == "printer":
        number = PRINTERS[len(email) % 2]
        sent["PrinterAndTaxSettings"], value = {"PrinterID": number}, str(number)
    else:
        rights = [301, RIGHTS[len(email) % 2]]
        sent["BranchesActions"], value = [{"BranchID": merchant_id, "Actions": rights}], str(sorted(rights))
    if fault == "printer":
        sent["PrinterAndTaxSettings"] = {"PrinterID": MISSING_PRINTER}
    if fault == "state":
        sent["State"] = MISSING_STATE
    return sent, value


def _findings(number: int, item: Mapping[str, Any], email: str, *, is_twice: bool) -> list[tuple[str, int]]:
    """Return the findings about an item (contract, section 6)."""
    found = [] if item["till"] in TILLS else [(email, NO_AGENT)]
    found += [(email, TWICE)] if is_twice else []
    found += [(f"PosBulk[{number}].State", RANGE)] if item.get("fault") == "state" else []
    found += [(str(MISSING_PRINTER), NO_PRINTER)] if item.get("fault") == "printer" else []
    return found


def use_session(clients: "Clients", act: "Act", person: "Person") -> None:
    """Ask who one is, by a session that was opened before."""
    if session := clients.session_of(person, act):
        header = person.by_session(session, is_secret=act.facts["is_secret"])
        clients.once(act, "GET", "/api/v1/user/me", header, None, secret=session)


def sign_out(clients: "Clients", act: "Act", person: "Person") -> None:
    """End the session that one uses."""
    if session := clients.session_of(person, act):
        end = End(person.name, frozenset((session,)), clients.scheduler.now)
        clients.ends.append(end)
        header = person.by_session(session, is_secret=act.number % 3 == 0)
        seen = clients.once(act, "POST", "/api/v1/user/logout/session", header, None, secret=session)
        end.done_at = clients.scheduler.now if seen.status == 200 else None


def list_sessions(clients: "Clients", act: "Act", person: "Person") -> "Seen | None":
    """Look at a till, with its sessions."""
    till = clients.people.by_name[act.facts["of"]]
    return clients.repeatedly(act, person, "GET", OF_AGENT, None, merchantId=till.merchant_id, posId=till.id)


def end_sessions(clients: "Clients", act: "Act", person: "Person") -> None:
    """End all sessions of a till, or some that a list shows."""
    till, wanted = clients.people.by_name[act.facts["of"]], act.facts["which"]
    listed: Any = True
    sessions = None
    if wanted != "all":
        seen = list_sessions(clients, act, person)
        rows = (seen.answer["Pos"]["Sessions"] if seen and seen.status == 200 else None) or []
        rows = rows[:1] if wanted == "one" else rows[:2]
        if not rows:
            return
        devices = {row["Device"] for row in rows}
        listed = [row["ID"] for row in rows]
        sessions = frozenset(one for one, opened in clients.sessions.items() if device_of(opened.act) in devices)
    end = End(till.name, sessions, clients.scheduler.now)
    clients.ends.append(end)
    body = {"Lang": "en", "ID": till.id, "EndSessions": listed}
    path = f"{OF_AGENT}/update"
    seen = clients.repeatedly(act, person, "POST", path, body, merchantId=till.merchant_id, posId=till.id)
    end.done_at = clients.scheduler.now if seen and seen.status == 200 else None


def list_agents(clients: "Clients", act: "Act", person: "Person") -> None:
    """List the agents of the merchant, page by page."""
    pages = page = 1
    while page <= pages:
        body = {"Lang": "en", "Page": page}
        seen = clients.repeatedly(act, person, "POST", f"{MERCHANT}/pos/list", body, merchantId=person.merchant_id)
        pages = seen.answer["PosCounters"]["PageCount"] if seen and seen.status == 200 else 0
        page += 1


def device_of(act: "Act") -> str:
    """Return the device at which a till signs in, by the header of its browser."""
    return f"the till of act {act.number}"


KINDS: Mapping[str, Callable[["Clients", "Act", "Person"], Any]] = {
    "bulk": change_in_bulk,
    "use": use_session,
    "sign out": sign_out,
    "sessions": list_sessions,
    "end sessions": end_sessions,
    "agents": list_agents,
}
