"""A reversal (cancel: void; return: refund): its amount, its transaction, and the recognition of repeated requests."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal

from chalicelib.domain.agent import Agent
from chalicelib.domain.answer_size import check_size
from chalicelib.domain.business_days import end_of_day, instant_of, to_local, zone_of
from chalicelib.domain.card import Findings
from chalicelib.domain.kinds import KINDS, language_of
from chalicelib.domain.money import canonical, from_minor, rounded
from chalicelib.domain.payment import APPROVED_TEXT, fingerprint_of, minor
from chalicelib.domain.phases import FAILED, Phase
from chalicelib.domain.returned_lines import ReturnedLines, match
from chalicelib.domain.reversal_card import SentCard
from chalicelib.domain.reversibility import CANCELS, ReverseMode, refusal, reversal_types
from chalicelib.domain.taxes import TaxAmount, TaxedLine, named, share_of, taxes_of
from chalicelib.domain.transaction import (
    ERASED,
    AgentSnapshot,
    Original,
    Particulars,
    Pictures,
    Purchase,
    ReceiptAddresses,
    ReceiptContent,
    Result,
    Reversals,
    Transaction,
    sums_of,
)
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid

TIME_TO_FINISH = timedelta(hours=1)  # at least, before the Deadline of a reversal


@dataclass(frozen=True)
class ReversalOrder:
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
