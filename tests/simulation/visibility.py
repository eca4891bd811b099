"""What each client is shown: what is stored, its own, and the same as before."""

import json
from base64 import b64decode
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from chalicelib.domain.transaction import ERASED, ERASED_PICTURE, Transaction
from chalicelib.store.table import PART_OF, decode
from infra.stack.resources import STACK
from tests.simulation.clients import PICTURES, SECTIONS, Seen, name_of
from tests.simulation.payments import AWAITING, PAID, PENDING_STATES, REVERSED, minor, state_of
from tests.simulation.scenario import BAD, Scenario
from tests.simulation.scenario_script import OWNER, STRANGER

LISTS = frozenset({"list", "account", "find"})
ASKS = frozenset({"pay", "sign", "reverse"})
PAYMENT, IN_FULL = 1, 3  # OperationID, DisplayMode
AT_ONCE = frozenset({10})  # InputTypes of payments that are deposited as soon as they are taken: cash
ID_REUSED, TOO_LATE, NOT_ATTEMPTED = 302, 306, 902
AROUND = 4.0  # seconds between two clocks, and between an answer and what it was made of


def table(scenario: Scenario, name: str) -> list[dict[str, Any]]:
    """Return the items of a table, without the one that nobody can read."""
    return [dict(item) for item in scenario.store.items(f"{STACK}-{name}") if item.get("id", {}).get("S") != BAD]


@lru_cache(maxsize=1)
def transactions(scenario: Scenario) -> dict[str, Transaction]:
    """Return every transaction that is stored at the end of a scenario."""
    found = [decode(Transaction, item) for item in table(scenario, "transactions") if PART_OF not in item]
    return {one.id: one for one in found}


def counted_at(one: Transaction) -> datetime:
    """Return when a transaction counts as made: a till without connection says when, but is not believed the future."""
    return min(one.date or one.created_at, one.created_at)


def shown_transactions_are_stored(scenario: Scenario) -> Iterator[str]:
    """Each transaction in an answer is stored with that amount."""
    every = transactions(scenario)
    for seen, view in shown(scenario):
        stored = every.get(view["ID"])
        if stored is None:
            yield f"{seen.act.name} was shown {view['ID']}, which is not stored"
        elif minor(view["Amount"]) != stored.amount_minor:
            yield f"{seen.act.name} was shown {view['Amount']} of {view['ID']}, stored are {stored.amount_minor}"


def agents_see_only_their_own(scenario: Scenario) -> Iterator[str]:
    """No answer shows another merchant's payments. A till without further rights sees only its own."""
    every, people = transactions(scenario), scenario.clients.people.by_name
    for seen, view in shown(scenario):
        stored, person = every.get(view["ID"]), people[seen.act.client]
        if stored is None:
            continue
        if stored.client_id != person.merchant_id:
            yield f"{seen.act.name} was shown {stored.id} of another merchant"
        elif stored.agent.id != person.id and (seen.kind in ASKS or (seen.kind in LISTS and seen.act.client != OWNER)):
            yield f"{seen.act.name} was shown {stored.id}, which is a colleague's"


def shown(scenario: Scenario) -> Iterator[tuple[Seen, dict[str, Any]]]:
    """Yield each transaction in an answer, with the request."""
    for seen in scenario.clients.seen:
        if seen.status != 200 or seen.kind == "status":
            continue
        if view := seen.answer.get("Transaction"):
            yield seen, view
        for section in SECTIONS:
            for listed in seen.answer.get(section) or ():
                yield seen, listed


def reused_ids_are_refused(scenario: Scenario) -> Iterator[str]:
    """An ID or key is refused as used only if other content, or a colleague, used it."""
    asked = [seen for seen in scenario.clients.seen if seen.kind in ASKS]
    for seen in asked:
        if seen.error == ID_REUSED and not any(
            name_of(one) == name_of(seen) and _content(one) != _content(seen) for one in asked
        ):
            yield f"{seen.act.name} was told that its ID was used for something else"


def _content(seen: Seen) -> tuple[object, ...]:
    facts = seen.act.facts
    about = ("way", "amount", "card", "ext_id", "mode", "pan")
    return seen.act.client, seen.kind == "reverse" and seen.act.label, *(facts.get(name) for name in about)


def names_stand_for_one_content(scenario: Scenario) -> Iterator[str]:
    """Requests with one ID or key that were carried out have one content."""
    done: dict[tuple[object, ...], Seen] = {}
    for seen in scenario.clients.seen:
        if seen.kind in ASKS and seen.act.facts.get("named") in {"id", "key"} and seen.answer.get("Transaction"):
            first = done.setdefault(name_of(seen), seen)
            if _content(first) != _content(seen):
                yield f"{first.act.name} and {seen.act.name} asked for {_content(first)} and {_content(seen)}"


