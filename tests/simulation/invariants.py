"""The invariants, checked at the end of a scenario. Each function yields its violations in words."""

import csv
import io
import json
import re
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from chalicelib.domain.card import LinkedCard
from chalicelib.domain.transaction import ERASED, Transaction
from chalicelib.store.table import PART_OF, decode
from infra.stack.resources import STACK
from tests.simulation import (
    accounts,
    answers,
    erasures,
    later_receipts,
    oracle,
    pace,
    shops,
    taxes,
    visibility,
    webhook_changes,
    webhooks,
)
from tests.simulation.actors import ZONE
from tests.simulation.clients import LAST, LAST_DAYS, LAST_EXPORT, LAST_HOURS, PAN, SECTIONS, Change, Seen, zone_of_look
from tests.simulation.partners import partners_fill_in_fields
from tests.simulation.password_guesses import passwords_are_limited
from tests.simulation.payments import GIVEN_BACK, TAKEN, contradictions, minor, state_of
from tests.simulation.scenario import BAD, TOWN, Scenario
from tests.simulation.scenario_script import FALSE, OUTSIDERS, OWNER, PENDING, STRANGER, TILLS, TRAINEE, Act
from tests.simulation.visibility import table, transactions
from tests.support.accounts import basic

ENVELOPE = frozenset({"ErrorCode", "ErrorMessage", "Validations"})
CVV2 = re.compile(r"CVV2\W{1,9}\d")  # also in the text of a request within another text
KEY_OF_TILL = re.compile(r'"SecretKey":"[^"]*"')  # see `accounts.keys_are_shown_to_owners`
WRONG = frozenset({102, 103, 108})  # a credential, a blocked agent, a blocked merchant
BAD_CREDENTIAL, CLOSED, NOT_ALLOWED, NO_AGENT, NOT_THERE = 102, 108, 151, 563, 568
SESSION_OVER, IN_USE_SECONDS = 105, 20 * 60  # longer than a scenario: its sessions are still valid
REMEMBERED_SECONDS = 70
REPEATED_SECONDS = 110  # in which a reversal without a key is the same one
PER_ADDRESS, PER_AGENT, PER_MERCHANT, RESENT = 10, 500, 2000, 200  # messages of a day (contract, section 7)


def nothing_is_pending(scenario: Scenario) -> Iterator[str]:
    """When all faults have ended, the first sweep after the Deadline gives everything an outcome."""
    for name in scenario.unresolved:
        yield f"{name} was pending a day after its Deadline, and its acquirer takes reversals"
    for item in (one for one in table(scenario, "transactions") if PART_OF not in one):
        one = transactions(scenario)[item["id"]["S"]]
        if one.phase in PENDING or one.phase == "owed":
            yield f"{one.id} is still {one.phase}"
        if "due_at" in item or "due_lane" in item:
            yield f"{one.id} is {one.phase} and still in the index of what is due"


def amounts_agree(scenario: Scenario) -> Iterator[str]:
    """In the end nothing is reserved. The reversed amount of a payment is the sum of its completed reversals."""
    every = transactions(scenario)
    for one in every.values():
        if one.original.id is not None:
            if one.original.id not in every:
                yield f"reversal {one.id} has no payment"
            continue
        done = [r for r in every.values() if r.original.id == one.id and r.phase == GIVEN_BACK]
        total = sum(reversal.amount_minor for reversal in done)
        if one.reversals.reserved_minor:
            yield f"{one.id} has {one.reversals.reserved_minor} reserved"
        if (one.reversals.amount_minor, one.reversals.count) != (total, len(done)):
            stored = f"{one.reversals.amount_minor} in {one.reversals.count}"
            yield f"{one.id} says {stored}, its reversals {total} in {len(done)}"
        if one.reversals.amount_minor > one.amount_minor or (total and one.phase not in TAKEN):
            yield f"{one.id} of {one.amount_minor} gave {total} back and is {one.phase}"


