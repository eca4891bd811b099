"""SANDBOX as a host that cannot be inquired: what has no usable answer is reversed until it is acknowledged."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from chalicelib import outside
from chalicelib.domain.acquirer import AcquirerAnswer, AuthorizationRequest, ReversalKind, ReversalRequest, Reversed
from chalicelib.gateways.acquirers.sandbox import Sandbox
from chalicelib.settings import SANDBOX

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
def without_inquiries(given: Host | None = None) -> Iterator[Host]:
    """Until it ends, SANDBOX cannot be inquired, and acknowledges automatic reversals."""
    host = given or Host()

    class WithoutInquiries(Sandbox):
        can_inquire = False
        institution = "12345"

        def authorize(self, request: AuthorizationRequest, within_s: float) -> AcquirerAnswer:
            host.purchases.append(request)
            return super().authorize(request, within_s)

        def reverse(self, request: ReversalRequest, within_s: float) -> AcquirerAnswer:
            host.reversals.append(request)
            return host.to_advices(request) if request.kind in AUTOMATIC else super().reverse(request, within_s)

        def inquire(self, *_: object) -> None:
            pytest.fail("a host that cannot be inquired was")

    with outside.given(acquirers={**outside.current.acquirers, SANDBOX: WithoutInquiries}):
        yield host