def photos_are_those_of_the_requests(scenario: Scenario) -> Iterator[str]:
    """A payment shows the photo of its request, and no other."""
    for seen in scenario.clients.seen:
        view = seen.answer.get("Transaction")
        if seen.kind not in {"pay", "sign"} or not isinstance(view, dict):
            continue
        sent = seen.act.facts.get("photo")
        if view["HasPhoto"] is not bool(sent) or bool(view["PhotoUrl"]) is not bool(sent):
            yield f"{seen.act.name} sent the photo {sent}, and was shown {view['PhotoUrl']}"
            continue
        name = str(view["PhotoUrl"]).partition("example/")[2]
        is_erased = scenario.erasures and name == ERASED_PICTURE
        if sent and not is_erased and scenario.files.ever.get(name) != b64decode(PICTURES[sent]):
            yield f"{seen.act.name} was shown another photo than it sent"


def unattempted_payments_stay_unattempted(scenario: Scenario) -> Iterator[str]:
    """A payment that was never attempted stays so: its ID gets the same answer each time."""
    refused: dict[tuple[object, ...], float] = {}
    for seen in sorted(scenario.clients.seen, key=lambda one: one.answered_at or 0):
        if seen.kind not in ASKS or seen.act.facts.get("named") not in {"id", "key"}:
            continue
        if seen.error == NOT_ATTEMPTED and seen.answered_at is not None:
            refused.setdefault(name_of(seen), seen.answered_at)
        elif seen.status == 200 and refused.get(name_of(seen), seen.asked_at) < seen.asked_at:
            yield f"{seen.act.name} was answered with what was not attempted, as others were told"


def repeated_answers_are_marked(scenario: Scenario) -> Iterator[str]:
    """The first answer with an outcome, and that of a signature, is no replay. All others say that they are."""
    first: dict[object, list[Seen]] = {}
    asked = [seen for seen in scenario.clients.seen if seen.kind in ASKS]
    for seen in asked:
        is_refused = seen.error == NOT_ATTEMPTED and seen.act.facts.get("named") in {"id", "key"}
        if not is_refused and not (seen.status == 200 and seen.answer.get("Transaction")):
            continue
        about = name_of(seen) if is_refused else seen.answer["Transaction"]["ID"]
        if "Idempotent-Replayed" not in seen.headers:
            first.setdefault(about, []).append(seen)
        elif len([one for one in asked if one.act.label == seen.act.label or name_of(one) == name_of(seen)]) < 2:
            yield f"{seen.act.name} was told that its own request is a repeated one"
    for told in first.values():
        if len(told) > 1 + any(seen.kind == "sign" and not seen.error for seen in told):
            yield f"{told[-1].act.name} was answered as {told[0].act.name} before, and not told so"


def flags_follow_from_the_facts(scenario: Scenario) -> Iterator[str]:
    """A payment asks for a signature until it has one. Its flags of reversals fit its amounts."""
    for seen, view in shown(scenario):
        owed, paid, back = view["SignatureRequiredEffective"], minor(view["Amount"]), minor(view["AmountRvs"])
        if owed != (view["SignatureRequired"] and not view["HasSignature"]):
            yield f"{seen.act.name} was shown wrongly whether {view['ID']} owes its signature"
        if seen.kind in ASKS and seen.answer["RequireSignature"] != owed:
            yield f"{seen.act.name} was told RequireSignature {seen.answer['RequireSignature']}, and shown {owed}"
        if view["OperationID"] == PAYMENT and view["PartialReverse"] != (0 < back < paid):
            yield f"{seen.act.name} was shown PartialReverse {view['PartialReverse']} of {back} of {paid}"


def lists_are_in_order(scenario: Scenario) -> Iterator[str]:
    """A list has pending transactions, those to complete, and all others: in each group the newest first."""
    every = transactions(scenario)
    for seen in scenario.clients.seen:
        if seen.kind not in LISTS or seen.status != 200:
            continue
        for section in SECTIONS:
            found = [every[view["ID"]] for view in seen.answer[section] if view["ID"] in every]
            places = [(counted_at(one), one.id) for one in found]
            if places != sorted(places, reverse=True):
                yield f"{seen.act.name} was shown {section} in another order"
            for view in seen.answer[section]:
                state = state_of(view)
                right = "InProcess" if state in PENDING_STATES else SECTIONS[0] if state == AWAITING else SECTIONS[2]
                if section != right:
                    yield f"{seen.act.name} was shown {view['ID']}, which is {state}, in {section}"
        counters, number = seen.answer["TransactionsCounters"], sum(len(seen.answer[name]) for name in SECTIONS)
        if counters["ItemCountPage"] != number:  # the total was counted a moment before
            yield f"{seen.act.name} was shown {number}, and counters {counters}"