def books_agree(scenario: Scenario) -> Iterator[str]:
    """Each acquirer took and gave back exactly the amounts that the service stores, and no inquiry moved money."""
    for name, acquirer in scenario.acquirers.items():
        yield from (f"an inquiry at {name} made {moved}" for moved in acquirer.moved_by_inquiries)
    for one in transactions(scenario).values():
        if one.original.id is not None or one.acquirer not in scenario.acquirers:
            continue
        key = (one.result.rrn, one.host.trace.stan) if one.host else one.id
        theirs = scenario.acquirers[one.acquirer].taken(key)
        ours = (one.amount_minor, one.reversals.amount_minor) if one.phase in TAKEN else None
        if theirs is not None and theirs[0] == theirs[1] and ours is None:
            continue
        if ours != theirs:
            yield f"{one.id} is {one.phase} with {ours} here, and {theirs} at {one.acquirer}"


def everything_is_as_it_was_asked_for(scenario: Scenario) -> Iterator[str]:
    """Each stored transaction was requested, with its agent, amount, tender, time and Deadline."""
    entries = oracle.entries(scenario)
    for stored in transactions(scenario).values():
        one = entries.get(stored.id)
        if one is None:
            yield f"nobody asked for {stored.id} of {stored.amount_minor}, of agent {stored.agent.id}"
            continue
        found = (stored.client_id, stored.agent.id, stored.amount_minor, (int(stored.input_type), stored.acquirer))
        if found != (one.merchant, one.agent, one.amount, one.tender):
            yield f"{one.id} is {found}, asked for was {(one.merchant, one.agent, one.amount, one.tender)}"
        if not one.earliest <= stored.created_at + oracle.ZONE <= one.latest:
            yield f"{one.id} was made at {stored.created_at}, asked for from {one.earliest} to {one.latest}"
        if stored.date != (one.paid and one.paid - oracle.ZONE):
            yield f"{one.id} was paid at {stored.date}, and its till says {one.paid}"
        if stored.deadline not in oracle.deadlines_of(one):
            yield f"{one.id}, made about {one.latest}, has its Deadline at {stored.deadline}"
        if not one.original and stored.particulars.ext_id != one.ext_id:
            yield f"{one.id} has the ExtID {stored.particulars.ext_id}, asked for was {one.ext_id}"


def receipt_numbers_have_no_gap(scenario: Scenario) -> Iterator[str]:
    """The receipt numbers of an agent count from 1 each day of recording. An offline payment has its till's number."""
    given: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for one in oracle.entries(scenario).values():
        invoice = transactions(scenario)[one.id].invoice
        found = re.fullmatch(r"(\d{6})\.(\d+)\.(\d+)", invoice)
        if found and one.invoice is None:
            day, agent, number = found.groups()
            given[day, int(agent)].append(int(number))
            if int(agent) != one.agent or day not in {f"{each:%y%m%d}" for each in (one.earliest, one.latest)}:
                yield f"{one.id} of {one.agent} from {one.earliest} has the receipt number {invoice}"
        elif invoice != one.invoice:
            yield f"{one.id} has the receipt number {invoice!r}, its till said {one.invoice!r}"
    for (day, agent), numbers in given.items():
        if sorted(numbers) != list(range(1, len(numbers) + 1)):
            yield f"the receipt numbers of {agent} on {day} are {sorted(numbers)}"


def _moved(one: Transaction) -> bool:
    return one.phase in TAKEN or one.phase == GIVEN_BACK


def receipts_are_sent(scenario: Scenario) -> Iterator[str]:
    """Each receipt that is owed is stored. It is sent to each address, or given up after all attempts."""
    entries = {item["id"]["S"]: item for item in scenario.store.items(f"{STACK}-outbox")}
    reached = Counter(scenario.delivered)
    for one in transactions(scenario).values():
        for channel, to in _addresses(one) if _moved(one) else ():
            entry = entries.get(f"{one.id}.{channel}")
            if not to or ERASED in to:
                continue
            if entry is None:
                yield f"{one.id} has no receipt by {channel}"
            elif "sent_at" in entry and any((f"{one.id}.{channel}", address) not in reached for address in to):
                yield f"the receipt {one.id}.{channel} counts as sent and was not delivered"
    for name, item in entries.items():
        if not {"sent_at", "given_up_at"} & item.keys() or "due_at" in item:
            yield f"message {name} was neither sent nor given up"
        is_erased = scenario.erasures and ERASED in item.text
        if "given_up_at" in item and not is_erased and int(item["attempts"]["N"]) < 1 + int(item["retries"]["N"]):
            yield f"message {name} was given up after {item['attempts']['N']} attempts"


