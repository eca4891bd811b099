"""The acquirers of the stage. `port` is the interface of their adapters."""

from typing import TYPE_CHECKING

from chalicelib import outside
from chalicelib.domain.acquirer import AuthorizationRequest, ReversalRequest
from chalicelib.domain.kinds import InputType
from chalicelib.errors import Finding
from chalicelib.settings import settings

if TYPE_CHECKING:
    from chalicelib.gateways.acquirers.port import Acquirer


@outside.made_once
def named(code: str) -> "Acquirer":
    """Return the acquirer with this code. The stage may take no new payments for it and still have pending ones."""
    return outside.current.acquirers[code]()


def codes() -> tuple[str, ...]:
    """List the codes of the stage's acquirers for card payments, the default first."""
    chosen = settings()
    return tuple(sorted(chosen.acquirers, key=lambda code: code != chosen.default_acquirer))


def refuse(code: str, request: AuthorizationRequest | ReversalRequest) -> tuple[Finding, ...]:
    """Return the findings of this acquirer about a payment, or about the amount and the card of a reversal."""
    return named(code).refuse(request)


def taking(input_type: InputType) -> tuple[str, ...]:
    """List the codes of the acquirers for this kind of payment, the default first."""
    return tuple(code for code in codes() if input_type in named(code).takes)
