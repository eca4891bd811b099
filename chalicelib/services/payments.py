"""Take a payment, and read one."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from chalicelib.domain import acquirer_messages, payment, permissions, taxes
from chalicelib.domain.acquirer import AuthorizationRequest
from chalicelib.domain.agent import Caller
from chalicelib.domain.business_days import business_day
from chalicelib.domain.card import LinkedCard, is_usable
from chalicelib.domain.guid import is_guid
from chalicelib.domain.kinds import KINDS
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.money import amount_in
from chalicelib.domain.outbox import receipts_for
from chalicelib.domain.paging import Page
from chalicelib.domain.payment import PaymentOrder, PointOfSale, with_card
from chalicelib.domain.taxes import Tax
from chalicelib.domain.terminal import Terminal
from chalicelib.domain.transaction import Transaction, Warned
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid, invalid_references, missing
from chalicelib.gateways import acquirers
from chalicelib.gateways.ids import derived_guid, new_guid
from chalicelib.log import log
from chalicelib.schemas.base import findings_in, validated
from chalicelib.schemas.card import with_card_number_in_card_only
from chalicelib.schemas.left_out import is_offline_sale
from chalicelib.schemas.payments import OFFLINE_QUEUE_ID, PictureFile, SubmitPayment, has_unread_phone, of_order
from chalicelib.services import idempotency, outcomes, pictures
from chalicelib.services.caller_check import Admitted, admit, admit_to_transaction
from chalicelib.services.idempotency import Repeatable, replay, replay_first
from chalicelib.services.message_limits import within_limits
from chalicelib.services.message_numbers import identify_payment
from chalicelib.store import linked_cards, merchants, receipt_numbers, terminals, transactions
from chalicelib.store import outbox as outbox_store
from chalicelib.store.receipt_numbers import MonthNumbers
from chalicelib.store.retries import retry_with
from chalicelib.store.table import AlreadyExistsError, Key, Write, read


def with_own_numbers(body: SubmitPayment, caller: Caller) -> SubmitPayment:
    """Return the request; one with unread telephone numbers is read again with those of the merchant's country."""
    if not has_unread_phone(body):
        return body
    merchant = admit(caller, current_account_id=body.current_account_id).merchant
    with suppress(ServiceError):  # it is no number there either, which is judged beside the other faults
        return validated(SubmitPayment, {**body.sent, "CountryCode": merchant.country_code}) if merchant else body
    return body


def submit(body: SubmitPayment, caller: Caller, now: datetime, *, key: str | None = None) -> tuple[Transaction, bool]:
    """Return the payment, and whether it is a replay: an earlier request stored it with the same ID and content.

    `key` is the Idempotency-Key header. An ID in the request wins over it.
    """
    if body.faults:
        raise invalid_references(*_judged(body, caller, now))
    payment.supported(body.basic_tran.input_type)
    payment_id = _id_of(body, caller, key)
    loaded = admit(caller, *_keys(body, payment_id, caller, now), current_account_id=body.current_account_id)
    agent, merchant = loaded.agent, loaded.merchant
    permissions.check_can_take_payments(agent)
    if merchant is None:  # never: only a system user has none, and the check above refuses it
        raise ServiceError(ErrorCode.ROLE_MAY_NOT)

    # Only now: to look for a card number in long texts costs time, which only an admitted caller may spend.
    order = with_card_number_in_card_only(body).to_domain(payment_id)
    order = replace(order, warnings=body.warnings)
    if stored := loaded.read(transactions.key(payment_id)):
        return _replay(order, stored, loaded, body.files, now)
    payment.check_kind(order, agent, merchant, _acquirers_for(order))
    terminal = payment.usable_terminal(order, merchant, _terminal_in(loaded))
    pos = PointOfSale(agent, merchant, terminal, _taxes_in_force(order, merchant, now))

    if KINDS[order.input_type].needs_acquirer:
        return _take_by_card(order, pos, loaded, body.files, now)
    return _take_without_acquirer(order, pos, loaded, body.files, now)


def _wrong_acquirer(order: PaymentOrder, linked: LinkedCard | None) -> Sequence[Finding]:
    takes = _acquirers_for(order)
    return payment.check_acquirer(order.acquirer, takes, linked) if order.acquirer and takes else ()


AMOUNT = ("basic_tran.amount", "basic_tran.currency_id")
# The rules that a service judges next to other faults, because they need the terminal, the day or the acquirers.
RULES = (
    *(
        of_order(lambda order, terminal: payment.amounts(order, terminal)[1], *AMOUNT, *more, stored=["terminal"])
        for more in ((), ("basic_tran.amount_cash_got",), (payment.PURCHASES,))
    ),
    of_order(payment.wrong_card, "card", stored=["today"]),
    of_order(payment.wrong_swipe, "card", "acq_tran.allow_swipe_over_chip"),
    of_order(payment.wrong_way, "basic_tran.offline_tran.offline_mode"),
    of_order(_wrong_acquirer, "acq_tran.acquirer_code", stored=["linked"]),
)