def receipts_are_counted(scenario: Scenario) -> Iterator[str]:
    """No counter of messages exceeds its limit. Together the counters count each stored receipt."""
    limits = {"address": PER_ADDRESS, "agent": PER_AGENT, "merchant": PER_MERCHANT, "resent-events": RESENT}
    counted: Counter[str] = Counter()
    for item in table(scenario, "sequences"):
        if not item["name"]["S"].startswith("messages#"):
            continue
        _, _, kind, _ = item["name"]["S"].split("#")
        number = int(item["count"]["N"])
        counted[kind] += number
        if not 0 <= number <= limits[kind]:
            yield f"{item['name']['S']} counts {number}"
    counted["agent"] -= sum(PER_AGENT - left for name, left in scenario.left.items() if name in TILLS)
    messages = sum(len(message.to) for message in scenario.messages.values())
    if messages > min(counted["address"], counted["agent"]):
        yield f"{messages} messages are stored, and the counters have {dict(counted)}"


def _addresses(one: Transaction) -> list[tuple[str, tuple[str, ...]]]:
    wanted = one.receipt.addresses
    return [("email", wanted.emails), ("sms", wanted.phones)] if wanted else []


def answers_are_whole(scenario: Scenario) -> Iterator[str]:
    """Each answer has the envelope, and the service logs no defect."""
    for request, reply in scenario.gateway.replies:
        try:
            body = json.loads(reply.body)
        except ValueError:
            body = None
        if not isinstance(body, dict) or not body.keys() >= ENVELOPE:
            yield f"{request.id} was answered without the envelope: {reply.body[:80]!r}"
    for at, task, facts in scenario.defects:
        is_outage = "/retries.py:" in facts["frames"][-1]  # of the store: left to a later run
        is_planned = facts["error"] in {"RuntimeError", "ServiceError"} or facts.get("transaction") == BAD
        if not is_outage and not is_planned:
            way = " < ".join(frame.rpartition("/")[2] for frame in reversed(facts["frames"][-3:]))
            yield f"at {at:.3f} s, {task} met a defect of the service: {facts['error']} at {way}"
    for event, facts in scenario.log:
        if event == "unproved" and not any(facts["reference"] in one.mixed_up for one in scenario.acquirers.values()):
            yield "an acquirer's honest answer counts as forged"


def no_secret_is_shown(scenario: Scenario) -> Iterator[str]:
    """No table, log line or answer holds a card number, CVV2, password or key."""
    secrets = {PAN, *(change.value for change in scenario.clients.changes if change.what in {"password", "key"})}
    for person in TOWN.people.by_name.values():
        secrets |= {person.password, person.key}
    places = {
        **{name: " ".join(item.text for item in scenario.store.items(name)) for name in scenario.store.tables},
        "the log": repr(scenario.log),
        "an answer": " ".join(KEY_OF_TILL.sub("", reply.body.decode()) for _, reply in scenario.gateway.replies),
    }
    for place, text in places.items():
        for secret in secrets:
            if secret in text:
                yield f"{place} tells {secret[:4]}..."
        if CVV2.search(text):
            yield f"{place} tells a CVV2"


def credentials_end(scenario: Scenario) -> Iterator[str]:
    """A credential that was replaced, blocked or locked admits nobody."""
    for seen in scenario.clients.seen:
        if seen.status != 200 or seen.kind == "status":
            continue
        if seen.act.facts.get("as"):
            yield f"{seen.act.name} got in as another account"
        if seen.kind == "guess" or seen.act.facts.get("signs") in FALSE:
            yield f"{seen.act.name} got in with what is no credential"
        for change in scenario.clients.changes:
            if change.done_at is not None and change.done_at < seen.asked_at and _ends(change, seen, scenario):
                yield f"{seen.act.name} got in with what ended at {change.done_at:.1f} s: {change.what}"


def _ends(change: Change, seen: Seen, scenario: Scenario) -> bool:
    if seen.act.client != change.till:
        return False
    others = [other for other in scenario.clients.changes if other is not change and other.till == change.till]
    if change.what == "block":
        until = seen.asked_at if seen.answered_at is None else seen.answered_at  # an unblock meanwhile may let it in
        return not any(other.what == "unblock" and other.asked_at <= until for other in others)
    if change.what in {"unblock", "unlock"}:
        return False
    if change.what == "email":  # the gateway may remember for a minute who came by it
        is_old = seen.header == basic(change.before, seen.secret)
        return is_old and change.done_at is not None and seen.asked_at > change.done_at + REMEMBERED_SECONDS
    # Only what was surely replaced: no change that may still be at work could have brought it back.
    same = [other for other in others if other.what == change.what and other.value == change.before]
    may_return = any(other.done_at is None for other in same)
    return seen.secret == change.before and not may_return


