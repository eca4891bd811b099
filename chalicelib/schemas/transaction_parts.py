"""The parts of the Transaction object, and how its amounts are written."""

from dataclasses import asdict
from typing import Self

from chalicelib.domain.money import Currency
from chalicelib.domain.transaction import AgentSnapshot, EmvData, Transaction
from chalicelib.phone_numbers import format_international
from chalicelib.schemas.base import View


class CardView(View):
    """The parts of a card that may be shown; a cash payment carries only IIN."""

    iin: str
    bin: str | None = None
    exp: str | None = None
    pan_masked: str | None = None
    pan_ending: str | None = None
    bank_name: str | None = None
    bank_country_id: str | None = None

    @classmethod
    def of(cls, transaction: Transaction) -> Self:
        """Return the card of a transaction; its acquirer code where there is no card."""
        card = transaction.card
        if card is None:
            return cls(iin=transaction.acquirer)
        return cls(iin=card.brand, bin=card.bin, exp=card.exp, pan_masked=card.masked, pan_ending=card.last4)


class EmvView(View):
    """The EMV tags a receipt prints."""

    aid: str | None = None
    apn: str | None = None
    tsi: str | None = None
    tvr: str | None = None

    @classmethod
    def of(cls, emv: EmvData | None) -> Self | None:
        """Return the tags of a chip, None when there was none."""
        return cls(**asdict(emv)) if emv else None


class FormatView(View):
    """The format of the currency's amounts; CurrencyE is its number of decimals."""

    currency_sign: str
    currency_sign_safe: str
    amount_format: str
    amount_format_without_currency: str
    currency_e: int

    @classmethod
    def of(cls, currency: Currency) -> Self:
        """Return the format of a currency's amounts."""
        digits = f"{{0:N{currency.digits}}}"
        return cls(
            currency_sign=currency.sign,
            currency_sign_safe=currency.sign if currency.sign.isascii() else currency.code,
            amount_format=f"{currency.sign} {digits}",
            amount_format_without_currency=digits,
            currency_e=currency.digits,
        )


class FiscalView(View):
    """Fiscalization is outside the service: always nothing, no error."""

    fiscal_status: int = 0
    fiscal_error: int = 0
    fiscal_message: str | None = None


class ResultView(View):
    """The outcome: 0 approved, otherwise the ISO 8583 response code."""

    code: int | None
    message: str | None

    @classmethod
    def of(cls, transaction: Transaction) -> Self | None:
        """Return the result of a transaction, None while there is none, or its reversal is still owed."""
        if transaction.result.code is None or transaction.is_pending:
            return None
        return cls(code=transaction.result.code, message=transaction.result.message)


class TransPosView(View):
    """The agent that made the operation."""

    id: int
    email: str
    name: str
    phone: str

    @classmethod
    def of(cls, agent: AgentSnapshot) -> Self:
        """Return the agent as it was then."""
        phone = format_international(agent.phone) if agent.phone else ""  # a system user may have none
        return cls(**{**asdict(agent), "phone": phone})
