"""The receipt of a transaction: its query and its answer, and the request to send it later."""

from collections.abc import Iterable
from decimal import Decimal
from typing import ClassVar, Self

from pydantic import SkipValidation

from chalicelib.domain.money import from_minor, minor_unit
from chalicelib.domain.returned_lines import remaining_lines
from chalicelib.domain.transaction import ReceiptAddresses, Transaction
from chalicelib.errors import Check, Validation, invalid
from chalicelib.schemas.base import Answer, Request, Text, View, validated, wire_name
from chalicelib.schemas.payments import Emails, OneEmail, OnePhone, Phones, Receipt, not_sent
from chalicelib.schemas.request_context import Context


class _LaterReceipt(Receipt):
    """The addresses of a receipt that is sent later. They stand in the body itself."""

    PLACE: ClassVar[str] = ""


class SendReceipt(Context):
    """The body of payment/receipt/{tranId}: the addresses of a receipt that is sent later, and its language.

    Its addresses are read once the caller is admitted, because only the merchant tells the country of their numbers.
    """

    email: SkipValidation[OneEmail | None] = None
    emails: SkipValidation[Emails | None] = None
    phone: SkipValidation[OnePhone | None] = None
    phones: SkipValidation[Phones | None] = None

    def addresses_in(self, country: str) -> ReceiptAddresses:
        """Return the addresses. A national number is one of `country` (alpha-2). Raise 202 for wrong ones and none."""
        names = ("email", "emails", "phone", "phones")
        sent = {wire_name(name): getattr(self, name) for name in names}
        addresses = validated(_LaterReceipt, {**sent, "CountryCode": country}).to_domain()
        if addresses is None:
            raise invalid(Validation("Email", Check.REQUIRED, "An e-mail address or a telephone number is expected."))
        return addresses


class ReceiptQuery(Request):
    """The query string of GET payment/receipt/{tranId}: the language of the receipt."""

    lang: Text | None = None


class ReceiptLineView(View):
    """A line of a payment or of a return. Amount is its rounded price less its Discount.

    What remains of a payment's line can be given back; None at the line of a return.
    """

    title: str
    quantity: Decimal
    price: Decimal
    discount: Decimal | None
    amount: Decimal
    remaining_quantity: Decimal | None
    remaining_amount: Decimal | None

    @classmethod
    def all_of(cls, transaction: Transaction) -> list[Self]:
        """Return the lines of a transaction that moved money."""
        lines, unit = transaction.receipt.purchases, minor_unit(transaction.currency)
        left = remaining_lines(transaction) if lines and not transaction.is_reversal else [None] * len(lines)
        return [
            cls.carried(
                line,
                amount=line.sum_in(transaction.currency) * unit,
                remaining_quantity=one and one.quantity,
                remaining_amount=one and one.money_minor * unit,
            )
            for line, one in zip(lines, left, strict=True)
        ]


class ReceiptView(View):
    """The Receipt object: the subject and both parts of the e-mail, the SMS, and the lines with what they cost."""

    language: str
    subject: str
    html: str
    text: str
    short_text: str
    lines: list[ReceiptLineView]
    lines_total: Decimal | None

    @classmethod
    def of(cls, transaction: Transaction, **texts: str) -> Self:
        """Return the view of a transaction that moved money."""
        purchases, currency = transaction.receipt.purchases, transaction.currency
        return cls(
            **texts,
            lines=ReceiptLineView.all_of(transaction),
            lines_total=from_minor(transaction.price_minor, currency) if purchases else None,
        )


class ReceiptAnswer(Answer):
    """The answer of payment/receipt/{tranId}; the receipt is null when no money moved."""

    receipt: ReceiptView | None = None


class SendReceiptAnswer(Answer):
    """The answer to a receipt later: a warning for each address that gets none."""

    @classmethod
    def of(cls, withheld: Iterable[str], *, replayed: bool) -> Self:
        """Return the answer. `withheld` are paths; `replayed`: an earlier request with the same key was carried out."""
        warnings = [one.on_the_wire() for one in not_sent(withheld)]
        return cls(validations=warnings or None, headers={"Idempotent-Replayed": "true"} if replayed else {})