def others_see_nothing(scenario: Scenario) -> Iterator[str]:
    """Another merchant, or a colleague without the right, sees and reverses no payment."""
    for seen in scenario.clients.seen:
        if seen.act.client not in OUTSIDERS or not seen.status or seen.status >= 500 or _is_closed(seen, scenario):
            continue
        expected = {NOT_THERE} if seen.act.client == STRANGER else {NOT_ALLOWED, NOT_THERE}  # before it is stored
        if seen.kind == "peek":
            is_about, expected = True, {NO_AGENT if seen.act.client == STRANGER else NOT_ALLOWED}
        else:
            is_about = seen.kind in {"look", "reverse", "receipt"} and not _is_its_own(seen, scenario)
        if is_about and seen.error not in expected:
            yield f"{seen.act.name} was answered {seen.status}/{seen.error}"
        if seen.kind == "list" and any(
            view["PosID"] != _id_of(seen) for name in SECTIONS for view in seen.answer[name]
        ):
            yield f"{seen.act.name} was shown what others took"
        if seen.kind == "report" and seen.answer["Takings"]:
            yield f"{seen.act.name} was told what others took"
        if seen.kind == "export" and scenario.files.ever[seen.answer["Url"].partition("example/")[2]].count(b"\n") > 1:
            yield f"{seen.act.name} was given what others took"


def _is_closed(seen: Seen, scenario: Scenario) -> bool:
    return seen.error == CLOSED and any(what == "merchant" for what, _, _ in scenario.closed)


def _id_of(seen: Seen) -> int:
    return TOWN.people.by_name[seen.act.client].id


def _is_its_own(seen: Seen, scenario: Scenario) -> bool:
    """Return whether the other merchant asks for a payment that it took itself."""
    return any(other.act.client == STRANGER and other.act.label == seen.act.label for other in of_kind(scenario, "pay"))


def answers_fit_together(scenario: Scenario) -> Iterator[str]:
    """All answers about a payment fit one sequence of operations."""
    yield from contradictions(scenario.clients.seen, transactions(scenario), scenario.began)


def answers_are_about_their_requests(scenario: Scenario) -> Iterator[str]:
    """An answer is about the payment and the amount of its request, with times in the zone of the request."""
    for seen in scenario.clients.seen:
        view = seen.answer.get("Transaction")
        if seen.status == 200 and seen.kind == "look":
            view = next((one for name in SECTIONS for one in seen.answer[name]), None)
        if seen.status != 200 or seen.kind not in {"pay", "sign", "reverse", "look"} or not view:
            continue
        one, zone = oracle.entries(scenario).get(view["ID"]), _zone_of(seen)
        if one is not None and not _is_then(view, one, zone):
            yield f"{seen.act.name} was answered {view['Date']} in the zone {zone}"
        if seen.kind == "look":
            continue
        facts = seen.act.facts
        wanted = facts.get("amount") if seen.kind != "reverse" or facts["mode"] == "return" else None
        if wanted is not None and minor(view["Amount"]) != wanted:
            yield f"{seen.act.name} asked for {wanted} and was answered {view['Amount']}"
        if seen.kind == "reverse" and view["ReverseMode"] != seen.body["BasicReverseTran"]["ReverseMode"]:
            yield f"{seen.act.name} asked for a {facts['mode']}, and was answered ReverseMode {view['ReverseMode']}"
        if view["PosID"] != _id_of(seen):
            yield f"{seen.act.name} was answered what {view['PosID']} did"


def _zone_of(seen: Seen) -> int:
    """Return the zone of a request; a reversal has the merchant's."""
    return zone_of_look(seen.act) if seen.kind == "look" else int((seen.body or {}).get("GMT", ZONE))