def _judged(body: SubmitPayment, caller: Caller, now: datetime) -> Sequence[Finding]:
    """Return the findings about the references of a request with faults, or raise its faults."""
    linked_id = body.linked_card_id if body.readable("basic_tran") else None
    card_key = [] if linked_id is None else [linked_cards.key(linked_id)]
    terminal_key = [] if caller.terminal_id is None else [terminals.key(caller.terminal_id)]
    loaded = admit(caller, *terminal_key, *card_key, current_account_id=body.current_account_id)
    permissions.check_can_take_payments(loaded.agent)
    merchant, terminal, findings = loaded.merchant, _terminal_in(loaded), list[Finding]()

    if merchant is None:
        return findings
    today, card = business_day(now, merchant.gmt), loaded.read(card_key[0]) if card_key else None
    if card_key and not (card and is_usable(card, loaded.agent.id, today)):
        findings.append(missing("linked_card_id", ErrorCode.CARD_NOT_FOUND))
    if terminal:
        findings += payment.check_currency(body.basic_tran.currency_id, terminal)
        findings += payment.check_group(body.terminal_group(), merchant, terminal)
        known = {"terminal": terminal, "today": today, "linked": card}
        rules = RULES[:1] if is_offline_sale(body.sent) else RULES  # only its money refuses it
        findings += findings_in(SubmitPayment, rules, body.sent, known)
    if not findings:
        body.check_readable()
    return list(dict.fromkeys(findings))


def _id_of(body: SubmitPayment, caller: Caller, key: str | None) -> str:
    """Return the ID of a payment: the caller's, else the key's, else a new one."""
    return body.own_id or (derived_guid("payment", caller.agent_id, key) if key else new_guid())


def _keys(body: SubmitPayment, payment_id: str, caller: Caller, now: datetime) -> list[Key[Any]]:
    """Return the keys of the records that decide a payment, besides the agent and its merchant."""
    keys: list[Key[Any]] = [transactions.key(payment_id)]
    if caller.terminal_id is not None:
        keys.append(terminals.key(caller.terminal_id))
    if body.linked_card_id is not None:
        keys.append(linked_cards.key(body.linked_card_id))
    return keys + receipt_numbers.keys(caller, now)


def _terminal_in(loaded: Admitted) -> Terminal | None:
    """Return the agent's terminal, which may be another one than the authorizer's, if it has one."""
    terminal_id = loaded.agent.terminal_id
    return None if terminal_id is None else loaded.read(terminals.key(terminal_id))


def _taxes_in_force(order: PaymentOrder, merchant: Merchant, now: datetime) -> tuple[Tax, ...]:
    """Return the taxes in force when the payment was sold. Former ones are read only for an earlier sale or list."""
    at = payment.sold_at(order, merchant) or max(now, merchant.taxes_changed_at or now)  # clocks differ by seconds
    if not taxes.needs_former(merchant.taxes, merchant.taxes_changed_at, payment.tax_codes(order), at):
        return merchant.taxes
    return taxes.in_force(merchant.taxes, merchants.former_taxes(merchant.id), at)


def _take_without_acquirer(
    order: PaymentOrder, pos: PointOfSale, loaded: Admitted, files: list[PictureFile], now: datetime
) -> tuple[Transaction, bool]:
    """Take a payment without an acquirer: one store transaction holds it and its receipts."""
    if order.offline:
        order, findings = payment.only_its_money(order, pos)
        warned = [Warned(SubmitPayment.located(one).field, int(one.code)) for one in findings]
        order = replace(order, warnings=(*order.warnings, *warned))
    transaction = payment.without_acquirer(order, pos, now)
    try:
        transaction = _store(_with_pictures(transaction, files), pos, loaded, now)
    except AlreadyExistsError:
        return replay_first(order.id, _repeatable(order, loaded), now), True
    if transaction.date is not None:
        _log_offline(transaction, transaction.date, payment.features_off(order, pos.agent, pos.merchant))
    return transaction, False


def _log_offline(sale: Transaction, taken_at: datetime, features_off: list[str]) -> None:
    """Log one line about an offline sale, with the time it waited, and one if features that it needs are off.

    The time is negative if the till's clock is fast.
    """
    facts = {"transaction": sale.id, "merchant": sale.client_id, "agent": sale.agent.id}
    log("offline_sale", **facts, waited_seconds=int((sale.created_at - taken_at).total_seconds()))
    if features_off:
        log("offline_sale_not_enabled", **facts, features=features_off)


