"""The base of all requests and answers: names, strictness, limits, placeholders, and messages of findings.

Tills send placeholders, other spellings and other capitals. The base reads them as the till means them.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainValidator,
    PrivateAttr,
    SecretStr,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from chalicelib.domain.secret import Secret
from chalicelib.errors import MAX_VALIDATIONS, Check, ErrorCode, Finding, ServiceError, Validation, invalid
from chalicelib.exact_json import LONGEST_INT
from chalicelib.log import log

R = TypeVar("R")
V = TypeVar("V")
Model = TypeVar("Model", bound=BaseModel)
_EXPECTED: dict[str, str] = {}  # by pattern: the expected form, in words

MESSAGES = {
    "missing": "It is required.",
    "string_type": "A text is expected.",
    "string_unicode": "The text is not valid Unicode.",
    "int_type": "A whole number is expected.",
    "int_from_float": "A whole number is expected.",
    "int_parsing": "A whole number is expected.",
    "bool_type": "true or false is expected.",
    "list_type": "A list is expected.",
    "dict_type": "An object is expected.",
    "mapping_type": "An object is expected.",
    "model_type": "An object is expected.",
    "model_attributes_type": "An object is expected.",
    "string_too_long": "At most {max_length} characters are expected.",
    "string_too_short": "At least {min_length} characters are expected.",
    "too_long": "At most {max_length} items are expected.",
    "too_short": "At least {min_length} items are expected.",
    "greater_than": "A number above {gt} is expected.",
    "greater_than_equal": "A number of at least {ge} is expected.",
    "less_than": "A number below {lt} is expected.",
    "less_than_equal": "A number of at most {le} is expected.",
    "decimal_max_digits": "At most {max_digits} digits are expected.",
    "decimal_max_places": "At most {decimal_places} decimals are expected.",
    "decimal_whole_digits": "At most {whole_digits} digits before the decimal point are expected.",
    "literal_error": "One of {expected} is expected.",
}
LENGTHS = {"too_short", "too_long", "string_too_short", "string_too_long"}


def pattern(regex: str, expected: str) -> Any:
    """Return a field with this pattern. `expected` is the message for a text that does not match."""
    _EXPECTED[regex] = expected
    return Field(pattern=regex)


def message_of(detail: ErrorDetails) -> str:
    """Return our message for a finding of pydantic."""
    context, kind = detail.get("ctx", {}), detail["type"]
    if kind == "string_pattern_mismatch":
        return _EXPECTED[context["pattern"]]
    if kind in LENGTHS and isinstance(detail["input"], str):  # also for secret texts
        kind = f"string_{kind.removeprefix('string_')}"
        if context.get("min_length") == 1:
            return "It may not be empty."
    if kind.isdecimal():  # a finding of our own
        return str(context["reason"])
    template = MESSAGES.get(kind)  # never pydantic's message: it may name a class, or quote the value
    return template.format(**context) if template else "The value is not valid."


CALLERS_AND_OUTAGES, NOT_FOUND = (401, 403, 503), 404  # HTTP statuses
ZERO_TEXT = re.compile(r"-?0+(\.0+)?")
DECIMAL_TEXTS = {"AmountCashGot", "Discount"}  # amounts that tills may send as an empty text
AGENTS = {"CurrentAccountID", "AccountID", "AccountId"}
ZEROS = AGENTS | {"AmountCashGot", "InputType", "CardInputMode", "LinkedCardId", "TerminalGroupID"}
# Fields whose outer blanks of any kind are no part of the value. So are the codes: `...Code`.
TRIMMED = {"Email", "Emails", "UserEmail", "Phone", "Phones", "UserPhone", "TID", "BackRetailerID", "Search"}
POSITIONS = {"Location", "OfflineLocation"}
COORDINATES = {"latitude", "longitude"}


class Contradiction:
    """The mark of a field with two different values, sent in two spellings or two places."""


@dataclass(frozen=True)
class OtherCapitals:
    """The mark of a known field in other capitals. Ignoring `id` for `ID`, for example, would charge twice."""

    written: str


def is_mark(value: object) -> bool:
    """Return whether a value is a mark, which makes its field a finding."""
    return isinstance(value, Contradiction | OtherCapitals)


@dataclass(frozen=True)
class RequestFields:
    """The names of a model's fields on the wire, and the fields in which tills send placeholders.

    These are optional fields. An empty text, the number 0 or a position without numbers counts as absent there.
    """

    names: frozenset[str]
    spellings: Mapping[str, str]  # other spelling: the model's spelling
    by_lower: Mapping[str, str]
    texts: frozenset[str]
    zeros: frozenset[str]
    positions: frozenset[str]
    trimmed: frozenset[str]

    def is_spelt(self, written: str) -> bool:
        """Return whether a name is a spelling of a field, with its capitals."""
        return written in self.names or written in self.spellings

    def known(self, written: str) -> str:
        """Return the field of a name in any capitals, in the model's spelling; an empty text for an unknown name."""
        name = self.spellings.get(written, written)
        return name if name in self.names else self.by_lower.get(written.lower(), "")


