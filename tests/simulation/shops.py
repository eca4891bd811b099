"""The invariants of the price list and of drawers."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import combinations
from typing import Any

from tests.simulation import oracle
from tests.simulation.clients import TENDERS, Seen
from tests.simulation.payments import minor
from tests.simulation.scenario import TOWN, Scenario
from tests.simulation.scenario_script import CASH, OWNER
from tests.simulation.shop_acts import item_of, note_of, taxes_of

CHANGED = 314  # an ErrorCode
FOREVER = 10.0**8  # seconds: an act that was never answered
IN_CASH = TENDERS[CASH]


def price_lists_are_replaced_once(scenario: Scenario) -> Iterator[str]:
    """Of two changes of one version of the price list one wins. No version is skipped, and the last one stays."""
    changes = [seen for seen in scenario.clients.seen if seen.kind == "prices" and seen.body]
    winners: defaultdict[int, set[int]] = defaultdict(set)
    for seen in changes:
        version = seen.body["Version"]
        if seen.status == 200:
            winners[version].add(seen.act.number)
            shown = seen.answer["PriceList"]
            if shown["Version"] != version + 1 or not _is_of(shown, seen):
                yield f"{seen.act.name} replaced version {version}, and was answered {shown['Version']}"
        until = seen.answered_at or 0
        rivals = [
            one for one in changes if one is not seen and one.body["Version"] >= version and one.asked_at <= until
        ]
        if seen.error == CHANGED and not rivals:
            yield f"{seen.act.name} was told that version {version} has changed"
    for version, acts in winners.items():
        if len(acts) > 1:
            yield f"{len(acts)} changes of version {version} were taken"
    yield from _last_version(scenario, changes, winners)


def _last_version(scenario: Scenario, changes: list[Seen], winners: dict[int, set[int]]) -> Iterator[str]:
    for last in (one for one in scenario.clients.seen if one.kind == "last prices"):
        if last.status != 200:
            yield f"the last price list was answered {last.status}/{last.error}"
            continue
        shown = last.answer["PriceList"]
        asked = {seen.body["Version"] for seen in changes}
        skipped = set(range(shown["Version"])) - asked
        if skipped or shown["Version"] <= max(winners, default=-1):
            yield f"the last price list has version {shown['Version']}, asked for were {sorted(asked)}"
        own = [seen for seen in changes if seen.body["Version"] == shown["Version"] - 1]
        won = [seen for seen in own if seen.act.number in winners.get(shown["Version"] - 1, ())] or own
        if shown["Version"] and not any(_is_of(shown, seen) for seen in won):
            yield f"the last price list has items that nobody asked for: {shown['Items']}"


def _is_of(shown: dict[str, Any], seen: Seen) -> bool:
    (item,) = shown["Items"]
    taxes = [(one["Code"], one["Name"], Decimal(str(one["Rate"]))) for one in shown["Taxes"]]
    is_item = item["Code"] == item_of(seen.act)["Code"] and minor(item["Price"]) == seen.act.number * 100
    return bool(is_item and taxes == [(one.code, one.name, one.rate) for one in taxes_of(seen.act)])


def drawers_agree(scenario: Scenario) -> Iterator[str]:
    """Each cash payment and reversal is in one drawer of its agent, or in none: the one that was open just then."""
    for last in (one for one in scenario.clients.seen if one.kind == "drawers"):
        if last.status != 200:
            yield f"the last drawers were answered {last.status}/{last.error}"
            continue
        own = [one for one in oracle.of_merchant(scenario, TOWN.people.by_name[OWNER].merchant_id) if one.moved]
        moved = [one for one in own if one.tender == IN_CASH]
        rows = last.answer["Drawers"]
        for agent in {one.agent for one in moved} | {row["AgentID"] for row in rows}:
            held = sum(minor(row["Cash"]) for row in rows if row["AgentID"] == agent)
            total = sum(one.moved for one in moved if one.agent == agent)
            if held != total:
                yield f"the drawers of {agent} and what is in none come to {held}, moved was {total}"
        for row in (one for one in rows if one["DrawerID"]):
            yield from _adds_up(row)
            yield from _holds_its_time(scenario, row, [one for one in moved if one.agent == row["AgentID"]])
        yield from _do_not_overlap(scenario, rows)


def _adds_up(row: dict[str, Any]) -> Iterator[str]:
    sums: Counter[str] = Counter()
    for one in row["Movements"]:
        sums[one["Kind"]] += minor(one["Amount"] or 0)
    expected = sums["open"] + minor(row["Cash"]) + sums["in"] - sums["out"]
    difference = None if row["Difference"] is None else minor(row["Difference"])
    kinds = [one["Kind"] for one in row["Movements"] if one["Kind"] in {"open", "close"}]
    if minor(row["Expected"]) != expected or minor(row["Float"]) != sums["open"]:
        yield f"the drawer {row['DrawerID']} should hold {expected}, not {row['Expected']}"
    if difference != (sums["close"] - expected if "close" in kinds else None):
        yield f"the drawer {row['DrawerID']} differs by {row['Difference']}"
    if kinds != ["open", "close"][: 1 + (row["ClosedAt"] is not None)]:
        yield f"the drawer {row['DrawerID']} was opened and closed so: {kinds}"


def _holds_its_time(scenario: Scenario, row: dict[str, Any], moved: list[oracle.Entry]) -> Iterator[str]:
    """Check the cash of a drawer. What moved around its opening or its close may be in it."""
    opened, closed = (_time_of(scenario, row, kind) for kind in ("open", "close"))
    least = most = 0
    for one in moved:
        may_be_before, may_be_after = one.earliest <= opened[1], one.latest >= closed[0]
        if one.latest < opened[0] or one.earliest > closed[1]:
            continue
        if may_be_before or may_be_after:
            least, most = least + min(one.moved, 0), most + max(one.moved, 0)
        else:
            least, most = least + one.moved, most + one.moved
    if not least <= minor(row["Cash"]) <= most:
        yield f"the drawer {row['DrawerID']} holds {row['Cash']}, moved was {least} to {most} meanwhile"


def _time_of(scenario: Scenario, row: dict[str, Any], kind: str) -> tuple[datetime, datetime]:
    """Return the local times between which a drawer was opened or closed: when it was asked for and first answered.

    Of several requests without a key, each may have been carried out at any time.
    """
    notes = {one["Note"] for one in row["Movements"] if one["Kind"] == kind}
    acts = [one for one in _acts(scenario) if note_of(one.act) in notes]
    answered = acts if len(acts) == 1 or all(one.act.facts["has_key"] for one in acts) else []
    answers = [one.answered_at for one in answered if one.status == 200 and one.answered_at is not None]
    began = scenario.began + oracle.ZONE
    first = min((one.asked_at for one in acts), default=FOREVER)
    return began + timedelta(seconds=first), began + timedelta(seconds=min(answers, default=FOREVER))


def _acts(scenario: Scenario) -> list[Seen]:
    return [one for one in scenario.clients.seen if one.kind == "drawer" and one.body]


def _do_not_overlap(scenario: Scenario, rows: list[dict[str, Any]]) -> Iterator[str]:
    """Check that no two drawers of an agent were open at once, by the times of their clients."""
    for one, other in combinations([row for row in rows if row["DrawerID"]], 2):
        both = one, other
        opened = max(_time_of(scenario, row, "open")[1] for row in both)
        closed = min(_time_of(scenario, row, "close")[0] for row in both)
        if one["AgentID"] == other["AgentID"] and opened < closed:
            yield f"{one['DrawerID']} and {other['DrawerID']} of {one['AgentID']} were open at once"


def drawers_are_acted_on_once(scenario: Scenario) -> Iterator[str]:
    """An act on a drawer that was answered is one movement, and what was counted never changes afterwards."""
    lists = [one for one in scenario.clients.seen if one.kind == "drawers" and one.status == 200]
    rows = {row["DrawerID"]: row for last in lists for row in last.answer["Drawers"]}
    made = Counter(one["Note"] for row in rows.values() for one in row["Movements"])
    for act in {one.act.number: one.act for one in _acts(scenario)}.values() if lists else ():
        tries = [one for one in _acts(scenario) if one.act.number == act.number]
        is_done = any(one.status == 200 for one in tries)
        most = 1 if act.facts["has_key"] else len(tries)
        if not is_done <= made[note_of(act)] <= most:
            yield f"{act.name} is {made[note_of(act)]} movements of drawers"
    for seen in _acts(scenario) if lists else ():
        shown = seen.answer.get("Drawer") if seen.status == 200 else None
        if not shown:
            continue
        now = rows.get(shown["DrawerID"])
        kept = [name for name in shown if name != "Movements"] if shown["ClosedAt"] else ["OpenedAt", "Float"]
        if now is None or any(now[name] != shown[name] for name in kept):
            yield f"{seen.act.name} was answered {shown}, and later {now}"
        elif now["Movements"][: len(shown["Movements"])] != shown["Movements"]:
            yield f"{seen.act.name} was answered other movements than later"


RULES = (price_lists_are_replaced_once, drawers_agree, drawers_are_acted_on_once)
