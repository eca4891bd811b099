"""Calls of acquirers: payments, reversals and inquiries, with their limits of time.

An answer to a reversal must prove which payment it reversed. A defect of an adapter counts as a lost answer.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from chalicelib.domain.acquirer import (
    AcquirerAnswer,
    AcquirerError,
    AnswerLostError,
    AuthorizationRequest,
    InquiryRequest,
    ReversalRequest,
    UnreachableError,
    answers,
)
from chalicelib.domain.transaction import Transaction
from chalicelib.gateways import acquirers
from chalicelib.log import log, log_defect
from chalicelib.store import linked_cards
from chalicelib.store.table import read

if TYPE_CHECKING:
    from chalicelib.gateways.acquirers.port import Acquirer

T = TypeVar("T")

AUTHORIZE_SECONDS = 20  # the rest of GATEWAY_SECONDS is for the store
RESOLVE_SECONDS = 5  # an inquiry or an automatic reversal: the caller can try again later
AUTO_CANCEL_ATTEMPTS = 2  # the second attempt follows a lost answer


class Calls:
    """The calls of a transaction's acquirer. `answers` tells for each, in order, whether an answer came.

    Each method returns the acquirer's answer or raises AcquirerError.
    """

    def __init__(self, transaction: Transaction) -> None:
        self.answers: list[bool] = []
        self._transaction = transaction

    @property
    def acquirer(self) -> "Acquirer":
        """Return the acquirer. A payment that needs no call is resolved even if the stage has given it up."""
        return acquirers.named(self._transaction.acquirer)

    def authorize(self, request: AuthorizationRequest) -> AcquirerAnswer:
        """Send a payment. An answer about a reversal says nothing about it: it is logged and counts as lost."""
        answer = self._call(lambda: self.acquirer.authorize(request, AUTHORIZE_SECONDS))
        if answer.reverses is not None:
            raise self._unproved(request.reference, answer)
        return answer

    def inquire(self) -> AcquirerAnswer | None:
        """Return the answer that the transaction got; None when it has not arrived."""
        asked, original = self._transaction, self._transaction.original
        payment = original if asked.is_reversal else asked.result
        facts = asked.amount_minor, asked.currency, asked.created_at, original.id, self._link_id()
        request = InquiryRequest(asked.id, *facts, payment.acquirer_tran_id)
        return self._call(lambda: self.acquirer.inquire(request, RESOLVE_SECONDS))

    def reverse(self, request: ReversalRequest, within_s: float) -> AcquirerAnswer:
        """Send a reversal. The answer must prove this payment and amount."""
        return self.proved(request, self._call(lambda: self.acquirer.reverse(request, within_s)))

    def proved(self, request: ReversalRequest, answer: AcquirerAnswer) -> AcquirerAnswer:
        """Return the answer to a reversal. An answer about another payment or amount is logged and counts as lost."""
        if not answers(answer, request):
            raise self._unproved(request.reference, answer)
        return answer

    def _unproved(self, reference: str, answer: AcquirerAnswer) -> AnswerLostError:
        log("unproved", transaction=self._transaction.id, reference=reference, code=answer.code)
        return AnswerLostError()

    def is_acknowledged(self, request: ReversalRequest, attempts: int = AUTO_CANCEL_ATTEMPTS) -> bool:
        """Request an automatic reversal; return whether the acquirer acknowledged it. A repeat reverses only once."""
        request = replace(request, link_id=self._link_id())
        for _ in range(attempts):
            with suppress(AcquirerError):
                return self.reverse(request, RESOLVE_SECONDS).is_approved
        return False

    def _link_id(self) -> str | None:
        """Return the token that a payment by a linked card was sent with."""
        linked = self._transaction.card_entry.linked_id
        card = read(linked_cards.key(linked)) if linked is not None and not self._transaction.is_reversal else None
        return card.link_id if card else None

    def _call(self, request: Callable[[], T]) -> T:
        answered = False
        try:
            answer = request()
            answered = True
        except UnreachableError:
            raise
        except AcquirerError:
            log("answer_lost", acquirer=self._transaction.acquirer, **self._transaction.named)
            raise
        except Exception as defect:  # noqa: BLE001  after any defect the request may have been sent
            log_defect(defect, transaction=self._transaction.id)
            raise AnswerLostError from None  # the defect's message may quote the card
        finally:
            self.answers.append(answered)
        return answer
