"""A reversal (cancel: void; return: refund): the reversals open to a payment, and a reversal's transaction.

The module also checks the card of a reversal and recognises repeated requests. Flags and the act use one function.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import IntEnum

from chalicelib.domain.agent import Agent
from chalicelib.domain.answer_size import check_size
from chalicelib.domain.business_days import end_of_day, instant_of, to_local, zone_of
from chalicelib.domain.card import READERS, CardData, CardInput, Findings, read
from chalicelib.domain.money import canonical, from_minor, rounded
from chalicelib.domain.payment import (
    APPROVED_TEXT,
    BY_DATA,
    BY_LINK,
    check_input_mode,
    fingerprint_of,
    minor,
)
from chalicelib.domain.phases import FAILED, MONEY_TAKEN, Phase
from chalicelib.domain.returned_lines import ReturnedLines, match
from chalicelib.domain.taxes import TaxAmount, TaxedLine, named, share_of, taxes_of
from chalicelib.domain.transaction import (
    ERASED,
    KINDS,
    AgentSnapshot,
    InputType,
    Original,
    Particulars,
    Pictures,
    Purchase,
    ReceiptAddresses,
    ReceiptContent,
    Result,
    Reversals,
    Transaction,
    language_of,
    sums_of,
)
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid
from chalicelib.record import Record


class ReverseMode(IntEnum):
    """The way a payment is reversed."""

    CANCEL = 1
    RETURN = 2
    CANCEL_CNP = 3
    AUTO_CANCEL = 4
    RETURN_CNP = 5
    CREDIT_VOUCHER = 500


CANCELS = frozenset({ReverseMode.CANCEL, ReverseMode.CANCEL_CNP})
CARD_PRESENT_MODES = frozenset({ReverseMode.CANCEL, ReverseMode.RETURN})
CNP_MODES = frozenset({ReverseMode.CANCEL_CNP, ReverseMode.RETURN_CNP})
CARD_PRESENT, CNP = "payment/reverse", "payment/reversecnp"
MODES = {CARD_PRESENT: CARD_PRESENT_MODES, CNP: CNP_MODES}  # the modes of each endpoint
NO_MONEY = {
    Phase.DECLINED: "It was declined, so no money was taken.",
    Phase.REJECTED: "It was rejected, so no money was taken.",
    Phase.AUTO_CANCELLED: "It was cancelled automatically: no money was taken.",
}


class Refusal(Record):
    """The error of a refused reversal, and the reason in this payment."""

    error: ErrorCode
    reason: str = ""

    @property
    def message(self) -> str:
        """Return the message for the caller."""
        return f"{self.error.message} {self.reason}".rstrip()


def known_mode(mode: int) -> ReverseMode:
    """Return the mode. Refuse a mode that no caller may send (312, 151), for any payment."""
    found = ReverseMode(mode)
    if found is ReverseMode.CREDIT_VOUCHER:
        raise ServiceError(ErrorCode.KIND_NOT_SUPPORTED, "Credit vouchers are not supported.")
    if found is ReverseMode.AUTO_CANCEL:
        raise ServiceError(ErrorCode.ROLE_MAY_NOT, "ReverseMode 4 is the system's own.")
    return found


def endpoint_of(original: Transaction) -> str:
    """Return the one endpoint that reverses payments of this kind."""
    return CARD_PRESENT if KINDS[original.input_type].card_present else CNP


def reversal_types(input_type: InputType) -> tuple[InputType, ...]:
    """Return the input types that a reversal may name: the payment's own, or any reader's if a reader read its card."""
    return tuple(sorted(READERS)) if input_type in READERS else (input_type,)


def reading_type(named: int | None, paid: InputType) -> InputType:
    """Return the way the card of a reversal is read: as the reversal's InputType says, else as the payment's."""
    return InputType(named) if named in reversal_types(paid) else paid


def refusal(
    original: Transaction, mode: ReverseMode, now: datetime, *, partial: bool, endpoint: str | None = None
) -> Refusal | None:
    """Return the reason to refuse this reversal, or None when it is open. Flags show it and the endpoint obeys it.

    The refusal names another endpoint only if that one reverses this payment, so following a refusal always ends.
    Without `endpoint`, assume the right one.
    """
    return (
        _of_state(original)
        or _of_place(original, mode, endpoint)
        or _of_remainder(original)
        or _of_cancel(original, mode, now, partial)
    )


def _of_state(original: Transaction) -> Refusal | None:
    if original.is_reversal:
        return Refusal(ErrorCode.NOT_REVERSIBLE_HERE, "It is a reversal, and a reversal is not reversed.")
    if original.is_pending:
        return Refusal(ErrorCode.ORIGINAL_UNFINISHED)
    if original.is_reversed_in_full:
        return Refusal(ErrorCode.ALREADY_REVERSED)
    if original.phase not in MONEY_TAKEN:
        return Refusal(ErrorCode.NOT_REVERSIBLE_HERE, NO_MONEY.get(original.phase, ""))
    return None


def _of_place(original: Transaction, mode: ReverseMode, endpoint: str | None) -> Refusal | None:
    right = endpoint_of(original)
    cancel, give_back = _own_modes(original)
    kind = f"Payments of InputType {original.input_type:d} are"
    if endpoint not in (None, right):
        reason = f"{kind} reversed with ReverseMode {cancel:d} or {give_back:d} at {right}."
        return Refusal(ErrorCode.NOT_REVERSIBLE_HERE, reason)
    if mode not in MODES[right]:
        reason = f"{kind} cancelled with ReverseMode {cancel:d} and returned with ReverseMode {give_back:d}."
        return Refusal(ErrorCode.NOT_REVERSIBLE_HERE, reason)
    return None


def _of_remainder(original: Transaction) -> Refusal | None:
    if original.remaining_minor == 0:  # unfinished reversals reserve all of it
        return Refusal(ErrorCode.EXCEEDS_REMAINDER)
    return None


def _of_cancel(original: Transaction, mode: ReverseMode, now: datetime, partial: bool) -> Refusal | None:  # noqa: FBT001
    if mode not in CANCELS:
        return None
    if now >= original.deadline:
        return Refusal(ErrorCode.CANCEL_WINDOW_CLOSED)
    _, give_back = _own_modes(original)
    if original.reversals.count:
        reason = f"A part of it is reversed already: the rest is returned with ReverseMode {give_back:d}."
        return Refusal(ErrorCode.NOT_REVERSIBLE_HERE, reason)
    if partial:
        reason = f"It is cancelled in full only: a part is returned with ReverseMode {give_back:d}."
        return Refusal(ErrorCode.NOT_REVERSIBLE_HERE, reason)
    return None


def _own_modes(original: Transaction) -> tuple[ReverseMode, ReverseMode]:
    """Return the modes that cancel and return a payment of this kind."""
    modes = MODES[endpoint_of(original)]
    (cancel,), (give_back,) = modes & CANCELS, modes - CANCELS
    return cancel, give_back


class Offers(Record):
    """The Can… flags of a transaction."""

    can_cancel: bool
    can_cancel_partial: bool
    can_return: bool
    can_return_partial: bool
    can_cancel_cnp: bool
    can_cancel_cnp_partial: bool
    can_return_cnp: bool
    can_return_cnp_partial: bool
    reverse_cp_input_types: tuple[InputType, ...]


def offers(original: Transaction, now: datetime) -> Offers:
    """Return every reversal that would be accepted at `now`."""
    open_now: set[tuple[ReverseMode, bool]] = set()
    if not _of_state(original) and not _of_remainder(original):  # these refuse every mode
        own = itertools.product(_own_modes(original), (False, True))
        open_now = {(mode, partial) for mode, partial in own if _of_cancel(original, mode, now, partial) is None}

    def is_open(mode: ReverseMode, *, partial: bool = False) -> bool:
        return (mode, partial) in open_now

    card_present = is_open(ReverseMode.CANCEL) or is_open(ReverseMode.RETURN)
    return Offers(
        can_cancel=is_open(ReverseMode.CANCEL),
        can_cancel_partial=is_open(ReverseMode.CANCEL, partial=True),
        can_return=is_open(ReverseMode.RETURN),
        can_return_partial=is_open(ReverseMode.RETURN, partial=True),
        can_cancel_cnp=is_open(ReverseMode.CANCEL_CNP),
        can_cancel_cnp_partial=is_open(ReverseMode.CANCEL_CNP, partial=True),
        can_return_cnp=is_open(ReverseMode.RETURN_CNP),
        can_return_cnp_partial=is_open(ReverseMode.RETURN_CNP, partial=True),
        reverse_cp_input_types=reversal_types(original.input_type) if card_present else (),
    )


OTHER_CARD = "It is not the card of the payment."


class SentCard(Record):
    """The card of a request, unread: the payment decides how to read it."""

    data: CardInput | None = None
    input_mode: int | None = None
    linked_card_id: int | None = None


def sent_card(data: CardInput, input_mode: int | None, linked_card_id: int | None) -> SentCard | None:
    """Return the card of a request; None when all its fields are empty or zeros."""
    texts = (data.pan, data.exp, data.cvv2, data.reader_data)
    is_filled = any(text.reveal().strip("0 ") for text in texts if text)
    if not is_filled and linked_card_id is None:
        return None
    return SentCard(data if is_filled else None, input_mode, linked_card_id)


class CheckedCard(Record):
    """The card of a reversal for the acquirer, and the findings about it."""

    card: CardData | None = None
    findings: Findings = ()


def check_card(sent: SentCard | None, original: Transaction, *, input_type: int | None = None) -> CheckedCard:
    """Return the card of a reversal, read as in a payment. It must have the payment's masked number.

    Its expiry is not judged: the acquirer decides. `input_type` is the InputType of the reversal.
    """
    if sent is None:
        return CheckedCard()
    if original.card is None:
        finding = Finding("card", Check.CONTRADICTION, "The payment was made without a card.")
        return CheckedCard(findings=(finding,))
    if original.input_type is InputType.LINKED_CARD:
        return _check_linked(sent, original)
    way = reading_type(input_type, original.input_type)
    card, findings = read(way, sent.data or CardInput())
    findings = (*check_input_mode(sent.input_mode, BY_DATA), *findings)
    if sent.linked_card_id is not None:
        message = "The payment was not made with a linked card."
        findings += (Finding("linked_card_id", Check.CONTRADICTION, message),)
    if card is None:
        return CheckedCard(findings=findings)
    if card.details.masked != original.card.masked:
        findings += (_other(_number_field(way)),)
    return CheckedCard(card, findings)


def _check_linked(sent: SentCard, original: Transaction) -> CheckedCard:
    """Return the card of a linked-card payment, which only its ID may name."""
    findings = check_input_mode(sent.input_mode, BY_LINK)
    if sent.linked_card_id != original.card_entry.linked_id:
        findings += (_other("linked_card_id"),)
    if sent.data is not None:
        name = "card.pan" if sent.data.pan else "card.reader_data" if sent.data.reader_data else "card.exp"
        findings += (Finding(name, Check.CONTRADICTION, "The payment was made with a linked card."),)
    return CheckedCard(None, findings)


def _number_field(input_type: InputType) -> str:
    return "card.pan" if input_type is InputType.MANUAL_ENTRY else "card.reader_data"


def _other(name: str) -> Finding:
    return Finding(name, Check.CONTRADICTION, OTHER_CARD)


TIME_TO_FINISH = timedelta(hours=1)  # at least, before the Deadline of a reversal


class ReversalOrder(Record):
    """A requested reversal: parsed and typed, not yet decided."""

    original_id: str
    mode: ReverseMode
    amount: Decimal | None = None
    currency: str | None = None
    input_type: int | None = None
    partial: bool | None = None
    client_date_time: str | None = None
    description: str | None = None  # the reason; None: the payment's description
    gmt: int | None = None  # the zone of its times, in hours; None: the merchant's
    receipt_email: str | None = None
    receipt_phone: str | None = None
    receipt: ReceiptAddresses | None = None
    language: str | None = None  # the tag in the request; None: the payment's
    purchases: tuple[Purchase, ...] = ()
    endpoint: str | None = None  # the endpoint of the request
    acquirer: str | None = None
    card: SentCard | None = None  # only in memory
    external_terminal_id: str | None = None
    additional_fields: str | None = field(default=None, repr=False)
    force_signature: bool = False
    latitude: Decimal | None = None
    longitude: Decimal | None = None

    def repeats(self, stored: Transaction, agent_id: int) -> bool:
        """Return whether it has the content of a stored reversal.

        Either request may leave out the payment's currency, or the amount when it was all that remained.
        """
        currency, amount = stored.currency.code, from_minor(stored.amount_minor, stored.currency)
        if self.currency not in (None, currency) or self.amount not in (None, amount):
            return False
        if not _may_be_same(self.purchases, stored.receipt.purchases):
            return False
        amounts = (None, amount) if self.amount is not None or stored.original.took_rest else (None,)
        spellings = itertools.product((currency, None), amounts)
        equal = (replace(self, currency=one, amount=other) for one, other in spellings)
        return stored.fingerprint in {fingerprint(order, agent_id) for order in equal}


def _may_be_same(lines: Sequence[Purchase], stored: Sequence[Purchase]) -> bool:
    """Return whether lines repeat stored ones. A request without lines may, and the titles of erased ones are gone."""
    if not lines or not stored:
        return True
    return len(lines) == len(stored) and all(
        (one.price, one.quantity) == (other.price, other.quantity)
        and (one.title == other.title or ERASED in other.title)
        for one, other in zip(lines, stored, strict=True)
    )


def fingerprint(order: ReversalOrder, agent_id: int) -> str:
    """Return the fingerprint of a reversal: of its content as it was sent."""
    amount = "" if order.amount is None else canonical(order.amount)
    return fingerprint_of("reversal", agent_id, order.original_id, int(order.mode), amount, order.currency or "")


def check(order: ReversalOrder, original: Transaction) -> tuple[int, list[Finding]]:
    """Return the minor units to reverse (without an amount, the remainder), and the contradictions to the payment."""
    findings: list[Finding] = []
    if order.currency not in (None, original.currency.code):
        findings.append(Finding("currency", Check.CONTRADICTION, f"It was paid in {original.currency.code}."))
    if order.input_type not in (None, *reversal_types(original.input_type)):
        message = f"It was paid with InputType {original.input_type:d}."
        findings.append(Finding("input_type", Check.CONTRADICTION, message))
    if order.acquirer not in (None, original.acquirer):
        findings.append(Finding("acquirer", Check.CONTRADICTION, f"It was paid at {original.acquirer}."))
    returned = _returned(order, original)
    findings += returned.findings if original.remaining_minor else ()  # else the refusal says that nothing remains
    if order.amount is not None:
        amount_minor, of_amount = minor("amount", order.amount, original.currency)
        return amount_minor, [*findings, *of_amount, *_of_lines(amount_minor, returned, order, original)]
    if order.partial:
        findings.append(Finding("amount", Check.REQUIRED, "A partial reversal names its amount."))
    return original.remaining_minor, findings


def _returned(order: ReversalOrder, original: Transaction) -> ReturnedLines:
    """Return the lines that a reversal gives back: none of a payment without lines, whose reversal only prints them."""
    sold = original.receipt.purchases
    return match(order.purchases, sold, original.reversals.given_back or {}) if sold else ReturnedLines()


def _of_lines(amount_minor: int, returned: ReturnedLines, order: ReversalOrder, original: Transaction) -> Findings:
    """Return a finding when the returned lines add up to another amount.

    All remaining lines may also be returned for the remaining amount: cash was rounded, or only a part was paid.
    """
    if not order.purchases or returned.findings:
        return ()
    sums = sums_of(order.purchases, original.currency)
    if amount_minor in sums or (returned.is_all and amount_minor == original.remaining_minor):
        return ()
    message = f"The lines add up to {from_minor(max(sums), original.currency):f}."
    return (Finding("amount", Check.CONTRADICTION, message),)


def with_amount_of_lines(order: ReversalOrder, original: Transaction) -> ReversalOrder:
    """Return the reversal with the sum of its lines as its amount, when it names lines and no amount."""
    if order.amount is not None or not order.purchases:
        return order
    return replace(order, amount=from_minor(max(sums_of(order.purchases, original.currency)), original.currency))


def decide(order: ReversalOrder, original: Transaction, now: datetime, card_findings: Findings = ()) -> int:
    """Return the minor units that this reversal takes from the payment, or raise its refusal.

    `card_findings` are the problems of the card in the request.
    """
    amount_minor, findings = check(order, original)
    if findings or card_findings:
        raise invalid(*findings, *card_findings)
    partial = amount_minor < original.amount_minor
    refused = refusal(original, order.mode, now, partial=partial, endpoint=order.endpoint)
    if refused:
        raise ServiceError(refused.error, refused.message)
    remains = f"{from_minor(original.remaining_minor, original.currency):f} {original.currency.code}"
    if amount_minor > original.remaining_minor:
        raise ServiceError(ErrorCode.EXCEEDS_REMAINDER, f"Only {remains} remain of the payment.")
    if order.partial is False and amount_minor != original.remaining_minor:
        message = f"PartialReverse is false, and {remains} remain."
        raise invalid(Finding("amount", Check.CONTRADICTION, message))
    return amount_minor


def begin(  # noqa: PLR0913, PLR0917  each argument is needed and independent
    name: str, order: ReversalOrder, original: Transaction, agent: Agent, amount_minor: int, now: datetime
) -> Transaction:
    """Return the reversal `name`: approved at once, or in progress if an acquirer must be called."""
    needs_acquirer = KINDS[original.input_type].needs_acquirer
    taxes = _taxes(returned := _returned(order, original), original, amount_minor)
    gives_back = returned.quantities | named(taxes, original.tax_amounts)
    in_progress = Phase.CANCELLING if order.mode in CANCELS else Phase.RETURNING
    begun = replace(
        original,
        id=name,
        agent=AgentSnapshot(agent.id, agent.email, agent.name, agent.phone),
        phase=in_progress if needs_acquirer else Phase.REVERSAL_APPROVED,
        amount_minor=amount_minor,
        created_at=now,
        deadline=end_of_day(now + TIME_TO_FINISH, original.gmt),
        fingerprint=fingerprint(order, agent.id),
        invoice="",  # the store gives the number
        particulars=_particulars(order, original),
        receipt=_receipt(order, original),
        result=Result(
            code=None if needs_acquirer else 0,
            message=None if needs_acquirer else APPROVED_TEXT,
            pin_mode=original.result.pin_mode,
        ),
        completion=replace(original.completion, signature_required=order.force_signature and needs_acquirer),
        original=_original(order, original, agent, amount_minor, gives_back),
        tax_amounts=taxes,
        tax_invoice=original.is_invoiced if original.tax_amounts else None,
        reversals=Reversals(),
        amount_cash_got_minor=None,
        date=None,
        pictures=Pictures(),
        warnings=(),
        auto_cancel_id=None,
        erasure=None,
        claimed_at=None,
    )
    check_size(begun, original)
    return begun


def _taxes(returned: ReturnedLines, original: Transaction, amount_minor: int) -> tuple[TaxAmount, ...]:
    """Return the taxes that a reversal gives back: of its lines, or its share of the payment's."""
    if returned.lines and amount_minor < original.remaining_minor:
        lines = [TaxedLine(rounded(one.line.total, original.currency), one.line.tax_codes) for one in returned.lines]
        return taxes_of(lines, amount_minor, original.tax_amounts)
    until_minor = original.reversals.amount_minor + amount_minor
    given_back = original.reversals.given_back or {}
    return share_of(original.tax_amounts, given_back, until_minor=until_minor, whole_minor=original.amount_minor)


