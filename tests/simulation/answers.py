"""What each answer has to say, whatever became of the others: the tables of the interface, written a second time."""

from collections.abc import Container, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from chalicelib.domain.transaction import ERASED_PICTURE
from tests.simulation.clients import Seen
from tests.simulation.edges import EDGES
from tests.simulation.payments import state_of
from tests.simulation.scenario import Scenario
from tests.simulation.scenario_script import AT_HOST, AT_STRIPE, CARD, EXPIRING, LINKED, STRANGER

IN_PROGRESS, OUTCOME_UNKNOWN = 301, 310
TOO_SOON, INTERVAL = 401, 600.0
ASK_AGAIN = frozenset({IN_PROGRESS, TOO_SOON, 902, 903})
EXPIRED = 9  # the Code of a finding
NO_CARD = 566
EXPIRIES = {"0226": datetime(2026, 2, 28, 22, tzinfo=UTC), "0326": datetime(2026, 3, 31, 22, tzinfo=UTC)}
# The HTTP statuses of each ErrorCode (contract, section 2).
STATUSES: tuple[tuple[Container[int], frozenset[int]], ...] = (
    (range(1), frozenset({200})),
    (range(101, 109), frozenset({401})),
    ({151, 152, 311}, frozenset({403})),
    ({201, 202, 204, 312, 403, 404}, frozenset({400})),
    ({301, *range(303, 310), *range(314, 318)}, frozenset({409})),
    ({302}, frozenset({422})),
    ({310, *range(1001, 1100)}, frozenset({200})),
    ({401, 402}, frozenset({429})),
    ({207, *range(561, 572)}, frozenset({404})),
    ({901}, frozenset({500, 503, 504})),  # 504: the gateway waited for its 29 seconds
    ({902, 903}, frozenset({503})),
)
ELSEWHERE = frozenset({*range(101, 109), 151, 301, 303, 309, 315, 568})  # refused before its content is looked at
UNDECIDED = frozenset({(200, 201), (500, 503), (500, 505)})  # not one that is being reversed, approved in part
CLAIM_SECONDS, AROUND = 1.5, 10.0
# Status, DisplayMode and ErrorCode's thousand of each State and Substate (contract, sections 1 and 7).
LOOKS: dict[tuple[int, int], tuple[frozenset[str], frozenset[int], str]] = {
    (200, 201): (frozenset({"PROCESSING", "UNKNOWN"}), frozenset({100}), "pending"),
    (200, 202): (frozenset({"REJECTED"}), frozenset({0}), "declined"),
    (400, 401): (frozenset({"IN-TRANSFER"}), frozenset({1}), "done"),
    (400, 411): (frozenset({"IN-TRANSFER", "DEPOSITED"}), frozenset({1}), "done"),
    (400, 412): (frozenset({"DECLINED"}), frozenset({0}), "declined"),
    (400, 403): (frozenset({"REVERSING"}), frozenset({100}), "pending"),
    (400, 404): (frozenset({"REVERSED"}), frozenset({0}), "declined"),
    (500, 502): (frozenset({"REVERSED", "IN-TRANSFER", "DEPOSITED"}), frozenset({2, 3}), "done"),
    (500, 503): (frozenset({"PROCESSING"}), frozenset({2}), "pending"),
    (500, 505): (frozenset({"PROCESSING"}), frozenset({2}), "pending"),
}


def statuses_follow_the_contract(scenario: Scenario) -> Iterator[str]:
    """The ErrorCode decides the HTTP status."""
    for seen in scenario.clients.seen:
        expected = next((statuses for codes, statuses in STATUSES if seen.error in codes), None)
        if seen.status and (expected is None or seen.status not in expected):
            yield f"{seen.act.name} was answered {seen.error} with status {seen.status}"


def answers_follow_the_contract(scenario: Scenario) -> Iterator[str]:
    """State and Substate decide the form of a transaction and the ErrorCode. Its amounts add up."""
    for seen in scenario.clients.seen:
        view = seen.answer.get("Transaction")
        if seen.kind == "status" or not isinstance(view, dict):
            continue
        shown = state_of(view)
        if shown not in LOOKS:
            yield f"{seen.act.name} was shown the state {shown}"
            continue
        statuses, modes, kind = LOOKS[shown]
        if view["Status"] not in statuses or view["DisplayMode"] not in modes:
            yield f"{seen.act.name} was shown {view['Status']} in DisplayMode {view['DisplayMode']} at {shown}"
        if view["IsNotFinished"] != (kind == "pending" or shown == (400, 401)):
            yield f"{seen.act.name} was shown IsNotFinished {view['IsNotFinished']} at {shown}"
        if view["HasSignature"] and shown == (400, 401) and view["SingleStepAuth"]:
            yield f"{seen.act.name} was shown that a payment with its signature waits for it"
        remains = 0 if kind == "declined" else round(view["Amount"] * 100) - round(view["AmountRvs"] * 100)
        if remains != round(view["AmountEff"] * 100):
            yield f"{seen.act.name} was shown amounts that do not add up: {view['AmountEff']} of {view['Amount']}"
        if seen.kind in {"pay", "reverse", "sign"} and not _is_error_of(kind, seen.error):
            yield f"{seen.act.name} was answered {seen.error} at {shown}"