@cache
def fields_of(model: type[BaseModel]) -> RequestFields:
    """Return the fields of a request's model. The model's `SPELLINGS` are their other spellings."""
    spellings: Mapping[str, str] = getattr(model, "SPELLINGS", {})
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    optional = frozenset(name for name, field in fields.items() if not field.is_required())
    return RequestFields(
        names=frozenset(fields),
        spellings=spellings,
        by_lower={name.lower(): name for name in fields} | {one.lower(): name for one, name in spellings.items()},
        texts=optional & DECIMAL_TEXTS | {name for name in optional if _holds(fields[name].annotation)},
        zeros=optional & (ZEROS | getattr(model, "ZEROS", frozenset())),
        positions=frozenset(name for name in optional & POSITIONS if not _holds(fields[name].annotation)),
        trimmed=frozenset(name for name in fields if name in TRIMMED or name.endswith("Code"))
        | getattr(model, "TRIMMED", frozenset()),
    )


def _holds(hint: Any, kinds: tuple[type, ...] = (str, Secret, SecretStr, date)) -> bool:
    """Return whether a field expects a text of this kind, alone or as one of several types."""
    if get_origin(hint) is Literal:
        return all(isinstance(choice, str) for choice in get_args(hint))
    if get_origin(hint) in (Union, UnionType, Annotated):
        return any(_holds(part, kinds) for part in get_args(hint))
    return hint in kinds


def _merged(one: Any, other: Any) -> Any:
    """Return the value of a field sent in two spellings; a mark if the values differ."""
    marks = [value for value in (one, other) if isinstance(value, OtherCapitals)]
    if marks:
        return marks[0]
    return one if one == other else Contradiction()


def is_placeholder(name: str, value: object, fields: RequestFields) -> bool:
    """Return whether a value is a till's placeholder."""
    if name in fields.positions and isinstance(value, dict):
        return all(inner == "" for key, inner in value.items() if key.lower() in COORDINATES)
    if name in fields.zeros and value != "":
        zero = isinstance(value, int | Decimal) and not isinstance(value, bool) and value == 0
        return zero or (isinstance(value, str) and ZERO_TEXT.fullmatch(value) is not None)
    return value == "" and name in fields.texts


def as_meant(data: Mapping[str, Any], fields: RequestFields) -> dict[str, Any]:
    """Return the request without placeholders and unknown fields, each field under the model's spelling."""
    meant: dict[str, Any] = {}
    for written, value in data.items():
        name = fields.known(written)
        sent = _trimmed(value) if name in fields.trimmed else value
        if not name or is_placeholder(name, sent, fields):
            continue
        marked = sent if fields.is_spelt(written) else OtherCapitals(written)
        meant[name] = _merged(meant.get(name, marked), marked)
    return meant


def _trimmed(value: Any) -> Any:
    """Return a text, or the texts of a list, without outer blanks."""
    if isinstance(value, list):
        return [one.strip() if isinstance(one, str) else one for one in value]
    return value.strip() if isinstance(value, str) else value


ACRONYMS = {
    word.lower(): word
    for word in (
        *("ID", "GMT", "IP", "OS", "SIC", "ZIP", "TID", "RRN", "CPF", "EXP", "PAN", "CVV2", "IIN", "BIN", "PIN"),
        *("EMV", "AID", "APN", "TSI", "TVR", "CNP", "TMK"),
    )
}
TOO_LONG = {"string_too_long", "too_long", "bytes_too_long"}
BOUNDS = {"greater_than", "greater_than_equal", "less_than", "less_than_equal", "string_too_short", "too_short"}
FORMATS = {"string_pattern_mismatch", "string_unicode", "decimal_parsing", "value_error"}
DICTIONARIES = {"literal_error", "enum"}
DIGITS = re.compile(rf"-?[0-9]{{1,{LONGEST_INT}}}")
DECIMAL_TEXT = re.compile(r"-?[0-9]+(\.[0-9]+)?")
MAX_DIGITS, MAX_EXPONENT = 40, 30  # of a number; within these limits no number is rounded


