"""The request to take a payment, with purchases and receipt, and its answer."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    PlainValidator,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_serializer,
    model_validator,
)

from chalicelib import exact_json, iso_codes
from chalicelib.domain import emv, transaction
from chalicelib.domain.guid import DEFAULT_GUID, GUID_PATTERN
from chalicelib.domain.kinds import KINDS, NOT_SUPPORTED, InputType
from chalicelib.domain.message_limits import PER_ADDRESS, PER_AGENT
from chalicelib.domain.payment import PURCHASES, PaymentOrder, wrong_acquirer, wrong_cash, wrong_purchases
from chalicelib.domain.picture import MEGABYTE, Picture
from chalicelib.domain.transaction import (
    Particulars,
    ReceiptAddresses,
    Taxes,
    Transaction,
    Warned,
    is_shown,
    reads_like_own_number,
)
from chalicelib.errors import MAX_VALIDATIONS, WARNING, Check, ErrorCode, Finding, Validation
from chalicelib.schemas.base import (
    Answer,
    Exact,
    Identifier,
    LongText,
    Request,
    Rule,
    RuledRequest,
    Text,
    check_unicode,
    checked,
    contradiction,
    is_mark,
    pattern,
    problem,
    wire_name,
)
from chalicelib.schemas.card import CARD_PATHS, Card, order_card
from chalicelib.schemas.field_types import BASE64, MAX_DEPTH, Email, ExtID, QueueId, ReceiptPhone, parse_picture
from chalicelib.schemas.left_out import is_offline_sale, without, without_faults
from chalicelib.schemas.names import VISIBLE
from chalicelib.schemas.request_context import Context, Location
from chalicelib.schemas.transaction_view import EmvView, TransactionView, error_of

MAX_ADDRESSES = 5
MAX_RETRIES = 10  # a higher number counts as this one
EMPTY: tuple[object, ...] = (None, "")  # tills send these for an empty field


OFFLINE = "offline"  # in the context of the validation: the sale was made offline, so no address refuses it
MOST_READ = 20  # addresses in a list: an offline sale with more is taken, and the others are neither read nor told
MOST_READINGS = 10  # of an offline sale: each is without the faults of the one before, which may have hidden others
ABSENT, UNREAD = "", "?"  # in place of a till's placeholder, and of an address that cannot be read


def _or_unread(value: Any, read: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    """Return an address. Return UNREAD for an unreadable one of an offline sale, whose customer has gone."""
    if value in EMPTY:
        return ABSENT
    try:
        return read(value)
    except ValidationError:
        if not _is_offline(info) or is_mark(value):
            raise
        return UNREAD


def _is_offline(info: ValidationInfo) -> bool:
    return bool((info.context or {}).get(OFFLINE))


def _few(addresses: Any, info: ValidationInfo) -> Any:
    """Return a list of addresses before they are read. Of a longer list of an offline sale, return the first ones."""
    if not isinstance(addresses, list):
        return addresses
    filled = [number for number, one in enumerate(addresses) if one not in EMPTY]
    if len(filled) > MAX_ADDRESSES and not _is_offline(info):
        raise problem(Check.TOO_LONG, f"At most {MAX_ADDRESSES} items are expected.")
    return addresses if len(filled) <= MOST_READ else addresses[: filled[MOST_READ]]


OneEmail = Annotated[Email, WrapValidator(_or_unread)]
OnePhone = Annotated[ReceiptPhone, WrapValidator(_or_unread)]
AT_MOST = Field(json_schema_extra={"maxItems": MAX_ADDRESSES})
Emails = Annotated[list[OneEmail], BeforeValidator(_few), AT_MOST]
Phones = Annotated[list[OnePhone], BeforeValidator(_few), AT_MOST]


def _few_addresses(receipt: "Receipt", context: Mapping[str, Any]) -> Iterator[Finding]:
    paths = [*receipt.all_emails.values(), *receipt.all_phones.values()]
    if len(paths) > MAX_ADDRESSES and not context.get(OFFLINE):
        message = f"A receipt goes to at most {MAX_ADDRESSES} addresses."
        yield Finding("" if receipt.PLACE else paths[MAX_ADDRESSES], Check.TOO_LONG, message)


class Receipt(RuledRequest):
    """The addresses of the receipt. Telephone numbers are international, or national in the merchant's country."""

    RULES: ClassVar[Sequence[Rule]] = (Rule(("email", "emails", "phone", "phones"), _few_addresses),)
    PLACE: ClassVar[str] = "Receipt."  # the beginning of the paths of the addresses

    email: OneEmail | None = None
    emails: Emails | None = None
    phone: OnePhone | None = None
    phones: Phones | None = None
    retry_num: Annotated[Identifier, AfterValidator(lambda retries: min(retries, MAX_RETRIES))] | None = None

    @field_serializer("emails", "phones")
    def _readable(self, addresses: list[str] | None) -> list[str] | None:
        return addresses and [one for one in addresses if one not in {ABSENT, UNREAD}]

    @property
    def all_emails(self) -> dict[str, str]:
        """Return each e-mail address once, with its path."""
        return _once(f"{self.PLACE}Email", self.email, self.emails)

    @property
    def all_phones(self) -> dict[str, str]:
        """Return each telephone number once, as E.164, with its path."""
        return _once(f"{self.PLACE}Phone", self.phone, self.phones)

    def to_domain(self) -> ReceiptAddresses | None:
        """Return the receipt's addresses, at most MAX_ADDRESSES; None when there are none."""
        emails = dict([*self.all_emails.items()][:MAX_ADDRESSES])
        phones = dict([*self.all_phones.items()][: MAX_ADDRESSES - len(emails)])
        if not emails and not phones:
            return None
        paths = (*emails.values(), *phones.values())
        return ReceiptAddresses(tuple(emails), tuple(phones), self.retry_num, paths)

    @property
    def warnings(self) -> tuple[Warned, ...]:
        """Return a warning for each address of an offline sale that cannot be read, or is one too many."""
        located = (
            *_located(f"{self.PLACE}Email", self.email, self.emails),
            *_located(f"{self.PLACE}Phone", self.phone, self.phones),
        )
        unread = [path for path, address in located if address == UNREAD]
        wanted = [*self.all_emails.values(), *self.all_phones.values()]
        return tuple(Warned(path, Check.FORMAT) for path in (*unread, *wanted[MAX_ADDRESSES:]))


