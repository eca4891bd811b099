"""The invariants of the price list and of drawers."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from tests.simulation import oracle
from tests.simulation.clients import TENDERS, Seen
from tests.simulation.payments import minor
from tests.simulation.scenario import TOWN, Scenario
from tests.simulation.scenario_script import CASH, OWNER
from tests.simulation.shop_acts import item_of, taxes_of

CHANGED, AROUND = 314, 4.0  # an ErrorCode; seconds between two clocks
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
    """A drawer holds its float and the cash that its agent took, less the cash that the agent gave back that day."""
    dates = oracle.dates(scenario)
    own = oracle.of_merchant(scenario, TOWN.people.by_name[OWNER].merchant_id)
    for seen in scenario.clients.seen:
        if seen.kind != "drawers":
            continue
        if seen.status != 200:
            yield f"the last drawers were answered {seen.status}/{seen.error}"
            continue
        rows = {row["AgentID"]: row for row in seen.answer["Drawers"]}
        cash = _cash_of(seen.act.facts["day"], own, dates)
        for agent, row in rows.items():
            expected = cash[agent] + minor(row["Float"] or 0)
            if (minor(row["Cash"]), minor(row["Expected"])) != (cash[agent], expected):
                yield f"the drawer of {agent} holds {row['Cash']}, {row['Expected']} with its float, not {expected}"
            if row["Counted"] is not None and minor(row["Difference"]) != minor(row["Counted"]) - expected:
                yield f"the drawer of {agent} differs by {row['Difference']}"
            yield from _counted(scenario, agent, row)
        for agent in {agent for agent, amount in cash.items() if amount} - rows.keys():
            yield f"the drawer of {agent}, which holds {cash[agent]}, is not listed"


def _cash_of(day: str, own: list[oracle.Entry], dates: dict[str, str]) -> Counter[int]:
    """Return what each agent took in cash on a day, less what it gave back."""
    cash: Counter[int] = Counter()
    for one in own:
        if one.tender == IN_CASH and one.moved and one.id in dates:
            at = oracle.counts_at(one, datetime.fromisoformat(dates[one.id]))
            cash[one.agent] += one.moved if f"{at:%Y-%m-%d}" == day else 0
    return cash


def _is_of_day(scenario: Scenario, seen: Seen, day: str) -> bool:
    """Return whether a request began and ended on a day."""
    times = seen.asked_at - AROUND, (seen.answered_at or 0) + AROUND
    return {f"{scenario.began + oracle.ZONE + timedelta(seconds=at):%Y-%m-%d}" for at in times} == {day}


def _counted(scenario: Scenario, agent: int, row: dict[str, Any]) -> Iterator[str]:
    """Check the float and the count of a drawer: each of some request."""
    counts = [seen for seen in scenario.clients.seen if seen.kind == "drawer"]
    asked = [seen for seen in counts if TOWN.people.by_name[seen.act.client].id == agent]
    for name, fact in (("Float", "float"), ("Counted", "counted")):
        wanted = {seen.act.facts[fact] for seen in asked} - {None}
        shown = None if row[name] is None else minor(row[name])
        done = [seen for seen in asked if seen.status == 200 and seen.act.facts[fact]]
        is_lost = shown is None and any(_is_of_day(scenario, seen, row["Day"]) for seen in done)
        if is_lost or (shown is not None and shown not in wanted):
            yield f"the drawer of {agent} has the {name} {shown}, asked for was {wanted}"


RULES = (price_lists_are_replaced_once, drawers_agree)
