"""The acquirers of the stage, and the port an adapter for one implements."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cache
from typing import Protocol

from chalicelib.domain.acquirer import AcquirerAnswer, AuthorizationRequest, LinkAnswer, LinkRequest, ReversalRequest
from chalicelib.domain.transaction import InputType
from chalicelib.errors import Finding
from chalicelib.settings import ISO8583, SANDBOX, settings


class Acquirer(Protocol):
    """The port to one acquirer: the contract of an adapter.

    References: each request carries a reference of this service: for a payment or a reversal a GUID in upper case (the
    transaction's ID, except of an automatic reversal), for a link text such as `card#17`.

    Once: an acquirer that can be inquired knows a request by its reference for ever. One repeated under the same
    reference is carried out once, and gets the same answer each time. An acquirer that cannot be inquired knows a
    request by the facts of its `message` and no reference. A cancel or an automatic reversal repeated with `is_repeat`
    is the same one, carried out once, with the same answer. A payment or a return is sent once; should it be sent again
    it is not carried out again, and AnswerLostError is raised, because that answer decides nothing about the first.

    Answers: a decline is an answer and no exception. The code is ISO 8583 field 39; 0 is an approval. Additional fields
    and the issuer's answer to a chip are those of the first answer each time; the service masks and bounds them.

    Time: each method returns or raises within `within_s` seconds, connecting included.

    Exceptions, both from `chalicelib.domain.acquirer`:
    - UnreachableError: nothing was sent, so the acquirer has certainly done nothing. The payment or reversal is
      rejected.
    - AnswerLostError: something may have been sent, and no valid answer came in time. The outcome is unknown, and an
      inquiry or, without inquiries, an automatic reversal resolves it later. In every case of doubt an adapter raises
      this one.
    Any other exception is a defect of the adapter; for a payment or reversal it counts as AnswerLostError.

    Threads: several threads call the methods of one adapter at once.

    Secrecy: no exception message, log line or answer text quotes a card number, CVV2, track or EMV data.
    """

    name: str  # for people: AuthAccount shows it
    takes: frozenset[InputType]  # the kinds of payment it takes
    can_inquire: bool  # without inquiries, what got no usable answer is reversed; requests then carry a `message`
    institution: str  # that a host without inquiries knows this service by; else ""
    quiet: timedelta  # the quiet time: a request does not arrive at the acquirer later than this after it was sent

    def refuse(self, request: AuthorizationRequest | ReversalRequest) -> tuple[Finding, ...]:
        """Return what the acquirer cannot take: a payment, or a return with its card, is refused before it is stored.

        `request.message` is not needed.
        """
        ...

    def authorize(self, request: AuthorizationRequest, within_s: float) -> AcquirerAnswer:
        """Authorize and capture a payment, by card or by the token of a linked card, or decline it."""
        ...

    def reverse(self, request: ReversalRequest, within_s: float) -> AcquirerAnswer:
        """Return all or a part of a payment to its card, or decline; `request.original` is the payment's reference.

        The card and the fields of the till are there when the till itself requests it, and never when the sweep repeats
        the request: they do not make it another one.

        Decline an amount above the remainder of the payment. Approve the automatic reversal of a payment that was
        declined or has not arrived, and decline that payment if it arrives later; without inquiries, likewise the
        automatic reversal of a return, after which its amount remains.
        """
        ...

    def inquire(self, reference: str, within_s: float) -> AcquirerAnswer | None:
        """Return the answer to the payment or reversal of this reference; None when it has not arrived.

        After the quiet time None means that it never will. An inquiry changes nothing. An acquirer that cannot be
        inquired raises AnswerLostError.
        """
        ...

    def link(self, request: LinkRequest, within_s: float) -> LinkAnswer:
        """Store a card at the acquirer and return a token that pays with it, or decline the card.

        An acquirer without tokens raises UnreachableError.
        """
        ...


def _sandbox() -> Acquirer:
    from chalicelib.gateways.acquirers.sandbox import Sandbox  # noqa: PLC0415  no production stage needs it

    return Sandbox()


def _iso8583() -> Acquirer:
    from chalicelib.gateways.acquirers.iso8583.adapter import Iso8583  # noqa: PLC0415  a stage without it loads no codec

    return Iso8583(settings().iso8583)


# An acquirer stays here until its last transaction is finished: the sweep looks after those that are named here.
KNOWN: Mapping[str, Callable[[], Acquirer]] = {SANDBOX: _sandbox, ISO8583: _iso8583}


@cache
def named(code: str) -> Acquirer:
    """Return the acquirer of this code, even if the stage takes no new payments for it: old ones may be pending."""
    return KNOWN[code]()


def codes() -> tuple[str, ...]:
    """List the codes of the acquirers the stage takes card payments for, the default first."""
    chosen = settings()
    return tuple(sorted(chosen.acquirers, key=lambda code: code != chosen.default_acquirer))


def refuse(code: str, request: AuthorizationRequest | ReversalRequest) -> tuple[Finding, ...]:
    """Return what the acquirer of this code cannot take about a payment, or the card of a return."""
    return named(code).refuse(request)


def taking(input_type: InputType) -> tuple[str, ...]:
    """List the codes of those that take this kind of payment, the default first."""
    return tuple(code for code in codes() if input_type in named(code).takes)