def has_unread_phone(request: "SubmitPayment") -> bool:
    """Return whether telephone numbers of the receipt cannot be read, and nothing else is wrong."""
    faults = request.faults.validations if request.faults else None
    found = [one.path for one in request.warnings] if faults is None else [one.field for one in faults]
    return bool(found) and all(path.startswith("Receipt.Phone") for path in found)


def _once(path: str, first: str | None, more: list[str] | None) -> dict[str, str]:
    """Return each address once, in the given order, with its path. Only capitals make no other address."""
    once: dict[str, tuple[str, str]] = {}
    for where, address in _located(path, first, more):
        if address not in {ABSENT, UNREAD}:
            once.setdefault(address.lower(), (address, where))
    return dict(once.values())


def _located(path: str, first: str | None, more: list[str] | None) -> list[tuple[str, str]]:
    """Return each address after its path. `path` is the first one's."""
    several = [(f"{path}s[{number}]", address) for number, address in enumerate(more or ())]
    return [(path, first or ABSENT), *several]


MAX_FILE_MB = 3


class PictureFile(Request):
    """A photo or a signature taken with the payment."""

    file_type: Literal["PHOTO", "SIGNATURE"]
    file_code: Annotated[
        Picture, PlainValidator(lambda value: parse_picture(value, MAX_FILE_MB * MEGABYTE)), BASE64
    ] = Field(repr=False)


Files = Annotated[list[PictureFile], Field(max_length=5)]


MAX_ITEMS = 100  # in any list of a payment
MAX_TAX_CODES = 8  # of a line
MAX_LINES = 64 * 1024  # bytes of their texts: an item of DynamoDB has at most 400 KB