REPEAT_WINDOW = timedelta(seconds=120)  # an equal request without a key counts as a repeat
NO_TIME = "0001-01-01"  # the beginning of a client's time that was never set


def content_identity(order: ReversalOrder, original: Transaction, agent_id: int) -> tuple[object, ...] | None:
    """Return the identity of a request without a key: its content and its own time; None without a time.

    The service derives the reversal's ID from it (contract, section 8).
    """
    time = (order.client_date_time or "").strip()
    if not time or time.startswith(NO_TIME):
        return None
    amount = "" if order.amount is None else canonical(order.amount)
    return ("content", agent_id, order.original_id, int(order.mode), amount, _one_writing(time, order, original))


def spellings(order: ReversalOrder, original: Transaction) -> tuple[ReversalOrder, ...]:
    """Return the requests that may be equal to this one, the one that gives the reversal its ID first.

    They name the amount, or leave it out when it is all that remains. An earlier remainder is not known any more, so a
    request that names its amount may repeat either.
    """
    if order.amount is None:
        whole = from_minor(original.amount_minor, original.currency)
        return order, replace(order, amount=whole)
    without = replace(order, amount=None)
    takes_all = order.amount == from_minor(original.remaining_minor, original.currency)
    return (without, order) if takes_all else (order, without)


