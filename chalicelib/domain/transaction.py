"""A transaction: the stored payment or reversal, and the records that it is made of.

These records are: the snapshots of agent, merchant and terminal, purchases and their sums, card, receipt, the
acquirer's result, reversals and original, the facts for a host without inquiries, the mark of an erasure, and receipt
numbers.
The kinds of payment are in `kinds`, the phases in `phases`.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal, localcontext
from enum import StrEnum
from typing import Any, ClassVar

from chalicelib.domain.business_days import ZONE, business_day
from chalicelib.domain.kinds import ENGLISH, InputType
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.money import AMOUNT, Currency, rounded, smallest_coin
from chalicelib.domain.phases import DEPOSITED, MONEY_TAKEN, PENDING, REVERSED_IN_FULL, SHOWN, Phase, Shown
from chalicelib.domain.secret import masked_number
from chalicelib.domain.taxes import TaxAmount

Day = date  # in a class with a field of this name


@dataclass(frozen=True)
class TerminalSnapshot:
    """The terminal of a payment as its host knows it. Reversals name it even if the terminal has changed since."""

    mid: str  # BackRetailerID
    title: str
    city: str
    country_code: str  # alpha-2
    sic: str
    entry_caps: str


@dataclass(frozen=True)
class MessageTrace:
    """The number (STAN, 1 to 999,999, unique per terminal and day) and the time of a message to a host."""

    stan: int
    made_at: datetime


@dataclass(frozen=True)
class HostFacts:
    """The facts by which a host without inquiries recognises a message, stored before its first byte is sent."""

    trace: MessageTrace
    institution: str
    terminal: TerminalSnapshot
    advice_stan: int  # reserved for its automatic reversal
    original: MessageTrace | None = None  # the payment's message, for a reversal
    answer_unusable: bool = False  # the outcome is unknown because of an unusable answer
    advice: MessageTrace | None = None  # its automatic reversal's message, once decided


ERASED = "[erased]"  # in place of a payer's data that the operator has erased; no address has this form
ERASED_PICTURE = "erased.png"  # the file in place of an erased photo or signature


class Erasure(StrEnum):
    """The progress of erasing a payer's data. The values are stored."""

    REPLACED = "replaced"  # messages, events and files may still hold the data
    DONE = "done"


PRECISION = 64  # digits: enough for any price times any quantity without rounding


@dataclass(frozen=True)
class Purchase:
    """One line of a purchase; `price` is the price of one piece, below zero for a discount on other lines."""

    title: str
    price: Decimal
    quantity: Decimal
    tax_codes: tuple[str, ...] = ()
    discount: Decimal | None = None  # on the whole line

    @property
    def total(self) -> Decimal:
        """Return the exact price of the line, without its discount."""
        with localcontext(prec=PRECISION):
            return self.price * self.quantity

    def sum_in(self, currency: Currency) -> int:
        """Return the sum of the line in minor units: its rounded price less its discount."""
        return rounded(self.total, currency) - rounded(self.discount or Decimal(), currency)


@dataclass(frozen=True)
class Taxes:
    """The taxes of a whole payment, as in the till's request."""

    codes: tuple[str, ...] = ()
    scheme: str | None = None


def sums_of(purchases: Sequence[Purchase], currency: Currency) -> tuple[int, int]:
    """Return the sum of the rounded lines, and the rounded sum of the exact lines, in minor units."""
    with localcontext(prec=PRECISION):
        exact = sum((purchase.total - (purchase.discount or 0) for purchase in purchases), Decimal())
    return sum(purchase.sum_in(currency) for purchase in purchases), rounded(exact, currency)


def discounts_of(purchases: Sequence[Purchase], currency: Currency) -> int:
    """Return what discounts and lines below zero take off the price of the other lines, in minor units."""
    return sum(rounded(one.total, currency) for one in purchases if one.price > 0) - sums_of(purchases, currency)[0]