def wire_name(name: str) -> str:
    """Return the specification's name of a field: ClientID for client_id."""
    return "".join(ACRONYMS.get(word, word[:1].upper() + word[1:]) for word in name.split("_"))


def problem(check: int, message: str, field: str = "") -> PydanticCustomError:
    """Return the finding of a field's own check, under its code in the contract.

    `field` is the wire name of the field with the problem, when the check is one of the whole model.
    """
    return PydanticCustomError(str(int(check)), "{reason}", {"reason": message, "field": field})


def checked(is_right: Callable[[Any], bool], check: Check, expected: str) -> AfterValidator:
    """Return a field's own check: a value that is not right has this finding."""

    def judge(value: Any) -> Any:
        if not is_right(value):
            raise problem(check, expected)
        return value

    return AfterValidator(judge)


def _exact(value: object) -> object:
    """Return a JSON number or a decimal string as a Decimal, never through a binary float."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        raise problem(Check.TYPE, "A number or a decimal string is expected.")
    if isinstance(value, str) and not DECIMAL_TEXT.fullmatch(value):
        raise problem(Check.FORMAT, "A decimal number such as 12.30 is expected.")
    return _bounded(Decimal(value))


def _bounded(number: Decimal) -> Decimal:
    """Return a number that arithmetic and the store hold exactly. Refuse any other, even a zero such as 0E-999999."""
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int) or len(digits) > MAX_DIGITS or abs(exponent) > MAX_EXPONENT:
        raise problem(
            Check.OUT_OF_RANGE, f"At most {MAX_DIGITS} digits and an exponent of {MAX_EXPONENT} are expected."
        )
    return number


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise problem(Check.TYPE, "A number is expected.")
    return _bounded(Decimal(value))


Exact = Annotated[Decimal, BeforeValidator(_exact)]
Latitude = Annotated[Decimal, BeforeValidator(_number), Field(ge=-90, le=90, max_digits=20)]
Longitude = Annotated[Decimal, BeforeValidator(_number), Field(ge=-180, le=180, max_digits=20)]


def check_unicode(value: object) -> object:
    """Refuse a text with half a surrogate pair, because UTF-8 cannot hold it."""
    try:
        if isinstance(value, str):
            value.encode()
    except UnicodeEncodeError:
        raise problem(Check.FORMAT, MESSAGES["string_unicode"]) from None
    return value


SecretText = Annotated[SecretStr, Field(strict=False), BeforeValidator(check_unicode)]
Text = Annotated[str, Field(max_length=512)]


LongText = Annotated[str, Field(max_length=1024)]
Identifier = Annotated[int, Field(ge=0, le=10**15)]
State = Annotated[int, Field(ge=0, le=1)]


class Request(BaseModel):
    """A request or a part of one. Unknown fields are ignored; a null field counts as absent.

    `to_domain()` returns the model's domain value. Where only a part of a record comes from the request,
    `record_fields()` returns these fields by name.
    """

    model_config = ConfigDict(
        alias_generator=wire_name, extra="ignore", strict=True, frozen=True, hide_input_in_errors=True
    )
    SPELLINGS: ClassVar[Mapping[str, str]] = {}  # other spelling: the model's spelling
    TRIMMED: ClassVar[frozenset[str]] = frozenset()  # further fields without outer blanks
    ZEROS: ClassVar[frozenset[str]] = frozenset()  # further fields in which tills send 0 as a placeholder
    PATHS: ClassVar[Mapping[str, str]] = {}  # domain field: path in the request, if the names differ
    REFERENCES: ClassVar[Mapping[ErrorCode, str]] = {}  # refusal of a reference or a name: its path in the request
    IS_PART: ClassVar[bool] = False  # a model with some fields of another one
    ITEMS: ClassVar[Mapping[str, type["Request"]]] = {}  # list: the model of its items, if a service reads them
    FINDINGS_NAME_VALUES: ClassVar[bool] = False  # a Property may be a value, such as an e-mail, that no log may hold
    MOST_FINDINGS: ClassVar[int] = MAX_VALIDATIONS
    REFUSED: ClassVar[Mapping[str, str]] = {}  # name without effect, in lower case: why it is refused
    DECIDING: ClassVar[frozenset[str]] = frozenset()  # names of which no other spelling is ignored
    JUDGED: ClassVar[Sequence[str] | None] = None  # fields that a service gets in spite of faults; None: refuse at once
    faults: ClassVar[ServiceError | None] = None  # of the request of which this is the readable part

    if not TYPE_CHECKING:  # else mypy would know no unknown field

        def __getattr__(self, name: str) -> Any:
            """Raise the faults of a request when a field is read that is not in its part."""
            if self.faults and name in type(self).model_fields:
                raise self.faults
            return super().__getattr__(name)

    def readable(self, name: str) -> Any:
        """Return a field; None when it is not in the readable part."""
        return vars(self).get(name)

    def check_readable(self) -> None:
        """Raise the faults of the request, if it has any. A service calls it before it reads more or writes."""
        if self.faults:
            raise self.faults

    def beside_faults(self, refusal: ServiceError) -> ServiceError:
        """Return a refusal of this request: its faults, then the findings of the service about its readable part.

        A refusal of the caller, its role or the path, and an outage, are answered without the faults.
        """
        items, status = self.findings_of(refusal), refusal.error.status
        if not self.faults or status in CALLERS_AND_OUTAGES or (status == NOT_FOUND and not items):
            return refusal
        if self.faults.error is not ErrorCode.VALIDATION_FAILED:
            return self.faults
        known = {one.field for one in self.faults.validations}
        return invalid(*self.faults.validations, *(one for one in items if one.field not in known))

    @classmethod
    def located(cls, finding: Finding) -> Validation:
        """Return a finding of the domain under its path in the request."""
        path = cls.PATHS.get(finding.field) or ".".join(map(wire_name, finding.field.split(".")))
        return Validation(path, finding.code, finding.message)

    @classmethod
    def findings_of(cls, refusal: ServiceError) -> tuple[Validation, ...]:
        """Return the validation items of a refusal, each under its path in the request."""
        items = [one if isinstance(one, Validation) else cls.located(one) for one in refusal.validations]
        if not items and (path := cls.REFERENCES.get(refusal.error)):
            items = [Validation(path, refusal.error.code, refusal.message)]
        return tuple(items)

    @classmethod
    def deciding_names(cls, sent: Mapping[str, Any]) -> frozenset[str] | None:  # noqa: ARG003  for subclasses
        """Return the deciding names that are refused at a wrong place; None: all of them."""
        return None

    @model_validator(mode="before")
    @classmethod
    def _as_meant(cls, data: Any) -> Any:
        """Remove placeholders, change other spellings to the model's, and mark a field in other capitals."""
        if not isinstance(data, dict):
            return data
        return as_meant(data, fields_of(cls))