Bounded = Annotated[Exact, Field(ge=0, lt=10**15, max_digits=20)]


def _unicode(value: list[Any]) -> list[Any]:
    check_unicode(exact_json.text(value))
    return value


class Purchase(Request):
    """One line of a purchase."""

    title: Annotated[Text, VISIBLE]
    price: Annotated[Exact, Field(gt=-(10**15), lt=10**15, max_digits=20)]  # below zero: a discount
    quantity: Annotated[Exact, Field(gt=0, lt=10**15, max_digits=20)]
    tax_code: Annotated[list[Text], Field(max_length=MAX_TAX_CODES)] | None = None
    discount: Bounded | None = None  # on the whole line
    tags: Annotated[list[Any], Field(max_length=MAX_ITEMS), AfterValidator(_unicode)] | None = None  # fiscal


class AuxData(Request):
    """The purchases of a payment."""

    purchases: Annotated[list[Purchase], Field(max_length=MAX_ITEMS, default_factory=list)]


def _bounded(sent: "AuxDataInput", _: Mapping[str, Any]) -> Iterator[Finding]:
    texts = (text for line in sent.aux_data.purchases for text in (line.title, *(line.tax_code or ())))
    if sum(len(text.encode()) for text in texts) > MAX_LINES:
        yield Finding("", Check.TOO_LONG, "The texts of the lines exceed 64 KB.")


class AuxDataInput(RuledRequest):
    """The interface's wrapper around AuxData."""

    RULES: ClassVar[Sequence[Rule]] = (Rule(("aux_data.purchases.title", "aux_data.purchases.tax_code"), _bounded),)

    aux_data: AuxData = AuxData()

    def to_domain(self) -> tuple[transaction.Purchase, ...]:
        """Return the lines; none when the request has none."""
        return tuple(
            transaction.Purchase(
                *(line.title, line.price, line.quantity),
                tax_codes=tuple(filter(None, line.tax_code or ())),
                discount=line.discount or None,
            )
            for line in self.aux_data.purchases
        )


MAX_EXT_TRAN_DATA = 8 * 1024


def _is_json(text: str) -> str:
    check_unicode(text)
    if len(text.encode()) > MAX_EXT_TRAN_DATA:
        raise problem(Check.TOO_LONG, "At most 8 KB are kept.")
    try:
        is_deep = exact_json.is_deeper(exact_json.read(text), MAX_DEPTH)
    except exact_json.TooDeepError:
        is_deep = True
    except ValueError:
        raise problem(Check.FORMAT, "The text is not valid JSON.") from None
    if is_deep:
        raise problem(Check.TOO_LONG, f"The JSON text has at most {MAX_DEPTH} levels.")
    return text


GUID_FIELD = pattern(f"^{GUID_PATTERN}$", "A GUID such as 6F9619FF-8B86-D011-B42D-00CF4FC964FF is expected.")


NO_ID = "A GUID of one digit is no ID: make a new GUID for each payment and reversal."
OwnId = Annotated[str, GUID_FIELD, checked(lambda text: not DEFAULT_GUID.fullmatch(text), Check.FORMAT, NO_ID)]
CURRENCY_FIELD = pattern("^[A-Z]{3}$", "An alphabetic ISO 4217 code such as ZAR is expected.")
INPUT_TYPES = f"InputType is one of {', '.join(str(int(one)) for one in InputType)}."
InputTypeField = Annotated[
    int, checked({*InputType, *NOT_SUPPORTED}.__contains__, Check.NOT_IN_DICTIONARY, INPUT_TYPES)
]


class CustomField(Request):
    """One field of a product's form."""

    field_desc_id: Identifier | None = None
    field_code: Text | None = None
    text_select: Text | None = None


class ProductCustomFields(Request):
    """The fields of one product."""

    product_desc_id: Identifier | None = None
    product_code: Text | None = None
    fields: Annotated[list[CustomField], Field(max_length=MAX_ITEMS)] | None = None


