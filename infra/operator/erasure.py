"""The erasure of a payer's data: a fixed placeholder replaces it in every record, file and message of its payments.

Each write requires that the record is as it was read, and repeated runs change nothing more. A killed run is finished
by another one, which finds the marks of the first step:

1. The data in the records of the reversals and then of the payment is replaced, with their entries in the history, and
   the records are marked. No request or sweep can then store a copy that it read before: its conditions name the mark.
2. Another search finds reversals that were made meanwhile. When there are none, messages, events and files follow.
3. The records are marked as done.
"""

import sys
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from typing import Any

from botocore.exceptions import ClientError

from chalicelib import exact_json
from chalicelib.domain import outbox as messages
from chalicelib.domain.agent import Agent
from chalicelib.domain.card import LinkedCard
from chalicelib.domain.deliveries import Delivery, begun
from chalicelib.domain.drawer import Drawer
from chalicelib.domain.events import Event
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.outbox import Outbox
from chalicelib.domain.picture import Picture
from chalicelib.domain.printed_text import one_line
from chalicelib.domain.transaction import (
    ERASED,
    ERASED_PICTURE,
    Erasure,
    Pictures,
    Purchase,
    ReceiptContent,
    Taxes,
    Transaction,
)
from chalicelib.gateways import files
from chalicelib.settings import settings
from chalicelib.store import (
    agent_changes,
    agents,
    audit,
    drawers,
    events,
    history,
    linked_cards,
    merchants,
    outbox,
    transactions,
    webhooks,
)
from chalicelib.store import deliveries as deliveries_store
from chalicelib.store.agent_changes import LoginChange
from chalicelib.store.retries import ChangedMeanwhileError, retry_on_change
from chalicelib.store.table import (
    VERSION,
    AlreadyExistsError,
    Item,
    Key,
    Write,
    attributes_of,
    commit,
    decode,
    part_key,
    read,
    read_all,
    read_item,
    replace_record,
    update,
    write_one,
)
from infra.operator import payer_records, terminal
from infra.operator.payer_records import Address, Family, StoredFile

ERASED_JSON = exact_json.text(ERASED)
PICTURE = Picture(  # one grey pixel
    b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mM4AAAAwgDB/9Yt3AAAAABJRU5ErkJggg=="),
    "image/png",
)
ROUNDS = 5  # searches for reversals that were made meanwhile
AT_ONCE = 1000  # versions of files in one call
TICK = timedelta(microseconds=1)
OF_A_PERSON = ("avatar_key", "email", "name", "phone")  # fields of an agent
Touches = Callable[[str], bool]


class UnfinishedError(Exception):
    """Requests kept changing the payments: the command must run again."""


def families_to_erase(merchant: Merchant, address: Address, now: datetime) -> list[Family]:
    """Return the families of a payer, and those that a killed run left unfinished."""
    is_payers = payer_records.belongs_to(merchant, address)
    return payer_records.families(merchant, now, lambda one: one.is_being_erased or is_payers(one))


def erase(merchant: Merchant, address: Address, found: list[Family], now: datetime) -> int:
    """Erase the payer's data in these families and in notes. Return the number of their transactions."""
    notes = _erase_notes(merchant, address)
    if not found:
        if notes:
            _store_audit(merchant)
        return 0
    _store_picture()
    known = {family.ids[0]: family for family in found}
    for _ in range(ROUNDS):
        for family in found:
            if family.is_new:
                _replace_family(family.ids, address)
        found = families_to_erase(merchant, address, now)
        known |= {family.ids[0]: family for family in found}
        if not any(family.is_new for family in found):
            break
    else:
        raise UnfinishedError
    ids = list(chain.from_iterable(family.ids for family in known.values()))
    _erase_around(merchant, address, ids, now)
    _store_audit(merchant)
    for one in ids:
        _mark_done(one)
    return len(ids)


def agent_to_erase(number: int) -> tuple[Agent, Merchant | None]:
    """Return a former agent and its merchant. Exit with one line for another one."""
    agent = read(agents.key(number))
    if agent is None:
        sys.exit(f"There is no agent {number}: `who` finds it.")
    if agent.is_active:
        sys.exit(f"Agent {number}, {one_line(agent.name)}, is active: block it first. Nothing is erased.")
    return agent, read(merchants.key(agent.client_id))


