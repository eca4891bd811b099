"""The command `court`: export transactions for a court or the police, hold them, lift a hold, and list the holds.

A payment and its reversals belong together. Only the partitions of the history in the chosen time are read, and the
records in them; messages have no index, so all stored messages of the stage are read. docs/payer.md explains it.
"""

import argparse
import getpass
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain
from typing import Any

from chalicelib import clock
from chalicelib.domain.business_days import instant_of, to_local
from chalicelib.domain.card import mistyped
from chalicelib.domain.history_entry import entry_of
from chalicelib.domain.history_filter import HistoryFilter, SearchText
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.secret import Secret, masked_number
from chalicelib.domain.transaction import ERASED, Transaction
from chalicelib.gateways.secrets import card_digests
from chalicelib.log import log
from chalicelib.receipts.content import has_receipt, receipt_of
from chalicelib.receipts.text_and_sms import as_text
from chalicelib.record import Record
from chalicelib.settings import settings
from chalicelib.store import agents, audit, history, merchants, transactions
from chalicelib.store.audit import OPERATOR, Act, Audit
from chalicelib.store.history import Stretch
from chalicelib.store.table import BATCH, encode, read, read_all
from infra.operator import holds, items, payer_records
from infra.operator.payer import content_of, plain, user
from infra.operator.payer_records import AHEAD, first_day, of_email, of_phone

EXPORT, HOLD, LIFT, LIST = "export", "hold", "lift", "holds"
# With the digest keys, two of them would tell the card's number. The third names other orders.
NOT_EXPORTED = {"fingerprint", "card_digest", "holds"}
BY_DIGEST, BY_MASK = "digest of the card's number", "first six and last four digits of the card only"
BY_EMAIL, BY_PHONE = "e-mail address of the payer", "telephone number of the payer"
NOT_THERE = [
    "Card numbers and CVV2 are never stored.",
    "Events and sent messages are deleted after 30 days, sessions after their end, exported files after a day.",
    "Requests and source addresses are in the logs of the functions and of API Gateway, for LogDays.",
    "The acquirer, the mail provider and receivers of webhooks have records of their own.",
]


class Found(Record):
    """A transaction, and how it was found."""

    record: Transaction
    found_by: str


class Order(Record):
    """The transactions that an order asks for: by ID, or by merchants, time, till, payer and card."""

    merchants: tuple[Merchant, ...]
    ids: tuple[str, ...]
    begin: str | None
    end: str | None
    agent_id: int | None
    terminal_id: int | None
    email: str | None
    phone: str | None
    card: Secret | None = None

    @property
    def mask(self) -> str | None:
        """Return the masked number of the card."""
        return masked_number(self.card.reveal()[:6], self.card.reveal()[-4:]) if self.card else None

    @property
    def asked(self) -> dict[str, Any]:
        """Return the question without the card's number."""
        facts = {
            "merchants": [one.id for one in self.merchants],
            "transactions": list(self.ids),
            "from": self.begin,
            "to": self.end,
            "agent": self.agent_id,
            "terminal": self.terminal_id,
            "email": self.email,
            "phone": self.phone,
            "card": self.mask,
        }
        return {name: value for name, value in facts.items() if value}

    def span(self, merchant: Merchant) -> tuple[datetime, datetime]:
        """Return the time in the merchant's zone, without its end. A day as end is included."""
        first = datetime.combine(first_day(merchant), time.min)
        last = to_local(clock.now() + AHEAD, merchant.gmt)
        begin = to_local(instant_of(self.begin, merchant.gmt), merchant.gmt) if self.begin else first
        end = to_local(instant_of(self.end, merchant.gmt), merchant.gmt) if self.end else last
        return begin, end + timedelta(days=1) if self.end and len(self.end) == len("2026-03-14") else end


