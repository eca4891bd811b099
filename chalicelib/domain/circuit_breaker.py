"""The circuit breaker of a lane, and its share of the threads: a silent lane delays no other.

A lane is the work for one receiver: an acquirer, a webhook, or the senders of e-mail.
"""

from dataclasses import replace

from chalicelib.record import Record

OPENS_AFTER = 5  # requests in a row without an answer


class Breaker(Record):
    """The number of requests in a row without an answer. Any answer closes the breaker, also a refusal.

    While it is open, a run tries one piece of the lane's work, to learn whether the receiver answers again. A breaker
    that does not hold (`holds`) only counts: the lane's work must be sent in time even to a silent receiver.
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
    """The state of a lane in a run: its work in progress, and whether the run has tried the receiver."""

    running: int = 0
    tried: bool = False  # a request was sent in this run


def share(threads: int, lanes: int) -> int:
    """Return how many threads each lane may use: an equal part, at least one."""
    return max(1, threads // max(1, lanes))


def may_continue(breaker: Breaker, use: Use) -> bool:
    """Return whether the run may begin work of this lane now or later, apart from the lane's share."""
    return not (breaker.is_open and breaker.holds) or not (use.tried or use.running)


def may_begin(breaker: Breaker, use: Use, most: int) -> bool:
    """Return whether the run may begin one more piece of work of a lane with a share of `most` threads."""
    return may_continue(breaker, use) and use.running < most
