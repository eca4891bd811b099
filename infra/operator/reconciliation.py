"""Reconciliation: read our bookings of a day at one acquirer, and compare them with the list of its host."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from itertools import chain, zip_longest

from chalicelib.domain.history_entry import HistoryEntry
from chalicelib.domain.history_filter import HistoryFilter
from chalicelib.domain.money import Currency, from_minor
from chalicelib.domain.phases import PENDING, Phase
from chalicelib.domain.reversibility import CANCELS
from chalicelib.domain.transaction import HostFacts
from chalicelib.store import history_lists, merchants, sequences, transactions
from chalicelib.store.table import Key, read_all
from infra.operator import items

THREADS = 8  # parallel reads: most of the time is spent waiting for the store
PURCHASE, REFUND = "purchase", "refund"
NOTHING = "-"  # where one side has nothing to show
LISTED = "listed"  # the host's side of a difference in state
MADE_PHASES = frozenset({Phase.APPROVED, Phase.AWAITING_COMPLETION, Phase.REVERSAL_APPROVED})


class Standing(StrEnum):
    """The standing of a transaction in our books: it counts, may count later, or does not count."""

    MADE = "made"
    OPEN = "open"
    NOT_MADE = "not made"


class Field(StrEnum):
    """The field that differs. OPEN is no difference: our outcome is pending, and the host does not list it."""

    MISSING_HERE = "missing here"
    MISSING_THERE = "missing there"
    DUPLICATE = "duplicate"
    STATE = "state"
    DATE = "date"
    RRN = "RRN"
    TYPE = "type"
    AMOUNT = "amount"
    CURRENCY = "currency"
    APPROVAL_CODE = "approval code"
    TID = "TID"
    STAN = "STAN"
    OPEN = "open"


@dataclass(frozen=True)
class BookedTransaction:
    """The fields of a stored transaction for a reconciliation. Reading all fields takes half as long again."""

    id: str
    client_id: int
    phase: Phase
    terminal_name: str
    currency: Currency
    amount_minor: int
    result_approval_code: str | None = None
    result_rrn: str | None = None
    result_acquirer_tran_id: str | None = None
    original_id: str | None = None
    host: HostFacts | None = None


ATTRIBUTES = tuple(one.name for one in fields(BookedTransaction))  # each is stored under its own name


@dataclass(frozen=True, slots=True)
class Booking:
    """A purchase or a refund in our books. A missing RRN or approval code is "", a missing STAN is None.

    An acquirer without RRNs has its own ID of the transaction in their place.
    """

    id: str
    rrn: str
    stan: int | None
    merchant: int  # its ID
    tid: str
    type: str
    amount: Decimal
    currency: str  # alpha-3
    approval_code: str
    state: str  # for people
    standing: Standing

    @property
    def shop(self) -> str:
        """Return the merchant and the terminal."""
        return f"merchant {self.merchant}, terminal {self.tid}"

    def __str__(self) -> str:
        return f"{self.type} {self.amount:f} {self.currency}"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a host's list.

    The amount is written as the host writes it, not in minor units. So "12.30" in a currency without decimals is a
    reported difference, and not an error that stops the reading. A field that a list does not have is None.
    """

    line: int
    day: date
    rrn: str
    stan: int | None
    tid: str | None
    type: str
    amount: Decimal
    currency: str  # alpha-3
    approval_code: str | None

    @property
    def shop(self) -> str:
        """Return the terminal. The list does not know our merchants."""
        return f"terminal {self.tid}"

    def __str__(self) -> str:
        return f"{self.type} {self.amount:f} {self.currency}"


@dataclass(frozen=True, slots=True)
class Difference:
    """A field in which the two sides differ, with the value of each side."""

    rrn: str
    id: str
    field: Field
    ours: str
    theirs: str
    shop: str  # the TID, with the merchant where we have the transaction

    def __str__(self) -> str:
        values = f"ours {self.ours}, theirs {self.theirs}"
        return f"{self.id:<36}  {self.rrn:<12}  {self.field:<13}  {values}; {self.shop}"


@dataclass(frozen=True)
class Cancels:
    """The IDs of cancelled payments, and of payments with a pending cancel."""

    done: frozenset[str]
    pending: frozenset[str]


def cancels_of(cancels: Iterable[BookedTransaction]) -> Cancels:
    """Return the effect of these cancels on their payments. A declined cancel has no effect."""
    done, pending = set(), set()
    for cancel in cancels:
        if cancel.phase is Phase.REVERSAL_APPROVED:
            done.add(cancel.original_id or "")
        elif cancel.phase in PENDING:
            pending.add(cancel.original_id or "")
    return Cancels(frozenset(done), frozenset(pending))


def booking_of(transaction: BookedTransaction, cancels: Cancels) -> Booking:
    """Return a purchase or a refund as a booking."""
    state, standing = _standing(transaction, cancels)
    return Booking(
        id=transaction.id,
        rrn=transaction.result_rrn or transaction.result_acquirer_tran_id or "",
        stan=transaction.host.trace.stan if transaction.host else None,
        merchant=transaction.client_id,
        tid=transaction.terminal_name.strip(),
        type=REFUND if transaction.original_id else PURCHASE,
        amount=from_minor(transaction.amount_minor, transaction.currency),
        currency=transaction.currency.code,
        approval_code=transaction.result_approval_code or "",
        state=state,
        standing=standing,
    )


