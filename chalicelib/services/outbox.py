"""The outbox: the stream of its table sends each message right after it is stored, and the sweep sends it again."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from chalicelib import outside
from chalicelib.domain import outbox, password_reset
from chalicelib.domain.outbox import EMAIL, SMS, NotSentError, Outbox
from chalicelib.gateways import mail, sms
from chalicelib.log import log, log_defect
from chalicelib.receipts.content import receipt_of
from chalicelib.receipts.html import as_html
from chalicelib.receipts.text_and_sms import as_sms, as_text
from chalicelib.services.lane_runner import Done, Lane, Run, Swept, begin_each
from chalicelib.settings import settings
from chalicelib.store import outbox as outbox_store
from chalicelib.store import transactions
from chalicelib.store.due_records import Due
from chalicelib.store.table import Item, decode

SECONDS = 20  # of a sweep or a stream batch: even the last attempt ends well within the hold of an entry
CHANNELS = (EMAIL, SMS)


def deliver(records: Sequence[tuple[str, Item]]) -> list[str]:
    """Send the new messages among the stream's records; return the numbers of the records that must come again."""
    until = outside.current.elapsed() + SECONDS
    _, failed = begin_each(records, lambda image: send_new(decode(Outbox, image), outside.now(), until))
    return failed


def send_new(entry: Outbox, now: datetime, until: float) -> None:
    """Send a message that was just stored, once for any number of stream records. The sweep repeats a failed one.

    Begin nothing after `until`, a time of `time.monotonic`.
    """
    is_late = entry.due_at is None or now > entry.due_at - outbox.HELD_FOR + outbox.STREAMS_TURN
    held = None if is_late or outside.current.elapsed() > until else outbox_store.claim_new(entry)
    if held:
        _attempt(held, now, until)


def sweep(now: datetime) -> Swept:
    """Send the entries that no process holds, the longest due first. Sweeps may run side by side."""
    until = outside.current.elapsed() + SECONDS

    def attempt(entry: Due, at: datetime) -> Done:
        held = outbox_store.claim(entry.id, at)
        if held:
            _attempt(held, at, until)
        return Done(was_due=held is not None)

    run = Run("outbox", now, SECONDS)
    run.drain([Lane(channel, outbox_store.TABLE, attempt) for channel in CHANNELS])
    return run.swept()


def _attempt(held: Outbox, now: datetime, until: float) -> None:
    """Send one entry and store the result. A defect is logged; the entry is due again when its hold ends."""
    try:
        after, reason = _sent(held, now, until)
        outbox_store.store_attempt(held, after)
    except Exception as defect:  # noqa: BLE001  one defect must not stop other messages
        log_defect(defect, outbox=held.id, attempts=held.attempts)
        return
    outcome = "sent" if after.sent_at else "given up" if after.given_up_at else "failed" if after.to else "dropped"
    facts = {"outbox": held.id, "kind": held.kind, "merchant": held.client_id}
    log("outbox", **facts, outcome=outcome, attempts=held.attempts, reason=reason)


def _sent(held: Outbox, now: datetime, until: float) -> tuple[Outbox, str | None]:
    """Return the entry after one attempt, and the reason if it was not sent."""
    if outbox.is_spent(held):
        return outbox.given_up(held, now), "no attempt came back"
    if not (settings().mail_from if held.channel == EMAIL else settings().sms_sender):
        return outbox.given_up(held, now), "the stage has no sender"
    message = _with_link(held, now) if held.kind == outbox.RESET else held if held.text else _with_text(held)
    if message is None:
        return password_reset.dropped(held, now), "its login gets no link"
    if not message.text:
        return outbox.failed(held, now), "its text cannot be written"
    left, reason = [], None
    for address in held.to:
        try:
            _send_one(message, address, until)
        except NotSentError as failure:
            left.append(address)
            reason = str(failure)
    if left:
        return outbox.failed(replace(held, to=tuple(left)), now), reason
    return outbox.sent(held, now), None


def _send_one(message: Outbox, address: str, until: float) -> None:
    if outside.current.elapsed() > until:
        reason = "out of time"
        raise NotSentError(reason)
    if message.channel == EMAIL:
        (outside.current.send_mail or mail.send)(message, address)
    else:
        (outside.current.send_sms or sms.send)(message, address)


def _with_link(entry: Outbox, now: datetime) -> Outbox | None:
    """Return the e-mail with a new link for a forgotten password; None if its login gets none."""
    from chalicelib.services.password_reset import with_link  # noqa: PLC0415  only needed for such an e-mail

    return with_link(entry, now)


def _with_text(entry: Outbox) -> Outbox:
    """Return a receipt with its text, made from its transaction; unchanged if the text cannot be written."""
    transaction = transactions.get(entry.transaction_id or "")
    if transaction is None:
        return entry
    if entry.language:
        transaction = replace(transaction, receipt=replace(transaction.receipt, language=entry.language))
    try:
        if entry.channel == SMS:
            return replace(entry, text=as_sms(transaction, stage=settings().sms_sender, is_copy=bool(entry.is_copy)))
        receipt = receipt_of(transaction, is_copy=bool(entry.is_copy))
        return replace(
            entry,
            sender=receipt.merchant,
            subject=receipt.subject,
            text=as_text(receipt),
            html=as_html(receipt, outbox.LOGO_IN_MAIL if receipt.logo_key else None),
            logo_key=receipt.logo_key,
        )
    except Exception as defect:  # noqa: BLE001  a receipt without text fails its attempt
        log_defect(defect, outbox=entry.id)
        return entry