def money_is_deposited_at_the_deadline(scenario: Scenario) -> Iterator[str]:
    """A cash payment is deposited at once, another one at its Deadline. A full reversal excludes it."""
    every = transactions(scenario)
    for seen, view in shown(scenario):
        one, state = every.get(view["ID"]), state_of(view)
        if one is None or seen.answered_at is None or state not in {PAID, REVERSED}:
            continue
        end = (one.deadline - scenario.began).total_seconds()
        at_once = one.input_type in AT_ONCE and one.original.id is None
        expected = {"DEPOSITED"} if at_once or seen.asked_at > end + AROUND else set()
        expected = expected or {"IN-TRANSFER", *(["DEPOSITED"] if seen.answered_at > end - AROUND else ())}
        if view["DisplayMode"] == IN_FULL:
            expected = {"REVERSED"}
        if view["Status"] not in expected:
            yield f"{seen.act.name} was shown that {one.id} is {view['Status']}, its Deadline is at {end:.0f} s"


def cancels_end_at_the_deadline(scenario: Scenario) -> Iterator[str]:
    """A payment can be cancelled until its Deadline, and not later."""
    every = transactions(scenario)
    for seen in scenario.clients.seen:
        if seen.kind != "reverse" or seen.act.facts["mode"] != "cancel" or seen.answered_at is None:
            continue
        view, payment = seen.answer.get("Transaction"), every.get(seen.body["BasicReverseTran"]["TransactionID"])
        if payment is None:
            continue
        end = (payment.deadline - scenario.began).total_seconds()
        if isinstance(view, dict) and scenario.begun.get(view["ID"], 0) > end + AROUND:
            yield f"{seen.act.name} cancelled a payment after its Deadline at {end:.0f} s"
        if seen.error == TOO_LATE and seen.answered_at < end - AROUND:
            yield f"{seen.act.name} was told that it is too late to cancel, at {seen.answered_at:.0f} s of {end:.0f} s"


def closed_merchants_take_nothing(scenario: Scenario) -> Iterator[str]:
    """A blocked merchant's credentials admit nobody. No payment begins at a blocked terminal."""
    every = transactions(scenario)
    for what, begin, end in scenario.closed:
        for seen in scenario.clients.seen:
            if seen.status != 200 or seen.kind == "status" or not begin < seen.asked_at < (seen.answered_at or 0) < end:
                continue
            if what == "merchant" and seen.act.client != STRANGER:
                yield f"{seen.act.name} got in while its merchant was blocked"
            one = every.get(seen.answer.get("TransactionID", ""))
            if what == seen.act.client and seen.kind == "pay" and one is not None:
                began = (one.created_at - scenario.began).total_seconds()
                if begin + AROUND < began < end - AROUND:
                    yield f"{seen.act.name} paid at a terminal that was blocked"


def signed_payments_have_receipts(scenario: Scenario) -> Iterator[str]:
    """A payment that its signature completed has a second receipt with that signature."""
    every = transactions(scenario)
    entries = {item["id"]["S"] for item in table(scenario, "outbox")}
    awaited = {view["ID"] for _, view in shown(scenario) if state_of(view) == AWAITING}
    for seen, view in shown(scenario):
        one = every.get(view["ID"])
        addresses = one.receipt.addresses if one else None  # without those beyond a limit
        emails = addresses.emails if addresses else ()
        is_asked_for = one is not None and one.id in awaited and emails and ERASED not in emails
        if seen.kind != "sign" or one is None or not is_asked_for or seen.answered_at is None:
            continue
        is_in_time = scenario.began + timedelta(seconds=seen.answered_at + AROUND) < one.deadline
        is_paid = state_of(view) == PAID and view["HasSignature"]
        if is_in_time and is_paid and f"{one.id}.signed.email" not in entries:
            yield f"{one.id} was signed, and has no receipt of that"


def the_log_names_nobody(scenario: Scenario) -> Iterator[str]:
    """No log line holds a login."""
    text = json.dumps(scenario.log, default=str)
    for person in scenario.clients.people.by_name.values():
        if person.email in text:
            yield f"the log tells the login of {person.name}"