def court_command(options: argparse.Namespace) -> None:
    """Export, hold, lift or list. Exit with 1 and a line if nothing can be done."""
    now = clock.now()
    if options.action == LIST:
        _list()
        return
    reference = (options.reference or "").strip()
    if not reference or "=" in reference or not reference.isprintable():
        sys.exit("Name the order: --reference, a text without the sign =.")
    if options.action == LIFT:
        _lift(reference, now)
        return
    order = _order(options)
    found, missing = _found(order)
    if options.action == HOLD:
        _hold(reference, options.until, [one.record for one in found], missing)
        return
    _export(reference, order, found, missing, now)
    if missing:
        sys.exit("\n".join(f"Not exported: {one}" for one in missing))


def _list() -> None:
    found = holds.all_holds()
    for hold in found:
        ends = f", until {hold.until}" if hold.until else ""
        print(f"{hold.reference}: {len(hold.ids)} transactions{ends}; placed {', '.join(hold.placed)}")
    if not found:
        print("No transaction is held.")


def _lift(reference: str, now: datetime) -> None:
    hold = next((one for one in holds.all_holds() if one.reference == reference), None)
    if hold is None:
        sys.exit("There is no hold with this reference: `court holds` lists them.")
    holds.lift(hold, user(), now)
    log("court_hold_lifted", user=user(), transactions=len(hold.ids))
    print(f"{len(hold.ids)} transactions are no longer held by {reference}.")


def _hold(reference: str, until: str | None, found: list[Transaction], missing: list[str]) -> None:
    try:
        last = date.fromisoformat(until) if until else None
    except ValueError:
        sys.exit("--until is a day, such as 2027-03-31.")
    if not found:
        sys.exit("\n".join(["No stored transaction matches: nothing is held.", *missing]))
    # The time is now: the search was long, and a lift meanwhile must not come after this in the audit.
    holds.place(reference, [one.id for one in found], last, user(), clock.now())
    log("court_hold_placed", user=user(), transactions=len(found))
    late = [
        one.id for one in read_all([transactions.key(one.id) for one in found], for_list=True) if one and one.erasure
    ]
    print(f"{len(found)} transactions are held by {reference}. Later ones are not: run the command again for them.")
    problems = [f"The payer's data was erased before, in whole or in part: {' '.join(late)}"] if late else []
    if lines := [*problems, *(f"Not held: {one}" for one in missing)]:
        sys.exit("\n".join(lines))


# Finding


def _order(options: argparse.Namespace) -> Order:
    agent = read(agents.key(options.agent)) if options.agent is not None else None
    terminal = read(merchants.terminal_key(options.terminal)) if options.terminal is not None else None
    named = list(dict.fromkeys(options.merchant or (one.client_id for one in (agent, terminal) if one)))
    ids = tuple(dict.fromkeys(one.strip().upper() for one in options.transaction or () if one.strip()))
    if ids and (options.card or any((options.begin, options.end, options.email, options.phone))):
        sys.exit("--transaction names each transaction: leave out --from, --to, --email, --phone and --card.")
    if bool(ids) == bool(named):
        sys.exit("Name transactions by --transaction, or a merchant, an agent or a terminal that is stored.")
    chosen = read_all([merchants.key(one) for one in named])
    if None in chosen:
        sys.exit(f"There is no merchant {named[chosen.index(None)]}.")
    order = Order(
        tuple(chosen), ids, options.begin, options.end, options.agent, options.terminal, options.email, options.phone
    )
    _check(order)
    return Order(**{**vars(order), "card": _typed_card()}) if options.card else order


def _check(order: Order) -> None:
    if order.email is not None and order.phone is not None:
        sys.exit("Name the payer by --email or by --phone, not by both.")
    for merchant in order.merchants:
        try:
            begin, end = order.span(merchant)
        except (ValueError, OverflowError):
            sys.exit("--from and --to are days or times, such as 2026-03-14 or 2026-03-14T09:30.")
        if begin >= end:
            sys.exit("--to is before --from.")


def _typed_card() -> Secret:
    typed = getpass.getpass("Card number: ") if sys.stdin.isatty() else sys.stdin.readline()
    number = typed.strip().replace(" ", "").replace("-", "")
    if problems := mistyped(Secret(number), "card.pan"):
        sys.exit("\n".join(one.message for one in problems))
    return Secret(number)


