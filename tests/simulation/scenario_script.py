"""The script of a scenario: the clients, their acts and the times. It is drawn first, so that parts can be left out.

A scenario has a theme, which brings together what has to meet for a defect to show: a crowd that returns one payment,
guesses around the tenth wrong password, a payment whose answer is lost at its Deadline.
"""

import random
import uuid
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.edges import EDGES
from tests.simulation.goods import sell_goods

CASH, PREPAID, CARD, AT_HOST, LINKED = "cash", "prepaid", "card", "card at the host", "linked card"
AT_STRIPE = "card at Stripe"  # instead of `CARD` in some scenarios
AMOUNTS = (1000, 1000, 2550, 990, 1205, 1308, 1010)  # minor units; cents of 05: declined, 08: to sign, 10: for less
TO_SIGN = 1308
PENDING = frozenset({"sent", "unknown", "auto_cancelling", "cancelling", "returning"})  # phases without an outcome
PARTS = (None, None, 100, 500, 999, 1000, 205)  # of a reversal; None: all that remains
OTHER_PAN = "5555555555554444"
ONCE = {"attempts": 1, "patience": 40.0}
OWNER, TRAINEE, STRANGER = "owner", "trainee", "till of another merchant"
OUTSIDERS = (STRANGER, TRAINEE)  # who may do nothing with what the others take: the trainee has no right to it
TILLS = ("till 1", "till 2")
PATIENCE = (3.0, 12.0, 40.0)  # seconds that a client waits for an answer
SIGNS = ("key", "key", "key", "password", "session", "token")
FALSE = ("forged token", "expired token", "borrowed session")  # that never let anybody in
OLD = ("old password", "old key", "old token", "old email", *FALSE)
# A forger pays under the ID that the automatic reversal of another payment would have, if one could compute it.
FORGED, SHARE_OF_FORGERS = "F0F0F0F0", 0.15
DEADLINE = 300.0  # seconds after a scenario of that theme begins
SHARE_OF_PAGES, SHARE_OF_REPORTS, SHARE_OF_BAD_RECORDS, SHARE_OF_PRODUCTS = 0.1, 0.2, 0.05, 0.1
SHARE_OF_ODD_CARDS, SHARE_OF_ODD_WISHES, SHARE_OF_CLOSED = 0.08, 0.1, 0.05
SHARE_OF_OTHERS = 0.5  # of the scenarios in which one more payment has nothing to do with the theme
EXPIRING = "second card of till 1"  # at the end of the month
CARDS = ("card of till 1", EXPIRING, "card of the other merchant")  # linked before a scenario begins
IN_HAND = frozenset({CASH, PREPAID})  # paid without an acquirer
# What a request may have wrong: see `tests.simulation.edges`.
SHARE_OF_EDGES, SHARE_OF_OTHER_CONTENT, SHARE_OF_COLLEAGUES, SHARE_OF_PHOTOS = 0.15, 0.25, 0.12, 0.1
SHARE_OF_STORE_OUTAGES = 0.04
SHARE_OF_GOODS = 0.4
SHARE_WITH_WEBHOOKS = 0.1  # of scenarios: they take half as long again
FILTERS: tuple[dict[str, Any], ...] = (
    {"InputType": 10},
    {"AcquirerCode": "SANDBOX"},
    {"AccountID": "till 1"},
    {"ExtID": "order-1"},
    {"AccountID": "till 2", "InputType": 1},
)