def _is_error_of(kind: str, error: int) -> bool:
    return {"pending": error == OUTCOME_UNKNOWN, "done": error == 0, "declined": error >= 1000}[kind]


def retryable_answers_carry_retry_after(scenario: Scenario) -> Iterator[str]:
    """A refusal that asks for a retry has a Retry-After of at least one second."""
    for seen in scenario.clients.seen:
        if seen.error in ASK_AGAIN and int(seen.headers.get("Retry-After", "0")) < 1:
            yield f"{seen.act.name} was answered {seen.error} without Retry-After"


def in_progress_is_true(scenario: Scenario) -> Iterator[str]:
    """A payment is called in progress only if another request for it came earlier or at the same time."""
    about = [seen for seen in scenario.clients.seen if seen.kind in {"pay", "reverse", "sign"}]
    for seen in about:
        if seen.error == IN_PROGRESS and not any(
            other is not seen and _is_of_the_same(other, seen) and other.asked_at <= (seen.answered_at or 0)
            for other in about
        ):
            yield f"{seen.act.name} was told that its own request is in progress"


def _is_of_the_same(other: Seen, seen: Seen) -> bool:
    return other.act.label == seen.act.label or other.act.facts.get("id") == seen.act.facts.get("id")


def nothing_fails_without_faults(scenario: Scenario) -> Iterator[str]:
    """Without faults, each request is carried out at once and gets its outcome."""
    if scenario.faults.happened:
        return
    for seen in scenario.clients.seen:
        view = seen.answer.get("Transaction")
        if seen.status >= 500 and not scenario.faults.is_slow:
            yield f"{seen.act.name} was answered {seen.status}/{seen.error}"
        elif any(
            run.begun_at <= (seen.answered_at or 0) and seen.asked_at <= run.ended_at for run in scenario.erasures
        ):
            continue  # the outcome may meet the erasure; a sweep stores it
        elif seen.kind in {"pay", "reverse"} and isinstance(view, dict) and state_of(view) in UNDECIDED:
            yield f"{seen.act.name} was not told the outcome"


def signatures_stay(scenario: Scenario) -> Iterator[str]:
    """A signature that was shown never changes."""
    first: dict[str, str] = {}
    for seen in sorted(scenario.clients.seen, key=lambda one: one.answered_at or 0):
        view = seen.answer.get("Transaction")
        if seen.kind == "status" or not isinstance(view, dict) or not view["SignatureUrl"]:
            continue
        name = view["SignatureUrl"].partition("example/")[2]
        is_erased = scenario.erasures and name == ERASED_PICTURE
        if not is_erased and first.setdefault(view["ID"], name) != name:
            yield f"{seen.act.name} was shown another signature of {view['ID']} than others before"
        if name not in scenario.files.ever:
            yield f"{seen.act.name} was shown a signature that is not stored"


def cards_pay_for_their_owners(scenario: Scenario) -> Iterator[str]:
    """A linked card pays only for its owner, and not after it was removed."""
    people = scenario.clients.people
    owners = {people.cards[name]: "till 1" for name in ("card of till 1", "second card of till 1")}
    owners[people.cards["card of the other merchant"]] = STRANGER
    for seen in scenario.clients.seen:
        if seen.act.facts.get("way") != LINKED or seen.kind != "pay" or not seen.status or seen.status >= 500:
            continue
        card = seen.body["Card"]["LinkedCardId"]
        removed_at = scenario.removed.get(card)
        if card in owners and owners[card] != seen.act.client and seen.status == 200:
            yield f"{seen.act.name} paid with another's card"
        if (
            removed_at is not None
            and removed_at < seen.asked_at
            and seen.status == 200
            and not _was_paid_before(seen, scenario)
        ):
            yield f"{seen.act.name} paid with a card that was removed at {removed_at:.1f} s"
    for name, acquirer in scenario.acquirers.items():
        for token in acquirer.unknown_tokens:
            yield f"{name} was asked for money by a token that it never gave: {token[:40]}"


