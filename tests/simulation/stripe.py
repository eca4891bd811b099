"""STRIPE in a scenario: the adapter of the service, and the stand-in at the other end of a line with faults.

Each request of the adapter may fail as one of the other acquirers does: before it arrives, on its way back, hours late.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import import_module
from typing import Any, TypeVar
from urllib.parse import urlsplit

from chalicelib.domain.acquirer import (
    AcquirerAnswer,
    AuthorizationRequest,
    InquiryRequest,
    ReversalRequest,
    UnreachableError,
)
from chalicelib.domain.kinds import InputType
from chalicelib.gateways.acquirers.stripe.adapter import Stripe
from chalicelib.network import Deadline
from infra.local.stripe_stand_in import Object, StripeStandIn
from tests.simulation.acquirers import AUTOMATIC, DECLINED, VERBS, Acquirer, _is_in
from tests.simulation.environment import present

import_module("chalicelib.gateways.acquirers.stripe.api")  # before a scenario replaces time and chance
DECLINED_NUMBER = "4000000000000002"
T = TypeVar("T")


class StandIn(StripeStandIn):
    """The stand-in: the cents of an amount decline it, as at the other acquirers, and choose no fault."""

    def _fault(self, request: Any) -> None:
        del request

    def _confirmed(self, intent: Object, params: Object) -> Object:
        if intent["amount"] % 100 == DECLINED:
            self.numbers[params["payment_method"]] = DECLINED_NUMBER
        return super()._confirmed(intent, params)


@dataclass
class AtStripe(Acquirer):
    """The adapter with a line to the stand-in."""

    name: str = "Stripe"
    links_cards: bool = False
    takes: frozenset[InputType] = frozenset({InputType.MANUAL_ENTRY})
    quiet: timedelta = Stripe.quiet
    inquiring: set[Any] = field(default_factory=set)  # the tasks that inquire now
    stand_in: StandIn = field(default_factory=lambda: StandIn(present.clock, account="sim"))

    def __post_init__(self) -> None:
        self.adapter = Stripe(self._send)

    def refuse(self, request: Any) -> Any:
        """Refuse what the adapter refuses."""
        return self.adapter.refuse(request)

    def authorize(self, request: AuthorizationRequest, within_s: float) -> AcquirerAnswer:
        """Take a payment, or decline it."""
        text = f"authorize {request.reference[:8]}"
        return self._asked(text, lambda: self.adapter.authorize(request, within_s), within_s)

    def reverse(self, request: ReversalRequest, within_s: float) -> AcquirerAnswer:
        """Give back, or decline."""
        text = f"{VERBS[request.kind]} {request.amount_minor} of {request.original[:8]}, as {request.reference[:8]}"
        if request.kind in AUTOMATIC:
            self._note(request.original)
        if _is_in(self.one_way, self.scheduler.now) and not self.faults.is_over:
            self._tell(text, "no connection")
            raise UnreachableError
        return self._asked(text, lambda: self.adapter.reverse(request, within_s), within_s)

    def inquire(self, request: InquiryRequest, within_s: float) -> AcquirerAnswer | None:
        """Return the outcome of a payment or a reversal."""
        self._note(request.reference)
        if self.is_mute:
            raise UnreachableError
        text, task = f"inquire {request.reference[:8]}", self.scheduler.current
        self.inquiring.add(task)
        try:
            return self._asked(text, lambda: self.adapter.inquire(request, within_s), within_s)
        finally:
            self.inquiring.discard(task)

    def _exchanged(self, text: str, carry_out: Callable[[], T], within_s: float, **more: Any) -> T:
        del text, within_s, more  # the faults are those of its requests
        return carry_out()

    def _send(self, method: str, url: str, headers: Any, body: bytes, deadline: Deadline) -> Any:
        target = urlsplit(url)
        path, asker = target.path + (f"?{target.query}" if target.query else ""), self.scheduler.current

        def carry_out() -> Any:
            before = len(self.stand_in.objects)
            status, answer = self.stand_in.exchange(method, path, headers, body)
            for one in list(self.stand_in.objects.values())[before:]:
                if one["object"] in {"charge", "refund"} and one["status"] != "failed":
                    self._move(f"makes a {one['object']} of {one['amount']} for {one['payment_intent']}")
                    if asker in self.inquiring:
                        self.moved_by_inquiries.append(f"a {one['object']} for {one['payment_intent']}")
            return json.dumps(answer).encode(), status, {}

        text = f"{method} {path.partition('?')[0]}"
        try:
            within_s = deadline.left()
        except TimeoutError:  # nothing is sent any more
            raise UnreachableError from None
        return super()._exchanged(text, carry_out, within_s, changes=method == "POST")

    def _tell(self, text: str, answer: Any) -> None:
        super()._tell(text, f"{answer[1]} {answer[0][:160]!r}" if isinstance(answer, tuple) else answer)

    def taken(self, key: Any) -> tuple[int, int] | None:
        """Return what was charged and refunded for one of our IDs; None where nothing was charged."""
        intents = {one["id"] for one in self.stand_in.of("payment_intent") if one["metadata"]["payments_id"] == key}
        charges = [one for one in self.stand_in.of("charge") if one["payment_intent"] in intents]
        charged = sum(one["amount"] for one in charges if one["status"] == "succeeded")
        refunded = sum(one["amount"] for one in self.stand_in.of("refund") if one["payment_intent"] in intents)
        return (charged, refunded) if charged else None
