"""The acquirers of the stage: whoever moves the money of a card."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cache
from typing import Protocol

from chalicelib.domain.acquirer import AcquirerAnswer, AuthorizationRequest, LinkAnswer, LinkRequest, ReversalRequest
from chalicelib.gateways.acquirers.sandbox import Sandbox
from chalicelib.settings import settings


class Acquirer(Protocol):
    """Moves the money of a card. Everything is asked under a reference of ours, and asking twice does it once.

    Each raises UnreachableError when nothing was asked, and AnswerLostError when it may have been carried out: after
    `within_s` seconds without an answer at the latest.
    """

    quiet: timedelta  # for so long after it was sent, a request that is not found may still be on its way

    def authorize(self, request: AuthorizationRequest, within_s: float) -> AcquirerAnswer:
        """Take the money, or say why not."""
        ...

    def reverse(self, request: ReversalRequest, within_s: float) -> AcquirerAnswer:
        """Give money back. What was never authorised is given back at once, and can be authorised no more."""
        ...

    def inquire(self, reference: str, within_s: float) -> AcquirerAnswer | None:
        """What became of a payment or reversal; None when it never arrived, or has not yet."""
        ...

    def link(self, request: LinkRequest, within_s: float) -> LinkAnswer:
        """Keep the card there; what comes back is a token for it."""
        ...


KNOWN: Mapping[str, Callable[[], Acquirer]] = {"SANDBOX": Sandbox}


@cache
def named(code: str) -> Acquirer:
    """The acquirer of this code; also one the stage takes no new payments for, because old ones may be unfinished."""
    return KNOWN[code]()


def codes() -> tuple[str, ...]:
    """Whom the stage takes card payments for, the default first."""
    chosen = settings()
    unknown = set(chosen.acquirers) - set(KNOWN)
    if unknown:
        message = f"ACQUIRERS names {', '.join(sorted(unknown))}; there are {', '.join(KNOWN)}."
        raise SystemExit(message)
    return tuple(sorted(chosen.acquirers, key=lambda code: code != chosen.default_acquirer))
