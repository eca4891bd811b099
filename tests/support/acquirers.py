"""Acquirers for tests of the sweep: each test decides whether they answer, and sees what they were asked."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from chalicelib import outside
from chalicelib.domain.acquirer import AcquirerAnswer, AnswerLostError, InquiryRequest, ReversalRequest, Reversed
from chalicelib.domain.kinds import InputType
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Transaction
from chalicelib.store import transactions
from tests.support.transactions import a_payment

LONG_AGO = datetime.fromisoformat("2001-03-14T09:00:00.000000+00:00")  # when nothing of another test is due


@dataclass
class FakeAcquirer:
    """An acquirer that has approved whatever it is asked about, unless it is silent."""

    can_inquire = True
    links_cards = True
    is_silent: bool = False
    meanwhile: Callable[[], Any] = lambda: None  # what happens while it thinks
    quiet: timedelta = timedelta(seconds=60)
    inquiries: list[str] = field(default_factory=list)
    most_at_once: int = 0
    _at_once: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def inquire(self, request: InquiryRequest | ReversalRequest, _: float) -> AcquirerAnswer:
        with self._lock:
            self.inquiries.append(request.reference)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            self.meanwhile()
        finally:
            with self._lock:
                self._at_once -= 1
        if self.is_silent:
            raise AnswerLostError
        return AcquirerAnswer(0, "Approved")

    def reverse(self, request: ReversalRequest, within_s: float) -> AcquirerAnswer:
        reversed_ = Reversed(request.original, request.amount_minor)
        return replace(self.inquire(request, within_s), reverses=reversed_)


@contextmanager
def serving(**fakes: FakeAcquirer) -> Iterator[None]:
    """Until it ends, these are the acquirers there are."""
    with outside.given(acquirers={code: lambda fake=fake: fake for code, fake in fakes.items()}):
        yield


def unknown(acquirer: str, created_at: datetime = LONG_AGO, **changes: Any) -> Transaction:
    """A card payment in the tables whose answer was lost; it is due 30 s later."""
    facts: dict[str, Any] = {
        "phase": Phase.UNKNOWN,
        "input_type": InputType.MANUAL_ENTRY,
        "acquirer": acquirer,
        "created_at": created_at,
        "deadline": created_at + timedelta(hours=12),
        "result_code": None,
        "result_message": None,
    }
    payment = a_payment(**{**facts, **changes})
    transactions.record(payment)
    return payment