def price_of(purchases: Sequence[Purchase], amount_minor: int, currency: Currency, *, is_cash: bool) -> int:
    """Return the price of the goods that an amount pays, in minor units: it is their sum if only a part was paid.

    An amount that equals the sum but for rounding, in cash to a coin, is the price.
    """
    sums = sums_of(purchases, currency) if purchases else (amount_minor,)
    coin = smallest_coin(currency) if is_cash else 1
    is_rounded = min(sums) - coin < amount_minor < max(sums) + coin
    return amount_minor if is_rounded else max(sums)


INLINE = {"inline": True}  # stored as attributes of the containing item: `result_code` is the field `code` of `result`


@dataclass(frozen=True)
class AgentSnapshot:
    """The agent at the time of the transaction: later changes of the account do not change the past."""

    id: int
    email: str
    name: str
    phone: str


@dataclass(frozen=True)
class MerchantSnapshot:
    """The merchant at the time of a transaction: later changes of the merchant do not change the receipt."""

    name: str
    address: str
    phone: str
    tax_id: str | None = None
    mid: str | None = None  # the terminal's
    logo_key: str | None = None
    note: str | None = None  # its words below every receipt

    @property
    def tax_number(self) -> str | None:
        """Return its tax number, None for a text such as a dash."""
        return self.tax_id if _says_something(self.tax_id) else None

    @property
    def can_invoice(self) -> bool:
        """Return whether it has all that a tax invoice says of the seller: a name, an address and a tax number."""
        return all(map(_says_something, (self.name, self.address, self.tax_id)))


def _says_something(text: str | None) -> bool:
    return any(map(str.isalnum, text or ""))


def snapshot_of(merchant: Merchant, mid: str | None) -> MerchantSnapshot:
    """Return the merchant's facts for receipts; `mid` is the merchant identifier of the terminal."""
    return MerchantSnapshot(
        name=merchant.name,
        address=merchant.address_de_jure or merchant.address_de_facto,
        phone=merchant.phone,
        tax_id=merchant.tax_id,
        mid=mid,
        logo_key=merchant.avatar_key,
        note=merchant.receipt_note or None,
    )


def wants_events(merchant: Merchant, now: datetime) -> bool:
    """Return whether a merchant wants events of a transaction that begins now."""
    return merchant.events_until is not None and now < merchant.events_until


@dataclass(frozen=True)
class CardDetails:
    """The stored facts of a card, all of them."""

    brand: str
    bin: str | None = None
    last4: str | None = None
    exp: str | None = None
    cardholder: str | None = None

    @property
    def masked(self) -> str | None:
        """Return the masked number: 411111******1111."""
        return masked_number(self.bin, self.last4) if self.bin and self.last4 else None


@dataclass(frozen=True)
class EmvData:
    """The chip data on a receipt: application, its name, transaction status, verification results."""

    aid: str | None = None
    apn: str | None = None
    tsi: str | None = None
    tvr: str | None = None


@dataclass(frozen=True)
class Particulars:
    """The fields that are only passed through: stored as requested, shown as stored.

    A field has the same name here, in the request's model and in the view.
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


@dataclass(frozen=True)
class ReceiptAddresses:
    """The addresses of a receipt, each once: e-mail addresses and E.164 numbers. `retries` counts further attempts.

    `paths` are the paths of all addresses in the request, e-mails first: "Receipt.Phones[1]".
    """

    emails: tuple[str, ...] = ()
    phones: tuple[str, ...] = ()
    retries: int | None = None
    paths: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Return the e-mail addresses and the numbers."""
        return self.emails + self.phones


