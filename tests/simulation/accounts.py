"""The invariants of accounts that are changed in bulk, and of sessions that are listed and ended."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from tests.simulation.account_acts import STATES, End, device_of
from tests.simulation.actors import ZONE
from tests.simulation.clients import LAST_AGENTS, Change, Seen
from tests.simulation.scenario import TOWN, Scenario
from tests.simulation.scenario_script import OWNER, TILLS

BEHIND = 2.1  # seconds until an index sees a write
ORDINARY, REMEMBERED = (12 * 3600.0, 30 * 60.0), (180 * 86400.0, 30 * 86400.0)  # a session's age, and without use
AROUND, AROUND_USE, AROUND_REMEMBERED = 4.0, 150.0, 800.0  # seconds: two clocks; a use is noted once a while
SESSION_EXPIRED = 105
AS_MADE = {"State": "1", "printer": "None", "rights": "[301]"}  # of each till, before a scenario begins


def lifetime_of(opened: Seen) -> tuple[float, float]:
    """Return how long a session lasts at the most, and without use."""
    return REMEMBERED if opened.act.facts.get("is_remembered") else ORDINARY


def may_have_ended(scenario: Scenario, session: str, at: float) -> bool:
    """Return whether somebody asked by then for what ends a session."""
    till = scenario.clients.sessions[session].act.client
    ends = [one for one in scenario.clients.ends if one.till == till and session in (one.sessions or {session})]
    changes = [one for one in scenario.clients.changes if one.till == till]
    return any(asked_at <= at for asked_at in [one.asked_at for one in ends] + [one.asked_at for one in changes])


def bulk_answers_name_the_faults(scenario: Scenario) -> Iterator[str]:
    """A change in bulk is answered with the findings about the wrong items, and no others."""
    moved = {change.till for change in scenario.clients.changes if change.what == "email"}
    for bulk in scenario.clients.bulks:
        for seen in bulk.asked:
            if seen.status != 200 or bulk.tills & moved:
                continue
            found = [(one["Property"], one["Code"]) for one in seen.answer["Validations"] or ()]
            if sorted(found) != sorted(bulk.expected):
                yield f"{seen.act.name} was answered {found}, and should be {bulk.expected}"


def agents_are_as_changed(scenario: Scenario) -> Iterator[str]:
    """In the end each till has the state, printer and rights of the last change, whether by one request or in bulk."""
    pages = [seen for seen in scenario.clients.seen if seen.act.number == LAST_AGENTS]
    for seen in pages:
        if seen.status != 200:
            yield f"the last list of agents was answered {seen.status}/{seen.error}"
    rows = {row["ID"]: row for seen in pages for row in seen.answer.get("PosList") or ()}
    for till in TILLS if pages else ():
        row = rows[TOWN.people.by_name[till].id]
        shown = {
            "State": str(row["State"]),
            "printer": str(row["PrinterAndTaxSettings"]["PrinterID"]),
            "rights": str(row["Rights"]),
        }
        for what, value in shown.items():
            possible = _last_values(scenario, till, what)
            if value not in possible:
                yield f"{till} has {what} {value}, and by the changes {possible}"


def _last_values(scenario: Scenario, till: str, what: str) -> set[str]:
    """Return the values that a field may have after all changes, several if some came at once or got no answer."""
    changes = [
        (str(STATES[one.what]) if one.what in STATES else one.value, one)
        for one in (*scenario.clients.changes, *scenario.clients.settings)
        if one.till == till and (one.what == what or (what == "State" and one.what in STATES))
    ]
    done = [one for _, one in changes if one.done_at is not None]
    values = {value for value, one in changes if not any(_is_over(one, other) for other in done)}
    return values if done else values | {AS_MADE[what]}


def _is_over(one: Change, other: Change) -> bool:
    """Return whether a change was done, and no request for it on its way, before the other one began."""
    return one.is_settled and one.done_at is not None and one.done_at < other.asked_at


def ended_sessions_admit_nobody(scenario: Scenario) -> Iterator[str]:
    """A session that somebody ended admits nobody."""
    for seen in scenario.clients.seen:
        opened = scenario.clients.sessions.get(seen.secret)
        if opened is None or seen.status != 200 or seen.kind == "status":
            continue
        for end in _ends_of(scenario, seen.secret):
            if end.done_at is not None and end.done_at < seen.asked_at:
                yield f"{seen.act.name} got in with a session that was ended at {end.done_at:.1f} s"


def _ends_of(scenario: Scenario, session: str) -> list[End]:
    """Return the requests that surely end a session, once they are done."""
    opened = scenario.clients.sessions[session]
    return [
        one
        for one in scenario.clients.ends
        if one.till == opened.act.client
        and (session in one.sessions if one.sessions is not None else (opened.answered_at or 0) < one.asked_at)
    ]


def sessions_end_by_themselves(scenario: Scenario) -> Iterator[str]:
    """A session ends after half an hour without use and after twelve hours, a remembered one later, and not before."""
    uses: dict[str, list[Seen]] = {}
    for seen in scenario.clients.seen:
        opened = scenario.clients.sessions.get(seen.secret)
        if opened is None:
            continue
        age, idle = lifetime_of(opened)
        before = uses.setdefault(seen.secret, [opened])
        last = max(one.asked_at if one is not opened else one.answered_at or 0 for one in before)
        end = min(last + idle + AROUND_USE, (opened.answered_at or 0) + age + AROUND_USE)
        if seen.status == 200 and seen.asked_at > end:
            yield f"{seen.act.name} got in with a session that ended by itself at {end:.0f} s"
        done = max(one.asked_at for one in before if one.status == 200)
        is_alive = (seen.answered_at or 0) < min(done + idle - AROUND_USE, opened.asked_at + age - AROUND_USE)
        if (
            seen.error == SESSION_EXPIRED
            and is_alive
            and not may_have_ended(scenario, seen.secret, seen.answered_at or 0)
        ):
            yield f"{seen.act.name} was not let in with a session that was used at {done:.0f} s"
        before.append(seen)


def sessions_are_listed(scenario: Scenario) -> Iterator[str]:
    """A till shows each remembered session that lives, and none that was ended."""
    for seen in scenario.clients.seen:
        if seen.kind not in {"sessions", "end sessions"} or seen.status != 200 or "EndSessions" in (seen.body or ()):
            continue
        till = seen.act.facts["of"]
        own = {
            device_of(opened.act): session
            for session, opened in scenario.clients.sessions.items()
            if opened.act.client == till and opened.act.facts.get("is_remembered")
        }
        asked = {
            device_of(one.act) for one in scenario.clients.seen if one.kind == "sign in" and one.act.client == till
        }
        shown = Counter(row["Device"] for row in seen.answer["Pos"]["Sessions"])
        for device, number in shown.items():
            if number > 1 or device not in asked:
                yield f"{seen.act.name} was shown {device} {number} times"
        for device, session in own.items():
            if device not in shown and _must_be_listed(scenario, session, seen):
                yield f"{seen.act.name} was not shown {device}, which is signed in"
            if device in shown and _may_not_be_listed(scenario, session, seen):
                yield f"{seen.act.name} was shown {device}, whose session was ended"


def _must_be_listed(scenario: Scenario, session: str, seen: Seen) -> bool:
    opened = scenario.clients.sessions[session]
    is_early = (opened.answered_at or 0) + BEHIND < seen.asked_at
    return is_early and not may_have_ended(scenario, session, seen.answered_at or 0)


def _may_not_be_listed(scenario: Scenario, session: str, seen: Seen) -> bool:
    opened = scenario.clients.sessions[session]
    by_changes = [
        one.done_at
        for one in scenario.clients.changes
        if one.till == opened.act.client
        and one.what in {"password", "key", "block"}
        and (opened.answered_at or 0) < one.asked_at
    ]
    done = [one.done_at for one in _ends_of(scenario, session)] + by_changes
    return any(at is not None and at + BEHIND < seen.asked_at for at in done)


def callers_are_told_who_they_are(scenario: Scenario) -> Iterator[str]:
    """A session tells its own agent, and the time at which it ends without further use."""
    for seen in scenario.clients.seen:
        opened = scenario.clients.sessions.get(seen.secret)
        if seen.kind != "use" or seen.status != 200 or opened is None:
            continue
        data: dict[str, Any] = seen.answer["Data"]
        if data["AgentID"] != TOWN.people.by_name[seen.act.client].id:
            yield f"{seen.act.name} was told that it is {data['AgentID']}"
        ends = datetime.fromisoformat(f"{data['ExpiresAt']}+00:00") - timedelta(hours=ZONE) - scenario.began
        age, idle = lifetime_of(opened)
        around = AROUND_REMEMBERED if opened.act.facts.get("is_remembered") else AROUND_USE
        first = min(opened.asked_at + age - AROUND, seen.asked_at + idle - around)
        last = min((opened.answered_at or 0) + age, (seen.answered_at or 0) + idle) + AROUND
        if not first <= ends.total_seconds() <= last:
            yield f"{seen.act.name} was told that its session ends at {ends.total_seconds():.0f} s"


def keys_are_shown_to_owners(scenario: Scenario) -> Iterator[str]:
    """Only an owner that looks at a till is shown a key: that of the till."""
    for seen in scenario.clients.seen:
        rows = [seen.answer["Pos"]] if seen.answer.get("Pos") else seen.answer.get("PosList") or ()
        for row in rows:
            if row["SecretKey"] is not None and row["SecretKey"] not in _keys_to_show(scenario, seen):
                yield f"{seen.act.name} was shown a key"


def _keys_to_show(scenario: Scenario, seen: Seen) -> set[str]:
    if seen.act.client != OWNER or seen.kind not in {"sessions", "end sessions"} or seen.body:
        return set()
    name = seen.act.facts["of"]
    changed = {one.value for one in scenario.clients.changes if (one.till, one.what) == (name, "key")}
    return changed | {TOWN.people.by_name[name].key}


RULES = (
    bulk_answers_name_the_faults,
    agents_are_as_changed,
    ended_sessions_admit_nobody,
    sessions_are_listed,
    callers_are_told_who_they_are,
    keys_are_shown_to_owners,
)
