"""The command `payer`: find, export and erase the data of a payer in one merchant. docs/payer.md explains it."""

import argparse
import sys
from base64 import b64encode
from collections.abc import Iterable
from contextlib import closing
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import simplejson

from chalicelib import outside
from chalicelib.domain.business_days import text_of
from chalicelib.domain.deliveries import Delivery
from chalicelib.domain.events import Event
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.transaction import ERASED, Transaction
from chalicelib.log import log
from chalicelib.settings import settings
from chalicelib.store import drawers, events, history, linked_cards, merchants, outbox, transactions
from chalicelib.store.table import Value, encode, read, read_all
from infra.operator import payer_records, terminal
from infra.operator.erasure import (
    UnfinishedError,
    agent_to_erase,
    by_item,
    card_without_payer,
    changes_of,
    erase,
    erase_agent,
    families_to_erase,
    without_payer,
)
from infra.operator.payer_records import Address, Family, StoredFile, of_email, of_phone

FIND, EXPORT, ERASE = "find", "export", "erase"
BACKUP = timedelta(days=35)  # of point-in-time recovery
NOT_EXPORTED = {"agent", "merchant", "fingerprint", "auto_cancel_id", "host"}  # not the payer's
BACKUPS = """\
Backups: point-in-time recovery of the tables holds the erased data until {until}, the streams of two tables for a day.
Your own backups, downloaded exports and e-mails hold it for as long as you keep them.
After a restore from a backup, run this command again.
SES, SNS, acquirers and receivers of webhooks have copies of their own."""


def payer_command(options: argparse.Namespace) -> None:
    """Find, export or erase a payer's data. Exit with 1 and one line if nothing can be done, or was not confirmed."""
    if options.agent is not None and options.action == ERASE:
        _erase_agent(options.agent, is_confirmed=options.yes)
        return
    if options.merchant is None:
        options.misused("payer find|export|erase --merchant N, or payer erase --agent N")
    merchant = read(merchants.key(options.merchant))
    if merchant is None:
        sys.exit(f"There is no merchant {options.merchant}.")
    address, now = _address(options, merchant), outside.now()
    if options.action == ERASE:
        _erase(merchant, address, now, is_confirmed=options.yes)
        return
    if options.action == EXPORT:
        found = payer_records.families(merchant, now, payer_records.belongs_to(merchant, address))
        document = _document(merchant, address, found, now)
        print(simplejson.dumps(document, indent=2, use_decimal=True, ensure_ascii=False))
        return
    found = families_to_erase(merchant, address, now)
    terminal.show(*_places(merchant, address, found, now))
    print(f"{_text_of(_count(found), merchant)}.")


def _address(options: argparse.Namespace, merchant: Merchant) -> Address:
    email, phone = options.email, options.phone
    if email is None and phone is None:
        typed = _typed_address()
        email, phone = (typed, None) if "@" in typed else (None, typed)
    if not (email or phone) or (email and phone):
        sys.exit("Name the payer by --email, by --phone, or by one of both on standard input.")
    if email:
        address = of_email(email)
        return address or sys.exit("The e-mail address is not valid.")
    address = of_phone(phone, merchant.country_code)
    return address or sys.exit(
        "The telephone number is not valid: write it like +27 82 987 6543, or as in its country."
    )


def _typed_address() -> str:
    """Read the address from standard input. There, no other user of the machine sees it, unlike an argument."""
    if terminal.is_there():
        print("E-mail address or telephone number: ", end="", file=sys.stderr, flush=True)
    return terminal.line().strip()


def _count(found: Iterable[Family]) -> int:
    return sum(len(family.ids) for family in found)


def _text_of(count: int, merchant: Merchant) -> str:
    return f"{count} {'transaction' if count == 1 else 'transactions'} of merchant {merchant.id}"


def _erase(merchant: Merchant, address: Address, now: datetime, *, is_confirmed: bool) -> None:
    found = families_to_erase(merchant, address, now)
    count = _count(found)
    if not count and not payer_records.drawers_of(merchant, address):
        sys.exit(f"Nothing of this payer is found in merchant {merchant.id}.")
    question = f"Erase the payer's data in {_text_of(count, merchant)}? It cannot be undone."
    terminal.confirm(question, is_agreed=is_confirmed)
    try:
        erased = erase(merchant, address, found, now)
    except UnfinishedError:
        sys.exit("Requests kept changing these payments: run the command again to finish.")
    log("payer_erased", user=terminal.user(), merchant=merchant.id, transactions=erased)
    print(f"Erased the payer's data in {_text_of(erased, merchant)}.")
    print(BACKUPS.format(until=(now + BACKUP).date()))


def _erase_agent(number: int, *, is_confirmed: bool) -> None:
    (agent, merchant), now = agent_to_erase(number), outside.now()
    question = f"Erase name, e-mail and telephone of agent {agent.id}, {agent.name}? It cannot be undone."
    terminal.confirm(question, is_agreed=is_confirmed)
    try:
        erased = erase_agent(agent, merchant, now)
    except UnfinishedError:
        sys.exit("A payment of this agent has no outcome yet: run the command again when `status` names none.")
    print(f"Erased name, e-mail and telephone of agent {agent.id}, also in {erased} transactions.")
    print(BACKUPS.format(until=(now + BACKUP).date()))


