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
from chalicelib.domain.money import canonical, from_minor
from chalicelib.domain.payment import APPROVED_TEXT, fingerprint_of, minor
from chalicelib.domain.phases import FAILED, Phase
from chalicelib.domain.returned_lines import (
    Remaining,
    ReturnedLines,
    by_amount,
    by_lines,
    remaining_lines,
    taxes_given_back,
    with_codes,
)
from chalicelib.domain.reversal_card import SentCard
from chalicelib.domain.reversibility import CANCELS, ReverseMode, refusal, reversal_types
from chalicelib.domain.taxes import TaxAmount, taxed_again
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

        Either request may leave out the payment's currency, or the amount when it was all that remained, or when lines
        tell it.
        """
        currency, amount = stored.currency.code, from_minor(stored.amount_minor, stored.currency)
        if self.currency not in (None, currency) or self.amount not in (None, amount):
            return False
        if not may_be_same(self.purchases, stored.receipt.purchases):
            return False
        took_part = stored.receipt.purchases and not stored.original.took_rest
        if took_part and self.amount is None and not self.purchases:
            return False
        amounts = (None, amount) if self.amount is not None or stored.original.took_rest else (None,)
        spellings = itertools.product((currency, None), amounts)
        equal = (replace(self, currency=one, amount=other) for one, other in spellings)
        return stored.fingerprint in {fingerprint(order, agent_id) for order in equal}


def may_be_same(lines: Sequence[Purchase], stored: Sequence[Purchase]) -> bool:
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
    return fingerprint_of(
        "reversal", agent_id, order.original_id, int(order.mode), _amount(order), order.currency or ""
    )


def _amount(order: ReversalOrder) -> str:
    """Return the amount as it was sent. Lines tell it, however it is sent."""
    return "" if order.amount is None or order.purchases else canonical(order.amount)


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
    amount_minor, of_amount = _asked(order, original)
    findings += of_amount
    if not original.remaining_minor:  # the refusal says that nothing remains
        return amount_minor or 0, findings
    returned = _returned(order, original, remaining_lines(original), None if of_amount else amount_minor)
    findings += returned.findings
    if not findings and not returned.amount_minor:
        findings.append(Finding("amount", Check.OUT_OF_RANGE, "These lines come to 0."))
    return returned.amount_minor if amount_minor is None else amount_minor, findings


def _asked(order: ReversalOrder, original: Transaction) -> tuple[int | None, Findings]:
    """Return the minor units that the request names; None for what its lines come to, or for all that remains."""
    sums = sums_of(order.purchases, original.currency) if not original.receipt.purchases else ()
    if order.amount is not None:
        amount_minor, findings = minor("amount", order.amount, original.currency)
        if order.purchases and sums and not findings and amount_minor not in sums:
            message = f"The lines come to {from_minor(max(sums), original.currency):f}."
            findings = (Finding("amount", Check.CONTRADICTION, message),)
        return amount_minor, findings
    if order.purchases and sums:
        return max(sums), ()
    if order.partial and not order.purchases:
        return None, (Finding("amount", Check.REQUIRED, "A partial reversal names its amount or its lines."),)
    return None, ()


def _returned(
    order: ReversalOrder, original: Transaction, remaining: Sequence[Remaining], amount_minor: int | None
) -> ReturnedLines:
    """Return what a reversal takes from each line. The lines of a reversal of a payment without lines are printed."""
    if order.purchases and original.receipt.purchases:
        return by_lines(order.purchases, amount_minor, remaining, original)
    left_minor = original.remaining_minor
    taken_minor = left_minor if amount_minor is None else min(amount_minor, left_minor)
    return replace(by_amount(taken_minor, remaining), lines=order.purchases)


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
    if amount_minor > original.remaining_minor:
        raise ServiceError(ErrorCode.EXCEEDS_REMAINDER, f"Only {_rest(original)} remain of the payment.")
    if findings := wrong_rest(order, original, amount_minor):
        raise invalid(*findings)
    return amount_minor


def wrong_rest(order: ReversalOrder, original: Transaction, amount_minor: int) -> list[Finding]:
    """Return a finding when a reversal of all that remains names a part of it."""
    if order.partial is not False or amount_minor >= original.remaining_minor:
        return []
    return [Finding("amount", Check.CONTRADICTION, f"PartialReverse is false, and {_rest(original)} remain.")]


def _rest(original: Transaction) -> str:
    return f"{from_minor(original.remaining_minor, original.currency):f} {original.currency.code}"


def begin(  # noqa: PLR0913, PLR0917  each argument is needed and independent
    name: str, order: ReversalOrder, original: Transaction, agent: Agent, amount_minor: int, now: datetime
) -> Transaction:
    """Return the reversal `name`: approved at once, or in progress if an acquirer must be called."""
    needs_acquirer = KINDS[original.input_type].needs_acquirer
    remaining = remaining_lines(original)
    returned = _returned(order, original, remaining, amount_minor)
    taxes = taxes_given_back(original, remaining, returned.money)
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
        receipt=_receipt(order, original, returned.lines),
        result=Result(
            code=None if needs_acquirer else 0,
            message=None if needs_acquirer else APPROVED_TEXT,
            pin_mode=original.result.pin_mode,
        ),
        completion=replace(original.completion, signature_required=order.force_signature and needs_acquirer),
        original=_original(order, original, amount_minor, _gives_back(original, returned, taxes)),
        tax_amounts=taxes,
        taxed_again_minor=taxed_again(with_codes(remaining, returned.money), original.tax_amounts) or None,
        discounts_minor=None,
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


def _gives_back(original: Transaction, returned: ReturnedLines, taxes: Sequence[TaxAmount]) -> dict[str, Decimal]:
    """Return the quantities and money of the payment's lines, and its taxes, as `Original.gives_back` names them."""
    numbers = {tax.code: number for number, tax in enumerate(original.tax_amounts)}
    amounts = {f"tax{numbers[tax.code]}": Decimal(tax.tax_minor) for tax in taxes}
    if original.receipt.purchases:
        amounts |= {f"line{number}": quantity for number, quantity in enumerate(returned.quantities)}
        amounts |= {f"money{number}": Decimal(part) for number, part in enumerate(returned.money)}
    return {name: amount for name, amount in amounts.items() if amount}