def _found(order: Order) -> tuple[list[Found], list[str]]:
    """Return the transactions of the order with their families, and a line for each that is not there."""
    how = dict.fromkeys(order.ids, "its ID")
    for merchant in order.merchants:
        how |= _of_merchant(order, merchant)
    records, missing = _records(how)
    roots = {one.original.id or one.id for one in records.values()}
    more = dict.fromkeys(roots - how.keys(), "its reversal")
    payments, lost = _records(more)
    payments |= {one: record for one, record in records.items() if not record.is_reversal}
    reversals, unread = _records(dict.fromkeys(_reversals_of(payments.values(), records), "its payment"))
    how |= more | dict.fromkeys(reversals.keys() - how.keys(), "its payment")
    together = {**records, **payments, **reversals}
    ordered = sorted(together.values(), key=lambda one: (one.original.id or one.id, one.is_reversal, one.created_at))
    return [Found(one, how[one.id]) for one in ordered], [*missing, *lost, *unread]


def _records(ids: Iterable[str]) -> tuple[dict[str, Transaction], list[str]]:
    """Return the records by their IDs, and a line for each that is missing or unreadable."""
    wanted = list(ids)
    found = zip(wanted, read_all([transactions.key(one) for one in wanted], for_list=True), strict=True)
    records = {one: record for one, record in found if record is not None}
    return records, [f"transaction {one}: no readable record" for one in wanted if one not in records]


def _of_merchant(order: Order, merchant: Merchant) -> dict[str, str]:
    begin, end = order.span(merchant)
    wanted = HistoryFilter(search=SearchText(order.mask)) if order.mask else HistoryFilter()
    entries = history.between(Stretch(merchant.id, order.agent_id, begin, end), wanted)
    payers = _of_payer(order, merchant)
    found: dict[str, str] = {}
    ids = [one.id for one in entries if payers is None or one.id in payers]
    for start in range(0, len(ids), BATCH):
        records, _ = _records(some := ids[start : start + BATCH])
        found |= dict.fromkeys(
            (one for one in some if one not in records), "its entry in the history"
        )  # later it is named as missing
        for record in records.values():
            if order.terminal_id in {None, record.terminal_id} and (how := _fits(order, record)):
                found[record.id] = how
    return found


def _of_payer(order: Order, merchant: Merchant) -> set[str] | None:
    if order.email is None and order.phone is None:
        return None
    address = of_email(order.email) if order.email is not None else of_phone(order.phone or "", merchant.country_code)
    if address is None:
        sys.exit("The address is not valid.")
    belongs = payer_records.belongs_to(merchant, address)
    return set(chain.from_iterable(one.ids for one in payer_records.families(merchant, clock.now(), belongs)))


def _fits(order: Order, record: Transaction) -> str | None:
    """Return how a transaction fits the order; None for another card. A linked card has no digest."""
    by_address = BY_EMAIL if order.email else BY_PHONE if order.phone else None
    if order.card is None:
        return by_address or "place and time"
    by_card = _fits_card(order, order.card, record)
    return f"{by_address}, and {by_card}" if by_address and by_card else by_card


def _fits_card(order: Order, card: Secret, record: Transaction) -> str | None:
    if record.card is None or record.card.masked != order.mask or record.is_reversal:
        return None
    digest = record.card_entry.digest
    if digest is None:
        return BY_MASK
    return BY_DIGEST if digest in card_digests(record.id, card) else None


def _reversals_of(payments: Iterable[Transaction], known: Mapping[str, Transaction]) -> Iterator[str]:
    """Yield the IDs of the reversals of payments. Only the history names all of them, from the payment's day on."""
    by_merchant: dict[int, list[Transaction]] = {}
    for one in payments:
        if one.reversals.requested_id:
            by_merchant.setdefault(one.client_id, []).append(one)
    for client_id, reversed_ones in by_merchant.items():
        roots = {one.id for one in reversed_ones}
        first = min(to_local(one.counts_at, one.gmt) for one in reversed_ones)
        last = to_local(clock.now() + AHEAD, reversed_ones[0].gmt)
        only = (*history.WITHOUT_TEXTS, "original_id")
        for entry in history.between(Stretch(client_id, None, first, last), HistoryFilter(), only):
            if entry.original_id in roots and entry.id not in known:
                yield entry.id