class CPFData(Request):
    """The products' form fields of a payment."""

    products_custom_fields: Annotated[list[ProductCustomFields], Field(max_length=MAX_ITEMS)] | None = None


def _number_of_till(text: str) -> str | None:
    if not is_shown(text):
        raise problem(Check.FORMAT, "A number without control and format characters is expected.")
    if reads_like_own_number(text):
        raise problem(Check.FORMAT, "Numbers of this form are the service's own.")
    return text.strip() or None


class OfflineTran(Request):
    """A payment taken while the till had no connection."""

    SPELLINGS: ClassVar[Mapping[str, str]] = {"OfflineQueueID": "OfflineQueueId"}

    offline_mode: bool | None = None
    invoice: Annotated[Text, AfterValidator(_number_of_till)] | None = None
    paid: Text | None = None
    offline_location: Location | None = None
    offline_queue_id: QueueId | None = Field(None, alias="OfflineQueueId")


ONLINE = OfflineTran()


class BasicTran(Request):
    """The payment itself."""

    SPELLINGS: ClassVar[Mapping[str, str]] = {"ExtTranData": "ExtTransData", "CurrencyId": "CurrencyID"}

    input_type: InputTypeField
    amount: Exact
    currency_id: Annotated[str, CURRENCY_FIELD] | None = None
    service_id: Text | None = None
    description: LongText | None = None
    ext_id: Annotated[ExtID, Field(min_length=1)] | None = None
    amount_cash_got: Bounded | None = None
    client_date_time: Text | None = None
    ext_tran_data: Annotated[str, AfterValidator(_is_json)] | None = Field(None, alias="ExtTransData")
    id: OwnId | None = None
    aux_data_input: AuxDataInput = AuxDataInput()
    cpf_data: CPFData | None = None
    offline_tran: OfflineTran = ONLINE
    terminal_group_id: Identifier | None = None
    terminal_group_code: Text | None = None
    skip_fiscalization: bool | None = None
    fiscal_route_profile_code: Text | None = None


class AcqTran(Request):
    """The options for the acquirer."""

    acquirer_code: Text | None = None
    single_step_auth_mode: bool | None = None
    external_terminal_id: Text | None = None
    allow_swipe_over_chip: bool | None = None
    force_signature_requirement: bool | None = None
    additional_acquiring_fields: Text | None = None


class TaxesModel(Request):
    """Taxes of the whole payment."""

    taxes: Annotated[list[Text], Field(max_length=MAX_ITEMS)] | None = None
    code: Text | None = None

    def to_domain(self) -> Taxes | None:
        """Return the taxes; None when the request names none."""
        codes = tuple(filter(None, self.taxes or ()))
        return Taxes(codes, self.code) if codes or self.code else None


# The specification lists these without a parent object, so they may be in BasicTran or next to it.
IN_EITHER_PLACE = ("terminal_group_id", "terminal_group_code", "skip_fiscalization", "fiscal_route_profile_code")


def _same_in_basic_tran(name: str) -> Rule:
    """Return the rule that BasicTran does not hold the field with another value."""

    def differs(payment: "SubmitPayment") -> bool:
        values = {getattr(payment, name), getattr(payment.basic_tran, name)}
        return len(values - {None}) > 1

    message = f"BasicTran.{wire_name(name)} is another one."
    return contradiction((name, f"basic_tran.{name}"), name, message, differs)


def _one_of_each(payment: "SubmitPayment", _: Mapping[str, Any]) -> Iterator[Finding]:
    if len({file.file_type for file in payment.files}) < len(payment.files):
        yield Finding("files", Check.TWICE, "A payment has one photo and one signature.")


def of_order(judge: Callable[..., Iterable[Finding]], *needed: str, stored: Sequence[str] = ()) -> Rule:
    """Return a rule of the domain between fields of the order, and the records of these names in the context."""

    def findings(payment: "SubmitPayment", context: Mapping[str, Any]) -> Iterable[Finding]:
        is_known = payment.basic_tran.input_type in KINDS
        return judge(payment.to_domain(""), *(context[name] for name in stored)) if is_known else ()

    return Rule(("basic_tran.input_type", *needed), findings, judged_by_service=True)