def erase_agent(agent: Agent, merchant: Merchant | None, now: datetime) -> int:
    """Erase name, e-mail, telephone and picture of a former agent: in payments, messages, record, login and audit.

    Return the number of its transactions. Raises UnfinishedError while one of them is pending.
    """
    found = payer_records.of_agent(merchant, agent.id, now) if merchant else []
    if any(one.is_pending for one in found):
        raise UnfinishedError
    for one in found:
        retry_on_change(partial(_replace_seller, transactions.key(one.id)))
    for message in payer_records.messages_to(agent):
        retry_on_change(partial(_erase_message, outbox.key(message.id), now))
    if found and merchant:
        _delete(payer_records.exports_of(merchant.id))
    retry_on_change(partial(_erase_account, agent))
    _delete(payer_records.files_below(f"agents/{agent.id}/"))
    for entry in audit.of(f"agent#{agent.id}"):
        audit.forget(entry, OF_A_PERSON)
    return len(found)


def _replace_seller(key: Key[Transaction]) -> None:
    item = read_item(key)
    before = decode(Transaction, item)
    after = replace(before, agent=replace(before.agent, email=ERASED, name=ERASED, phone=ERASED))
    commit(_change(key, item, changes_of(before, after)), *history.writes_for_erasure(before, after))


def _erase_account(agent: Agent) -> None:
    """Replace the data in an agent's record, and move its login to another e-mail, which nobody has."""
    before = read(agents.key(agent.id)) or agent
    after = replace(before, name=ERASED, email=f"erased-{agent.id}@erased.invalid", phone="", avatar_key=None)
    if after == before:
        return
    act, login = terminal.act("erase"), None if before.deleted else read(agents.login_key(before.email))
    if login:
        agent_changes.change(before, after, LoginChange(moved=login), act)
    else:
        entry = audit.write(f"agent#{agent.id}", act, audit.changed_fields(before, after))
        commit(replace_record(agents.key(agent.id), after, ChangedMeanwhileError()), entry)


def _erase_notes(merchant: Merchant, address: Address) -> int:
    """Erase the notes in drawers that name the address. Return the number of drawers."""
    found = payer_records.drawers_of(merchant, address)
    for one in found:
        retry_on_change(partial(_erase_in_drawer, drawers.key(merchant.id, one.id), address))
    return len(found)


def _erase_in_drawer(key: Key[Drawer], address: Address) -> None:
    """Erase the notes in a drawer that name the address. Raise ChangedMeanwhileError when it got another movement."""
    item = read_item(key)
    drawer = decode(Drawer, item)
    after = tuple(
        replace(one, note=ERASED) if one.note and address.touches(one.note) else one for one in drawer.movements
    )
    write_one(_change(key, item, {"movements": after}))


def _store_audit(merchant: Merchant) -> None:
    audit.store(f"merchant#{merchant.id}", terminal.act("erase"), ("payer",))


def without_payer(transaction: Transaction, touches: Touches) -> Transaction:
    """Return the transaction with placeholders for the payer's data, and for the texts that name an address.

    Amounts, times, numbers of receipts without an address, and the acquirer's references stay. So do the fingerprint,
    which recognises a repeated request, and the mark of a delivered signature.
    """

    def text(value: str | None) -> str | None:
        return ERASED if value and touches(value) else value

    carried, card, kept, result = transaction.particulars, transaction.card, transaction.pictures, transaction.result
    queued = carried.offline_queue_id
    return replace(
        transaction,
        particulars=replace(
            carried,
            description=text(carried.description),
            client_product_code=text(carried.client_product_code),
            ext_id=text(carried.ext_id),
            ext_tran_data=carried.ext_tran_data and ERASED_JSON,
            offline_queue_id=ERASED if queued and touches(str(queued)) else queued,
            receipt_email=carried.receipt_email and ERASED,
            receipt_phone=carried.receipt_phone and ERASED,
        ),
        receipt=_receipt_without(transaction.receipt, text),
        invoice=text(transaction.invoice) or "",
        original=replace(transaction.original, invoice=text(transaction.original.invoice)),
        card=card and replace(card, cardholder=card.cardholder and ERASED),
        pictures=Pictures(kept.photo_key and ERASED_PICTURE, kept.signature_key and ERASED_PICTURE),
        result=replace(
            result,
            additional_fields=text(result.additional_fields),
            additional_fields_title=text(result.additional_fields_title),
        ),
    )