@dataclass(frozen=True)
class Rule:
    """A rule between fields. It is judged whenever the fields that it needs are readable, whatever else is wrong.

    `needed` are the names of these fields, such as "features.barcode_scanner". A name with a star, such as "items*",
    is a list in which None stands for an unreadable item. `judge` receives the request, or a part of it with these
    fields, and the context of the validation. A rule that is `judged_by_service` waits until the service has read the
    store; here it is only judged next to other faults.
    """

    needed: tuple[str, ...]
    judge: Callable[[Any, dict[str, Any]], Iterable[Finding]]
    judged_by_service: bool = False


def contradiction(
    needed: tuple[str, ...],
    field: str,
    message: str,
    is_wrong: Callable[[Any], Any],
    check: Check = Check.CONTRADICTION,
) -> Rule:
    """Return the rule that these fields do not contradict each other: a finding about `field` if `is_wrong`."""
    finding = Finding(field, check, message)
    return Rule(needed, lambda request, _: (finding,) if is_wrong(request) else ())


class RuledRequest(Request):
    """A request, or a part of one, with rules between its fields."""

    RULES: ClassVar[Sequence[Rule]] = ()
    _sent: Mapping[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def sent(self) -> Mapping[str, Any]:
        """Return its fields as they were sent, with placeholders and unknown fields."""
        return self._sent

    @model_validator(mode="wrap")
    @classmethod
    def _judged(cls, data: Any, read: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        """Read the request, and judge the rules whose fields are readable. Raise the findings of both."""
        context = {} if info.context is None else info.context
        try:
            request = read(data)
        except ValidationError as error:
            found = findings_in(cls, cls.RULES, data, context)
            faults = [_again(detail) for detail in error.errors(include_url=False)]
        else:
            found = [one for rule in cls.RULES if not rule.judged_by_service for one in rule.judge(request, context)]
            if not found:
                request._sent = data if isinstance(data, dict) else {}  # noqa: SLF001  its own
                return request
            faults = []
        items = [problem(one.code, one.message, one.field) for one in map(cls.located, dict.fromkeys(found))]
        faults += [InitErrorDetails(type=item, input=None) for item in items]
        raise ValidationError.from_exception_data(cls.__name__, faults, hide_input=True)


def _again(detail: ErrorDetails) -> InitErrorDetails:
    """Return a finding of pydantic in the form in which it can be raised again."""
    kind, context = detail["type"], detail.get("ctx", {})
    own = PydanticCustomError(kind, "{reason}", context) if kind.isdecimal() else kind
    return InitErrorDetails(type=own, loc=detail["loc"], input=detail["input"], ctx=context)


def findings_in(model: type[Request], rules: Iterable[Rule], data: Any, context: dict[str, Any]) -> list[Finding]:
    """Return the findings of the rules whose fields a request with faults has. A service adds records to `context`."""
    parts = ((rule, readable_part(model, rule.needed, data, context)) for rule in rules)
    return [finding for rule, part in parts if part for finding in rule.judge(part, context)]


def readable_part(model: type[Request], needed: tuple[str, ...], data: Any, context: dict[str, Any]) -> Request | None:
    """Return the part of a request that has the needed fields; None when one of them cannot be read."""
    try:
        return part_of(model, needed).model_validate(data, context=context)
    except ValidationError:
        return None


@cache
def part_of(model: type[Request], needed: tuple[str, ...]) -> type[Request]:
    """Return a model with the needed fields. Any other field has its default, whatever is sent."""
    inner: defaultdict[str, list[str]] = defaultdict(list)
    for path in needed:
        name, _, rest = path.partition(".")
        inner[name] += [rest] if rest else []
    starred = {name.removesuffix("*") for name in inner if name.endswith("*")}
    # The rules are those of the whole model, which reads the part.
    fields: dict[str, Any] = {"RULES": (ClassVar[Sequence[Rule]], ()), "IS_PART": (ClassVar[bool], True)}
    for name, field in model.model_fields.items():
        if name in starred:
            fields[name] = (_list_with_gaps(field.annotation, tuple(inner[f"{name}*"])), field)
        elif name not in inner:
            default = None if field.is_required() else field.get_default(call_default_factory=True)
            fields[name] = (Annotated[Any, PlainValidator(lambda _, default=default: default)], default)
        elif inner[name]:
            fields[name] = (_part_of_type(field.annotation, tuple(inner[name])), field)
    return create_model(f"PartOf{model.__name__}", __base__=model, **fields)


def _list_with_gaps(hint: Any, needed: tuple[str, ...]) -> Any:
    """Return the type of a list of parts, with None in place of each one that cannot be read."""
    item = next(one for one in get_args(hint) if isinstance(one, type)) if get_args(hint) else hint
    return list[Annotated[part_of(item, needed) | None, WrapValidator(_or_none)]]  # type: ignore[misc]


def _or_none(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    try:
        return read(value)
    except ValidationError:
        return None


def _part_of_type(hint: Any, needed: tuple[str, ...]) -> Any:
    """Return the type of a field with the parts of its models."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return Annotated[(_part_of_type(arguments[0], needed), *arguments[1:])]
    if origin in (Union, UnionType):
        return Union[tuple(_part_of_type(one, needed) for one in arguments)]  # noqa: UP007  of a tuple
    if origin is list:
        return list[_part_of_type(arguments[0], needed)]  # type: ignore[misc]
    return part_of(hint, needed) if isinstance(hint, type) and issubclass(hint, Request) else hint


def models_of(model: type[Request]) -> Iterator[type[Request]]:
    """Yield the models below a model of requests. Only those of imported modules exist."""
    for child in model.__subclasses__():
        yield child
        yield from models_of(child)


KEY_HEADER, MAX_KEY = "idempotency-key", 255  # characters
JOINT = re.compile(r",\s+")  # between two headers that a proxy has joined


class Headers(dict[str, str]):
    """The request's headers in lower case, for functions that need them."""

    @property
    def idempotency_key(self) -> str | None:
        """Return the Idempotency-Key, None without one; raise 202 unless it has 1 to 255 printable characters.

        Several headers are joined by a comma and a blank, as proxies join them. Equal ones are one.
        """
        joined = self.get(KEY_HEADER)
        if joined is None:
            return None
        key, *others = {one.strip() for one in JOINT.split(joined)}
        if others:
            raise invalid(Validation("Idempotency-Key", Check.CONTRADICTION, "It is given twice, and differently."))
        if not 1 <= len(key) <= MAX_KEY or not (key.isascii() and key.isprintable()):
            message = f"1 to {MAX_KEY} printable characters (ASCII) are expected."
            raise invalid(Validation("Idempotency-Key", Check.FORMAT, message))
        return key


class Answer(BaseModel):
    """An answer: the envelope, and the operation's own fields."""

    model_config = ConfigDict(alias_generator=wire_name, populate_by_name=True)
    FINDINGS_NAME_VALUES: ClassVar[bool] = False  # a Property may be a value, such as an e-mail, that no log may hold
    MOST_FINDINGS: ClassVar[int] = MAX_VALIDATIONS

    error_code: int = 0
    error_message: str | None = None
    validations: list[dict[str, Any]] | None = None
    headers: dict[str, str] = Field(default_factory=dict, exclude=True)


def views_of(view: Callable[[R], V], records: Iterable[R]) -> list[V]:
    """Return the view of each record of a list. Log a record with a value that cannot be right, and pass it over."""
    views = []
    for record in records:
        try:
            views.append(view(record))
        except (ValueError, ArithmeticError) as wrong:
            log("unreadable", record=getattr(record, "id", None), reason=type(wrong).__name__)
    return views


class View(BaseModel):
    """A part of an answer; `of()` makes it from a record."""

    model_config = ConfigDict(alias_generator=wire_name, populate_by_name=True)

    @classmethod
    def carried(cls, record: object, **others: Any) -> Self:
        """Return the view with `others`. Every other required field has the record's value of the same name."""
        names = [name for name, field in cls.model_fields.items() if field.is_required() and name not in others]
        return cls(**{name: getattr(record, name) for name in names}, **others)


def validated(model: type[Model], data: Mapping[str, Any]) -> Model:
    """Return the request as its model, or raise 202 with every finding."""
    country = data.get("CountryCode")
    context = {"country_code": country.strip() if isinstance(country, str) else None}  # for telephone numbers
    try:
        return model.model_validate(data, context=context)
    except ValidationError as error:
        raise ServiceError(ErrorCode.VALIDATION_FAILED, validations=validations_of(error)) from None


def validations_of(error: ValidationError) -> tuple[Validation, ...]:
    """Return the findings of pydantic as validation items, up to the limit of an answer."""
    found = error.errors(include_url=False)
    return tuple(finding_of(detail) for detail in found[:MAX_VALIDATIONS])


def finding_of(detail: ErrorDetails) -> Validation:
    """Return a finding of pydantic as a validation item."""
    if isinstance(detail["input"], Contradiction):
        return Validation(_path(detail["loc"]), Check.CONTRADICTION, "It is given twice, and differently.")
    if isinstance(detail["input"], OtherCapitals):
        *above, name = detail["loc"]
        written = detail["input"].written
        return Validation(_path((*above, written)), Check.SPELLING, f"The field is spelt {name}: capitals count.")
    if detail["type"] == "int_type" and _is_long_int(detail["input"]):
        message = f"A whole number of at most {LONGEST_INT} digits is expected."
        return Validation(_path(detail["loc"]), Check.OUT_OF_RANGE, message)
    inner = detail.get("ctx", {}).get("field")
    path = _path((*detail["loc"], inner) if inner else detail["loc"])
    if detail["type"] == "literal_error" and not isinstance(detail["input"], str):
        return Validation(path, Check.TYPE, MESSAGES["string_type"])
    return Validation(path, _check(detail["type"]), message_of(detail))


def _is_long_int(value: object) -> bool:
    """Return whether the value was written as a whole number so long that `exact_json` reads a Decimal."""
    return isinstance(value, Decimal) and value.as_tuple().exponent == 0 and value.adjusted() >= LONGEST_INT - 1


def _check(kind: str) -> int:
    if kind.isdecimal():
        return int(kind)
    for check, kinds in (
        (Check.REQUIRED, {"missing"}),
        (Check.TOO_LONG, TOO_LONG),
        (Check.OUT_OF_RANGE, BOUNDS),
        (Check.FORMAT, FORMATS),
        (Check.NOT_IN_DICTIONARY, DICTIONARIES),
    ):
        if kind in kinds:
            return check
    return Check.OUT_OF_RANGE if kind.startswith(("decimal_max", "decimal_whole", "finite")) else Check.TYPE


def _path(parts: tuple[int | str, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).removeprefix(".")