def _wrong_purchases(order: PaymentOrder) -> Iterable[Finding]:
    currency = iso_codes.currency(order.currency) if order.currency else None  # absent: only the terminal knows it
    return wrong_purchases(order, currency) if currency else ()


def carried(*models: Request) -> dict[str, Any]:
    """Return the passed-through values: the fields of Particulars, each from the first model that has it."""
    names = {field.name for field in fields(Particulars)}
    return {
        name: getattr(model, name)
        for model in reversed(models)
        for name in names.intersection(type(model).model_fields)
    }


class SubmitPayment(Context, RuledRequest):
    """The body of payment/submit."""

    RULES: ClassVar[Sequence[Rule]] = (
        *map(_same_in_basic_tran, IN_EITHER_PLACE),
        Rule(("files.file_type",), _one_of_each),
        of_order(wrong_acquirer, "acq_tran.acquirer_code"),
        of_order(wrong_cash, "basic_tran.amount", "basic_tran.amount_cash_got"),
        of_order(_wrong_purchases, *("basic_tran.amount", "basic_tran.currency_id", PURCHASES)),
    )
    PATHS: ClassVar[Mapping[str, str]] = {
        "amount": "BasicTran.Amount",
        "amount_cash_got": "BasicTran.AmountCashGot",
        "currency": "BasicTran.CurrencyID",
        "description": "BasicTran.Description",
        "ext_tran_data": "BasicTran.ExtTransData",
        "offline": "BasicTran.OfflineTran.OfflineMode",
        "offline_paid": "BasicTran.OfflineTran.Paid",
        "acquirer": "AcqTran.AcquirerCode",
        "single_step": "AcqTran.SingleStepAuthMode",
        "terminal.mid": "Terminal.BackRetailerID",
        "terminal.tid": "Terminal.Name",
        "allow_swipe_over_chip": "AcqTran.AllowSwipeOverChip",
        **CARD_PATHS,
    }
    REFERENCES: ClassVar[Mapping[ErrorCode, str]] = {ErrorCode.CARD_NOT_FOUND: "Card.LinkedCardId"}
    JUDGED: ClassVar[tuple[str, ...]] = (
        *("basic_tran.input_type", "basic_tran.currency_id", "card.linked_card_id"),
        *("terminal_group_id", "terminal_group_code"),
        *("basic_tran.terminal_group_id", "basic_tran.terminal_group_code"),
    )

    basic_tran: BasicTran
    acq_tran: AcqTran = AcqTran()
    taxes_model: TaxesModel | None = None
    receipt: Receipt = Receipt()
    card: Card | None = None
    files: Files = Field(default_factory=list)
    terminal_group_id: Identifier | None = None
    terminal_group_code: Text | None = None
    skip_fiscalization: bool | None = None
    fiscal_route_profile_code: Text | None = None
    client_product_code: Text | None = None
    server_build_number: Text | None = None
    user_agent: Text | None = None

    _left_out: tuple[Warned, ...] = PrivateAttr(())

    @model_validator(mode="wrap")
    @classmethod
    def _taken(cls, data: Any, read: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        """Read an offline sale without the parts that are wrong, except those of its money."""
        if cls.IS_PART or not is_offline_sale(data):
            return read(data)
        if info.context is not None:
            info.context[OFFLINE] = True
        body, left_out = data, dict[str, Warned]()
        for _ in range(MOST_READINGS):
            try:
                request = read(body)
            except ValidationError as error:
                body, warned = without_faults(body, error.errors(include_url=False))
                if not warned:
                    raise
            else:
                order = request.to_domain("")
                found = [cls.located(one) for one in (*wrong_acquirer(order), *order.card_findings)]
                body, warned = without(body, [(one, None) for one in found])
                if not warned:
                    request._sent, request._left_out = data, tuple(left_out.values())  # noqa: SLF001  its own
                    return request
            left_out = {one.path: one for one in warned} | left_out
        return read(body)

    @classmethod
    def deciding_names(cls, sent: Mapping[str, Any]) -> frozenset[str] | None:
        """Return the names that are refused at a wrong place: for an offline sale those that decide about its money."""
        return frozenset(("ID", "Amount", "CurrencyID", "InputType", "OfflineTran")) if is_offline_sale(sent) else None

    @property
    def own_id(self) -> str | None:
        """Return the payment's ID that the caller chose, in upper case."""
        return self.basic_tran.id and self.basic_tran.id.upper()

    @property
    def linked_card_id(self) -> int | None:
        """Return the ID of the linked card that pays."""
        pays = self.basic_tran.input_type == InputType.LINKED_CARD
        return self.card.linked_card_id if self.card and pays else None

    @property
    def offline(self) -> OfflineTran:
        """Return the facts of an offline payment; none for a payment that is made online."""
        offline = self.basic_tran.offline_tran
        return offline if offline.offline_mode else ONLINE

    @property
    def warnings(self) -> tuple[Warned, ...]:
        """Return a warning for each part that an offline sale is taken without."""
        return (*self._left_out, *self.receipt.warnings)[:MAX_VALIDATIONS]

    def to_domain(self, payment_id: str) -> PaymentOrder:
        """Return the payment as a domain order under this ID."""
        basic, acquirer, offline = self.basic_tran, self.acq_tran, self.offline
        input_type = InputType(basic.input_type)
        return PaymentOrder(
            id=payment_id,
            input_type=input_type,
            amount=basic.amount,
            particulars=self._particulars(offline.offline_location or self.location),
            currency=basic.currency_id,
            acquirer=acquirer.acquirer_code,
            terminal_group=self.terminal_group(),
            amount_cash_got=basic.amount_cash_got,
            purchases=basic.aux_data_input.to_domain(),
            taxes=self.taxes_model.to_domain() if self.taxes_model else None,
            receipt=self.receipt.to_domain(),
            language=self.lang,
            single_step=acquirer.single_step_auth_mode is not False,
            offline=bool(offline.offline_mode),
            offline_invoice=offline.invoice,
            offline_paid=offline.paid,
            gmt=self.gmt,
            force_signature=bool(acquirer.force_signature_requirement),
            external_terminal_id=acquirer.external_terminal_id,
            allow_swipe_over_chip=bool(acquirer.allow_swipe_over_chip),
            additional_fields=acquirer.additional_acquiring_fields,
            **order_card(input_type, self.card or Card()),
        )

    def terminal_group(self) -> dict[str, int | str]:
        """Return the requested group's ID or code, under the name of its field."""
        names = ("terminal_group_id", "terminal_group_code")
        places = {"": self, "basic_tran.": self.basic_tran}
        held = {f"{place}{name}": getattr(part, name) for place, part in places.items() for name in names}
        return {name: value for name, value in held.items() if value is not None}

    def _particulars(self, place: Location | None) -> Particulars:
        return Particulars(
            **carried(self.basic_tran, self.basic_tran.offline_tran, self),
            latitude=place.latitude if place else None,
            longitude=place.longitude if place else None,
            receipt_email=next(iter(self.receipt.all_emails), None),
            receipt_phone=next(iter(self.receipt.all_phones), None),
        )


class PaymentFields(Answer):
    """The common fields of the answers to payments, reversals and prepare."""

    transaction_id: str | None = None
    emv_online_processing_result: str | None = Field(None, alias="EMVOnlineProcessingResult")
    additional_acquiring_fields: str | None = None
    additional_acquiring_fields_title: str | None = None
    terminal_name: str | None = None
    emv_data: EmvView | None = None
    require_signature: bool = False
    transaction: TransactionView | None = None


class PaymentAnswer(PaymentFields):
    """The answer of payment/submit."""

    @classmethod
    def of(cls, transaction: Transaction, view: TransactionView, *, replayed: bool) -> Self:
        """Return the answer to a payment. `replayed`: it is the stored result of an earlier request."""
        fields = fields_of(transaction, view, replayed=replayed)
        code = view.result.code if view.result else None
        if transaction.card_entry.emv and code is not None and not transaction.result.emv_result:
            fields["emv_online_processing_result"] = emv.online_result(code)
        return cls(**fields)


def fields_of(transaction: Transaction, view: TransactionView, *, replayed: bool) -> dict[str, Any]:
    """Return the common fields of both answers. `ErrorCode` shows a decline and an unknown outcome."""
    code, message = error_of(transaction)
    return {
        "error_code": code,
        "error_message": message,
        "validations": _warnings(transaction, view) if code in RECEIPT_MAY_FOLLOW else None,
        "headers": {"Idempotent-Replayed": "true"} if replayed else {},
        "transaction_id": transaction.original.id or transaction.id,
        "emv_online_processing_result": transaction.result.emv_result,
        "additional_acquiring_fields": transaction.result.additional_fields,
        "additional_acquiring_fields_title": transaction.result.additional_fields_title,
        "terminal_name": transaction.terminal_name,
        "emv_data": view.emv_data,
        "require_signature": view.signature_required_effective,
        "transaction": view,
    }


NOT_SENT = (
    f"No receipt is sent to it: an address gets at most {PER_ADDRESS} messages a day, an agent sends at most "
    f"{PER_AGENT}, a merchant has a limit as well, and SMS go only to the stage's countries."
)
RECEIPT_MAY_FOLLOW = {0, ErrorCode.OUTCOME_UNKNOWN.code}


UNREADABLE = f"No receipt is sent to it: it is no address that can be read, or one of more than {MAX_ADDRESSES}."
SOLD_TWICE = (
    "Another sale has the same Invoice and OfflineQueueId. Both are stored: check whether the shop sold it once."
)
UNKNOWN_TAX = "The price list has no such tax: it is kept with the payment, and not counted."
OFFLINE_QUEUE_ID = "BasicTran.OfflineTran.OfflineQueueId"
REPEATED = (
    "An equal reversal was made at {time}. This is its answer, and nothing more is given back. To make a second one, "
    "send an Idempotency-Key."
)
REVERSE_TRAN = "BasicReverseTran"
LEFT_OUT = "It is wrong. The sale was paid, so it was taken without this value."
SHORTENED_TEXT = "It is too long. The sale was paid, so it was taken with the beginning of the text, or without it."
IGNORED = "A field of this spelling has no effect: capitals count."
TEXTS: Mapping[int, str] = {Check.TOO_LONG: SHORTENED_TEXT, Check.WITHOUT_EFFECT: IGNORED}


def _left_out(warned: Warned) -> str:
    """Return the message about a part that an offline sale was taken without."""
    if warned.path.startswith("Receipt.") and warned.code == Check.FORMAT:
        return UNREADABLE
    if "Tax" in warned.path and warned.code == Check.NOT_IN_DICTIONARY:
        return UNKNOWN_TAX
    return TEXTS.get(warned.code, LEFT_OUT)


def _warnings(transaction: Transaction, view: TransactionView) -> list[dict[str, Any]] | None:
    """Return the warnings of a transaction, and one for each address that gets no receipt."""
    texts: dict[tuple[str, int], str] = {
        (OFFLINE_QUEUE_ID, Check.TWICE): SOLD_TWICE,
        (REVERSE_TRAN, Check.TWICE): REPEATED.format(time=view.date),
    }
    found = [
        Validation(one.path, one.code, texts.get((one.path, one.code)) or _left_out(one), WARNING)
        for one in transaction.warnings
    ]
    found += not_sent(transaction.receipt.withheld)
    return [one.on_the_wire() for one in found] or None


def not_sent(paths: Iterable[str]) -> list[Validation]:
    """Return a warning for each address that gets no receipt."""
    return [Validation(path, Check.OUT_OF_RANGE, NOT_SENT, WARNING) for path in paths]
