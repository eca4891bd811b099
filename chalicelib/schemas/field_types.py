"""Field types of requests, each with its own check."""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import fields
from decimal import Decimal
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    Field,
    PlainValidator,
    SerializeAsAny,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)

from chalicelib import exact_json, iso_codes, phone_numbers
from chalicelib.domain import picture
from chalicelib.domain.picture import Picture
from chalicelib.domain.secret import Secret
from chalicelib.errors import Check
from chalicelib.schemas.base import Request, Text, check_unicode, checked, pattern, problem

MAX_OBJECT = 8 * 1024
MAX_DEPTH = 32
MAX_QUEUE_ID = 10**15
PASSWORD_LENGTH = (8, 256)
SECRET_KEY_LENGTH = (16, 256)
# HTML's form of an e-mail address. Amazon SES delivers only to ASCII addresses.
EMAIL = r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9-]{1,63})+$"

MAX_EMAIL = 254
Email = Annotated[str, Field(max_length=MAX_EMAIL), pattern(EMAIL, "An e-mail address is expected.")]


def is_email(text: str) -> bool:
    """Return whether a text may be the e-mail address of an agent."""
    return len(text) <= MAX_EMAIL and re.match(EMAIL, text) is not None


def _alpha2(text: str) -> str:
    code = iso_codes.country_code(text)
    if code is None:
        raise problem(Check.NOT_IN_DICTIONARY, "An ISO 3166-1 country code is expected.")
    return code


def _known_currency(text: str) -> str:
    if iso_codes.currency(text) is None:
        raise problem(Check.NOT_IN_DICTIONARY, "An ISO 4217 currency code is expected.")
    return iso_codes.currency_code(text)


def _phone(text: str, info: ValidationInfo) -> phone_numbers.PhoneNumber:
    code = info.data.get("country_code") or (info.context or {}).get("country_code")
    number = phone_numbers.parse(text, iso_codes.country_code(code) if code else None)
    if number is None:
        raise problem(Check.FORMAT, "A telephone number such as +27 82 987 6543 is expected.")
    return number


CountryCode = Annotated[str, Field(max_length=3), AfterValidator(_alpha2)]  # converted to alpha-2
CurrencyID = Annotated[str, Field(max_length=3), AfterValidator(_known_currency)]  # converted to alpha-3
ExtID = Annotated[str, Field(max_length=128)]
PHONE = Field(min_length=1, max_length=64)
Phone = Annotated[
    str, PHONE, AfterValidator(lambda text, info: _phone(text, info).international)
]  # stored as it is shown
ReceiptPhone = Annotated[
    str, PHONE, AfterValidator(lambda text, info: _phone(text, info).e164)
]  # stored as messages are sent to it


def _values(value: Any) -> Iterator[Any]:
    """Yield the values in a value of JSON, at any level."""
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _values(inner)


def _json_text(value: Any) -> str:
    if not isinstance(value, dict):
        raise problem(Check.TYPE, "An object is expected.")
    if exact_json.is_deeper(value, MAX_DEPTH):
        raise problem(Check.TOO_LONG, f"At most {MAX_DEPTH} levels are kept.")
    if any(isinstance(one, Decimal) and len(one.as_tuple().digits) > exact_json.LONGEST_INT for one in _values(value)):
        raise problem(Check.OUT_OF_RANGE, f"A number has at most {exact_json.LONGEST_INT} digits.")
    try:
        text = exact_json.text(value)
        size = len(text.encode())
    except UnicodeEncodeError:
        raise problem(Check.FORMAT, "The object holds a value that cannot be stored.") from None
    if size > MAX_OBJECT:
        raise problem(Check.TOO_LONG, "At most 8 KB are kept.")
    return text


# An object whose inner fields the interface does not describe. It is stored as JSON text.
JsonObject = Annotated[str, PlainValidator(_json_text), WithJsonSchema({"type": "object"})]


def parse_picture(value: Any, max_bytes: int = picture.MAX_BYTES) -> Picture:
    """Return the picture in a base64 text of a request."""
    if not isinstance(value, str):
        raise problem(Check.TYPE, "A base64 text is expected.")
    try:
        return picture.picture_of(value, max_bytes)
    except picture.TooLargeError:
        raise problem(Check.TOO_LONG, f"A picture is at most {max_bytes // picture.MEGABYTE} MB.") from None
    except picture.NotAPictureError:
        raise problem(Check.FORMAT, "The base64 of a PNG or JPEG is expected.") from None


BASE64 = WithJsonSchema({"type": "string", "contentEncoding": "base64"})


class Image(Request):
    """A picture in a request."""

    data: Annotated[Picture, PlainValidator(parse_picture), BASE64]


def _secret(shortest: int, longest: int) -> PlainValidator:
    def check(value: Any) -> Secret:
        if not isinstance(check_unicode(value), str):
            raise problem(Check.TYPE, "A text is expected.")
        if not shortest <= len(value) <= longest:
            check = Check.TOO_LONG if len(value) > longest else Check.OUT_OF_RANGE
            raise problem(check, f"{shortest} to {longest} characters are expected.")
        return Secret(value)

    return PlainValidator(check)


SECRET_SCHEMA = WithJsonSchema({"type": "string", "format": "password"})
Password = Annotated[Secret, _secret(*PASSWORD_LENGTH), SECRET_SCHEMA]
SecretKey = Annotated[Secret, _secret(*SECRET_KEY_LENGTH), SECRET_SCHEMA]
# The key that replaces another one. As `Any` the field has no placeholder: an empty text, which would replace nothing,
# is refused.
NewSecretKey = Annotated[Any, _secret(*SECRET_KEY_LENGTH), SECRET_SCHEMA]
Code = Annotated[Secret, _secret(1, 64), SECRET_SCHEMA]  # of a second factor, or a recovery code
GivenCode = Annotated[Any, _secret(1, 64), SECRET_SCHEMA]  # without it, a request does something else


def _or_number(value: Any, as_text: ValidatorFunctionWrapHandler) -> Any:
    """Return a whole number unchanged, and anything else as a text."""
    return value if type(value) is int and abs(value) <= MAX_QUEUE_ID else as_text(value)


# Numbers are accepted as well, as the field's description says.
QUEUE_ID_SCHEMA = WithJsonSchema({"type": "string", "maxLength": 512})
QueueId = Annotated[SerializeAsAny[Text], WrapValidator(_or_number), QUEUE_ID_SCHEMA]


def one_of(values: Collection[Any]) -> AfterValidator:
    """Return a check that refuses all other values."""
    return checked(values.__contains__, Check.NOT_IN_DICTIONARY, f"One of {', '.join(map(str, values))} is expected.")


def shared_fields(body: Request, record: type, *, without: Collection[str]) -> dict[str, Any]:
    """Return a request's values of the fields that it shares with a record. Absent fields are left out.

    A passed-through field is described once in each. `without` names the fields that are converted.
    """
    shared = {field.name for field in fields(record)} & set(type(body).model_fields) - set(without)
    return {name: value for name in sorted(shared) if (value := getattr(body, name)) is not None}


def parse_stored_object(text: str | None) -> dict[str, Any] | None:
    """Return the object in the stored JSON text of a JsonObject."""
    return exact_json.read(text) if text else None


def request_context_text(body: Request) -> str:
    """Return a request's device, framework and IP address as JSON text, stored with the new record."""
    names = {"device_info", "app_framework", "ip", "lang", "gmt"}
    return json.dumps(body.model_dump(by_alias=True, exclude_none=True, include=names), separators=(",", ":"))
