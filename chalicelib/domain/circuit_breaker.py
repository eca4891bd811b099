"""The circuit breaker of an acquirer, and its share of a sweep: an acquirer that is silent holds up no other."""

from dataclasses import replace

from chalicelib.record import Record

OPENS_AFTER = 5  # requests in a row without an answer


class Breaker(Record):
    """The number of requests in a row that an acquirer has not answered. Any answer closes the breaker, a decline too.

    While it is open, a run of the sweep begins one transaction of this acquirer, to find out whether it answers again.
    One that `holds` nothing only counts: what is due must be sent in its time, whether the acquirer answers or not.
    """

    unanswered: int = 0
    holds: bool = True

    @property
    def is_open(self) -> bool:
        """Return whether the acquirer counts as silent."""
        return self.unanswered >= OPENS_AFTER

    def after(self, *, answered: bool) -> "Breaker":
        """Return the breaker after one more request."""
        return replace(self, unanswered=0 if answered else self.unanswered + 1)


class Use(Record):
    """The part of an acquirer in a run: its transactions that are in progress, and whether one was tried."""

    running: int = 0
    tried: bool = False  # a request was sent in this run


def share(threads: int, acquirers: int) -> int:
    """Return how many threads each of so many acquirers may use: an equal part, and at least one."""
    return max(1, threads // max(1, acquirers))


def may_continue(breaker: Breaker, use: Use) -> bool:
    """Return whether the run may begin a transaction of this acquirer now or later, its share aside."""
    return not (breaker.is_open and breaker.holds) or not (use.tried or use.running)


def may_begin(breaker: Breaker, use: Use, most: int) -> bool:
    """Return whether the run may begin one more transaction of an acquirer whose share is `most` threads."""
    return may_continue(breaker, use) and use.running < most