def cards_pay_until_they_expire(scenario: Scenario) -> Iterator[str]:
    """A card pays through the last day of its month, in the merchant's zone, and no longer."""
    for seen in scenario.clients.seen:
        if (
            seen.kind != "pay"
            or not seen.answered_at
            or seen.act.facts["way"] not in {CARD, AT_HOST, AT_STRIPE, LINKED}
        ):
            continue
        is_linked = seen.act.facts["way"] == LINKED
        is_expiring = is_linked and seen.act.facts["card"] == EXPIRING
        end = EXPIRIES.get("0326" if is_expiring else "" if is_linked else seen.act.facts.get("exp", ""))
        if end is None:
            continue
        over = (end - scenario.began).total_seconds()
        if seen.status == 200 and seen.asked_at > over + AROUND and not _was_paid_before(seen, scenario):
            yield f"{seen.act.name} paid with a card that has expired"
        codes = {item["Code"] for item in seen.answer.get("Validations") or ()}
        is_refused = EXPIRED in codes or (is_expiring and seen.error == NO_CARD and _may_use(seen, scenario))
        if is_refused and seen.answered_at < over - AROUND:
            yield f"{seen.act.name} was told that a card has expired, which has not"


def _may_use(seen: Seen, scenario: Scenario) -> bool:
    """Return whether the expiring card is the client's, and nobody removes it."""
    is_removed = any(act.kind == "remove" and act.facts["card"] == EXPIRING for act in scenario.acts)
    return seen.act.client == "till 1" and not is_removed


def wrong_requests_change_nothing(scenario: Scenario) -> Iterator[str]:
    """A request with one fault is refused with the finding of that fault."""
    for seen in scenario.clients.seen:
        if seen.kind != "wrong" or seen.error in ELSEWHERE or not seen.status or seen.status >= 500:
            continue
        edge = EDGES[seen.act.facts["edge"]]
        found = {(item["Property"], item["Code"]) for item in seen.answer.get("Validations") or ()}
        if seen.error != edge.error or (edge.property, edge.code) not in found:
            yield f"{seen.act.name} sent {edge.field} {edge.content!r}, and was answered {seen.error} {sorted(found)}"


def configurations_are_sent_once(scenario: Scenario) -> Iterator[str]:
    """An account gets its configuration once in ten minutes, and is refused no longer than that."""
    asked = [seen for seen in scenario.clients.seen if seen.kind == "configuration"]
    told = sorted((seen for seen in asked if seen.status == 200), key=lambda one: one.asked_at)
    for before, after in pairwise(told):
        if before.act.client == after.act.client and (after.answered_at or 0) < before.asked_at + INTERVAL - AROUND:
            yield f"{after.act.name} was told its configuration again"
    for seen in asked:
        if seen.error == TOO_SOON and not any(
            one is not seen
            and one.act.client == seen.act.client
            and seen.asked_at - INTERVAL - AROUND < one.asked_at <= (seen.answered_at or 0)
            for one in asked
        ):
            yield f"{seen.act.name} was refused its configuration, which nobody had asked for"


def _was_paid_before(seen: Seen, scenario: Scenario) -> bool:
    """Return whether an earlier request may have stored this payment: then it is answered again."""
    return any(
        other is not seen and other.act.label == seen.act.label and other.asked_at < seen.asked_at
        for other in scenario.clients.seen
    )


def repeated_messages_are_marked(scenario: Scenario) -> Iterator[str]:
    """A repeated message to a host is marked as repeated."""
    for name, acquirer in scenario.acquirers.items():
        for unmarked in acquirer.unmarked:
            if not scenario.faults.frozen:
                yield f"{name} was sent a message again, as if it were the first: {unmarked}"


def nobody_inquires_twice_at_once(scenario: Scenario) -> Iterator[str]:
    """One process at a time asks an acquirer about a transaction."""
    if scenario.faults.is_slow:
        return
    for name, acquirer in scenario.acquirers.items():
        kinds = {"look"} if acquirer.stalls else {"look", "pay", "reverse", "sign"}  # one that stood still is too late
        looking = {act.name for act in scenario.acts if act.kind in kinds}
        first: dict[tuple[str, str], float] = {}  # of what is asked about, and by whom
        for asked in acquirer.asked:
            who = asked.task.partition(".")[0]
            if (who in looking or "sweep" in who) and not scenario.faults.met_by(who):
                first.setdefault((asked.about, asked.task), asked.at)
        calm = sorted((about, at, task) for (about, task), at in first.items())
        for before, after in pairwise(calm):
            is_soon = before[0] == after[0] and after[1] - before[1] < CLAIM_SECONDS
            if is_soon and not _is_at_deadline(scenario, before[1]):
                yield f"{name} was asked twice for {after[0][:8]} at {after[1]:.2f} s: by {before[2]} and {after[2]}"


def _is_at_deadline(scenario: Scenario, at: float) -> bool:
    """Return whether a day of the merchants ends about now: then what was asked before may be asked anew."""
    moment = scenario.began + timedelta(seconds=at)
    midnight = moment.replace(hour=22, minute=0, second=0, microsecond=0)  # in the zone of the merchants
    return abs((moment - midnight).total_seconds()) < AROUND