def _receipt_without(receipt: ReceiptContent, text: Callable[[str | None], str | None]) -> ReceiptContent:
    def each(values: Iterable[str]) -> tuple[str, ...]:
        return tuple(text(one) or "" for one in values)

    def line(one: Purchase) -> Purchase:
        return replace(one, title=text(one.title) or "", tax_codes=each(one.tax_codes))

    to, taxes = receipt.addresses, receipt.taxes
    return replace(
        receipt,
        purchases=tuple(map(line, receipt.purchases)),
        taxes=taxes and Taxes(each(taxes.codes), text(taxes.scheme)),
        addresses=to and replace(to, emails=(ERASED,) * len(to.emails), phones=(ERASED,) * len(to.phones)),
    )


def card_without_payer(card: LinkedCard, address: Address) -> LinkedCard:
    """Return a linked card with a placeholder for the holder's name, and for an alias that names the address."""
    details = replace(card.details, cardholder=card.details.cardholder and ERASED)
    return replace(card, details=details, alias=ERASED if address.touches(card.alias) else card.alias)


def changes_of(before: Any, after: Any) -> dict[str, Any]:
    """Return the stored attributes in which two versions of a record differ, with their new values."""
    stored = attributes_of(before)
    return {name: value for name, value in attributes_of(after).items() if value != stored[name]}


def by_item(record: Transaction, values: Mapping[str, Any]) -> list[tuple[Key[Transaction], dict[str, Any]]]:
    """Return the values that each item of a stored transaction gets: first its own item, then its own parts.

    The parts of its payment are left out: they are erased with the payment.
    """
    owners = record.apart or {}
    own = {name: value for name, value in values.items() if name not in owners}
    parts = [
        (part_key(transactions.key(record.id), record.id, name), {name: value})
        for name, value in values.items()
        if owners.get(name) == record.id
    ]
    return [(transactions.key(record.id), own), *parts]


# The records of a family


def _replace_family(ids: Sequence[str], address: Address) -> None:
    """Replace the data in the records of a payment and its reversals.

    The payment is the last one, because its addresses are looked for in all texts. One with a reversal that is not
    among these is left for the next round.
    """
    addresses = [address, *payer_records.addresses_of(ids)]

    def touches(text: str) -> bool:
        return any(one.touches(text) for one in addresses)

    for one in (*ids[1:], ids[0]):
        retry_on_change(partial(_replace_record, transactions.key(one), ids, touches))


def _replace_record(key: Key[Transaction], known: Sequence[str], touches: Touches) -> None:
    """Replace the data in a transaction and in the copies of its entry.

    Raise ChangedMeanwhileError when the transaction has changed since it was read.
    """
    item = read_item(key)
    before = decode(Transaction, item) if item else None
    if before is None or before.erasure or before.reversals.requested_id not in {None, *known}:
        return
    after = replace(without_payer(before, touches), erasure=Erasure.REPLACED)
    (_, own), *of_parts = by_item(before, changes_of(before, after))
    updates = (update(part, values) for part, values in of_parts)
    commit(_change(key, item, own), *updates, *history.writes_for_erasure(before, after))


def _mark_done(transaction_id: str) -> None:
    key, done, replaced = transactions.key(transaction_id), {"erasure": Erasure.DONE}, {"was": Erasure.REPLACED}
    with suppress(AlreadyExistsError):  # it is done already
        write_one(update(key, done, condition="#erasure = :was", compared=replaced))


def _change(key: Key[Any], item: Item, values: Mapping[str, Any], remove: Iterable[str] = ()) -> Write:
    """Return the change of an item which requires that nobody has changed it since it was read."""
    seen, changed = {"seen": int(item[VERSION]["N"])}, ChangedMeanwhileError()
    return update(key, values, remove=remove, condition=f"#{VERSION} = :seen", compared=seen, otherwise=changed)


# Messages, events, cards and files


