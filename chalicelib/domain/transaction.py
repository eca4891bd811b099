"""A transaction: what was paid or given back, and every state it may be in.

The numbers on the wire (State, Substate, DisplayMode) and the legal moves stand in two tables; nothing else knows them.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import IntEnum, StrEnum

from chalicelib.domain.money import Currency


class Phase(StrEnum):
    """Where a transaction is in its life."""

    SENT = "sent"
    UNKNOWN = "unknown"
    REJECTED = "rejected"
    OWED = "owed"
    APPROVED = "approved"
    DECLINED = "declined"
    AUTO_CANCELLING = "auto_cancelling"
    AUTO_CANCELLED = "auto_cancelled"
    REVERSED = "reversed"
    CANCELLING = "cancelling"
    RETURNING = "returning"
    GIVEN_BACK = "given_back"


class Shelf(StrEnum):
    """The list of the wrapper a transaction stands in."""

    IN_PROCESS = "in_process"
    NOT_FINISHED = "not_finished"
    TRANSACTIONS = "transactions"


@dataclass(frozen=True)
class Face:
    """How a phase looks on the wire."""

    state: int
    substate: int
    status: str
    display_mode: int
    shelf: Shelf


FACES = {
    Phase.SENT: Face(200, 201, "PROCESSING", 100, Shelf.IN_PROCESS),
    Phase.UNKNOWN: Face(200, 201, "UNKNOWN", 100, Shelf.IN_PROCESS),
    Phase.REJECTED: Face(200, 202, "REJECTED", 0, Shelf.TRANSACTIONS),
    Phase.OWED: Face(400, 401, "IN-TRANSFER", 1, Shelf.NOT_FINISHED),
    Phase.APPROVED: Face(400, 411, "IN-TRANSFER", 1, Shelf.TRANSACTIONS),
    Phase.DECLINED: Face(400, 412, "DECLINED", 0, Shelf.TRANSACTIONS),
    Phase.AUTO_CANCELLING: Face(400, 403, "REVERSING", 100, Shelf.IN_PROCESS),
    Phase.AUTO_CANCELLED: Face(400, 404, "REVERSED", 0, Shelf.TRANSACTIONS),
    Phase.REVERSED: Face(500, 502, "REVERSED", 3, Shelf.TRANSACTIONS),
    Phase.CANCELLING: Face(500, 503, "PROCESSING", 2, Shelf.IN_PROCESS),
    Phase.RETURNING: Face(500, 505, "PROCESSING", 2, Shelf.IN_PROCESS),
    Phase.GIVEN_BACK: Face(500, 502, "IN-TRANSFER", 2, Shelf.TRANSACTIONS),
}

# What may follow what. A payment that needs no acquirer begins approved, any other begins sent.
TRANSITIONS: dict[Phase, frozenset[Phase]] = {
    Phase.SENT: frozenset({Phase.APPROVED, Phase.OWED, Phase.DECLINED, Phase.REJECTED, Phase.UNKNOWN}),
    Phase.UNKNOWN: frozenset({
        Phase.APPROVED, Phase.OWED, Phase.DECLINED, Phase.REJECTED, Phase.AUTO_CANCELLING,
    }),
    Phase.REJECTED: frozenset(),
    Phase.OWED: frozenset({Phase.APPROVED, Phase.REVERSED}),
    Phase.APPROVED: frozenset({Phase.REVERSED}),
    Phase.DECLINED: frozenset(),
    Phase.AUTO_CANCELLING: frozenset({Phase.AUTO_CANCELLED}),
    Phase.AUTO_CANCELLED: frozenset(),
    Phase.REVERSED: frozenset(),
    Phase.CANCELLING: frozenset({Phase.GIVEN_BACK, Phase.DECLINED, Phase.REJECTED}),
    Phase.RETURNING: frozenset({Phase.GIVEN_BACK, Phase.DECLINED, Phase.REJECTED}),
    Phase.GIVEN_BACK: frozenset(),
}  # fmt: skip


class InputType(IntEnum):
    """How the means of payment came in."""

    MANUAL_ENTRY = 1
    MAGNETIC_STRIPE = 2
    CHIP = 3
    CONTACTLESS = 4
    LINKED_CARD = 5
    EXTERNAL_TERMINAL = 7
    PREPAYMENT = 8
    POSTPAID = 9
    CASH = 10


@dataclass(frozen=True)
class Kind:
    """What sets one way to pay apart: the acquirer code it goes with, and the feature that allows it."""

    feature: str
    acquirer: str | None = None  # None: a card acquirer of the stage
    card_present: bool = True  # /reverse takes it back; /reversecnp otherwise


KINDS = {
    InputType.MANUAL_ENTRY: Kind("accept_cards", card_present=False),
    InputType.MAGNETIC_STRIPE: Kind("accept_cards"),
    InputType.CHIP: Kind("accept_cards"),
    InputType.CONTACTLESS: Kind("accept_cards"),
    InputType.LINKED_CARD: Kind("allow_linked_cards", card_present=False),
    InputType.EXTERNAL_TERMINAL: Kind("accept_outer_card", "OUTERCARD"),
    InputType.PREPAYMENT: Kind("accept_prepaid", "PREPAID"),
    InputType.POSTPAID: Kind("accept_credit", "CREDIT"),
    InputType.CASH: Kind("accept_cash", "CASH"),
}
NOT_SUPPORTED = frozenset({30, 100})  # payment links, recurring payments


@dataclass(frozen=True)
class AgentSnapshot:
    """The agent as it was when it took the payment: later changes of the account do not rewrite the past."""

    id: int
    email: str
    name: str
    phone: str


@dataclass(frozen=True)
class CardDetails:
    """All that is kept of a card."""

    brand: str
    bin: str | None = None
    last4: str | None = None
    exp: str | None = None
    cardholder: str | None = None

    @property
    def masked(self) -> str | None:
        """The number as it may be shown: 411111******1111."""
        return f"{self.bin}******{self.last4}" if self.bin and self.last4 else None


@dataclass(frozen=True)
class EmvData:
    """What a receipt of a chip payment prints: application, its name, transaction status, verification results."""

    aid: str | None = None
    apn: str | None = None
    tsi: str | None = None
    tvr: str | None = None


@dataclass(frozen=True)
class Transaction:
    """A payment or a reversal as it is kept. Amounts are minor units of its currency, instants are UTC."""

    id: str
    client_id: int
    taker: AgentSnapshot
    terminal_id: int
    terminal_name: str
    phase: Phase
    input_type: InputType
    acquirer: str
    currency: Currency
    amount_minor: int
    created_at: datetime
    deadline: datetime
    gmt: int  # the merchant's zone, hours: the day it is counted in
    fingerprint: str
    invoice: str
    details: str  # JSON text: what the caller sent beside, without card data and files
    date: datetime | None = None  # of an offline payment: when it was taken
    amount_cash_got_minor: int | None = None
    result_code: int | None = None
    result_message: str | None = None
    description: str | None = None
    service_id: str | None = None
    client_product_code: str | None = None
    ext_id: str | None = None
    ext_tran_data: str | None = None
    latitude: Decimal | None = None
    longitude: Decimal | None = None
    receipt_email: str | None = None
    receipt_phone: str | None = None
    single_step: bool = True
    card: CardDetails | None = None
    linked_card_id: int | None = None
    emv: EmvData | None = None
    approval_code: str | None = None
    rrn: str | None = None
    acquirer_tran_id: str | None = None
    signature_required: bool = False
    pin_mode: int | None = None
    photo_key: str | None = None
    signature_key: str | None = None
    reversed_minor: int = 0  # given back, and reserved by reversals that are not finished
    reserved_minor: int = 0  # the part of it that is not given back yet
    reversals: int = 0
    original_id: str | None = None
    original_invoice: str | None = None
    reverse_mode: int | None = None
    partial: bool = False  # of a reversal: it gave back less than was paid
    reverse_id: str | None = None  # of the latest reversal
    reverse_invoice: str | None = None

    @property
    def is_reversal(self) -> bool:
        """It gives back instead of taking."""
        return self.original_id is not None

    @property
    def remaining_minor(self) -> int:
        """What can still be given back."""
        return self.amount_minor - self.reversed_minor

    @property
    def given_back_minor(self) -> int:
        """What has been given back, reservations not counted."""
        return self.reversed_minor - self.reserved_minor

    @property
    def stands(self) -> Phase:
        """Its phase; REVERSED once all of it is given back, which follows from the amounts and is not stored."""
        in_full = self.phase in (Phase.APPROVED, Phase.OWED) and self.given_back_minor == self.amount_minor
        return Phase.REVERSED if in_full else self.phase

    @property
    def face(self) -> Face:
        """State, Substate and the rest, as its phase has them."""
        return FACES[self.stands]

    @property
    def is_pending(self) -> bool:
        """Its outcome is not decided yet."""
        return self.face.shelf is Shelf.IN_PROCESS


def status_of(transaction: Transaction, now: datetime) -> str:
    """Status on the wire: what was approved is in transfer until the Deadline; cash is deposited at once."""
    settled = transaction.input_type is InputType.CASH or now >= transaction.deadline
    if transaction.stands in (Phase.APPROVED, Phase.GIVEN_BACK) and settled:
        return "DEPOSITED"
    return transaction.face.status
