"""The invariants of an erasure: nothing has the payer's data any more, and all others have theirs."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from chalicelib.domain.transaction import ERASED
from infra.stack.resources import STACK
from tests.simulation import oracle
from tests.simulation.erasure_acts import AT_THE_END, HOLDER, RECEIPTS, Erasure
from tests.simulation.later_receipts import later_to
from tests.simulation.scenario import TOWN, Scenario
from tests.simulation.scenario_script import OWNER
from tests.simulation.visibility import shown, transactions

TABLES = ("transactions", "history", "outbox")  # that have items of each transaction
ANSWER = "a receiver's answer"
SETTLED = 60.0  # seconds: a sender may have read an address just before


class Family(NamedTuple):
    """A payment of a payer and its reversals, and when the first run began that may have found them."""

    ids: list[str]
    marks: list[str]  # the payer's data in the requests for them
    first_run_at: float


def erased_payers_are_nowhere(scenario: Scenario) -> Iterator[str]:
    """After an erasure, no table, file or answer has the payer's data of the payments that were there before."""
    places = _places(scenario) if scenario.erasures else {}
    for run in scenario.erasures:
        for family in _families(scenario, run):
            for one in family.ids:
                is_new = scenario.begun[one] >= family.first_run_at  # what receivers answer about it is new
                for place, text in places.get(one, ()):
                    found = [] if is_new and place == ANSWER else _marks_in(text, family)
                    if found:
                        yield f"{place} of {one} has {found[0]}, erased at {run.done_at:.1f} s"
            yield from _files_of(scenario, run, family)
            yield from _answers_about(scenario, run, family)
        yield from _later_receipts_of(scenario, run)


def _later_receipts_of(scenario: Scenario, run: Erasure) -> Iterator[str]:
    """Yield the receipts that were sent to a payer later, before a run that is done, and still have its address."""
    entries = {item["id"]["S"]: item for item in scenario.store.items(f"{STACK}-outbox")}
    merchant = str(TOWN.people.by_name[OWNER].merchant_id)
    for name in later_to(scenario, run.address, run.begun_at) if run.done_at is not None else ():
        item = entries.get(name)
        if item is not None and item["client_id"]["N"] == merchant and run.address in item.text:
            yield f"the receipt {name} was sent to {run.address} later, and has it, erased at {run.done_at:.1f} s"


def _families(scenario: Scenario, run: Erasure) -> Iterator[Family]:
    """Yield the payments of a payer that were stored before a run that is done, each with its reversals.

    A reversal that came after the first run has new data if it has addresses of its own. A later run finds it only by
    these.
    """
    every = oracle.entries(scenario) if run.done_at is not None else {}
    merchant = TOWN.people.by_name[OWNER].merchant_id
    later = {message.transaction for message in later_to(scenario, run.address, run.begun_at).values()}
    for one in every.values():
        is_before = scenario.begun[one.id] < run.begun_at
        own = {one.id, *(other.id for other in every.values() if other.original == one.id)}
        is_payers = _is_payers(one, run.address) or own & later
        if one.original or one.merchant != merchant or not is_before or not is_payers:
            continue
        begun = scenario.begun[one.id]
        first = min(max(each.begun_at, begun) for each in scenario.erasures if each.ended_at > begun)
        family = [one] + [
            other
            for other in every.values()
            if other.original == one.id
            and (
                scenario.begun[other.id] < first
                or other.receipts == {None}
                or (scenario.begun[other.id] < run.begun_at and _is_payers(other, run.address))
            )
        ]
        addresses = {address for each in family for name in each.receipts for address in RECEIPTS.get(name or "", ())}
        yield Family([each.id for each in family], [mark.lower() for mark in {*addresses, HOLDER}], first)


def _marks_in(text: str, family: Family) -> list[str]:
    lowered = text.lower()
    return [mark for mark in family.marks if mark in lowered]


def _is_payers(one: oracle.Entry, address: str) -> bool:
    """Return whether each request that may have made a payment names an address."""
    return all(address in RECEIPTS.get(name or "", ()) for name in one.receipts) or all(
        address in (note or "") for note in one.notes
    )


