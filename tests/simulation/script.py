"""The script of a life: who wants what, and when. It is drawn before the life, so that a part can be left out."""

import random
import uuid
from dataclasses import dataclass, field
from typing import Any

CASH, CARD, AT_HOST = "cash", "card", "card at the host"
AMOUNTS = (1000, 1000, 2550, 990, 1205, 1308, 1010)  # minor units; cents of 05: declined, 08: to sign, 10: for less
PARTS = (None, None, 100, 500, 999, 1000, 205)  # of a reversal; None: all that remains
TILLS = ("till 1", "till 2")
PATIENCE = (3.0, 12.0, 40.0)  # seconds that a client waits for an answer
# A forger pays under the ID that the automatic reversal of another payment would have, if one could compute it.
FORGED, SHARE_OF_FORGERS = "F0F0F0F0", 0.15


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


class Script:
    """The acts of one life, by the seed."""

    def __init__(self, seed: str) -> None:
        self._chance = random.Random(f"{seed}/script")  # noqa: S311  the order of a test, not a secret
        self._acts: list[Act] = []
        self._changes_accounts = self._chance.random() < 0.4

    def acts(self) -> list[Act]:
        """Return all of them, in the order of their times."""
        chance = self._chance
        for number in range(chance.choice((1, 1, 2, 2, 3))):
            self._payment(f"payment {number + 1}", chance.choice((0, chance.uniform(0, 5), chance.uniform(0, 900))))
        if self._changes_accounts:
            self._accounts()
        for _ in range(chance.choice((0, 1, 1, 2))):
            self._act(chance.uniform(0, 1000), "owner", "list", facts={"days": chance.random() < 0.5})
        return sorted(self._acts, key=lambda act: act.at)

    def _act(self, at: float, client: str, kind: str, label: str = "", facts: dict[str, Any] | None = None) -> None:
        chance = self._chance
        usual = {
            "patience": chance.choice(PATIENCE),
            "attempts": chance.choice((1, 2, 3, 4)),
            "pauses": [chance.choice((0.1, 1.0, 8.0, 45.0)) for _ in range(4)],
            "signs": chance.choice(("key", "key", "password", "session")),
        }
        self._acts.append(Act(len(self._acts) + 1, round(at, 3), client, kind, label, {**usual, **(facts or {})}))

    def _payment(self, label: str, at: float) -> None:
        chance = self._chance
        way = chance.choice((CASH, CARD, CARD, AT_HOST, AT_HOST))
        facts: dict[str, Any] = {
            "way": way,
            "amount": chance.choice(AMOUNTS),
            "named": chance.choice(("id", "id", "key", "nothing")),
            "id": self._an_id(),
            "receipt": chance.choice((None, None, "email", "both")),
            "ext_id": chance.choice((None, f"order-{label[-1]}")),
        }
        till = chance.choice(TILLS)
        self._act(at, till, "pay", label, facts)
        if chance.random() < 0.3:
            self._act(at + self._soon(), till, "pay", label, facts)  # at the same time, by another device
        if chance.random() < 0.15:
            self._act(at + self._soon(), till, "pay", label, {**facts, "amount": facts["amount"] + 1})
        if chance.random() < SHARE_OF_FORGERS and way == CARD:
            forged = {**facts, "id": FORGED + facts["id"][8:], "named": "id", "amount": 1000}
            self._act(at + self._soon(), chance.choice(TILLS), "pay", f"forged {label}", forged)
        later = at + chance.choice((0.0, 2.0, 10.0, 60.0))
        crowded = chance.random() < 0.4  # everybody wants something of it at once
        for _ in range(chance.choice((0, 1, 2, 3, 4))):
            later += chance.uniform(0, 0.1) if crowded else self._soon()
            self._follow(label, later, way)

    def _an_id(self) -> str:
        return str(uuid.UUID(bytes=self._chance.randbytes(16), version=4)).upper()

    def _soon(self) -> float:
        chance = self._chance
        return chance.choice(
            (chance.uniform(0, 0.05), chance.uniform(0, 2), chance.uniform(0, 40), chance.uniform(0, 400))
        )

    def _follow(self, label: str, at: float, way: str) -> None:
        chance = self._chance
        client = chance.choice((*TILLS, "owner"))
        kind = chance.choice(("reverse", "reverse", "reverse", "look", "status", "other"))
        if kind == "other":
            self._act(
                at,
                "till of another merchant",
                chance.choice(("look", "reverse")),
                label,
                {"way": way, "mode": "return"},
            )
            return
        facts = {
            "way": way,
            "mode": chance.choice(("return", "return", "cancel")),
            "amount": chance.choice(PARTS),
            "named": chance.choice(("key", "key", "id", "time", "nothing")),
            "id": self._an_id(),
        }
        self._act(at, client, kind, label, facts)
        if kind == "reverse" and chance.random() < 0.35:
            self._act(at + self._soon(), client, kind, label, facts)  # the same, from another device
        if kind == "reverse" and chance.random() < 0.3:
            other = {**facts, "id": self._an_id(), "amount": chance.choice(PARTS)}
            self._act(at + self._soon(), chance.choice(TILLS), kind, label, other)  # two want the same money

    def _accounts(self) -> None:
        chance = self._chance
        at = chance.uniform(20, 300)
        for till in TILLS:
            self._act(at - chance.uniform(1, 20), till, "sign in")
            self._act(at - chance.uniform(0, 1), till, "account", facts={"signs": "password"})
        for _ in range(chance.choice((1, 2, 3))):
            what = chance.choice(("password", "key", "block", "unblock", "password"))
            self._act(at, "owner", "change", facts={"till": chance.choice(TILLS), "what": what, "signs": "key"})
            at += self._soon()
            for _ in range(chance.choice((1, 2, 3))):
                signs = chance.choice(("key", "password", "session", "old password", "old key"))
                self._act(at + self._soon(), chance.choice(TILLS), "account", facts={"signs": signs})
        if chance.random() < 0.4:
            self._guesses(at)

    def _guesses(self, at: float) -> None:
        chance = self._chance
        till, apart = chance.choice(TILLS), chance.choice((0.0, 0.001, 0.2, 3.0))
        for number in range(chance.choice((9, 10, 11, 14))):
            self._act(at + number * apart, till, "guess", facts={"attempts": 1, "patience": 40.0})
        for _ in range(chance.choice((1, 2))):
            soon = chance.uniform(0, chance.choice((0.05, 60)))
            self._act(at + soon, till, "sign in", facts={"attempts": 1})