def nothing_is_done_twice(scenario: Scenario) -> Iterator[str]:
    """A repeated request is carried out once."""
    every = transactions(scenario).values()
    pays = [seen.act for seen in of_kind(scenario, "pay")]
    payments = {_order(act) for act in pays}
    if sum(one.original.id is None for one in every) > len(payments):
        yield f"{sum(one.original.id is None for one in every)} payments are stored, {len(payments)} were asked for"
    for one in every:
        asked = [
            seen
            for seen in of_kind(scenario, "reverse")
            if seen.body["BasicReverseTran"]["TransactionID"] == one.id and seen.act.client != TRAINEE
        ]
        if one.client_id != TOWN.people.by_name[STRANGER].merchant_id:
            asked = [seen for seen in asked if seen.act.client != STRANGER]
        wanted = {_wish(seen, asked, scenario) for seen in asked}
        found = sum(other.original.id == one.id and (other.phase in PENDING or _moved(other)) for other in every)
        if found > len(wanted):
            yield f"{one.id} has {found} reversals, {len(wanted)} were asked for"


def pending_reversals_are_repeated(scenario: Scenario) -> Iterator[str]:
    """A reversal without a key is a repetition of the latest one while that one is pending."""
    every = [one for one in transactions(scenario).values() if one.original.id is not None]
    asked = of_kind(scenario, "reverse")
    named = {
        seen.body["BasicReverseTran"]["TransactionID"]
        for seen in asked
        if seen.act.facts.get("named", "nothing") != "nothing" or seen.act.facts.get("amount") is None
    }
    for one in (one for one in every if one.original.id not in named):
        began = scenario.begun[one.id]
        before = [other for other in every if other.original.id == one.original.id and scenario.begun[other.id] < began]
        last = max(before, key=lambda other: scenario.begun[other.id], default=one)
        same = (last.original.mode, last.amount_minor, last.receipt.purchases)
        alike = same == (one.original.mode, one.amount_minor, one.receipt.purchases)
        if last is not one and last.agent.id == one.agent.id and alike and scenario.decided.get(last.id, 0) > began:
            yield f"{one.id} was begun while {last.id}, the same, was pending"


def _order(act: Act) -> tuple[object, ...]:
    """Return what a request for a payment has in common with those that are the same payment: a key is its client's."""
    named = act.facts["named"]
    return (act.number,) if named == "nothing" else (act.facts["id"], named == "key" and act.client)


def _wish(seen: Seen, asked: list[Seen], scenario: Scenario) -> tuple[object, ...]:
    """Return what a request for a reversal has in common with those that are the same reversal.

    Without a key or an ID, a request equal to the till's latest one within two minutes repeats it (decision 2).
    """
    facts = seen.act.facts
    if facts.get("named", "nothing") in {"id", "key"}:
        return (facts["id"], facts["named"] == "key" and seen.act.client)
    if facts.get("named") == "time":
        return (*_content(seen), facts["time"])
    own = _content(seen)
    same = [other for other in asked if _content(other) == own]
    stood_still = any(scenario.faults.frozen_at(other.act.name) for other in same)
    if len(same) < len(asked) or stood_still:
        return own, seen.asked_at
    begin = number = 0.0
    for at in sorted(other.asked_at for other in same):
        if not number or at > begin + REPEATED_SECONDS:
            begin, number = at, number + 1
        if at == seen.asked_at:
            break
    return own, number


def _content(seen: Seen) -> tuple[object, ...]:
    facts = seen.act.facts
    amount = facts.get("amount") if facts["mode"] == "return" else None
    return seen.act.client, facts["mode"], amount, facts.get("coffee"), facts.get("named", "nothing")


def lists_are_whole(scenario: Scenario) -> Iterator[str]:
    """The pages of a list together show every transaction once, in order, and count it."""
    every = oracle.entries(scenario)
    lists: defaultdict[int, list[Seen]] = defaultdict(list)
    for seen in scenario.clients.seen:
        if seen.kind == "list" and seen.act.number >= LAST:
            lists[seen.act.number].append(seen)
    for asked in lists.values():
        if any(seen.status != 200 for seen in asked):
            yield f"the last list was answered {[(seen.status, seen.error) for seen in asked]}"
            continue
        act = asked[0].act
        own = [one for one in every.values() if oracle.is_listed(one, act)]
        views = [view for seen in asked for name in SECTIONS for view in seen.answer[name]]
        shown = Counter(view["ID"] for view in views)
        expected = Counter(one.id for one in own)
        if shown != expected:
            wrong = {name: (shown[name], expected[name]) for name in shown | expected if shown[name] != expected[name]}
            yield f"{_title(act)} shows so often, and should: {wrong}"
            continue
        yield from _pages_count(asked, own, scenario.around.page_size)
        for view in views:
            if differs := _differs(view, every[view["ID"]], list(every.values())):
                yield f"{_title(act)} shows of {view['ID']} {differs}"