def _places(scenario: Scenario) -> dict[str, list[tuple[str, str]]]:
    """Return the texts of the items that belong to each transaction."""
    found: dict[str, list[tuple[str, str]]] = {}
    later = {name for name, message in scenario.messages.items() if message.is_later}
    for name in TABLES:
        for item in scenario.store.items(f"{STACK}-{name}"):
            if item.get("id", {}).get("S") in later:  # see `_later_receipts_of`
                continue
            about = item.get("transaction_id") or item.get("id")
            if about is not None:
                found.setdefault(about["S"].partition(".")[0].upper(), []).append((f"the table {name}", item.text))
    events = scenario.store.items(f"{STACK}-events")
    of_event = {item["place"]["S"]: item["transaction_id"]["S"] for item in events if "transaction_id" in item}
    for item in events:
        if "webhook_id" in item and (about := of_event.get(item["place"]["S"].rpartition("#")[0])):
            found.setdefault(about, []).append((ANSWER, item.text))
    cards = {item["id"]["N"]: item.text for item in scenario.store.items(f"{STACK}-cards")}
    for one in transactions(scenario).values():
        if one.card_entry.linked_id is not None:
            found.setdefault(one.id, []).append(("the linked card", cards[str(one.card_entry.linked_id)]))
    return found


def _files_of(scenario: Scenario, run: Erasure, family: Family) -> Iterator[str]:
    """Yield the pictures of a family, and the exports of its merchant, that were there before it was erased."""
    merchant = TOWN.people.by_name[OWNER].merchant_id
    names = (f"exports/{merchant}/", *(f"transactions/{one}/" for one in family.ids))
    for file in scenario.files.versions:
        if file.name.startswith(names) and file.at < family.first_run_at:
            yield f"the file {file.name} of {file.at:.1f} s is still there, erased at {run.done_at:.1f} s"


def _answers_about(scenario: Scenario, run: Erasure, family: Family) -> Iterator[str]:
    for seen, view in shown(scenario):
        is_later = run.done_at is not None and seen.asked_at > run.done_at
        if view["ID"] in family.ids and is_later and (found := _marks_in(json.dumps(view), family)):
            yield f"{seen.act.name} was shown {found[0]} of {view['ID']}, erased at {run.done_at:.1f} s"


def erased_payers_get_no_messages(scenario: Scenario) -> Iterator[str]:
    """After an erasure, no message about the payer's payments is sent to its address."""
    for run in scenario.erasures if not scenario.faults.frozen else ():
        ids = {one for family in _families(scenario, run) for one in family.ids}
        later = {name for name, message in scenario.messages.items() if message.is_later}
        new = later - later_to(scenario, run.address, run.begun_at).keys()  # they may be asked for after the erasure
        for (message, to), at in scenario.delivered_at.items():
            is_of_it = message.partition(".")[0] in ids and message not in new
            if is_of_it and run.done_at is not None and at > run.done_at + SETTLED:
                yield f"{message} was delivered to {to} at {at:.1f} s, erased at {run.done_at:.1f} s"


def other_payers_keep_their_data(scenario: Scenario) -> Iterator[str]:
    """An erasure changes no payment of another payer, or of another merchant, whether it ends or not."""
    merchant = TOWN.people.by_name[OWNER].merchant_id
    addresses = {run.address for run in scenario.erasures}
    every = oracle.entries(scenario) if scenario.erasures else {}
    for one in every.values():
        root = every.get(one.original or one.id)
        family = [root, *(other for other in every.values() if other.original == (one.original or one.id))]
        names = {name for other in family if other for name in other.receipts}
        texts = {address for name in names for address in RECEIPTS.get(name or "", ())}
        notes = " ".join(note or "" for other in family if other for note in other.notes)
        ids = {other.id for other in family if other}
        texts |= {to for message in scenario.messages.values() if message.transaction in ids for to in message.to}
        is_touched = one.merchant == merchant and (addresses & texts or any(each in notes for each in addresses))
        if is_touched:
            continue
        text = _record(scenario, one.id)
        if ERASED in text and one.tender[0] != LINKED_INPUT:
            yield f"{one.id} is erased, and is nobody's who was erased"
        wanted = RECEIPTS.get(next(iter(one.receipts)) or "", ()) if len(one.receipts) == 1 else ()
        for address in wanted if "receipt_withheld" not in text else ():  # an address beyond its limit is not stored
            if address not in text:
                yield f"{one.id} has no {address} any more"


LINKED_INPUT = 5  # a linked card: its holder may be erased because of another payment


def _record(scenario: Scenario, transaction_id: str) -> str:
    (item,) = (one for one in scenario.store.items(f"{STACK}-transactions") if one["id"]["S"] == transaction_id)
    return item.text


def erasures_end(scenario: Scenario) -> Iterator[str]:
    """An erasure without faults ends: it erases everything at the first try."""
    for run in scenario.erasures:
        if run.begun_at >= AT_THE_END and run.done_at is None:
            yield f"the erasure of {run.address} at {run.begun_at:.1f} s did not end"


RULES = (erased_payers_are_nowhere, erased_payers_get_no_messages, other_payers_keep_their_data, erasures_end)