@dataclass(frozen=True)
class Act:
    """What one client wants, at a time; `label` names the payment it is about."""

    number: int
    at: float
    client: str
    kind: str
    label: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name in the timeline."""
        return f"{self.client} #{self.number}"


@dataclass
class Circumstances:
    """The conditions of a scenario, apart from its clients."""

    has_small_pages: bool = False
    has_bad_record: bool = False  # in the index of what is due
    has_reports: bool = False  # at its end
    page_size: int = 100  # of the lists
    filter: dict[str, Any] = field(default_factory=dict)  # of a list at its end
    is_unlucky: bool = False  # much goes wrong at its acquirers
    is_quiet: bool = False  # nothing goes wrong
    is_slow: bool = False  # the store takes its time
    is_mute: bool = False  # no inquiry is answered any more
    begins_before_deadline: bool = False
    ends_month: bool = False  # soon after it begins
    outages: list[tuple[str, float, float]] = field(default_factory=list)  # of acquirers, from when to when
    losses: list[tuple[str, float, float]] = field(default_factory=list)  # of what is sent and answered
    stalls: list[tuple[str, float, float]] = field(default_factory=list)  # of processes that ask them
    one_way: list[tuple[str, float, float]] = field(default_factory=list)  # outages of reversals alone
    silences: list[tuple[str, float, float]] = field(default_factory=list)  # connected, and nobody answers
    without_store: list[tuple[str, float, float]] = field(
        default_factory=list
    )  # every call is refused, or none arrives
    is_silent: bool = False  # an acquirer does not answer while much is due there


def soon(chance: random.Random) -> float:
    """Return seconds: after a moment, or after minutes."""
    return chance.choice((chance.uniform(0, 0.05), chance.uniform(0, 2), chance.uniform(0, 40), chance.uniform(0, 400)))


class Script:
    """The acts of one scenario, by the seed."""

    def __init__(self, seed: str) -> None:
        chance = random.Random(f"{seed}/script")  # noqa: S311  the order of a test, not a secret
        self._chance = chance
        self._has_goods = random.Random(f"{seed}/goods").random() < SHARE_OF_GOODS  # noqa: S311  see above
        self.has_webhooks = random.Random(f"{seed}/webhooks").random() < SHARE_WITH_WEBHOOKS  # noqa: S311  see above
        self._acts: list[Act] = []
        self._before: tuple[str, dict[str, Any]] | None = None  # the reversal before, and who wants it
        self.around = Circumstances(
            has_small_pages=chance.random() < SHARE_OF_PAGES,
            has_bad_record=chance.random() < SHARE_OF_BAD_RECORDS,
            has_reports=chance.random() < SHARE_OF_REPORTS,
            page_size=chance.choice((100, 100, 2)),
            filter=chance.choice(FILTERS),
        )
        themes = {
            self._usual: 22,
            self._accounts: 14,
            self._guesses: 10,
            self._unlucky: 16,
            self._crowd: 10,
            self._at_deadline: 10,
            self._linked_cards: 8,
            self._signed: 10,
            self._silent: 4,
        }
        (self._theme,) = chance.choices(list(themes), list(themes.values()))
        self.theme = self._theme.__name__.strip("_").replace("_", " ")

    def acts(self) -> list[Act]:
        """Return all of them, in the order of their times."""
        chance = self._chance
        self._theme()
        for _ in range(chance.choice((0, 1, 1, 2))):
            kind = chance.choice(("list", "list", "list", "list", "report", "export"))
            facts = {"days": chance.random() < 0.5, "by": chance.choice(("day", "hour"))}
            self._act(chance.uniform(0, 1000), chance.choice((OWNER, OWNER, OWNER, OWNER, TRAINEE)), kind, facts=facts)
        if chance.random() < SHARE_OF_OTHERS:
            self._payment("payment 9", chance.uniform(0, 900))
        if chance.random() < SHARE_OF_PRODUCTS:
            self._product()
        self._seldom()
        if self._has_goods:
            sell_goods(self._acts)
        return self.every()

    def every(self) -> list[Act]:
        """Return the acts so far, in the order of their times."""
        return sorted(self._acts, key=lambda act: act.at)

    def _seldom(self) -> None:
        """Add what is wanted seldom, whatever the theme; it is drawn last."""
        chance, acts = self._chance, list(self._acts)
        for label in sorted({act.label for act in acts if act.kind == "pay"}):
            if chance.random() < SHARE_OF_ODD_CARDS:
                self._oddly_paid([act.facts for act in acts if act.label == label and act.kind in {"pay", "sign"}])
        for act in acts:
            self._done_otherwise(act)
        self._added_to_theme(acts)
        if chance.random() < SHARE_OF_ODD_WISHES:
            self._act(chance.uniform(0, 500), chance.choice(OUTSIDERS), "peek", facts={"of": chance.choice(TILLS)})
            self._act(chance.uniform(0, 500), chance.choice(TILLS), "account", facts={"as": OWNER})
        if chance.random() < SHARE_OF_ODD_WISHES:
            till, at = chance.choice(TILLS), chance.uniform(0, 500)
            for wait in (0, self._soon(), chance.choice((400, 590, 610))):
                self._act(at + wait, till, "configuration")
        if chance.random() < SHARE_OF_STORE_OUTAGES:
            begin = chance.uniform(0, 300)
            kind = chance.choice(("unreachable", "throttled"))
            self.around.without_store.append((kind, begin, begin + chance.choice((8, 30, 90))))
        for _ in range(chance.choice((1, 2)) if chance.random() < SHARE_OF_EDGES else 0):
            facts = {"edge": chance.randrange(len(EDGES)), "id": self._an_id()}
            paid = sorted({act.label for act in acts if act.kind == "pay"})
            label = chance.choice(paid) if paid else ""
            self._act(chance.uniform(0, 600), chance.choice(TILLS), "wrong", label, facts)
        if chance.random() < SHARE_OF_CLOSED:
            self._closed_meanwhile(chance.uniform(0, 200), chance.choice(("merchant", *TILLS)))

    def _added_to_theme(self, acts: list[Act]) -> None:
        """Add what belongs to a theme, and came to it later."""
        chance = self._chance
        if self._theme == self._unlucky and chance.random() < SHARE_OF_OTHERS:
            self._asked_without_a_name([act for act in acts if act.kind == "reverse"])
        if self.around.begins_before_deadline:
            self._looked_at_together(DEADLINE + chance.uniform(15, 400))
        guesses = [act for act in acts if act.kind == "guess"]
        if guesses and chance.random() < SHARE_OF_OTHERS:  # when the lock, if there was one, is over
            self._guess(guesses[-1].at + chance.uniform(31, 50) * 60, guesses[-1].client)

    def _asked_without_a_name(self, reversals: list[Act]) -> None:
        """Let a till that has no answer to its return ask again after more than two minutes, without a key."""
        for act in reversals[:1]:
            act.facts.update(named="nothing", mode="return", amount=500)
            self.around.losses += [(name, act.at - 1, act.at + 300) for name in ("SANDBOX", "ISO8583")]
            self._act(act.at + self._chance.uniform(125, 400), act.client, "reverse", act.label, {**act.facts})

    def _looked_at_together(self, at: float) -> None:
        for _ in range(3):
            self._act(at + self._chance.uniform(0, 0.05), OWNER, "look", "payment 1", {"attempts": 1})

    def _oddly_paid(self, own: list[dict[str, Any]]) -> None:
        """Let a payment be made with a card that expires, in two steps, or by a till whose clock is fast."""
        odd: dict[str, Any] = self._chance.choice(({"exp": "0226"}, {"exp": "0326"}, {"is_two_step": True}))
        if own[0]["way"] in IN_HAND:
            odd = {"days_ago": -0.9}
        for facts in own:
            facts.update(odd)

    def _done_otherwise(self, act: Act) -> None:
        """Let a till use a reversal's ID for another mode, ask for its receipt, or use a session's ID as a password."""
        chance = self._chance
        is_named = act.kind == "reverse" and act.facts.get("named") in {"id", "key"}
        if is_named and chance.random() < SHARE_OF_ODD_WISHES:
            mode = "cancel" if act.facts["mode"] == "return" else "return"
            self._act(act.at + self._soon(), act.client, "reverse", act.label, {**act.facts, "mode": mode})
        if act.kind == "reverse" and chance.random() < SHARE_OF_ODD_WISHES:
            act.facts["receipt"] = chance.choice(("email", "both", "two"))
        if act.kind == "account" and chance.random() < SHARE_OF_ODD_WISHES:
            act.facts["signs"] = "session as password"

    def _closed_meanwhile(self, at: float, what: str) -> None:
        """Let the merchant of the tills, or the terminal of one, be blocked for a while in which they go on."""
        chance = self._chance
        self._act(at, "operator", "close", facts={"what": what})
        self._act(at + chance.choice((20, 200, 600)), "operator", "open", facts={"what": what})
        for number in (7, 8):
            self._payment(f"payment {number}", at + chance.uniform(0, 60))

    def _usual(self) -> None:
        chance = self._chance
        for number in range(chance.choice((1, 1, 2, 2, 3))):
            self._payment(f"payment {number + 1}", chance.choice((0, chance.uniform(0, 5), chance.uniform(0, 900))))

    def _product(self) -> None:
        """Let a till prepare the payment of a partner's product, with fields that the partner takes or refuses."""
        chance = self._chance
        for _ in range(chance.choice((1, 2))):
            facts = {
                "AmountClient": chance.choice(("1500.00", "99.99", "a lot", "-1")),
                "OrderId": chance.choice(("order 1", "order 2", "order 3", "")),
                "plan": chance.choice((None, "GOLD")),
                "signs": chance.choice((*SIGNS, *OLD)),
            }
            self._act(chance.uniform(0, 900), chance.choice(TILLS), "prepare", facts=facts)

    def _act(self, at: float, client: str, kind: str, label: str = "", facts: dict[str, Any] | None = None) -> None:
        self.add(self._chance, at, client, kind, label, facts)

    def add(  # noqa: PLR0913, PLR0917  each is a thing of its own
        self,
        chance: random.Random,
        at: float,
        client: str,
        kind: str,
        label: str = "",
        facts: dict[str, Any] | None = None,
    ) -> None:
        """Add an act. What its client wants without saying so is drawn from `chance`."""
        usual = {
            "patience": chance.choice(PATIENCE),
            "attempts": chance.choice((1, 2, 3, 4)),
            "pauses": [chance.choice((0.1, 1.0, 8.0, 45.0)) for _ in range(4)],
            "signs": chance.choice(SIGNS),
        }
        self._acts.append(Act(len(self._acts) + 1, round(at, 3), client, kind, label, {**usual, **(facts or {})}))

    def _facts(self, label: str, **certain: Any) -> dict[str, Any]:
        """Return the facts of a payment; `certain` are those that chance does not decide."""
        chance = self._chance
        drawn = {
            "way": chance.choice((CASH, CASH, PREPAID, *[CARD] * 3, *[AT_HOST] * 3)),
            "amount": chance.choice(AMOUNTS),
            "named": chance.choice(("id", "id", "key", "nothing")),
            "id": self._an_id(),
            "receipt": chance.choice((None, None, "email", "both", "two")),
            "days_ago": chance.choice((0, 0, 0, 0, 1, 2)),  # a till without connection took it then, in cash
            "gmt": chance.choice((2, 2, 2, 5)),  # the zone of the request
            "invoice": chance.choice((None, f"A7-{label[-1]}")),  # its own number
            "ext_id": chance.choice((None, f"order-{label[-1]}")),
            "photo": chance.choice((3, 4)) if chance.random() < SHARE_OF_PHOTOS else None,
        }
        return {**drawn, **certain}

    def _payment(self, label: str, at: float) -> None:
        chance = self._chance
        facts, till = self._facts(label), chance.choice(TILLS)
        self._act(at, till, "pay", label, facts)
        if chance.random() < 0.3:
            self._act(at + self._soon(), till, "pay", label, facts)  # at the same time, by another device
        if chance.random() < SHARE_OF_OTHER_CONTENT:
            self._act(at + self._soon(), till, "pay", label, {**facts, **self._other_content(facts)})
        if chance.random() < 0.1:
            colleague = TILLS[till == TILLS[0]]  # means something else by the same ID or key
            self._act(at + self._soon(), colleague, "pay", f"{label} of a colleague", facts)
        if chance.random() < SHARE_OF_FORGERS and facts["way"] == CARD:
            forged = {**facts, "id": FORGED + facts["id"][8:], "named": "id", "amount": 1000}
            self._act(at + self._soon(), chance.choice(TILLS), "pay", f"forged {label}", forged)
        if facts["amount"] == TO_SIGN:
            self._signatures(label, at + chance.choice((3.0, 30.0, 300.0)), till, facts)
        later = at + chance.choice((0.0, 2.0, 10.0, 60.0))
        crowded = chance.random() < 0.4  # everybody wants something of it at once
        for _ in range(chance.choice((0, 1, 2, 3, 4))):
            later += chance.uniform(0, 0.1) if crowded else self._soon()
            self._follow(label, later, facts["way"])

    def _other_content(self, facts: dict[str, Any]) -> dict[str, Any]:
        """Return one field of a payment's request with another content; or one that is no content."""
        other_way = {CASH: PREPAID, PREPAID: CASH, CARD: AT_HOST, AT_HOST: CARD}
        possible: list[dict[str, Any]] = [
            {"amount": facts["amount"] + 1},
            {"ext_id": None if facts["ext_id"] else "order-0"},
            {"device": "another till"},
        ]
        if facts["way"] in other_way:
            possible.append({"way": other_way[facts["way"]]})
        if facts["way"] in {CARD, AT_HOST}:
            possible.append({"pan": OTHER_PAN})
        return self._chance.choice(possible)

    def _an_id(self) -> str:
        return str(uuid.UUID(bytes=self._chance.randbytes(16), version=4)).upper()

    def _soon(self) -> float:
        return soon(self._chance)

    def _signatures(self, label: str, at: float, till: str, facts: dict[str, Any]) -> None:
        """Deliver the signature that a payment owes, now and then twice, with two pictures."""
        chance = self._chance
        for picture in range(chance.choice((0, 1, 2, 2))):
            at += chance.choice((chance.uniform(0, 0.02), chance.uniform(0, 0.02), 20.0))
            self._act(at, till, "sign", label, {**facts, "picture": picture + 1})

    def _follow(self, label: str, at: float, way: str) -> None:
        chance = self._chance
        client = chance.choice((*TILLS, OWNER))
        kind = chance.choice(("reverse", "reverse", "reverse", "look", "status", "other"))
        if kind == "other":
            kind = chance.choice(("look", "reverse", "find"))
            facts = {"way": way, "mode": "return", "days": chance.random() < 0.5}
            self._act(at, chance.choice((STRANGER, TRAINEE)), kind, label, facts)
            return
        if kind != "reverse":
            self._act(at, client, kind, label, {"is_of_reversal": chance.random() < 0.3})
            return
        facts = self._reversal(way)
        if self._before and chance.random() < 0.15:  # a till that takes its last reversal's key, or time, for another
            client, last = self._before
            facts = {**last, "way": way}
        self._before = client, facts
        self._act(at, client, kind, label, facts)
        if chance.random() < 0.35:
            self._act(at + self._soon(), client, kind, label, facts)  # the same, from another device
        if facts["named"] == "key" and chance.random() < SHARE_OF_COLLEAGUES:
            colleague = chance.choice([one for one in (*TILLS, OWNER) if one != client])
            self._act(at + self._soon(), colleague, kind, label, facts)  # has its own keys
        if chance.random() < 0.3:
            other = {**facts, "id": self._an_id(), "amount": chance.choice(PARTS)}
            self._act(at + self._soon(), chance.choice(TILLS), kind, label, other)  # two want the same money

    def _reversal(self, way: str, **certain: Any) -> dict[str, Any]:
        chance = self._chance
        drawn = {
            "way": way,
            "mode": chance.choice(("return", "return", "cancel")),
            "amount": chance.choice(PARTS),
            "named": chance.choice(("key", "key", "id", "time", "nothing")),
            "id": self._an_id(),
            "time": chance.choice(("09:00:00", "09:00:01")),
        }
        return {**drawn, **certain}

    def _crowd(self) -> None:
        """Let many want parts of one payment, in the same instant or within a minute."""
        chance = self._chance
        label, facts = "payment 1", self._facts("payment 1", amount=chance.choice((1000, 2550)))
        self._act(0, "till 1", "pay", label, facts)
        apart = chance.choice((0.01, 0.01, 0.3, 8.0))
        at = chance.choice((8.0, 40.0))
        is_nameless = chance.random() < 0.6
        for _ in range(chance.choice((2, 3, 4))):
            amount = chance.choice((100, 100, 500, None))
            wanted = self._reversal(facts["way"], amount=amount)
            if is_nameless:
                wanted |= {"named": "nothing", "mode": "return"}
            client = chance.choice((*TILLS, OWNER))
            for _ in range(chance.choice((1, 2, 2, 3))):
                at += chance.uniform(0, apart)
                self._act(at, client, "reverse", label, wanted)
            if is_nameless and chance.random() < 0.7:
                break  # nobody else comes between: then it is one reversal
        self._act(at + 30, OWNER, "look", label)

    def _unlucky(self) -> None:
        """Let answers get lost, and everybody ask for what became of a payment or a reversal."""
        chance = self._chance
        in_turn = chance.random() < 0.35
        if not in_turn:
            self.around.is_unlucky = chance.random() < 0.7
            self._out_of_reach(chance.uniform(-20, 60), chance.uniform(20, 200))
        for number in range(1 if in_turn else chance.choice((1, 1, 2))):
            label, at = f"payment {number + 1}", chance.uniform(0, 60)
            facts = self._facts(label, way=chance.choice((CARD, AT_HOST)), amount=chance.choice((1000, 2550, 1010)))
            self._act(at, "till 1", "pay", label, facts)
            if chance.random() < 0.7:
                at += chance.choice((2.0, 30.0, 90.0))
                wanted = self._reversal(facts["way"], named=chance.choice(("key", "id")))
                self._act(at, "till 2", "reverse", label, {**wanted, "attempts": 4})
            if in_turn:
                self._one_after_the_other(at)
                again = self._acts[-1]
                self._act(at + chance.uniform(31, 50), again.client, again.kind, label, again.facts)
            for wait in (chance.uniform(15, 70), chance.uniform(60, 400)):
                for _ in range(chance.choice((1, 2, 3))):
                    later = at + wait + chance.uniform(0, chance.choice((0.02, 2)))
                    about = {"is_of_reversal": chance.random() < 0.5, "attempts": 1}
                    self._act(later, chance.choice((*TILLS, OWNER)), "look", label, about)

    def _one_after_the_other(self, at: float) -> None:
        """Let a process stand still that asks an acquirer; who asks then gets no answer; later nobody is there."""
        chance = self._chance
        for name in ("SANDBOX", "ISO8583"):
            self.around.stalls.append((name, at, at + 3))
            self.around.losses.append((name, at + 25, at + 60))
            self.around.outages.append((name, at + 60, at + chance.choice((120, 800))))

    def _out_of_reach(self, lost_from: float, down_from: float) -> None:
        """Let the answers of an acquirer get lost for a while, and later let nobody reach it, or the other."""
        chance, names = self._chance, ("SANDBOX", "ISO8583")
        if chance.random() < 0.3:
            stalled_from = max(lost_from + chance.uniform(-40, 10), 0)
            self.around.stalls += [(name, stalled_from, stalled_from + 40) for name in names]
        if chance.random() < 0.7:
            self.around.losses.append((chance.choice(names), lost_from, lost_from + chance.choice((30, 120, 600))))
        if chance.random() < 0.3:
            self.around.one_way += [(name, lost_from, lost_from + chance.choice((120, 600))) for name in names]
        if chance.random() < 0.5:
            lasts = chance.choice((40, 300, 2500))
            self.around.outages += [(name, down_from, down_from + lasts) for name in names if chance.random() < 0.7]

    def _at_deadline(self) -> None:
        """Let the day end while payments are under way, signatures are owed, and acquirers are out of reach."""
        chance, around = self._chance, self.around
        around.begins_before_deadline = True
        around.is_unlucky = chance.random() < 0.5
        around.is_mute = chance.random() < 0.35
        self._out_of_reach(chance.uniform(0, DEADLINE), chance.uniform(DEADLINE - 100, DEADLINE))
        for number in range(chance.choice((1, 2))):
            label, at = f"payment {number + 1}", chance.uniform(0, DEADLINE)
            facts = self._facts(label, way=chance.choice((CARD, CARD, AT_HOST)))
            self._act(at, "till 1", "pay", label, facts)
            if facts["amount"] == TO_SIGN:
                self._signatures(label, chance.uniform(at, DEADLINE), "till 1", facts)
            for _ in range(chance.choice((1, 2, 3))):
                self._follow(
                    label, DEADLINE + chance.choice((chance.uniform(-5, 5), chance.uniform(-60, 400))), facts["way"]
                )

    def _signed(self) -> None:
        """Let signatures and reversals of a payment come in the same moment, before its Deadline or after it."""
        chance = self._chance
        self.around.begins_before_deadline = chance.random() < 0.5
        self.around.is_slow = chance.random() < 0.7
        label, at = "payment 1", chance.uniform(0, 200)
        facts = self._facts(label, way=chance.choice((CARD, CARD, AT_HOST)), amount=TO_SIGN, named="id")
        self._act(at, "till 1", "pay", label, facts)
        at += chance.choice((5.0, 60.0, chance.uniform(100, 1500)))
        for _ in range(chance.choice((0, 1, 1, 2))):
            wanted = self._reversal(facts["way"], amount=chance.choice((100, 500, None)))
            self._act(at - chance.uniform(0, 1.5), chance.choice(TILLS), "reverse", label, wanted)
        for _ in range(2):
            self._signatures(label, at, "till 1", facts)
        self._act(at + chance.uniform(0, 60), OWNER, "look", label)

    def _linked_cards(self) -> None:
        """Let tills pay with linked cards: their own, each other's, those that are linked or removed meanwhile."""
        chance = self._chance
        self.around.ends_month = chance.random() < 0.6
        self._act(chance.uniform(0, 20), "operator", "link", facts={"of": chance.choice(TILLS)})
        if chance.random() < 0.5:
            self._act(chance.uniform(0, 90), "operator", "remove", facts={"card": CARDS[0]})
        for number in range(chance.choice((2, 3))):
            label, at = f"payment {number + 1}", chance.uniform(0, 120)
            client = chance.choice(("till 1", "till 1", "till 1", "till 2", STRANGER))
            card = chance.choice((CARDS[0], CARDS[0], EXPIRING, EXPIRING, CARDS[2], "linked meanwhile"))
            if card == EXPIRING and chance.random() < 0.7:
                at = chance.uniform(600, 900)  # around the end of the month, if it ends
            facts = self._facts(label, way=LINKED, card=card, amount=chance.choice((1000, 2550, 1205)))
            self._act(at, client, "pay", label, facts)
            if chance.random() < 0.4:
                other = {**facts, "card": chance.choice(CARDS)}
                self._act(at + self._soon(), client, "pay", label, other)
            if chance.random() < 0.5:
                self._act(at + self._soon(), client, "reverse", label, self._reversal(LINKED))
        self._act(chance.uniform(60, 200), "till 1", "cards")

    def _silent(self) -> None:
        """Let many payments wait for an acquirer that does not answer for a while: sweeps come each minute."""
        chance, name = self._chance, "SANDBOX"
        begin, lasts = 30.0, chance.choice((300, 600))
        self.around.is_silent, self.around.is_quiet = True, chance.random() < 0.5
        self.around.silences.append((name, begin, begin + lasts))
        for number in range(chance.choice((7, 9, 12))):
            facts = self._facts(f"payment {number}", way=CARD, amount=1000, named="id")
            self._act(begin + chance.uniform(0, 20), chance.choice(TILLS), "pay", f"payment {number}", facts | ONCE)

    def _accounts(self) -> None:
        chance = self._chance
        if chance.random() < 0.5:
            self._payment("payment 1", chance.uniform(0, 300))
        at = chance.uniform(20, 300)
        for till in TILLS:
            self._act(at - chance.uniform(1, 20), till, "sign in")
            self._act(at - chance.uniform(0, 1), till, "account", facts={"signs": chance.choice(("password", "token"))})
            if chance.random() < 0.3:
                self._uses_of_session(at, till)
        for _ in range(chance.choice((1, 2, 3))):
            what = chance.choice(("password", "key", "block", "unblock", "password", "email"))
            till = chance.choice(TILLS)
            self._act(at, OWNER, "change", facts={"till": till, "what": what, "signs": "key"})
            for _ in range(chance.choice((1, 2, 3))):
                client = chance.choice((till, till, *TILLS))
                self._act(at + self._soon(), client, "account", facts={"signs": chance.choice((*SIGNS, *OLD))})
            if chance.random() < 0.4:
                signs = {"attempts": 1, "is_old": chance.random() < 0.6}
                self._act(at + chance.uniform(1, 30), till, "sign in", facts=signs)
            at += self._soon()

    def _uses_of_session(self, at: float, till: str) -> None:
        """Let a till come back by its session while that is alive by its last use, and when nobody used it for long."""
        for minutes in (*[self._chance.uniform(18, 26)] * 2, self._chance.uniform(33, 40)):
            at += minutes * 60
            self._act(at, till, "account", facts={"signs": "session"})

    def _guesses(self) -> None:
        """Guess the password of a till: in a crowd, in turn, or until it is locked for half an hour."""
        chance = self._chance
        self.around.is_quiet = chance.random() < 0.5
        till, other = chance.sample(TILLS, 2)
        at = chance.uniform(0, 60)
        self._act(at, other, "sign in", facts={"attempts": 1})
        at += chance.uniform(1, 20)
        shape = chance.choice((self._crowd_of_guesses, self._guesses_in_turn, self._guesses_until_locked))
        shape(at, till)

    def _guess(self, at: float, till: str) -> None:
        facts = {"attempts": 1, "patience": 40.0, "is_of_other": self._chance.random() < 0.2}
        self._act(at, till, "guess", facts=facts)

    def _sign_in(self, at: float, till: str) -> None:
        self._act(at, till, "sign in", facts={"attempts": 1, "patience": 40.0})

    def _crowd_of_guesses(self, at: float, till: str) -> None:
        chance = self._chance
        apart, number = chance.choice((0.0, 0.001, 0.02)), chance.choice((9, 11, 14))
        for place in range(number):
            self._guess(at + place * apart, till)
        for _ in range(chance.choice((1, 2))):
            self._sign_in(at + chance.uniform(0, 0.03), till)
        for _ in range(chance.choice((1, 2))):
            self._guess(at + chance.uniform(10, 30), till)
        self._sign_in(at + chance.uniform(20, 60), till)

    def _guesses_in_turn(self, at: float, till: str) -> None:
        chance = self._chance
        for _ in range(2):
            for _ in range(chance.choice((4, 6, 8))):
                self._guess(at, till)
                at += chance.uniform(1, 4)
            self._sign_in(at, till)
            at += chance.uniform(1, 4)

    def _guesses_until_locked(self, at: float, till: str) -> None:
        chance = self._chance
        for _ in range(chance.choice((9, 10, 10, 11))):
            self._guess(at, till)
            at += chance.uniform(0.5, 2)
        if chance.random() < 0.4:
            at += 10
            self._act(at, OWNER, "change", facts={"till": till, "what": "unlock", "signs": "key"})
            self._sign_in(at + 5, till)
        for minutes in (chance.uniform(1, 28), 29.8, chance.uniform(30.2, 40)):
            if chance.random() < 0.6:
                self._sign_in(at + minutes * 60, till)
