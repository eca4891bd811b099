"""The stored data of a payer in one merchant: its address, its transactions, and the records and files around them.

A payment belongs to a payer if one of its addresses is the payer's, or one of its texts names it. So does one whose
receipt was sent to this address later. A payment and its reversals are one family. The search reads every transaction
of the merchant and every stored message of the stage, because no index holds addresses.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cached_property
from itertools import islice
from typing import Any
from unicodedata import normalize

import phonenumbers

from chalicelib import outside, phone_numbers
from chalicelib.domain.agent import Agent
from chalicelib.domain.business_days import business_day
from chalicelib.domain.card import LinkedCard
from chalicelib.domain.deliveries import Delivery
from chalicelib.domain.drawer import Drawer
from chalicelib.domain.events import Event, spans
from chalicelib.domain.history_filter import HistoryFilter
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.outbox import Outbox
from chalicelib.domain.payment import OFFLINE_FOR
from chalicelib.domain.transaction import ERASED, Transaction
from chalicelib.schemas.field_types import is_email
from chalicelib.settings import settings
from chalicelib.store import deliveries as deliveries_store
from chalicelib.store import drawers, history_lists, linked_cards, outbox, transactions
from chalicelib.store.table import BATCH, decode, read_all, table_name, value_of
from infra.operator import items

THREADS = 8  # parallel reads: most of the time is spent waiting for the store
AHEAD = timedelta(days=7)  # after now and the last Deadline: later records have a wrong clock
GAP = r"[^0-9A-Za-z]{0,3}"  # between the digits of a telephone number as people write it


def folded(text: str) -> str:
    """Return the form of a text that is compared: without case, and with plain letters for full-width ones."""
    return normalize("NFKC", text).casefold()


@dataclass(frozen=True)
class Address:
    """A folded e-mail address, or a telephone number as E.164."""

    stored: str

    def equals(self, field: str | None) -> bool:
        """Return whether a field holds exactly this address."""
        return field is not None and folded(field) == self.stored

    def stands_in(self, text: str) -> bool:
        """Return whether a text names this address as a whole word: joann@shop.example is not ann@shop.example."""
        return self._pattern.search(folded(text)) is not None

    def touches(self, text: str) -> bool:
        """Return whether a text contains this address in any way, also inside a longer word."""
        return self.stored in folded(text) or self.stands_in(text)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        if "@" in self.stored:
            return re.compile(rf"(?<![\w.%+-]){re.escape(self.stored)}(?![\w-]|\.\w)")
        number = phonenumbers.parse(self.stored)
        own = phonenumbers.national_significant_number(number)
        national = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.NATIONAL)
        digits = re.sub("[^0-9]", "", national)
        trunk = GAP.join(digits.removesuffix(own)) if digits.endswith(own) else ""
        country = GAP.join(str(number.country_code))
        international = rf"(?:00{GAP})?{country}{GAP}(?:{trunk}{GAP})?"
        return re.compile(rf"(?<![0-9])(?:{international}|{trunk}{GAP}){GAP.join(own)}(?![0-9])")


def of_email(text: str) -> Address | None:
    """Return the address of an e-mail in any case; None for another text."""
    return Address(folded(text.strip())) if is_email(text.strip()) else None


def of_phone(text: str, country_code: str | None) -> Address | None:
    """Return the address of a telephone number, international or national in a country (alpha-2); None otherwise."""
    number = phone_numbers.parse(text, country_code)
    return Address(number.e164) if number else None


def addresses_in(transaction: Transaction) -> set[str]:
    """Return the addresses of a transaction's receipts."""
    carried, receipt = transaction.particulars, transaction.receipt.addresses
    return {one for one in (carried.receipt_email, carried.receipt_phone, *(receipt.all if receipt else ())) if one}


def names(transaction: Transaction, address: Address) -> bool:
    """Return whether a transaction has an address, or a text of it names the address."""
    texts = filter(None, _texts_of_request(transaction))
    return any(map(address.equals, addresses_in(transaction))) or any(map(address.stands_in, texts))


def _texts_of_request(transaction: Transaction) -> Iterator[str | None]:
    carried, taxes = transaction.particulars, transaction.receipt.taxes
    yield from (carried.description, carried.client_product_code, carried.ext_id, carried.ext_tran_data)
    yield from (str(carried.offline_queue_id or ""), transaction.invoice, transaction.original.invoice)
    yield from (taxes.scheme, *taxes.codes) if taxes else ()
    for line in transaction.receipt.purchases:
        yield from (line.title, *line.tax_codes)


@dataclass(frozen=True)
class Family:
    """A payment and its reversals: their IDs, the payment's first."""

    ids: tuple[str, ...]
    is_new: bool  # at least one of them still holds data of the payer


def families(merchant: Merchant, now: datetime, is_wanted: Callable[[Transaction], bool]) -> list[Family]:
    """Return the families of a merchant with at least one wanted transaction. Every read is strong."""
    reversals: defaultdict[str, list[str]] = defaultdict(list)
    erased: set[str] = set()
    wanted: dict[str, None] = {}
    for one in _transactions(merchant, now):
        root = one.original.id or one.id
        if one.is_reversal:
            reversals[root].append(one.id)
        if one.erasure:
            erased.add(one.id)
        if is_wanted(one):
            wanted[root] = None
    return [Family(ids := (root, *reversals[root]), not erased.issuperset(ids)) for root in wanted]