def _standing(transaction: BookedTransaction, cancels: Cancels) -> tuple[str, Standing]:
    """Return the state in words, and the standing. A cancel decides the standing of its payment."""
    if transaction.id in cancels.done:
        return "cancelled", Standing.NOT_MADE
    if transaction.phase in MADE_PHASES and transaction.id in cancels.pending:
        return "cancelling", Standing.OPEN
    state = transaction.phase.name.lower().replace("_", " ")
    if transaction.phase in MADE_PHASES:
        return state, Standing.MADE
    return state, Standing.OPEN if transaction.phase in PENDING else Standing.NOT_MADE


def compare(books: Iterable[Booking], rows: Iterable[Row], day: date) -> list[Difference]:
    """Return all differences between the books and the list of a day, and the open bookings, ordered by RRN."""
    ours: defaultdict[str, list[Booking]] = defaultdict(list)
    theirs: defaultdict[str, list[Row]] = defaultdict(list)
    for booking in books:
        ours[booking.rrn or f"{NOTHING} {booking.id}"].append(booking)  # a booking without an RRN is on its own
    for row in rows:
        theirs[row.rrn].append(row)
    found = [one for rrn in ours.keys() | theirs.keys() for one in _of_rrn(ours.get(rrn, []), theirs.get(rrn, []), day)]
    return sorted(found, key=lambda one: (one.rrn, one.id, list(Field).index(one.field), one.theirs))


def _of_rrn(ours: list[Booking], theirs: list[Row], day: date) -> Iterator[Difference]:
    """Yield the differences of one RRN. Usually each side has one transaction; further ones are paired in order."""
    ours = sorted(ours, key=lambda one: (one.standing is not Standing.MADE, one.id))
    for number, (booking, row) in enumerate(zip_longest(ours, theirs)):
        if booking and number:
            yield Difference(booking.rrn, booking.id, Field.RRN, f"also of {ours[0].id}", NOTHING, booking.shop)
        if booking and row:
            yield from _of_pair(booking, row, day)
        elif booking:
            yield from _unlisted(booking)
        elif row and number:
            last = ours[-1].id if ours else NOTHING
            yield Difference(row.rrn, last, Field.DUPLICATE, NOTHING, f"{row} again in line {row.line}", row.shop)
        elif row and row.day != day:
            yield Difference(row.rrn, NOTHING, Field.DATE, str(day), str(row.day), row.shop)
        elif row:
            yield Difference(row.rrn, NOTHING, Field.MISSING_HERE, NOTHING, str(row), row.shop)


def _unlisted(booking: Booking) -> Iterator[Difference]:
    rrn = booking.rrn or NOTHING
    if booking.standing is Standing.MADE:
        yield Difference(rrn, booking.id, Field.MISSING_THERE, str(booking), NOTHING, booking.shop)
    elif booking.standing is Standing.OPEN:
        yield Difference(rrn, booking.id, Field.OPEN, f"{booking}, {booking.state}", NOTHING, booking.shop)


def _of_pair(booking: Booking, row: Row, day: date) -> Iterator[Difference]:
    """Yield the fields in which a transaction and its row differ."""
    pairs: list[tuple[Field, object, object]] = [
        (Field.DATE, day, row.day),
        (Field.TYPE, booking.type, row.type),
        (Field.AMOUNT, booking.amount, row.amount),
        (Field.CURRENCY, booking.currency, row.currency),
    ]
    if row.tid is not None:
        pairs += [(Field.TID, booking.tid, row.tid), (Field.STAN, booking.stan, row.stan)]
    if booking.standing is not Standing.MADE:  # it has no approval code, because no approval was accepted
        pairs.append((Field.STATE, booking.state, LISTED))
    elif row.approval_code or (
        row.approval_code is not None and booking.type != REFUND
    ):  # a list may omit the code of a refund
        pairs.append((Field.APPROVAL_CODE, booking.approval_code, row.approval_code))
    for field, mine, other in pairs:
        if mine != other:
            yield Difference(booking.rrn, booking.id, field, _text(mine), _text(other), booking.shop)


def _text(value: object) -> str:
    match value:
        case Decimal():
            return f"{value:f}"
        case int():
            return f"{value:06d}"  # a STAN as in the message
        case None | "":
            return NOTHING
    return str(value)


def books_of(acquirer: str, day: date) -> list[Booking]:
    """Return the purchases and refunds that merchants created on this business day of theirs, with any outcome.

    Every read is strong. A cancel counts on the day of its payment: its Deadline is the end of that day.
    """
    client_ids = range(1, sequences.last_id(merchants.TABLE) + 1)
    with ThreadPoolExecutor(THREADS) as pool:
        ids: dict[bool, list[str]] = {True: [], False: []}
        for entry in chain.from_iterable(pool.map(lambda client_id: _entries(client_id, acquirer, day), client_ids)):
            ids[entry.counter.reverse_mode in CANCELS].append(entry.id)
        cancels = cancels_of(chain.from_iterable(pool.map(_records, items.batches(ids[True]))))
        records = chain.from_iterable(pool.map(_records, items.batches(ids[False])))
        return [booking_of(record, cancels) for record in records]


def _entries(client_id: int, acquirer: str, day: date) -> list[HistoryEntry]:
    begin = datetime.combine(day, time.min)
    stretch = history_lists.Stretch(client_id, None, begin, begin + timedelta(days=1))
    return list(history_lists.between(stretch, HistoryFilter(acquirer=acquirer)))


def _records(batch: list[str]) -> list[BookedTransaction]:
    keys = [Key(transactions.TABLE, BookedTransaction, {"id": one}) for one in batch]
    return [record for record in read_all(keys, ATTRIBUTES) if record is not None]