def _one_writing(time: str, order: ReversalOrder, original: Transaction) -> str:
    """Return a client's time in one form, in the merchant's zone; the text itself when it is not a time."""
    try:
        return to_local(instant_of(time, zone_of(order.gmt, original.gmt)), original.gmt).isoformat()
    except (ValueError, OverflowError):
        return time


def is_repeated(order: ReversalOrder, original: Transaction, latest: Transaction, agent_id: int, now: datetime) -> bool:
    """Return whether a request without a key repeats the payment's latest reversal, which is then its answer.

    A lost answer is far likelier than a second equal reversal within two minutes, or while the first is undecided. A
    failed reversal gave nothing back, so its repeat is a new attempt.
    """
    if latest.phase in FAILED or latest.agent.id != agent_id:
        return False
    if not latest.is_pending and now >= latest.created_at + REPEAT_WINDOW:
        return False
    is_other = (
        latest.original.mode != order.mode
        or order.currency not in (None, latest.currency.code)
        or order.input_type not in (None, *reversal_types(latest.input_type))
        or order.acquirer not in (None, latest.acquirer)
        or order.purchases not in ((), latest.receipt.purchases)
    )
    if is_other:
        return False
    if order.amount is None:
        return original.remaining_minor == 0
    return order.amount == from_minor(latest.amount_minor, latest.currency)


def _original(
    order: ReversalOrder, payment: Transaction, agent: Agent, amount_minor: int, gives_back: Mapping[str, Decimal]
) -> Original:
    return Original(
        id=payment.id,
        invoice=payment.invoice,
        mode=int(order.mode),
        partial=amount_minor < payment.amount_minor,
        took_rest=amount_minor == payment.remaining_minor,
        agent_id=payment.agent.id if payment.agent.id != agent.id else None,
        gives_back=gives_back or None,
    )


def _receipt(order: ReversalOrder, original: Transaction) -> ReceiptContent:
    return replace(
        original.receipt,
        purchases=order.purchases,
        addresses=order.receipt,
        language=language_of(order.language or original.receipt.language),
        withheld=(),
    )


def _particulars(order: ReversalOrder, original: Transaction) -> Particulars:
    """Return the payment's passed-through fields, replaced by those in the request."""
    return replace(
        original.particulars,
        description=order.description or original.particulars.description,
        ext_id=None,
        offline_queue_id=None,
        latitude=order.latitude,
        longitude=order.longitude,
        receipt_email=order.receipt_email,
        receipt_phone=order.receipt_phone,
    )