def _transactions(merchant: Merchant, now: datetime) -> Iterator[Transaction]:
    first, last = _first_day(merchant), business_day(now + AHEAD, merchant.gmt)
    stretch = history_lists.Stretch(
        merchant.id, None, datetime.combine(first, time.min), datetime.combine(last + timedelta(days=1), time.min)
    )
    ids = (entry.id for entry in history_lists.between(stretch, HistoryFilter()))
    with ThreadPoolExecutor(THREADS) as pool:
        while some := list(islice(ids, BATCH * THREADS)):
            for records in pool.map(_records, items.batches(some)):
                yield from filter(None, records)


def _records(ids: Iterable[str]) -> list[Transaction | None]:
    return read_all([transactions.key(one) for one in ids])


def _first_day(merchant: Merchant) -> date:
    """Return the first day that can have a transaction: that of the oldest possible offline payment."""
    return business_day(merchant.created_at - OFFLINE_FOR - timedelta(days=1), merchant.gmt)


def addresses_of(ids: Iterable[str]) -> list[Address]:
    """Return the addresses of the receipts of these transactions."""
    found = {one for record in filter(None, _records(ids)) for one in addresses_in(record) if one != ERASED}
    return [one for text in sorted(found) if (one := of_email(text) or of_phone(text, None))]


def belongs_to(merchant: Merchant, address: Address) -> Callable[[Transaction], bool]:
    """Return whether a transaction of the merchant is a payer's, also because of a receipt that was sent later."""
    received = {
        message.transaction_id for message in _messages(merchant) if any(address.equals(one) for one in message.to)
    }
    return lambda one: one.id in received or names(one, address)


def messages_of(merchant: Merchant, ids: Iterable[str]) -> list[Outbox]:
    """Return the stored messages with receipts of these transactions."""
    wanted = set(ids)
    return [message for message in _messages(merchant) if message.transaction_id in wanted]


def of_agent(merchant: Merchant, agent_id: int, now: datetime) -> list[Transaction]:
    """Return the transactions of an agent that hold its name or addresses."""
    own = (one for one in _transactions(merchant, now) if one.agent.id == agent_id)
    return [one for one in own if {one.agent.name, one.agent.email, one.agent.phone} != {ERASED}]


def messages_to(agent: Agent) -> Iterator[Outbox]:
    """Yield the stored messages to an agent, such as its welcome."""
    for page in items.pages(table_name(outbox.TABLE)):
        found = (decode(Outbox, one) for one in page if "transaction_id" not in one and "to" in one)
        yield from (one for one in found if folded(agent.email) in map(folded, one.to))


def _messages(merchant: Merchant) -> Iterator[Outbox]:
    """Yield the stored messages with receipts of a merchant. Any number of receipts may be sent later."""
    owner = value_of(merchant.id)
    for page in items.pages(table_name(outbox.TABLE)):
        yield from (decode(Outbox, one) for one in page if "transaction_id" in one and one["client_id"] == owner)


def events_of(
    merchant: Merchant, found: Sequence[Transaction], now: datetime
) -> Iterator[tuple[Event, list[Delivery]]]:
    """Yield the stored events of these transactions with their deliveries."""
    ids = {one.id for one in found}
    begin = min((one.created_at for one in found), default=now)
    end = max(now, *(one.deadline for one in found)) + AHEAD if found else now
    for span in spans(merchant.id, begin, end):
        for event, stored in deliveries_store.between(*span):
            if event.transaction_id in ids:
                yield event, deliveries_store.deliveries_in(stored)


def drawers_of(merchant: Merchant, address: Address) -> list[Drawer]:
    """Return the drawers with a note that names an address."""
    return [one for one in drawers.of_merchant(merchant.id) if any(notes_in(one, address))]


def notes_in(drawer: Drawer, address: Address) -> Iterator[str]:
    """Yield the notes of a drawer that name an address."""
    return (one.note for one in drawer.movements if one.note and address.touches(one.note))


def cards_of(found: Iterable[Transaction]) -> list[LinkedCard]:
    """Return the linked cards that paid."""
    linked = {one.card_entry.linked_id for one in found if one.card_entry.linked_id is not None}
    return [card for card in read_all([linked_cards.key(one) for one in sorted(linked)]) if card is not None]


@dataclass(frozen=True)
class StoredFile:
    """A version of a file in the bucket."""

    name: str
    version: str
    is_mark: bool = False  # of a deletion, without content


def files_below(prefix: str) -> list[StoredFile]:
    """Return every version of the files whose names begin with a prefix, and the marks of deleted files."""
    pages = bucket().get_paginator("list_object_versions").paginate(Bucket=settings().bucket, Prefix=prefix)
    return [
        StoredFile(version["Key"], version["VersionId"], is_mark=is_mark)
        for page in pages
        for versions, is_mark in (("Versions", False), ("DeleteMarkers", True))
        for version in page.get(versions, ())
    ]


def pictures_of(transaction_id: str) -> list[StoredFile]:
    """Return every version of the photo and the signature of a payment."""
    return files_below(f"transactions/{transaction_id}/")


def exports_of(merchant_id: int) -> list[StoredFile]:
    """Return every version of the exports of a merchant, whose texts are copies of the history's entries."""
    return files_below(f"exports/{merchant_id}/")


def bucket() -> Any:
    """Return the client of the object storage."""
    return outside.current.boto3_client("s3", attempts=3, read_seconds=20, signature_version="s3v4")