@dataclass(frozen=True)
class ReceiptContent:
    """The facts that only a receipt shows, and the addresses it is sent to."""

    purchases: tuple[Purchase, ...] = ()
    taxes: Taxes | None = None
    addresses: ReceiptAddresses | None = None
    language: str = ENGLISH
    withheld: tuple[str, ...] = ()  # paths, for the answer

    @property
    def to_send(self) -> ReceiptAddresses | None:
        """Return the addresses to send to; None when there are none, or when they are erased."""
        return None if self.addresses and ERASED in self.addresses.all else self.addresses

    def limited_to(self, admitted: Collection[str]) -> "ReceiptContent":
        """Return the content with the admitted addresses only. The paths of the others are withheld."""
        if self.addresses is None:
            return self
        sent = [(address, path) for address, path in self._located() if address in admitted]
        withheld = tuple(path for address, path in self._located() if address not in admitted)
        addresses = replace(
            self.addresses,
            emails=tuple(one for one in self.addresses.emails if one in admitted),
            phones=tuple(one for one in self.addresses.phones if one in admitted),
            paths=tuple(path for _, path in sent),
        )
        return replace(self, addresses=addresses if sent else None, withheld=self.withheld + withheld)

    def _located(self) -> list[tuple[str, str]]:
        return list(zip(self.addresses.all, self.addresses.paths, strict=True)) if self.addresses else []


@dataclass(frozen=True)
class CardEntry:
    """The way the card was entered."""

    linked_id: int | None = None
    emv: EmvData | None = None


@dataclass(frozen=True)
class Completion:
    """The steps that an approved payment still needs: a second step unless `single_step`, and a signature."""

    single_step: bool = True
    signature_required: bool = False


@dataclass(frozen=True)
class Pictures:
    """The pictures of a payment, as the keys of their files."""

    photo_key: str | None = None
    signature_key: str | None = None


@dataclass(frozen=True)
class Result:
    """The acquirer's answer. `rrn` is set before the answer if the service chooses it."""

    code: int | None = None  # 0 approved, else the ISO 8583 response code
    message: str | None = None
    approval_code: str | None = None
    rrn: str | None = None
    acquirer_tran_id: str | None = None
    pin_mode: int | None = None
    additional_fields: str | None = None
    additional_fields_title: str | None = None
    emv_result: str | None = None  # the issuer's answer to the chip, as TLV in hexadecimal


OWN_RECEIPT_NUMBER = re.compile(r"[0-9]{6}\.[0-9]+\.[0-9]+")
NOT_SHOWN = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")  # Unicode's categories of controls, formats and no characters
INVISIBLE_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def is_shown(text: str) -> bool:
    """Return whether a text has neither control nor format characters."""
    return not any(unicodedata.category(one) in NOT_SHOWN or one in INVISIBLE_LETTERS for one in text)


def reads_like_own_number(text: str) -> bool:
    """Return whether a person may read a text as a receipt number of the service: in any digits, with any dots."""
    shown = "".join(map(_as_read, unicodedata.normalize("NFKC", text)))
    return OWN_RECEIPT_NUMBER.fullmatch(shown) is not None


def _as_read(character: str) -> str:
    """Return the ASCII digit or dot that a character looks like, nothing for a mark or blank, else the character."""
    digit, category = unicodedata.digit(character, None), unicodedata.category(character)
    if digit is not None:
        return str(digit)
    if category[0] in "MZ":
        return ""
    return "." if not character.isascii() and category[0] in "PS" else character


def receipt_number(day: date, agent_id: int, number: int) -> str:
    """Return an agent's receipt number of a day of its merchant: 260314.17.42."""
    return f"{day:%y%m%d}.{agent_id}.{number}"


@dataclass(frozen=True)
class Reversals:
    """The reversals of a payment. Amounts and count include reserved reversals: requested and not finished.

    `latest_id` and `latest_invoice` belong to the reversal approved last, `requested_id` to the reversal requested
    last. `given_back` adds up the `Original.gives_back` of these reversals.
    """

    amount_minor: int = field(default=0, metadata=AMOUNT)
    reserved_minor: int = field(default=0, metadata=AMOUNT)  # the part of the amount that is reserved
    count: int = 0
    latest_id: str | None = None
    latest_invoice: str | None = None
    requested_id: str | None = None
    given_back: Mapping[str, Decimal] | None = None


