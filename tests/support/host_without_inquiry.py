"""SANDBOX as a host that cannot be inquired: what has no usable answer is reversed until it is acknowledged."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from chalicelib.domain.acquirer import AcquirerAnswer, AuthorizationRequest, ReversalKind, ReversalRequest, Reversed
from chalicelib.gateways.acquirers.sandbox import Sandbox

AUTOMATIC = frozenset({ReversalKind.AUTOMATIC, ReversalKind.AUTOMATIC_OF_RETURN})
Answers = Callable[[ReversalRequest], AcquirerAnswer]


def acknowledged(request: ReversalRequest) -> AcquirerAnswer:
    return AcquirerAnswer(0, "Approved", reverses=Reversed(request.original, request.amount_minor))


@dataclass
class Host:
    """What the host was sent, and what it answers to automatic reversals."""

    purchases: list[AuthorizationRequest] = field(default_factory=list)
    reversals: list[ReversalRequest] = field(default_factory=list)
    to_advices: Answers = acknowledged

    @property
    def advices(self) -> list[ReversalRequest]:
        """The automatic reversals it was sent, in their order."""
        return [request for request in self.reversals if request.kind in AUTOMATIC]


@contextmanager
def without_inquiries(patch: pytest.MonkeyPatch, host: Host | None = None) -> Iterator[Host]:
    """Until it ends, SANDBOX cannot be inquired, and acknowledges automatic reversals."""
    host = host or Host()
    authorize, reverse = Sandbox.authorize, Sandbox.reverse

    def authorized(self: Sandbox, request: AuthorizationRequest, within_s: float) -> AcquirerAnswer:
        host.purchases.append(request)
        return authorize(self, request, within_s)

    def reversed_(self: Sandbox, request: ReversalRequest, within_s: float) -> AcquirerAnswer:
        host.reversals.append(request)
        return host.to_advices(request) if request.kind in AUTOMATIC else reverse(self, request, within_s)

    def inquired(*_: object) -> None:
        pytest.fail("a host that cannot be inquired was")

    with patch.context() as patched:
        patched.setattr(Sandbox, "can_inquire", False)
        patched.setattr(Sandbox, "institution", "12345")
        patched.setattr(Sandbox, "inquire", inquired)
        patched.setattr(Sandbox, "authorize", authorized)
        patched.setattr(Sandbox, "reverse", reversed_)
        yield host
