"""The acquirer: the requests it receives, with our references, and its answers."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from chalicelib.domain.card import CardData
from chalicelib.domain.kinds import InputType
from chalicelib.domain.money import Currency
from chalicelib.domain.transaction import CardDetails, MessageTrace, TerminalSnapshot

APPROVED_CODE = 0
PARTIAL, TOO_LATE, UNREACHABLE, DUPLICATE = 10, 68, 91, 94  # ISO 8583 field 39
MESSAGES = {
    APPROVED_CODE: "Approved",
    5: "Do not honour",
    PARTIAL: "Approved for less than the amount",
    12: "Invalid transaction",
    13: "Invalid amount",
    14: "Invalid card number",
    25: "Original transaction not found",
    30: "Format error",
    41: "Lost card",
    43: "Stolen card",
    51: "Insufficient funds",
    54: "Expired card",
    59: "Suspected fraud",
    61: "Exceeds the limit",
    65: "PIN required",
    TOO_LATE: "Cancelled: no answer came in time",
    70: "PIN required",
    82: "CVV2 is wrong",
    UNREACHABLE: "Issuer or acquirer not available",
    DUPLICATE: "Duplicate transmission",
    96: "System malfunction",
}


class AcquirerError(Exception):
    """The acquirer did not answer. The message never quotes the request: it may hold a card."""


class UnreachableError(AcquirerError):
    """No connection was made: nothing was sent, so nothing can have happened."""


class AnswerLostError(AcquirerError):
    """The request may have been sent, and no answer arrived: the outcome is unknown.

    `acquirer_tran_id` is the acquirer's ID of the payment, if an earlier answer named it.
    """

    def __init__(self, acquirer_tran_id: str | None = None) -> None:
        super().__init__()
        self.acquirer_tran_id = acquirer_tran_id


class UnusableAnswerError(AnswerLostError):
    """The answer cannot be used: the outcome is as unknown as without an answer."""


class ReversalKind(StrEnum):
    """A kind of reversal: requested by a till, or automatic because an outcome is unknown."""

    CANCEL = "cancel"
    RETURN = "return"
    AUTOMATIC = "automatic"
    AUTOMATIC_OF_RETURN = "automatic_of_return"


CANCELLED_AT_TILL, ANSWER_UNUSABLE, NO_ANSWER = "4000", "4020", "4021"  # ISO 8583 field 56


@dataclass(frozen=True)
class Message:
    """The facts by which a host recognises a message.

    The message of a cancel or an automatic reversal has the RRN, local time and terminal of the message that it
    reverses. Its trace is its own.
    """

    rrn: str
    trace: MessageTrace
    local_time: datetime  # the creation of the transaction, in the merchant's zone
    tid: str
    institution: str
    terminal: TerminalSnapshot


@dataclass(frozen=True)
class AuthorizationRequest:
    """A payment to authorize, with a card or with the acquirer's token for one."""

    reference: str
    amount_minor: int
    currency: Currency
    input_type: InputType
    terminal: str  # TID
    merchant: str | None  # MID
    card: CardData | None = None
    link_id: str | None = None
    single_step: bool = True
    external_terminal_id: str | None = None
    allow_swipe_over_chip: bool = False
    additional_fields: str | None = field(default=None, repr=False)
    message: Message | None = None  # only for a host without inquiries


@dataclass(frozen=True)
class ReversalRequest:
    """An authorization to reverse in full or in part; `reference` is the reversal's own.

    Card, external terminal and additional fields come from the till's request and are not stored. A request that the
    sweep repeats has none of them. `card` is the payment's card, read again. The fields after them are for a host
    without inquiries. `original_trace` is the trace of the reversed message, or of the payment for a return.
    """

    reference: str
    original: str
    amount_minor: int
    currency: Currency
    card: CardData | None = None
    external_terminal_id: str | None = None
    additional_fields: str | None = field(default=None, repr=False)
    kind: ReversalKind = ReversalKind.RETURN
    message: Message | None = None
    original_trace: MessageTrace | None = None
    reason: str = CANCELLED_AT_TILL
    is_repeat: bool = False
    input_type: InputType | None = None  # the way the card was read
    created_at: datetime | None = None  # of the reversal; of the payment for its automatic reversal
    link_id: str | None = None  # the token that the payment of an automatic reversal was sent with
    acquirer_tran_id: str | None = None  # the acquirer's ID of the payment, if it is known


@dataclass(frozen=True)
class InquiryRequest:
    """A payment or reversal to inquire about, with the stored facts that it was sent with.

    A reversal has the reference of its payment in `original`. `acquirer_tran_id` is the acquirer's ID of the payment.
    """

    reference: str
    amount_minor: int
    currency: Currency
    created_at: datetime
    original: str | None = None
    link_id: str | None = None
    acquirer_tran_id: str | None = None


@dataclass(frozen=True)
class LinkRequest:
    """A card to exchange for a token."""

    reference: str
    card: CardData


@dataclass(frozen=True)
class Reversed:
    """The payment and the amount that an acquirer says it reversed."""

    original: str
    amount_minor: int


@dataclass(frozen=True)
class AcquirerAnswer:
    """The outcome: an ISO 8583 response code (0 approved) and the acquirer's references.

    The answer to a reversal names the payment and amount that it reversed; the answer to a payment does not.
    `additional_fields` is the acquirer's text for the till. `emv_result` is the issuer's answer to a chip: TLV in
    hexadecimal (tags 8A, 91, 71, 72).
    """

    code: int
    message: str
    approval_code: str | None = None
    rrn: str | None = None
    acquirer_tran_id: str | None = None
    signature_required: bool = False
    pin_mode: int | None = None
    reverses: Reversed | None = None
    additional_fields: str | None = None
    additional_fields_title: str | None = None
    emv_result: str | None = None

    @property
    def is_approved(self) -> bool:
        """Return whether the money moved."""
        return self.code == APPROVED_CODE


@dataclass(frozen=True)
class LinkAnswer:
    """The token of a card, or the code of the refusal."""

    code: int
    message: str
    details: CardDetails
    link_id: str | None = None
    storage_id: int | None = None


def answers(answer: AcquirerAnswer, request: ReversalRequest) -> bool:
    """Return whether the answer belongs to the reversal. An approval must name the reversed payment and amount."""
    expected = Reversed(request.original, request.amount_minor)
    return answer.reverses == expected if answer.is_approved else answer.reverses in (None, expected)


def text_of_code(code: int) -> str:
    """Return the usual words for a response code."""
    return MESSAGES.get(code, f"Declined with code {code:02d}")