# The export


def _export(reference: str, order: Order, found: list[Found], missing: list[str], now: datetime) -> None:
    content = _json_value(_content(reference, found, missing, now))
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    custody = {
        "reference": reference,
        "made_at": now.isoformat(timespec="seconds"),
        "made_by": user(),
        "stage": settings().stage,
        "command": "court export",
        "asked": order.asked,
        "transactions": len(found),
        "sha256_of_content": hashlib.sha256(text.encode()).hexdigest(),
    }
    act = Act("court", OPERATOR, now)
    for client_id in sorted({one.record.client_id for one in found}):
        audit.store(f"merchant#{client_id}", act, [f"reference={reference}", f"by={user()}"])
    log("court_exported", user=user(), transactions=len(found))
    print(json.dumps({"custody": custody, "content": content}, indent=2, ensure_ascii=False))


def _content(reference: str, found: list[Found], missing: list[str], now: datetime) -> dict[str, Any]:
    records = [one.record for one in found]
    of_agents = {one.agent.id for one in records} | {one.original.agent_id for one in records}
    objects = {
        *(f"agent#{one}" for one in of_agents if one is not None),
        *(f"terminal#{one.terminal_id}" for one in records),
        *(f"merchant#{one.client_id}" for one in records),
        holds.OBJECT,
    }
    content: dict[str, Any] = {
        "transactions": [_transaction(one) for one in found],
        "linked_cards": [plain(encode(card)) for card in payer_records.cards_of(records)],
        "messages": [],
        "events": [],
        "audit": [
            plain(encode(one)) for name in sorted(objects) for one in audit.of(name) if _may_know(reference, one)
        ],
    }
    for merchant in read_all([merchants.key(one) for one in sorted({one.client_id for one in records})]):
        own = [one for one in records if merchant and one.client_id == merchant.id]
        if own:
            messages = payer_records.messages_of(merchant, (one.id for one in own))
            content["messages"] += [plain(encode(one)) for one in messages]
            content["events"] += [
                {**plain(encode(event)), "deliveries": [plain(encode(one)) for one in deliveries]}
                for event, deliveries in payer_records.events_of(merchant, own, now)
            ]
    erased = [f"transaction {one.id}: the payer's data was erased ({one.erasure})" for one in records if one.erasure]
    return {**content, "not_there": [*missing, *erased, *NOT_THERE]}


def _may_know(reference: str, entry: Audit) -> bool:
    """Return whether an entry of the audit names no other order, which may be secret."""
    named = {one for one in entry.fields if one.startswith(f"{holds.REFERENCE}=")}
    return named <= {f"{holds.REFERENCE}={reference}"}


def _transaction(found: Found) -> dict[str, Any]:
    record = found.record
    item = {name: value for name, value in encode(record).items() if name not in NOT_EXPORTED}
    keys = [key.wire() for key in history.keys_of(record, entry_of(record))]
    return {
        "id": record.id,
        "found_by": found.found_by,
        "record": {**plain(item), "details": payer_records.read_json(record.raw_request)},
        "history": [plain(one) for one in items.items_at(history.TABLE, keys).values()],
        "receipt": as_text(receipt_of(record)) if has_receipt(record) and record.raw_request != ERASED else None,
        "files": [
            {"name": one.name, "version": one.version, "base64": content_of(one)}
            for one in payer_records.pictures_of(record.id)
        ],
    }


def _json_value(value: Any) -> Any:
    """Return a value with whole numbers and texts only, so that every reader computes the same digest."""
    match value:
        case dict():
            return {str(name): _json_value(one) for name, one in value.items()}
        case list() | tuple():
            return [_json_value(one) for one in value]
        case set() | frozenset():
            return sorted(_json_value(one) for one in value)
        case Decimal():
            return int(value) if value == value.to_integral_value() and abs(value) < 2**53 else str(value)
        case float():
            return str(value)
        case _:
            return value
