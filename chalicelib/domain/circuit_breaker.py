"""The circuit breaker of a lane, and its share of the threads: a lane without answers holds up no other.

A lane is the work for one receiver: an acquirer, a webhook, the senders of e-mail.
"""

from dataclasses import replace

from chalicelib.record import Record

OPENS_AFTER = 5  # requests in a row without an answer


class Breaker(Record):
    """The number of requests in a row that a receiver has not answered. Any answer closes the breaker, a refusal too.

    While it is open, a run begins one piece of work of the lane, to find out whether the receiver answers again. One
    that `holds` nothing only counts: what is due must be sent in its time, whether the receiver answers or not.
    """

    unanswered: int = 0
    holds: bool = True

    @property
    def is_open(self) -> bool:
        """Return whether the receiver counts as silent."""
        return self.unanswered >= OPENS_AFTER

    def after(self, *, answered: bool) -> "Breaker":
        """Return the breaker after one more request."""
        return replace(self, unanswered=0 if answered else self.unanswered + 1)


class Use(Record):
    """The part of a lane in a run: how much of its work is in progress, and whether the receiver was tried."""

    running: int = 0
    tried: bool = False  # a request was sent in this run


def share(threads: int, lanes: int) -> int:
    """Return how many threads each of so many lanes may use: an equal part, and at least one."""
    return max(1, threads // max(1, lanes))


def may_continue(breaker: Breaker, use: Use) -> bool:
    """Return whether the run may begin work of this lane now or later, its share aside."""
    return not (breaker.is_open and breaker.holds) or not (use.tried or use.running)


def may_begin(breaker: Breaker, use: Use, most: int) -> bool:
    """Return whether the run may begin one more piece of work of a lane whose share is `most` threads."""
    return may_continue(breaker, use) and use.running < most