@dataclass(frozen=True)
class Warned:
    """A path in a request that was carried out all the same, and the code of the warning about it."""

    path: str
    code: int


@dataclass(frozen=True)
class Original:
    """The payment that a reversal reverses, and the way. For a payment all fields are None.

    `gives_back` has what is given back of each line and tax by their number in the payment: the quantity of line0, the
    minor units of money0 and tax0. Of a payment without lines it has taxes only.
    """

    id: str | None = None
    invoice: str | None = None
    mode: int | None = None
    partial: bool = False  # less than the payment's amount
    took_rest: bool = False  # all that remained
    gives_back: Mapping[str, Decimal] | None = None
    acquirer_tran_id: str | None = None  # the acquirer's ID of the payment


@dataclass(frozen=True)
class Transaction:
    """A stored payment or reversal. Amounts are minor units of its currency, instants are UTC.

    A field that is a group is stored as an attribute for each field of the group.
    """

    id: str
    client_id: int
    agent: AgentSnapshot
    terminal_id: int
    terminal_name: str
    phase: Phase
    input_type: InputType
    acquirer: str
    currency: Currency
    amount_minor: int = field(metadata=AMOUNT)
    created_at: datetime
    deadline: datetime
    gmt: int = field(metadata=ZONE)  # the merchant's zone, hours: it decides the business day
    fingerprint: str
    invoice: str
    merchant: MerchantSnapshot
    date: datetime | None = None  # the time of an offline payment; None for any other transaction
    amount_cash_got_minor: int | None = None
    particulars: Particulars = field(default_factory=Particulars, metadata=INLINE)
    receipt: ReceiptContent = field(default_factory=ReceiptContent, metadata=INLINE)
    tax_amounts: tuple[TaxAmount, ...] = ()
    taxed_again_minor: int | None = None  # money that counts once more in the gross amounts: its line has several taxes
    discounts_minor: int | None = None  # what discounts took off the lines of a payment
    # Whether the payment's receipt is a tax invoice, also in its reversals. None: it is one if there are taxes.
    tax_invoice: bool | None = None
    card: CardDetails | None = None
    card_entry: CardEntry = field(default_factory=CardEntry, metadata=INLINE)
    result: Result = field(default_factory=Result, metadata=INLINE)
    completion: Completion = field(default_factory=Completion, metadata=INLINE)
    pictures: Pictures = field(default_factory=Pictures, metadata=INLINE)
    reversals: Reversals = field(default_factory=Reversals, metadata=INLINE)
    original: Original = field(default_factory=Original, metadata=INLINE)
    warnings: tuple[Warned, ...] = ()
    auto_cancel_id: str | None = None  # random: the reference of a possible automatic reversal
    host: HostFacts | None = None  # only at an acquirer without inquiries
    makes_events: bool | None = None  # its merchant's wish at the beginning; stored until the final phase
    erasure: Erasure | None = None  # of its payer's data
    # When somebody last claimed it to resolve it. Its own request claims it as well when no answer came.
    claimed_at: datetime | None = None
    # The owner of each large attribute that stands in an item of its own: this transaction, or its payment.
    apart: Mapping[str, str] | None = field(default=None, compare=False)
    LARGE: ClassVar = ("receipt_purchases", "receipt_taxes", "particulars_description", "particulars_ext_tran_data")

    @property
    def named(self) -> Mapping[str, Any]:
        """Return its ID, merchant and TID, for the log."""
        return {"transaction": self.id, "merchant": self.client_id, "terminal": self.terminal_name}

    @property
    def is_reversal(self) -> bool:
        """Return whether the transaction is a reversal."""
        return self.original.id is not None

    @property
    def is_being_erased(self) -> bool:
        """Return whether the erasure of its payer's data is unfinished."""
        return self.erasure is Erasure.REPLACED

    @property
    def is_invoiced(self) -> bool:
        """Return whether its receipt is a tax invoice; of a reversal, whether its payment's is one."""
        final = Phase.REVERSAL_APPROVED if self.is_reversal else Phase.APPROVED
        of_taxes = bool(self.tax_amounts) if self.tax_invoice is None else self.tax_invoice
        return of_taxes and self.phase is final and self.merchant.can_invoice

    @property
    def counts_at(self) -> datetime:
        """Return the time at which it counts: an offline payment's Date, but never a time in the future."""
        return min(self.date or self.created_at, self.created_at)

    @property
    def received_at(self) -> datetime | None:
        """Return the time at which an offline sale was recorded; None where its Date is that time."""
        return None if self.date in (None, self.created_at) else self.created_at

    @property
    def is_late(self) -> bool:
        """Return whether it is an offline sale that was recorded after the merchant's day of its Date."""
        return self.received_at is not None and self.recorded_on > business_day(self.counts_at, self.gmt)

    @property
    def recorded_on(self) -> Day:
        """Return the merchant's day on which it was recorded. An offline payment may count on an earlier day."""
        return business_day(self.created_at, self.gmt)

    @property
    def cash_minor(self) -> int:
        """Return the cash that its agent took, or minus the cash that it gave back, when it was recorded."""
        if self.input_type != InputType.CASH or not self.moved_money:
            return 0
        return self.amount_minor if self.took_money else -self.amount_minor

    @property
    def price_minor(self) -> int:
        """Return the price of its lines, which is its amount unless only a part was paid."""
        is_cash = self.input_type is InputType.CASH
        return price_of(self.receipt.purchases, self.amount_minor, self.currency, is_cash=is_cash)

    @property
    def remaining_minor(self) -> int:
        """Return the amount that can still be reversed."""
        return self.amount_minor - self.reversals.amount_minor

    @property
    def refunded_minor(self) -> int:
        """Return the reversed amount without reservations."""
        return self.reversals.amount_minor - self.reversals.reserved_minor

    @property
    def is_reversed_in_full(self) -> bool:
        """Return whether the whole payment was reversed. This follows from the amounts and is not stored."""
        return self.phase in MONEY_TAKEN and self.refunded_minor == self.amount_minor

    @property
    def is_pending(self) -> bool:
        """Return whether the outcome is not decided yet."""
        return self.phase in PENDING

    @property
    def owes_signature(self) -> bool:
        """Return whether a required signature is missing."""
        return self.completion.signature_required and self.pictures.signature_key is None

    @property
    def took_money(self) -> bool:
        """Return whether it is a payment that took money, even if it was reversed later."""
        return not self.is_reversal and self.phase in MONEY_TAKEN

    @property
    def moved_money(self) -> bool:
        """Return whether it took money or gave it back: only then it has a receipt."""
        return self.took_money or self.phase is Phase.REVERSAL_APPROVED

    @property
    def shown(self) -> Shown:
        """Return how its phase is shown. A payment that is reversed in full has its own State and Status.

        A return that is being cancelled automatically is shown as in process, because its outcome is still open.
        """
        if self.is_reversed_in_full:
            return REVERSED_IN_FULL
        is_return_cancelled = self.is_reversal and self.phase is Phase.AUTO_CANCELLING
        return SHOWN[Phase.RETURNING if is_return_cancelled else self.phase]

    def status_at(self, now: datetime) -> str:
        """Return Status: an approved transaction is in transfer until its Deadline, a cash payment never."""
        is_cash_payment = self.input_type is InputType.CASH and not self.is_reversal
        deposited = is_cash_payment or now >= self.deadline
        approved = self.phase in (Phase.APPROVED, Phase.REVERSAL_APPROVED)
        if approved and deposited and not self.is_reversed_in_full:
            return DEPOSITED
        return self.shown.status