def _erase_around(merchant: Merchant, address: Address, ids: list[str], now: datetime) -> None:
    found = [one for one in read_all([transactions.key(one) for one in ids]) if one is not None]
    for message in payer_records.messages_of(merchant, ids):
        retry_on_change(partial(_erase_message, outbox.key(message.id), now))
    ext_ids = {record.id: record.particulars.ext_id for record in found}
    for event, _ in payer_records.events_of(merchant, found, now):
        _erase_event(event, ext_ids[event.transaction_id or ""], now)
    for card in payer_records.cards_of(found):
        if changes := changes_of(card, card_without_payer(card, address)):
            write_one(update(linked_cards.key(card.id), changes))
    for one in ids:
        _delete(payer_records.pictures_of(one))
    _delete(payer_records.exports_of(merchant.id))


def _erase_message(key: Key[Outbox], now: datetime) -> None:
    """Replace the addresses of a message. One that waits is given up; its sender, if any, can store no result.

    Raise ChangedMeanwhileError when a sender has changed it since it was read.
    """
    item = read_item(key)
    entry = decode(Outbox, item) if item else None
    if entry is None or set(entry.to) == {ERASED}:
        return
    after = replace(entry, to=(ERASED,) * len(entry.to), text=entry.text and ERASED)
    if entry.due_at is not None:
        after = messages.given_up(after, now)
    changes = {name: value for name, value in changes_of(entry, after).items() if value is not None}
    write_one(_change(key, item, changes, ("due_at", "due_lane") if entry.due_at else ()))


def _erase_event(event: Event, ext_id: str | None, now: datetime) -> None:
    """Erase the answers of receivers about an event, and give it the ExtID that its transaction has now.

    The mark comes first, so that no later attempt stores another answer.
    """
    with suppress(AlreadyExistsError):  # it has expired
        mark = Key(events.TABLE, Event, {"day": event.day, "place": event.place})
        write_one(
            update(mark, {"erased": True} | ({"ext_id": ext_id} if ext_id else {}), condition="attribute_exists(#kind)")
        )
    _begin_deliveries(event, now)
    for _, items in deliveries_store.between(event.day, event.place, f"{event.place}#{deliveries_store.END}"):
        for delivery in deliveries_store.deliveries_in(items):
            key = Key(events.TABLE, Delivery, {"day": event.day, "place": delivery.place})
            retry_on_change(partial(_erase_answers, key))


def _begin_deliveries(event: Event, now: datetime) -> None:
    """Store the deliveries of an event that has none yet. Their attempts read the event with its mark.

    The stream makes attempts only for deliveries that it stores itself, with the event as it was before the mark.
    """
    for hook in webhooks.of_merchant(event.client_id) if event.due_at else ():
        if hook.gets(event):
            deliveries_store.begin(begun(event, hook.id, now))


def _erase_answers(key: Key[Delivery]) -> None:
    """Replace the answers of a receiver. An attempt in progress can store no answer: its delivery is due again.

    Raise ChangedMeanwhileError when an attempt has changed it since it was read.
    """
    item = read_item(key)
    if not item:
        return
    before = decode(Delivery, item)
    made = tuple(replace(one, answer=one.answer and ERASED) for one in before.made)
    due_at = before.due_at and before.due_at + TICK  # the attempt in progress holds it under the earlier time
    changes = changes_of(before, replace(before, made=made, due_at=due_at))
    if changes:
        write_one(_change(key, item, changes))


def _store_picture() -> None:
    if not payer_records.files_below(ERASED_PICTURE):
        files.put(ERASED_PICTURE, PICTURE)


def _delete(versions: list[StoredFile]) -> None:
    for start in range(0, len(versions), AT_ONCE):
        objects = [{"Key": one.name, "VersionId": one.version} for one in versions[start : start + AT_ONCE]]
        answer = payer_records.bucket().delete_objects(
            Bucket=settings().bucket, Delete={"Objects": objects, "Quiet": True}
        )
        if kept := answer.get("Errors"):  # in an answer of status 200
            message = f"{len(kept)} files are kept. The erasure is unfinished: run the command again"
            raise ClientError({"Error": {"Code": kept[0]["Code"], "Message": message}}, "DeleteObjects")