def _take_by_card(
    order: PaymentOrder, pos: PointOfSale, loaded: Admitted, files: list[PictureFile], now: datetime
) -> tuple[Transaction, bool]:
    """Take a payment that an acquirer decides: store it, send it under its own ID, then store the outcome."""
    linked = None if order.linked_card_id is None else loaded.read(linked_cards.key(order.linked_card_id))
    transaction, request = begin_by_card(order, pos, linked, now)
    checks = [linked_cards.check_usable(linked.id, pos.agent.id)] if linked else []
    try:
        transaction = _store(_with_pictures(transaction, files), pos, loaded, now, *checks)
    except AlreadyExistsError:
        return _replay(order, idempotency.stored_first(order.id), loaded, files, now)
    return outcomes.require_attempted(outcomes.authorize(transaction, request, now)), False


def _with_pictures(transaction: Transaction, files: list[PictureFile]) -> Transaction:
    """Store the pictures of a payment, if it has any."""
    return replace(transaction, pictures=pictures.store_files(files, transaction.id)) if files else transaction


def _store(transaction: Transaction, pos: PointOfSale, loaded: Admitted, now: datetime, *checks: Write) -> Transaction:
    """Store a new payment with its receipts, under the next receipt number of its agent; return it with the number.

    An offline payment keeps the number of its till and takes none: only its cash is counted. Raise AlreadyExistsError
    for a used ID.
    """
    also = list(checks)
    if transaction.receipt.addresses:
        country, agent_id = pos.merchant.country_code, pos.agent.id
        content = within_limits(transaction.receipt, transaction.client_id, agent_id, now, country)
        transaction = replace(transaction, receipt=content)
        also += map(outbox_store.put, receipts_for(transaction, now))
    own = receipt_numbers.key_of(transaction)

    def attempt(numbers: MonthNumbers | None) -> Transaction:
        if transaction.invoice:
            counts = [receipt_numbers.count_cash(transaction, numbers)] if transaction.cash_minor else []
            return _store_offline(transaction, also + counts)
        numbered, count = receipt_numbers.number(transaction, numbers)
        transactions.record(numbered, count, *also)
        return numbered

    return retry_with(loaded.read(own), attempt, lambda: read(own))


def _store_offline(sale: Transaction, also: list[Write]) -> Transaction:
    """Store an offline sale under the number of its till. Warn and log when another sale has its number and queue ID.

    It is stored all the same: money was taken, and only people can see whether it was taken twice.
    """
    try:
        transactions.record(sale, *also, *receipt_numbers.register_offline_sale(sale))
    except receipt_numbers.SoldTwiceError:
        log("offline_sale_twice", transaction=sale.id, merchant=sale.client_id, agent=sale.agent.id)
        sale = replace(sale, warnings=(*sale.warnings, Warned(OFFLINE_QUEUE_ID, Check.TWICE)))
        transactions.record(sale, *also)
    return sale


def begin_by_card(
    order: PaymentOrder, pos: PointOfSale, linked: LinkedCard | None, now: datetime
) -> tuple[Transaction, AuthorizationRequest]:
    """Return a card payment to store before its acquirer is called, and the request to the acquirer."""
    transaction, request = with_card(
        order, pos, now, acquirers=_acquirers_for(order), linked=linked, refuse=acquirers.refuse
    )
    transaction = identify_payment(replace(transaction, auto_cancel_id=new_guid()), pos.terminal)
    return transaction, replace(request, message=acquirer_messages.message_of(transaction))


def _acquirers_for(order: PaymentOrder) -> tuple[str, ...]:
    """Return the stage's card acquirers for the payment, the default first; none for other kinds of payment."""
    return acquirers.taking(order.input_type) if KINDS[order.input_type].needs_acquirer else ()


def _replay(
    order: PaymentOrder, stored: Transaction, loaded: Admitted, files: list[PictureFile], now: datetime
) -> tuple[Transaction, bool]:
    """Return the stored payment and whether the request is a pure replay: it brings no owed signature.

    Refuse an unreadable card, because it cannot be compared with the stored one.
    """
    if order.card_findings:
        raise invalid(*order.card_findings)
    return idempotency.add_signature(replay(stored, _repeatable(order, loaded), now), files, now)


def _repeatable(order: PaymentOrder, loaded: Admitted) -> Repeatable:
    terminal = _terminal_in(loaded)
    return Repeatable(order, loaded.agent.id, terminal.currency if terminal else None)


def public(transaction_id: str) -> Transaction | None:
    """Return the transaction for any caller with its ID; None for an unknown or malformed ID."""
    return transactions.get(transaction_id.upper()) if is_guid(transaction_id) else None


def get(transaction_id: str, caller: Caller, now: datetime) -> Page:
    """Return a page with one transaction that the caller may see. A pending one is resolved first.

    Raise 404 for a missing transaction and for another merchant's.
    """
    admitted, transaction = admit_to_transaction(caller, transaction_id)
    transaction = outcomes.refresh(transaction, now) if transaction.is_pending else transaction
    merchant = admitted.merchant_of(transaction.client_id)
    taken_minor = transaction.amount_minor if transaction.took_money else 0
    taken = (transaction.currency.code, transaction.currency.digits, taken_minor)
    return Page([transaction], 1, amount_in(merchant.currency_id if merchant else None, [taken]))