def _pages_count(asked: list[Seen], own: list[oracle.Entry], most: int) -> Iterator[str]:
    counted = len(own), sum(max(one.moved, 0) for one in own), -(-len(own) // most)
    for number, seen in enumerate(asked):
        counters = seen.answer["TransactionsCounters"]
        found = counters["ItemCountTtl"], minor(counters["AmountCvt"]), counters["PageCount"]
        if found != counted:
            yield f"{_title(seen.act)} counts {found}, a recount {counted}"
        size = sum(len(seen.answer[name]) for name in SECTIONS)
        if size != min(most, len(own) - number * most):
            yield f"page {number + 1} of {_title(seen.act)} shows {size} of {len(own)}"


def _title(act: Act) -> str:
    return f"the last list {'by days ' if act.facts['days'] else ''}{act.facts.get('filter') or ''}".strip()


def _differs(view: dict[str, Any], one: oracle.Entry, every: list[oracle.Entry]) -> str | None:
    """Return what is wrong with a transaction in the last list."""
    back, count = oracle.given_back(one, every)
    facts = {
        "Amount": (minor(view["Amount"]), one.amount),
        "AmountRvs": (minor(view["AmountRvs"]), 0 if one.original else back),
        "CountRvs": (view["CountRvs"], 0 if one.original else count),
        "AmountEff": (minor(view["AmountEff"]), (one.amount - (0 if one.original else back)) if one.moved else 0),
        "State, Substate": (state_of(view), oracle.state_of(one, every)),
        "InputType, AcquirerCode": ((view["InputType"], view["AcquirerID"]), one.tender),
        "PosID": (view["PosID"], one.agent),
        "ExtID": (view["ExtID"], one.ext_id) if not one.original else (0, 0),
        "Date": (_is_then(view, one, ZONE), True),
    }
    wrong = [f"{name} {shown}, not {right}" for name, (shown, right) in facts.items() if shown != right]
    return ", ".join(wrong) or None


def _is_then(view: dict[str, Any], one: oracle.Entry, zone: int) -> bool:
    """Return whether a transaction shows its time, in this zone."""
    at = datetime.fromisoformat(f"{view['Date']}+00:00") - timedelta(hours=zone) + oracle.ZONE
    return at == one.paid if one.paid else one.earliest <= at <= one.latest


def lists_show_answered_payments(scenario: Scenario) -> Iterator[str]:
    """A list of the owner shows each payment of the merchant that was answered earlier."""
    for seen in scenario.clients.seen:
        if seen.kind != "list" or seen.status != 200 or seen.act.number >= LAST:
            continue
        if seen.answer["TransactionsCounters"]["PageCount"] > 1:
            continue
        shown = {view["ID"] for name in SECTIONS for view in seen.answer[name]}
        for one in of_kind(scenario, "pay"):
            if one.act.client == STRANGER or seen.act.client != OWNER:
                continue
            is_before = one.answered_at is not None and one.answered_at < seen.asked_at
            if is_before and one.answer.get("Transaction") and one.answer["TransactionID"] not in shown:
                yield f"{seen.act.name} is not shown {one.answer['TransactionID']}, which {one.act.name} was told of"


def nobody_is_refused_wrongly(scenario: Scenario) -> Iterator[str]:
    """A credential that never changed is not refused as wrong or blocked."""
    changed: dict[str, set[str]] = {}
    for change in scenario.clients.changes:
        changed.setdefault(change.till, set()).add(change.what)
    for seen in scenario.clients.seen:
        honest = seen.kind != "guess" and not str(seen.act.facts.get("signs")).startswith("old")
        honest = honest and seen.act.facts.get("signs") not in FALSE and not seen.act.facts.get("is_old")
        is_session = seen.act.facts.get("signs") == "session as password"  # once it expired it is no session at all
        honest = honest and not is_session and not _is_closed(seen, scenario)
        if honest and seen.act.client not in changed and seen.error in WRONG:
            yield f"{seen.act.name} was answered {seen.error}"
        is_used = seen.asked_at < min((one.asked_at for one in scenario.clients.changes), default=0) + IN_USE_SECONDS
        is_ended = any(end.till == seen.act.client for end in scenario.clients.ends)
        wrong = {BAD_CREDENTIAL, SESSION_OVER} if is_used and not is_ended else {BAD_CREDENTIAL}
        if honest and changed.get(seen.act.client) == {"block"} and seen.error in wrong:
            yield f"{seen.act.name} is blocked, and was told that its credential is wrong"


def messages_are_sent_once(scenario: Scenario) -> Iterator[str]:
    """If no sending fails, a message reaches each address once."""
    failures = sum("outbox" in name and name not in scenario.refused for name in scenario.faults.happened)
    for message, number in Counter(scenario.delivered).items():
        if number > min(1 + failures, 4):
            yield f"{message[0]} was delivered {number} times to {message[1]}"


def of_kind(scenario: Scenario, kind: str) -> list[Seen]:
    """Return the requests of a kind."""
    return [seen for seen in scenario.clients.seen if seen.kind == kind and isinstance(seen.body, dict)]


def sessions_end(scenario: Scenario) -> Iterator[str]:
    """A session ends with the credentials of its sign-in."""
    for seen in scenario.clients.seen:
        opened = scenario.clients.sessions.get(seen.secret)
        if opened is None or seen.status != 200 or seen.kind == "status":
            continue
        for change in scenario.clients.changes:
            ended = change.done_at is not None and (opened.answered_at or 0) < change.asked_at
            before = change.done_at is not None and change.done_at < seen.asked_at
            if ended and before and change.till == seen.act.client and change.what in {"password", "key", "block"}:
                yield f"{seen.act.name} got in with a session that ended at {change.done_at:.1f} s: {change.what}"


def cards_are_counted(scenario: Scenario) -> Iterator[str]:
    """A linked card counts the payments that took money with it. The acquirer got its token for each."""
    every = transactions(scenario).values()
    for card in (decode(LinkedCard, item) for item in table(scenario, "cards")):
        paid = [one for one in every if one.card_entry.linked_id == card.id and one.phase in TAKEN]
        if card.transaction_count != len(paid):
            yield f"card {card.id} counts {card.transaction_count} payments, a recount {len(paid)}"
        for one in paid:
            if one.agent.id != card.account_id:
                yield f"{one.id} was paid with card {card.id}, which is another's"
            if scenario.acquirers[one.acquirer].books[one.id].link_id != card.link_id:
                yield f"{one.id} was paid with another token than that of card {card.id}"


def reports_agree(scenario: Scenario) -> Iterator[str]:
    """The last report and export equal a recount: each amount counts on the day on which it moved."""
    shown = oracle.dates(scenario)
    own = oracle.of_merchant(scenario, TOWN.people.by_name[OWNER].merchant_id)
    for seen in scenario.clients.seen:
        if seen.act.number not in {LAST_DAYS, LAST_HOURS, LAST_EXPORT}:
            continue
        if seen.status != 200:
            yield f"the last {seen.act.kind} was answered {seen.status}/{seen.error}"
        elif seen.act.number == LAST_EXPORT:
            yield from _export_agrees(scenario, seen, own)
        else:
            yield from _report_agrees(seen, own, shown)


def _report_agrees(seen: Seen, own: list[oracle.Entry], dates: dict[str, str]) -> Iterator[str]:
    is_by_hour = seen.act.facts["by"] == "hour"
    shown = {
        (row["Day"], row["Hour"], row["AgentID"], row["InputType"], row["AcquirerCode"]): [
            *(row["Payments"], minor(row["Amount"]), row["Reversals"], minor(row["AmountReversed"]), minor(row["Net"]))
        ]
        for row in seen.answer["Takings"]
    }
    if is_by_hour and any(one.paid and len({at.hour for at in one.times()}) > 1 for one in own):
        return  # made as the hour ended, by a clock that nobody knows
    recount: dict[tuple[object, ...], list[int]] = {}
    for one in own:
        if not one.moved or one.id not in dates:
            continue
        at = oracle.counts_at(one, datetime.fromisoformat(dates[one.id]))
        key = f"{at:%Y-%m-%d}", at.hour if is_by_hour else None, one.agent, *one.tender
        sums = recount.setdefault(key, [0] * 5)
        place = 0 if one.moved > 0 else 2
        sums[place] += 1
        sums[place + 1] += abs(one.moved)
        sums[4] += one.moved
    if shown != recount:
        yield f"the report by {seen.act.facts['by']} says {shown}, a recount {recount}"


def _export_agrees(scenario: Scenario, seen: Seen, own: list[oracle.Entry]) -> Iterator[str]:
    name = seen.answer["Url"].partition("example/")[2]
    rows = {row["ID"]: row for row in csv.DictReader(io.StringIO(scenario.files.ever[name].decode("utf-8-sig")))}
    if rows.keys() != {one.id for one in own}:
        yield f"the export has {len(rows)} rows, stored are {len(own)}"
        return
    for one in own:
        row, state = rows[one.id], oracle.state_of(one, own)
        if (minor(row["Amount"]), int(row["State"]), int(row["Substate"])) != (one.moved, *state):
            yield f"the export says {row['Amount']}, {row['State']}/{row['Substate']} of {one.id}, which is {one.phase}"
        if row["Kind"] != ("reversal" if one.original else "payment") or row["OriginalID"] != (one.original or ""):
            yield f"the export says that {one.id} is a {row['Kind']} of {row['OriginalID']}"
        if (int(row["InputType"]), row["AcquirerCode"], int(row["AgentID"])) != (*one.tender, one.agent):
            yield f"the export says that {one.id} was taken by {row['AgentID']} with {row['AcquirerCode']}"


INVARIANTS: tuple[Callable[[Scenario], Iterator[str]], ...] = (
    answers_are_whole,
    nothing_is_pending,
    amounts_agree,
    books_agree,
    everything_is_as_it_was_asked_for,
    receipt_numbers_have_no_gap,
    receipts_are_sent,
    receipts_are_counted,
    no_secret_is_shown,
    credentials_end,
    passwords_are_limited,
    others_see_nothing,
    answers_fit_together,
    answers_are_about_their_requests,
    nothing_is_done_twice,
    pending_reversals_are_repeated,
    lists_are_whole,
    lists_show_answered_payments,
    nobody_is_refused_wrongly,
    messages_are_sent_once,
    sessions_end,
    answers.statuses_follow_the_contract,
    answers.answers_follow_the_contract,
    answers.retryable_answers_carry_retry_after,
    answers.in_progress_is_true,
    answers.nothing_fails_without_faults,
    answers.signatures_stay,
    answers.cards_pay_for_their_owners,
    answers.cards_pay_until_they_expire,
    answers.configurations_are_sent_once,
    answers.repeated_messages_are_marked,
    answers.nobody_inquires_twice_at_once,
    cards_are_counted,
    reports_agree,
    visibility.shown_transactions_are_stored,
    visibility.agents_see_only_their_own,
    visibility.reused_ids_are_refused,
    visibility.unattempted_payments_stay_unattempted,
    visibility.repeated_answers_are_marked,
    visibility.flags_follow_from_the_facts,
    visibility.lists_are_in_order,
    visibility.money_is_deposited_at_the_deadline,
    visibility.cancels_end_at_the_deadline,
    visibility.closed_merchants_take_nothing,
    visibility.signed_payments_have_receipts,
    accounts.sessions_end_by_themselves,
    visibility.photos_are_those_of_the_requests,
    visibility.names_stand_for_one_content,
    answers.wrong_requests_change_nothing,
    pace.sweeps_keep_their_pauses,
    pace.silent_acquirers_are_spared,
    pace.acquirers_that_answer_again_are_asked_again,
    pace.idle_sweeps_cost_little,
    visibility.the_log_names_nobody,
    partners_fill_in_fields,
    taxes.taxes_are_right,
    taxes.lines_are_given_back_once,
    taxes.taxes_are_reported,
    *accounts.RULES,
    *erasures.RULES,
    *webhook_changes.RULES,
    *shops.RULES,
    *later_receipts.RULES,
)


def violations(scenario: Scenario) -> list[tuple[str, str]]:
    """Return the violations of a scenario: the name of the invariant, and the contradiction."""
    found = []
    for rule in (*INVARIANTS, *webhooks.RULES):
        try:
            found += [(rule.__name__, what) for what in rule(scenario)]
        except Exception as failure:  # noqa: BLE001  what is stored is so wrong that the rule cannot read it
            where = traceback.extract_tb(failure.__traceback__)[-1]
            found.append((rule.__name__, f"{type(failure).__name__}: {failure} at {where.name}:{where.lineno}"))
    return found
