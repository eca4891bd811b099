"""What is always true, checked at the end of a life. Each function yields what is not, in words."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from chalicelib.domain.outcome import was_not_attempted
from chalicelib.domain.period import Period
from chalicelib.domain.transaction import MONEY_TAKEN, PENDING, Phase, Transaction
from chalicelib.store import history, history_renewal, takings, totals
from chalicelib.store.codec import decode
from infra.engines import STACK
from tests.accounts import basic
from tests.simulation.clients import LAST, PAN, Change, Seen
from tests.simulation.life import TOWN, Life
from tests.simulation.payments import contradictions, minor

ENVELOPE = frozenset({"ErrorCode", "ErrorMessage", "Validations"})
CVV2 = re.compile(r'"CVV2": ?"\d')
LOCK_AFTER = 10
WRONG = frozenset({102, 103, 108})  # a credential, a blocked agent, a blocked merchant
REPEATED_SECONDS = 110  # in which a reversal without a key is the same one
SECTIONS = ("NotFinishedActualTrans", "InProcess", "Transactions")
LOCK_SECONDS, REMEMBERED_SECONDS = 30 * 60, 62
SKEW = 3.0  # seconds between two clocks at the most


def table(life: Life, name: str) -> list[dict[str, Any]]:
    """Return the items of a table."""
    return [dict(item) for item in life.store.items(f"{STACK}-{name}")]


def transactions(life: Life) -> dict[str, Transaction]:
    """Return every transaction that is stored."""
    found = [decode(Transaction, item) for item in table(life, "transactions")]
    return {one.id: one for one in found}


def nothing_is_pending(life: Life) -> Iterator[str]:
    """Once nothing goes wrong any more, everything has its outcome after the Deadline and a sweep."""
    for item in table(life, "transactions"):
        one = decode(Transaction, item)
        if one.phase in PENDING or one.phase is Phase.AWAITING_COMPLETION:
            yield f"{one.id} is still {one.phase}"
        if "due_at" in item or "due_shard" in item:
            yield f"{one.id} is {one.phase} and still in the index of what is due"


def amounts_agree(life: Life) -> Iterator[str]:
    """Nothing is reserved any more, and what is reversed is the sum of the reversals that were done."""
    every = transactions(life)
    for one in every.values():
        if one.is_reversal:
            if one.original_id not in every:
                yield f"reversal {one.id} has no payment"
            continue
        done = [r for r in every.values() if r.original_id == one.id and r.phase is Phase.REVERSAL_APPROVED]
        total = sum(reversal.amount_minor for reversal in done)
        if one.reserved_minor:
            yield f"{one.id} has {one.reserved_minor} reserved"
        if (one.reversed_minor, one.reversals) != (total, len(done)):
            yield f"{one.id} says {one.reversed_minor} in {one.reversals}, its reversals {total} in {len(done)}"
        if one.reversed_minor > one.amount_minor or (total and one.phase not in MONEY_TAKEN):
            yield f"{one.id} of {one.amount_minor} gave {total} back and is {one.phase}"


def books_agree(life: Life) -> Iterator[str]:
    """Each acquirer took and gave back what we say."""
    for one in transactions(life).values():
        if one.is_reversal or one.acquirer not in life.acquirers:
            continue
        key = (one.rrn, one.host.trace.stan) if one.host else one.id
        theirs = life.acquirers[one.acquirer].taken(key)
        ours = (one.amount_minor, one.reversed_minor) if one.phase in MONEY_TAKEN else None
        if theirs is not None and theirs[0] == theirs[1] and ours is None:
            continue
        if ours != theirs:
            yield f"{one.id} is {one.phase} with {ours} here, and {theirs} at {one.acquirer}"


def totals_agree(life: Life) -> Iterator[str]:
    """The totals are what a recount finds, and the history has an entry of each transaction and no other."""
    every = transactions(life)
    for merchant in {one.client_id for one in every.values()}:
        of_merchant = [one for one in every.values() if one.client_id == merchant]
        for month in {f"{_local(one):%Y-%m}" for one in of_merchant}:
            own = [one for one in of_merchant if f"{_local(one):%Y-%m}" == month]
            counted = totals.of_month(merchant, month, None)
            taken = sum(one.amount_minor for one in own if one.took_money)
            found = sum(day.count for day in counted), sum(day.taken_minor for day in counted)
            if found != (len(own), taken):
                yield f"the totals of {month} say {found}, a recount {(len(own), taken)}"
            entries = history.of_month(merchant, month)
            if Counter(entry.id for entry in entries) != Counter(one.id for one in own):
                yield f"the history of {month} lists {sorted(entry.id[:8] for entry in entries)}"
            money = sum(entry.taken_minor for entry in entries)
            if money != taken:
                yield f"the entries of {month} say {money} was taken, a recount {taken}"
            for late in history_renewal.outdated(merchant, month):
                yield f"an entry of {late.transaction.id} in {month} is not what its transaction says"
        yield from _takings_agree(merchant, of_merchant)


def _takings_agree(merchant: int, own: list[Transaction]) -> Iterator[str]:
    """Yield what the takings do not say: what was taken and what was given back, in number and money."""
    days = [_local(one).date() for one in own]
    found = {False: [0, 0], True: [0, 0]}
    for moved in takings.by_day(merchant, Period(min(days), max(days)), None, []):
        sums = found[bool(moved.counter.reverse_mode)]
        sums[0], sums[1] = sums[0] + moved.number, sums[1] + moved.amount_minor
    for is_reversal, sums in found.items():
        moving = [one for one in own if one.is_reversal is is_reversal and _moved(one)]
        recount = [len(moving), sum(one.amount_minor for one in moving)]
        if sums != recount:
            yield f"the takings say {sums} of {'reversals' if is_reversal else 'payments'}, a recount {recount}"


def _moved(one: Transaction) -> bool:
    return one.phase in MONEY_TAKEN or one.phase is Phase.REVERSAL_APPROVED


def _local(one: Transaction) -> datetime:
    return one.created_at + timedelta(hours=one.gmt)


def receipts_are_sent(life: Life) -> Iterator[str]:
    """Each receipt that is owed is stored, and was sent to each address or given up as the rule says."""
    entries = {item["id"]["S"]: item for item in table(life, "outbox")}
    reached = Counter(life.delivered)
    for one in transactions(life).values():
        wanted = one.receipt
        owed = one.phase in MONEY_TAKEN or one.phase is Phase.REVERSAL_APPROVED
        for channel, to in (("email", wanted.emails), ("sms", wanted.phones)) if wanted and owed else ():
            entry = entries.get(f"{one.id}.{channel}")
            if not to:
                continue
            if entry is None:
                yield f"{one.id} has no receipt by {channel}"
            elif "sent_at" in entry and any((f"{one.id}.{channel}", address) not in reached for address in to):
                yield f"the receipt {one.id}.{channel} counts as sent and was not delivered"
    for name, item in entries.items():
        if not {"sent_at", "given_up_at"} & item.keys() or "due_at" in item:
            yield f"message {name} was neither sent nor given up"
        if "given_up_at" in item and int(item["attempts"]["N"]) < 1 + int(item["retries"]["N"]):
            yield f"message {name} was given up after {item['attempts']['N']} attempts"


def answers_are_whole(life: Life) -> Iterator[str]:
    """Each answer has the envelope, and the service met no defect of its own."""
    for request, reply in life.gateway.replies:
        try:
            body = json.loads(reply.body)
        except ValueError:
            body = None
        if not isinstance(body, dict) or not body.keys() >= ENVELOPE:
            yield f"{request.id} was answered without the envelope: {reply.body[:80]!r}"
    for event, facts in life.log:
        if event == "defect" and facts["error"] != "RuntimeError":
            yield f"a defect: {facts['error']} at {facts['frames'][-1].rpartition('/')[2]}"
        if event == "unproved":
            yield "an acquirer's honest answer counts as forged"


def no_secret_is_told(life: Life) -> Iterator[str]:
    """No card number, CVV2, password or key is in a table, a line of the log, or an answer."""
    secrets = {PAN, *(change.value for change in life.clients.changes if change.what in {"password", "key"})}
    for person in TOWN.people.by_name.values():
        secrets |= {person.password, person.key}
    places = {
        **{name: json.dumps(life.store.items(name)) for name in life.store.tables},
        "the log": json.dumps(life.log, default=str),
        "an answer": " ".join(reply.body.decode() for _, reply in life.gateway.replies),
    }
    for place, text in places.items():
        for secret in secrets:
            if secret in text:
                yield f"{place} tells {secret[:4]}..."
        if CVV2.search(text):
            yield f"{place} tells a CVV2"


def credentials_end(life: Life) -> Iterator[str]:
    """What was changed, blocked or locked lets nobody in afterwards."""
    for seen in life.clients.seen:
        if seen.status != 200 or not seen.header or seen.kind == "status":
            continue
        for change in life.clients.changes:
            if change.done_at is not None and change.done_at < seen.asked_at and _ends(change, seen, life):
                yield f"{seen.act.name} got in with what ended at {change.done_at:.1f} s: {change.what}"


def _ends(change: Change, seen: Seen, life: Life) -> bool:
    person = life.clients.people.by_name[change.till]
    if seen.act.client != change.till:
        return False
    others = [other for other in life.clients.changes if other is not change and other.till == change.till]
    if change.what == "block":
        return not any(other.what == "unblock" and other.asked_at <= seen.asked_at for other in others)
    if change.what == "unblock":
        return False
    # Only what was surely replaced: no change that may still be at work could have brought it back.
    same = [other for other in others if other.what == change.what and other.value == change.before]
    may_return = any(other.done_at is None for other in same)
    return seen.header == basic(person.email, change.before) and not may_return


def guesses_are_limited(life: Life) -> Iterator[str]:
    """Of guesses at one login not more than ten learn that they are wrong, until it is unlocked or somebody gets in."""
    by_login: dict[str, list[Seen]] = {}
    for seen in life.clients.seen:
        if seen.kind in {"guess", "sign in"}:
            by_login.setdefault(seen.body["Email"], []).append(seen)
    for email, attempts in by_login.items():
        wrong = [one for one in attempts if one.error == 102]
        if len(wrong) > LOCK_AFTER and not _was_reset(wrong, life, email):
            yield f"{len(wrong)} guesses at {email} were told that they are wrong"
        if len(wrong) >= LOCK_AFTER:
            tenth = sorted(one.answered_at or 0 for one in wrong)[LOCK_AFTER - 1]
            for one in attempts:
                late = tenth < one.asked_at < tenth + LOCK_SECONDS - SKEW
                if one.status == 200 and late and not _was_reset(wrong, life, email):
                    yield f"{one.act.name} signed in at {one.asked_at:.1f} s although the login was locked"


def _was_reset(wrong: list[Seen], life: Life, email: str) -> bool:
    """Return whether a right password may have ended the count between the guesses."""
    first, last = min(one.asked_at for one in wrong), max(one.answered_at or 0 for one in wrong)
    name = next(person.name for person in TOWN.people.by_name.values() if person.email == email)
    return any(
        one.act.client == name and _is_by_password(one) and one.asked_at <= last and (one.answered_at or last) >= first
        for one in life.clients.seen
    )


def _is_by_password(one: Seen) -> bool:
    """Return whether the right password may have come with it: of a blocked agent, too, it ends the count."""
    return one.kind == "sign in" or (one.kind != "guess" and one.act.facts.get("signs") == "password")


def others_see_nothing(life: Life) -> Iterator[str]:
    """For another merchant a payment does not exist."""
    for seen in life.clients.seen:
        if seen.act.client == "till of another merchant" and seen.status and seen.status < 500 and seen.error != 568:
            yield f"{seen.act.name} was answered {seen.status}/{seen.error}"


def answers_fit_together(life: Life) -> Iterator[str]:
    """The answers about each payment could have been given one after the other."""
    yield from contradictions(life.clients.seen, transactions(life), life.began)


def answers_are_about_what_was_asked(life: Life) -> Iterator[str]:
    """A payment that was answered has the amount that was asked for, whatever else its ID or key stood for."""
    for seen in life.clients.seen:
        view = seen.answer.get("Transaction")
        if seen.status == 200 and seen.kind == "pay" and view and minor(view["Amount"]) != seen.act.facts["amount"]:
            yield f"{seen.act.name} asked for {seen.act.facts['amount']} and was answered {view['Amount']}"


def nothing_is_done_twice(life: Life) -> Iterator[str]:
    """A request that is repeated as the interface says is carried out once."""
    every = transactions(life).values()
    pays = [seen.act for seen in of_kind(life, "pay")]
    payments = {act.facts["id"] if act.facts["named"] != "nothing" else act.number for act in pays}
    if sum(not one.is_reversal for one in every) > len(payments):
        yield f"{sum(not one.is_reversal for one in every)} payments are stored, {len(payments)} were asked for"
    for one in every:
        asked = [seen for seen in of_kind(life, "reverse") if seen.body["BasicReverseTran"]["TransactionID"] == one.id]
        wanted = {_wish(seen, asked, life) for seen in asked}
        found = sum(other.original_id == one.id and not was_not_attempted(other) for other in every)
        if found > len(wanted):
            yield f"{one.id} has {found} reversals, {len(wanted)} were asked for"


def _wish(seen: Seen, asked: list[Seen], life: Life) -> tuple[object, object]:
    """Return what a request for a reversal has in common with those that are the same reversal.

    Without a key or an ID a request is the same one as the latest, for two minutes (decision 54).
    """
    facts = seen.act.facts
    if facts.get("named", "nothing") != "nothing":
        return (facts["id"] if facts["named"] in {"id", "key"} else seen.act.number), None
    others = any(other.act is not seen.act for other in asked)
    stood_still = any(name.startswith(f"{seen.act.name}.") for name in life.faults.frozen)
    first = min(other.asked_at for other in asked if other.act is seen.act)
    late = seen.asked_at if others or stood_still else (seen.asked_at - first) // REPEATED_SECONDS
    return seen.act.number, late


def lists_agree(life: Life) -> Iterator[str]:
    """The last list of the owner counts everything, and all the money that was taken."""
    for seen in life.clients.seen:
        if seen.act.number != LAST:
            continue
        if seen.status != 200:
            yield f"the last list was answered {seen.status}/{seen.error}"
            continue
        owner = TOWN.people.by_name["owner"]
        own = [one for one in transactions(life).values() if one.client_id == owner.merchant_id]
        shown = seen.answer["TransactionsCounters"]
        found = shown["ItemCountTtl"], minor(shown["AmountCvt"])
        if found != (len(own), sum(one.amount_minor for one in own if one.took_money)):
            yield f"the last list counts {found}, stored are {len(own)}"
        ids = {view["ID"] for name in SECTIONS for view in seen.answer[name]}
        if ids != {one.id for one in own}:
            yield f"the last list shows {len(ids)} of {len(own)}"


def lists_show_what_was_answered(life: Life) -> Iterator[str]:
    """A list of the owner shows each payment of its merchant that was answered before."""
    for seen in life.clients.seen:
        if seen.kind != "list" or seen.status != 200:
            continue
        shown = {view["ID"] for name in SECTIONS for view in seen.answer[name]}
        for one in of_kind(life, "pay"):
            is_before = one.answered_at is not None and one.answered_at < seen.asked_at
            if is_before and one.answer.get("Transaction") and one.answer["TransactionID"] not in shown:
                yield f"{seen.act.name} is not shown {one.answer['TransactionID']}, which {one.act.name} was told of"


def nobody_is_refused_wrongly(life: Life) -> Iterator[str]:
    """Who signs in with what was never changed is not told that it is wrong, or blocked."""
    changed = {change.till for change in life.clients.changes}
    for seen in life.clients.seen:
        honest = seen.kind != "guess" and not str(seen.act.facts.get("signs")).startswith("old")
        if honest and seen.act.client not in changed and seen.error in WRONG:
            yield f"{seen.act.name} was answered {seen.error}"


def messages_are_sent_once(life: Life) -> Iterator[str]:
    """Where nothing goes wrong, a message is delivered once to each address."""
    for message, number in Counter(life.delivered).items():
        if number > 1 and not life.faults.happened:
            yield f"{message[0]} was delivered {number} times to {message[1]}"
        if number > 4:
            yield f"{message[0]} was delivered {number} times to {message[1]}"


def of_kind(life: Life, kind: str) -> list[Seen]:
    """Return the requests of a kind."""
    return [seen for seen in life.clients.seen if seen.kind == kind and isinstance(seen.body, dict)]


def sessions_end(life: Life) -> Iterator[str]:
    """A session ends with the credentials it was opened with."""
    for seen in life.clients.seen:
        opened = life.clients.sessions.get(seen.header.removeprefix("Session "))
        if opened is None or seen.status != 200 or seen.kind == "status":
            continue
        for change in life.clients.changes:
            ended = change.done_at is not None and (opened.answered_at or 0) < change.asked_at
            before = change.done_at is not None and change.done_at < seen.asked_at
            if ended and before and change.till == seen.act.client and change.what != "unblock":
                yield f"{seen.act.name} got in with a session that ended at {change.done_at:.1f} s: {change.what}"


ALWAYS: tuple[Callable[[Life], Iterator[str]], ...] = (
    answers_are_whole,
    nothing_is_pending,
    amounts_agree,
    books_agree,
    totals_agree,
    receipts_are_sent,
    no_secret_is_told,
    credentials_end,
    guesses_are_limited,
    others_see_nothing,
    answers_fit_together,
    answers_are_about_what_was_asked,
    nothing_is_done_twice,
    lists_agree,
    lists_show_what_was_answered,
    nobody_is_refused_wrongly,
    messages_are_sent_once,
    sessions_end,
)


def broken(life: Life) -> list[tuple[str, str]]:
    """Return what is not true of a life: the name of the rule, and what contradicts it."""
    return [(rule.__name__, what) for rule in ALWAYS for what in rule(life)]
