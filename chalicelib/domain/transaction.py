"""A transaction: a payment or a reversal as it is stored, with every phase it can be in."""

from collections.abc import Iterable
from dataclasses import field
from datetime import datetime
from decimal import Decimal, localcontext
from enum import IntEnum

from chalicelib.domain.merchant import MerchantSnapshot
from chalicelib.domain.money import Currency
from chalicelib.domain.phases import MONEY_TAKEN, PENDING, Phase
from chalicelib.record import Record


class TerminalSnapshot(Record):
    """The terminal of a payment as its host knows it: reversals name it even when the terminal has changed since."""

    mid: str  # BackRetailerID
    title: str
    city: str
    country_code: str  # alpha-2
    sic: str
    entry_caps: str


class MessageTrace(Record):
    """The number (STAN, 1 to 999,999, unique for a terminal and day) and the time of a message to a host."""

    stan: int
    made_at: datetime


class HostFacts(Record):
    """The facts by which a host that cannot be inquired recognises a message, stored before its first byte is sent."""

    trace: MessageTrace
    institution: str
    terminal: TerminalSnapshot
    advice_stan: int  # the number of its automatic reversal, should it come to that
    original: MessageTrace | None = None  # of a reversal: the message of its payment
    answer_unusable: bool = False  # the outcome is unknown because of an answer, not for want of one
    advice: MessageTrace | None = None  # of its automatic reversal, from the moment that is decided


ENGLISH = "en"
LANGUAGES = (ENGLISH, "af")  # each has a file in `receipts/languages`


def language_of(tag: str | None) -> str:
    """Return the language that a tag such as af-ZA names, English where its words are in no file."""
    primary = (tag or "").replace("_", "-").partition("-")[0].strip().lower()
    return primary if primary in LANGUAGES else ENGLISH


PRECISION = 64  # digits: no price times a quantity that a request may hold is rounded


class Purchase(Record):
    """One line of what was bought; `price` is of one piece."""

    title: str
    price: Decimal
    quantity: Decimal
    tax_codes: tuple[str, ...] = ()

    @property
    def total(self) -> Decimal:
        """Return the exact price of the line."""
        with localcontext(prec=PRECISION):
            return self.price * self.quantity


class Taxes(Record):
    """The taxes of a whole payment, as the till named them."""

    codes: tuple[str, ...] = ()
    scheme: str | None = None


def total_of(purchases: Iterable[Purchase]) -> Decimal:
    """Return the exact sum of the lines."""
    with localcontext(prec=PRECISION):
        return sum((purchase.total for purchase in purchases), Decimal())


INLINE = {"inline": True}  # the fields of the record are attributes of the item that holds it


class InputType(IntEnum):
    """The way the means of payment was entered."""

    MANUAL_ENTRY = 1
    MAGNETIC_STRIPE = 2
    CHIP = 3
    CONTACTLESS = 4
    LINKED_CARD = 5
    EXTERNAL_TERMINAL = 7
    PREPAYMENT = 8
    POSTPAID = 9
    CASH = 10


class Kind(Record):
    """A way to pay: its name for people, the feature that allows it, and the acquirer code that goes with it."""

    name: str
    feature: str
    acquirer: str | None = None  # None: a card acquirer of the stage
    card_present: bool = True  # payment/reverse reverses it; payment/reversecnp otherwise


KINDS = {
    InputType.MANUAL_ENTRY: Kind("Card, keyed in", "accept_cards", card_present=False),
    InputType.MAGNETIC_STRIPE: Kind("Card, magnetic stripe", "accept_cards"),
    InputType.CHIP: Kind("Card, chip", "accept_cards"),
    InputType.CONTACTLESS: Kind("Card, contactless", "accept_cards"),
    InputType.LINKED_CARD: Kind("Linked card", "allow_linked_cards", card_present=False),
    InputType.EXTERNAL_TERMINAL: Kind("External terminal", "accept_outer_card", "OUTERCARD"),
    InputType.PREPAYMENT: Kind("Prepayment", "accept_prepaid", "PREPAID"),
    InputType.POSTPAID: Kind("Postpaid", "accept_credit", "CREDIT"),
    InputType.CASH: Kind("Cash", "accept_cash", "CASH"),
}
NOT_SUPPORTED = frozenset({30, 100})  # payment links, recurring payments


class AgentSnapshot(Record):
    """The agent as it was when it made the transaction: later changes of the account do not rewrite the past."""

    id: int
    email: str
    name: str
    phone: str


class CardDetails(Record):
    """All that is stored of a card."""

    brand: str
    bin: str | None = None
    last4: str | None = None
    exp: str | None = None
    cardholder: str | None = None

    @property
    def masked(self) -> str | None:
        """Return the number as it may be shown: 411111******1111."""
        return f"{self.bin}******{self.last4}" if self.bin and self.last4 else None


class EmvData(Record):
    """The chip data a receipt prints: application, its name, transaction status, verification results."""

    aid: str | None = None
    apn: str | None = None
    tsi: str | None = None
    tvr: str | None = None


class Particulars(Record):
    """The fields that are only carried through: stored as the request said them, shown as they are stored.

    A field here has the same name in the request's model and in the view.
    """

    description: str | None = None
    client_product_code: str | None = None
    ext_id: str | None = None
    ext_tran_data: str | None = None
    latitude: Decimal | None = None
    longitude: Decimal | None = None
    receipt_email: str | None = None
    receipt_phone: str | None = None
    offline_queue_id: str | int | None = None


