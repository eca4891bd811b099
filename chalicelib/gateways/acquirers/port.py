"""The interface of the adapters of acquirers. Only the checks of types load it."""

from datetime import timedelta
from typing import Protocol

from chalicelib.domain.acquirer import (
    AcquirerAnswer,
    AuthorizationRequest,
    InquiryRequest,
    LinkAnswer,
    LinkRequest,
    ReversalRequest,
)
from chalicelib.domain.kinds import InputType
from chalicelib.errors import Finding


class Acquirer(Protocol):
    """The interface to one acquirer: the contract of an adapter.

    References: each request carries a reference of this service. For a payment or a reversal it is a GUID in upper
    case: the transaction's ID, except for an automatic reversal. For a link it is a text such as `card#17`.

    Once: an acquirer with inquiries recognises a request by its reference for ever. It executes a repeated reference
    only once, and gives the same answer each time. An acquirer without inquiries recognises a request by the facts of
    its `message`, and knows no references. A cancel or an automatic reversal repeated with `is_repeat` is executed
    once, with the same answer. A payment or a return is sent once. If it is sent again, it is not executed again, and
    the adapter raises AnswerLostError, because that answer decides nothing about the first request.

    Answers: a decline is an answer and no exception. The code is ISO 8583 field 39; 0 is an approval. A repeat returns
    the additional fields and the issuer's chip answer of the first answer. The service masks and limits them.

    Time: each method returns or raises within `within_s` seconds, including the connection.

    Exceptions, both from `chalicelib.domain.acquirer`:
    - UnreachableError: nothing was sent, so the acquirer has certainly done nothing. The payment or reversal is
      rejected.
    - AnswerLostError: something may have been sent, and no valid answer came in time. The outcome is unknown, and an
      inquiry or, without inquiries, an automatic reversal resolves it later. In case of doubt an adapter raises this.
    Any other exception is a defect of the adapter. For a payment or reversal it counts as AnswerLostError.

    Threads: several threads call the methods of one adapter at once.

    Secrecy: no exception message, log line or answer text quotes a card number, CVV2, track or EMV data.
    """

    name: str  # for people: AuthAccount shows it
    takes: frozenset[InputType]  # the kinds of payment it takes
    can_inquire: bool  # False: requests without a usable answer are reversed, and requests carry a `message`
    institution: str  # this service's ID at a host without inquiries; else ""
    links_cards: bool  # False: it has no tokens, and `link` is not called
    quiet: timedelta  # the quiet time: a sent request reaches the acquirer within it, or never

    def refuse(self, request: AuthorizationRequest | ReversalRequest) -> tuple[Finding, ...]:
        """Return the findings of a payment or a reversal. Findings refuse it before it is stored.

        `request.message` is not needed.
        """
        ...

    def authorize(self, request: AuthorizationRequest, within_s: float) -> AcquirerAnswer:
        """Authorize and capture a payment, by card or by the token of a linked card, or decline it."""
        ...

    def reverse(self, request: ReversalRequest, within_s: float) -> AcquirerAnswer:
        """Return a payment to its card in full or in part, or decline. `request.original` is the payment's reference.

        Only the till's own request has the card and the till's fields. A repeat by the sweep lacks them, and is still
        the same request.

        Decline an amount above the remainder of the payment. Approve the automatic reversal of a payment that was
        declined or has not arrived, and decline that payment if it arrives later. Without inquiries, do the same for
        the automatic reversal of a return, whose amount then remains in the payment.
        """
        ...

    def inquire(self, request: InquiryRequest, within_s: float) -> AcquirerAnswer | None:
        """Return the answer to the payment or reversal with this reference; None when it has not arrived.

        After the quiet time None means that it will never arrive. An inquiry moves no money. An acquirer without
        inquiries raises AnswerLostError.
        """
        ...

    def link(self, request: LinkRequest, within_s: float) -> LinkAnswer:
        """Store a card at the acquirer and return a token that pays with it, or decline the card."""
        ...
