"""The addresses of a receipt (at most five e-mails and telephone numbers together), and the view of a receipt."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from chalicelib.domain.transaction import ReceiptAddresses
from chalicelib.errors import Check
from chalicelib.schemas.base import Answer, Request, View, problem
from chalicelib.schemas.field_types import Email, Phone

MAX_ADDRESSES = 5
MAX_RETRIES = 10  # more are this many
EMPTY: tuple[object, ...] = (None, "")  # what a till sends for a field nobody filled in


def _filled_in(value: Any) -> Any:
    """Return an address, or a list of some, without what nobody filled in."""
    if isinstance(value, list):
        return [one for one in value if one not in EMPTY]
    return None if value in EMPTY else value


Addresses = Field(None, max_length=MAX_ADDRESSES)


def _at_most_limit(retries: int) -> int:
    return min(retries, MAX_RETRIES)


class Receipt(Request):
    """The addresses of the receipt. Telephone numbers are international, or of the request's CountryCode."""

    email: Annotated[Email | None, BeforeValidator(_filled_in)] = None
    emails: Annotated[list[Email] | None, BeforeValidator(_filled_in)] = Addresses
    phone: Annotated[Phone | None, BeforeValidator(_filled_in)] = None
    phones: Annotated[list[Phone] | None, BeforeValidator(_filled_in)] = Addresses
    retry_num: Annotated[int, Field(ge=0), AfterValidator(_at_most_limit)] | None = None

    @model_validator(mode="after")
    def _few(self) -> "Receipt":
        if len(self.all_emails) + len(self.all_phones) > MAX_ADDRESSES:
            raise problem(Check.TOO_LONG, f"A receipt goes to at most {MAX_ADDRESSES} addresses.")
        return self

    @property
    def all_emails(self) -> tuple[str, ...]:
        """Return each e-mail address once."""
        return _once(self.email, self.emails)

    @property
    def all_phones(self) -> tuple[str, ...]:
        """Return each telephone number once, as E.164 writes it."""
        return _once(self.phone, self.phones)

    def to_domain(self) -> ReceiptAddresses | None:
        """Return where the receipt goes, None when it goes nowhere."""
        if not self.all_emails and not self.all_phones:
            return None
        return ReceiptAddresses(self.all_emails, self.all_phones, self.retry_num)


def _once(first: str | None, more: list[str] | None) -> tuple[str, ...]:
    """Return each address once, in the order given; two that differ in their case alone are one."""
    once: dict[str, str] = {}
    for address in (first, *(more or [])):
        if address:
            once.setdefault(address.lower(), address)
    return tuple(once.values())


class ReceiptView(View):
    """The Receipt object: the subject and both parts of the e-mail, and the SMS."""

    language: str
    subject: str
    html: str
    text: str
    short_text: str


class ReceiptAnswer(Answer):
    """The answer of payment/receipt/{tranId}; the receipt is null when no money moved."""

    receipt: ReceiptView | None = None
