"""The test host of section 9 of the interface: the cents of the amount decide, and some numbers of cards."""

import threading
from collections import Counter
from collections.abc import Mapping

from infra.bank import faults
from infra.bank.codec import Message
from infra.bank.entries import APPROVED, PARTIAL, SIGNATURE, Entry, digest
from infra.bank.faults import Fault, Timing
from infra.bank.rules import PURCHASE

# The numbers that the sandbox of the service declines, so that what is known of the one holds for the other.
CARDS: Mapping[str, str] = {
    "4000000000000002": "05",
    "4000000000009995": "51",
    "4000000000000069": "54",
    "4000000000000127": "82",
    "4000000000000119": "96",
}
DECLINES: Mapping[int, str] = {cents: f"{cents:02}" for cents in (5, 14, 51, 54, 82, 91, 96)} | {
    65: "65",
    66: "70",
    81: "N7",
}
OF_PURCHASES: Mapping[int, str] = {8: SIGNATURE, 70: PARTIAL}
NOT_CARRIED_OUT = 69
ANSWERS_LOST_MINOR, LOST_ANSWERS = 6200, 3
OUTAGE_MINOR = 6300


class Cases:
    """The behaviour of the test host, by amount and card; digests of cards are made with `secret`."""

    def __init__(self, timing: Timing, secret: bytes) -> None:
        self._cards = {digest(pan, secret): code for pan, code in CARDS.items()}
        self._lost: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._faults = {
            67: faults.lost(),
            68: faults.silent(timing.silence),
            NOT_CARRIED_OUT: faults.lost(carries_out=False),
            71: faults.late(timing.late),
            72: faults.garbage(),
            73: faults.another_rrn(),
            74: faults.segments(timing.segment),
            75: faults.twice(),
            76: faults.another_stan(),
            77: faults.half(),
            78: faults.wrong_header(timing.silence),
            79: faults.one_less(),
        }

    def code_of(self, entry: Entry) -> str:
        """Return the code of a purchase or refund that nothing forbids."""
        cents = entry.amount_minor % 100
        if entry.kind == "purchase":
            return self._cards.get(entry.card) or OF_PURCHASES.get(cents) or DECLINES.get(cents, APPROVED)
        return DECLINES.get(cents, APPROVED)

    def fault_of(self, message: Message) -> Fault | None:
        """Return what goes wrong with a well-formed request; an advice is never in trouble by its cents."""
        amount_minor = int(message.text(4) or 0)
        if amount_minor == ANSWERS_LOST_MINOR and message.text(3) == PURCHASE and self._loses(message.text(37)):
            return faults.lost()
        return self._faults.get(amount_minor % 100) if message.mti == "0200" else None

    def begins_outage(self, message: Message) -> bool:
        """Return whether the host drops everything from this message on."""
        return message.mti == "0200" and message.text(3) == PURCHASE and int(message.text(4)) == OUTAGE_MINOR

    def _loses(self, rrn: str) -> bool:
        with self._lock:
            self._lost[rrn] += 1
            return self._lost[rrn] <= LOST_ANSWERS