def _records(found: Iterable[Family]) -> list[Transaction]:
    ids = [one for family in found for one in family.ids]
    return [record for record in read_all([transactions.key(one) for one in ids]) if record is not None]


def _places(merchant: Merchant, address: Address, found: list[Family], now: datetime) -> Iterable[str]:
    """Yield a line for each place with data of the payer: the table or the bucket, the key, and the attributes."""
    records = _records(found)
    addresses = [address, *payer_records.addresses_of(one.id for one in records)]
    for record in records:
        yield from _places_of_record(record, addresses)
        for file in payer_records.pictures_of(record.id):
            yield f"files  {file.name}  version {file.version}"
    for message in payer_records.messages_of(merchant, (one.id for one in records)):
        if set(message.to) != {ERASED}:
            yield f"{outbox.TABLE}  {message.id}  to"
    yield from _places_of_events(merchant, records, addresses, now)
    for card in payer_records.cards_of(records):
        if changes := changes_of(card, card_without_payer(card, address)):
            yield f"{linked_cards.TABLE}  {card.id}  {', '.join(sorted(changes))}"
    for drawer in payer_records.drawers_of(merchant, address):
        yield f"{drawers.TABLE}  {merchant.id} {drawer.place}  movements"
    for file in payer_records.exports_of(merchant.id) if records else ():
        yield f"files  {file.name}  version {file.version}, which may hold texts of these transactions"


def _places_of_record(record: Transaction, addresses: list[Address]) -> Iterable[str]:
    after = without_payer(record, lambda text: any(one.touches(text) for one in addresses))
    for of_item, changes in by_item(record, changes_of(record, after)):
        if changes:
            yield f"{transactions.TABLE}  {of_item.key['id']}  {', '.join(sorted(changes))}"
    written = (history.writes_for_completion(one) for one in (record, after))
    for old, new in zip(*([write.parameters["Item"] for write in writes] for writes in written), strict=True):
        if names := [name for name in sorted(old) if old[name] != new.get(name)]:
            yield f"{history.TABLE}  {old['month']['S']} {old['at']['S']}  {', '.join(names)}"


def _places_of_events(
    merchant: Merchant, records: list[Transaction], addresses: list[Address], now: datetime
) -> Iterable[str]:
    for event, _ in payer_records.events_of(merchant, records, now):
        if event.ext_id and any(one.touches(event.ext_id) for one in addresses):
            yield f"{events.TABLE}  {event.day} {event.place}  ext_id"
    for event, delivery in _answered(merchant, records, now):
        yield f"{events.TABLE}  {event.day} {delivery.place}  made"


def _answered(merchant: Merchant, records: list[Transaction], now: datetime) -> Iterable[tuple[Event, Delivery]]:
    for event, deliveries in payer_records.events_of(merchant, records, now):
        yield from (
            (event, one) for one in deliveries if any(made.answer not in {None, "", ERASED} for made in one.made)
        )


def _document(merchant: Merchant, address: Address, found: list[Family], now: datetime) -> dict[str, Any]:
    """Return the payer's data as JSON values, under the names of the stored attributes."""
    records = _records(found)
    return {
        "merchant": {"id": merchant.id, "name": merchant.name},
        "exported_at": text_of(now, merchant.gmt),
        "transactions": [_exported(record) for record in records],
        "messages": [_plain(encode(one)) for one in payer_records.messages_of(merchant, (one.id for one in records))],
        "answers_of_webhooks": [
            {"event_id": event.id, "transaction_id": event.transaction_id, **_plain(encode(delivery))}
            for event, delivery in _answered(merchant, records, now)
        ],
        "linked_cards": [_plain(encode(card.details)) for card in payer_records.cards_of(records)],
        "drawers": [
            {"place": one.place, "note": note}
            for one in payer_records.drawers_of(merchant, address)
            for note in payer_records.notes_in(one, address)
        ],
    }


def _exported(record: Transaction) -> dict[str, Any]:
    item = {name: value for name, value in encode(record).items() if name not in NOT_EXPORTED}
    exported = _plain(item)
    if pictures := payer_records.pictures_of(record.id):
        exported["files"] = [{"name": one.name, "version": one.version, "base64": _content_of(one)} for one in pictures]
    return exported


def _content_of(file: StoredFile) -> str | None:
    """Return the content of a version of a file, in Base64; None for the mark of a deletion."""
    if file.is_mark:
        return None
    answer = payer_records.bucket().get_object(Bucket=settings().bucket, Key=file.name, VersionId=file.version)
    with closing(answer["Body"]) as body:
        return b64encode(body.read()).decode()


def _plain(item: Value) -> dict[str, Any]:
    return {name: _plain_value(value) for name, value in item.items()}


def _plain_value(value: Value) -> Any:
    ((kind, content),) = value.items()
    match kind:
        case "N":
            return Decimal(content)
        case "L":
            return [_plain_value(one) for one in content]
        case "M":
            return _plain(content)
        case _:
            return content