class ReceiptAddresses(Record):
    """The addresses of a receipt, each once: e-mail addresses and E.164 numbers. `retries` after a failed attempt."""

    emails: tuple[str, ...] = ()
    phones: tuple[str, ...] = ()
    retries: int | None = None


class ReceiptContent(Record):
    """What only a receipt shows, and the addresses it is sent to."""

    purchases: tuple[Purchase, ...] = ()
    taxes: Taxes | None = None
    addresses: ReceiptAddresses | None = field(default=None, metadata={"stored_as": "receipt"})
    language: str = ENGLISH


class CardEntry(Record):
    """How the card was entered. Its number is not stored: `digest` is keyed and for this payment only."""

    linked_id: int | None = field(default=None, metadata={"stored_as": "linked_card_id"})
    digest: str | None = field(default=None, metadata={"stored_as": "card_digest"})
    emv: EmvData | None = None


class Completion(Record):
    """What an approved payment still needs: a second step, unless it is made in a single one; a signature."""

    single_step: bool = True
    signature_required: bool = False


class Pictures(Record):
    """The pictures of a payment, as the keys of their files."""

    photo_key: str | None = None
    signature_key: str | None = None


class Result(Record):
    """The acquirer's answer. `rrn` is known before the answer where the service chooses it."""

    code: int | None = field(
        default=None, metadata={"stored_as": "result_code"}
    )  # 0 approved, else the ISO 8583 response code
    message: str | None = field(default=None, metadata={"stored_as": "result_message"})
    approval_code: str | None = None
    rrn: str | None = None
    acquirer_tran_id: str | None = None
    pin_mode: int | None = None
    additional_fields: str | None = field(default=None, metadata={"stored_as": "additional_acquiring_fields"})
    additional_fields_title: str | None = field(
        default=None, metadata={"stored_as": "additional_acquiring_fields_title"}
    )
    emv_result: str | None = None  # the issuer's answer to the chip, as TLV in hexadecimal


class Reversals(Record):
    """Of a payment: its reversals. Amounts and count include those that are reserved: requested and not finished.

    `latest_id` and `latest_invoice` are those of the reversal approved last, `requested_id` of the one requested last.
    """

    amount_minor: int = field(default=0, metadata={"stored_as": "reversed_minor"})
    reserved_minor: int = 0  # the part of the amount that is reserved
    count: int = field(default=0, metadata={"stored_as": "reversals"})
    latest_id: str | None = field(default=None, metadata={"stored_as": "reverse_id"})
    latest_invoice: str | None = field(default=None, metadata={"stored_as": "reverse_invoice"})
    requested_id: str | None = field(default=None, metadata={"stored_as": "latest_reversal_id"})


class Original(Record):
    """Of a reversal: the payment that it reverses, and how. All None for a payment."""

    id: str | None = field(default=None, metadata={"stored_as": "original_id"})
    invoice: str | None = field(default=None, metadata={"stored_as": "original_invoice"})
    mode: int | None = field(default=None, metadata={"stored_as": "reverse_mode"})
    partial: bool = False  # less than was paid


class Transaction(Record):
    """A payment or a reversal as it is stored. Amounts are minor units of its currency, instants are UTC.

    A field that is a group is stored as the attributes of the group.
    """

    id: str
    client_id: int
    agent: AgentSnapshot = field(metadata={"stored_as": "taker"})
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
    merchant: MerchantSnapshot
    raw_request: str = field(metadata={"stored_as": "details"})  # JSON text, no card, no files; never read
    date: datetime | None = None  # of an offline payment: when it was taken
    amount_cash_got_minor: int | None = None
    particulars: Particulars = field(default_factory=Particulars, metadata=INLINE)
    receipt: ReceiptContent = field(default_factory=ReceiptContent, metadata=INLINE)
    card: CardDetails | None = None
    card_entry: CardEntry = field(default_factory=CardEntry, metadata=INLINE)
    result: Result = field(default_factory=Result, metadata=INLINE)
    completion: Completion = field(default_factory=Completion, metadata=INLINE)
    pictures: Pictures = field(default_factory=Pictures, metadata=INLINE)
    reversals: Reversals = field(default_factory=Reversals, metadata=INLINE)
    original: Original = field(default_factory=Original, metadata=INLINE)
    auto_cancel_id: str | None = None  # random: the reference of its automatic reversal, should it come to that
    host: HostFacts | None = None  # at an acquirer that cannot be inquired
    makes_events: bool | None = None  # as its merchant wished when it began; stored while a phase may follow

    @property
    def is_reversal(self) -> bool:
        """Return whether it gives money back instead of taking it."""
        return self.original.id is not None

    @property
    def remaining_minor(self) -> int:
        """Return how much of it can still be reversed."""
        return self.amount_minor - self.reversals.amount_minor

    @property
    def refunded_minor(self) -> int:
        """Return how much of it was reversed, reservations not counted."""
        return self.reversals.amount_minor - self.reversals.reserved_minor

    @property
    def is_reversed_in_full(self) -> bool:
        """Return whether all of the payment was reversed: it follows from the amounts and is not stored."""
        return self.phase in MONEY_TAKEN and self.refunded_minor == self.amount_minor

    @property
    def is_pending(self) -> bool:
        """Return whether its outcome is not decided yet."""
        return self.phase in PENDING

    @property
    def owes_signature(self) -> bool:
        """Return whether a signature is required that has not come yet."""
        return self.completion.signature_required and self.pictures.signature_key is None

    @property
    def took_money(self) -> bool:
        """Return whether it is a payment that took money, reversed later or not."""
        return not self.is_reversal and self.phase in MONEY_TAKEN