REPEAT_WINDOW = timedelta(seconds=120)  # an equal request without a key counts as a repeat
NO_TIME = "0001-01-01"  # the beginning of a client's time that was never set


def content_identity(order: ReversalOrder, original: Transaction, agent_id: int) -> tuple[object, ...] | None:
    """Return the identity of a request without a key: its content and its own time; None without a time.

    The service derives the reversal's ID from it (contract, section 8).
    """
    time = (order.client_date_time or "").strip()
    if not time or time.startswith(NO_TIME):
        return None
    lines = [f"{one.title} {canonical(one.price)} {canonical(one.quantity)}" for one in order.purchases]
    content = (order.original_id, int(order.mode), _amount(order), *lines)
    return ("content", agent_id, *content, _one_writing(time, order, original))


def spellings(order: ReversalOrder, original: Transaction) -> tuple[ReversalOrder, ...]:
    """Return the requests that may be equal to this one, the one that gives the reversal its ID first.

    They name the amount, or leave it out when it is all that remains. An earlier remainder is not known any more, so a
    request that names its amount may repeat either. Lines tell the amount.
    """
    if order.purchases:
        return (order,)
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


def is_repeated(order: ReversalOrder, latest: Transaction, agent_id: int, now: datetime) -> bool:
    """Return whether a request without a key repeats the payment's latest reversal, which is then its answer.

    A lost answer is far likelier than a second equal reversal within two minutes, or while the first is undecided. A
    failed reversal gave nothing back, so its repeat is a new attempt. Equal lines are an equal request, whether or not
    it names their amount. A request for all that remains repeats no reversal that left something.
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
        or bool(order.purchases) is not bool(latest.receipt.purchases)
        or not may_be_same(order.purchases, latest.receipt.purchases)
    )
    if is_other or order.purchases:
        return not is_other
    asks_for_rest = order.amount is None or order.partial is False
    if asks_for_rest and not latest.original.took_rest:
        return False
    return order.amount in (None, from_minor(latest.amount_minor, latest.currency))


def _original(
    order: ReversalOrder, payment: Transaction, amount_minor: int, gives_back: Mapping[str, Decimal]
) -> Original:
    return Original(
        id=payment.id,
        invoice=payment.invoice,
        mode=int(order.mode),
        partial=amount_minor < payment.amount_minor,
        took_rest=amount_minor == payment.remaining_minor,
        gives_back=gives_back or None,
        acquirer_tran_id=payment.result.acquirer_tran_id,
    )


def _receipt(order: ReversalOrder, original: Transaction, lines: tuple[Purchase, ...]) -> ReceiptContent:
    return replace(
        original.receipt,
        purchases=lines,
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
