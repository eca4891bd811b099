"""Count again the values that follow from restored items: given-back amounts, the history, totals, receipt numbers.

Each write requires that the item is as it was read, so payments may come in meanwhile. Lost payments are printed: their
entries in the history outlived them.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

from chalicelib.domain.agent import Agent, Login
from chalicelib.domain.history_entry import HistoryEntry, entry_of
from chalicelib.domain.money import from_minor
from chalicelib.domain.phases import FAILED, PENDING, Phase
from chalicelib.domain.transaction import OWN_RECEIPT_NUMBER, Transaction
from chalicelib.errors import ServiceError
from chalicelib.gateways.secrets import keyed_digest, unseal
from chalicelib.record import Record
from chalicelib.store import agents, counters, history, month_sums, receipt_numbers, sequences, transactions
from chalicelib.store.agents import login_key
from chalicelib.store.table import (
    AlreadyExistsError,
    Item,
    Key,
    Value,
    Write,
    commit,
    decode,
    read,
    set_attributes,
    table_name,
    update,
    write_one,
)
from infra.operator import items
from infra.operator.damage import UNREADABLE, following, is_readable
from infra.operator.losses import entries_with, lost_line, of_lost_merchants
from infra.operator.rebuild_totals import merchants_of, months_of, rebuild

if TYPE_CHECKING:
    from chalicelib.store.receipt_numbers import MonthNumbers

T = TypeVar("T")

COUNTER = re.compile(r"[a-zA-Z]?[0-9]{2}")
NAMED = 5  # transactions in one line
COUNTED = PENDING | {Phase.REVERSAL_APPROVED}


class GivenBack(Record):
    """The amounts and the count of a payment's reversals, and the last ones: requested, and approved.

    `lines_and_taxes` is the sum of their `gives_back`, without zeros.
    """

    amount_minor: int = 0
    reserved_minor: int = 0
    count: int = 0
    lines_and_taxes: Mapping[str, Decimal] = field(default_factory=dict)
    requested: Transaction | None = None
    approved: Transaction | None = None


def recount(chosen: Sequence[str], copies: str, merchant_id: int | None, now: datetime) -> list[str]:
    """Count again the values that follow from these tables. Return a line for each thing left.

    `copies` is the beginning of the names of the copies.
    """
    left: list[str] = []
    done = Counter[str]()
    doubtful: dict[str, str] = {}
    if transactions.TABLE in chosen:
        doubtful = _contradicting(merchant_id, copies)
        left += printed(doubtful.values())
        left += printed(_follow_reversals(merchant_id, doubtful, done))
    if {transactions.TABLE, history.TABLE} & {*chosen}:
        done["entries of the history written"] += _write_entries(merchant_id, doubtful)
    if {transactions.TABLE, history.TABLE, sequences.TABLE} & {*chosen}:
        left += _months(merchant_id, chosen, now, done)
    if transactions.TABLE in chosen and merchant_id is None:
        left += printed(of_lost_merchants())
    if {agents.TABLE, agents.LOGINS} & {*chosen}:
        left += printed(_sign_ins(merchant_id, deletes=agents.TABLE in chosen))
    for text, number in (+done).items():
        print(f"{text}: {number}.")
    return left


def printed(lines: Iterable[str]) -> list[str]:
    """Print lines about things that are left, and return them."""
    shown = list(lines)
    for line in shown:
        print(f"  {line}", flush=True)
    return shown


# Transactions that were made after the copy


def _contradicting(merchant_id: int | None, copies: str) -> dict[str, str]:
    """Return a line for each transaction without copy that contradicts its history, by its ID.

    A transaction and its entries are stored by one write. So if one has another time, merchant, agent, amount, kind or
    currency, or a phase that cannot follow, one of the two was altered later. Neither is written.
    """
    doubtful: dict[str, str] = {}
    missing: dict[str, Transaction] = {}  # without an entry in its place
    for page in _pages_of_transactions(merchant_id):
        expected = {one.id: (one, _entries_of(one)) for one in page}
        wanted = [entry for _, entries in expected.values() for entry in entries]
        stored = items.items_at(history.TABLE, wanted)
        differing: dict[str, str] = {}
        absent: dict[str, Transaction] = {}
        for one, entries in expected.values():
            places = [items.name_of(history.TABLE, entry) for entry in entries]
            seen = [entry for name in places if name in stored and (entry := _entry(stored[name]))]
            own = entry_of(one)
            if not seen:
                absent[one.id] = one
            elif not any(_agree(own, entry) for entry in seen):
                differing[one.id] = f"{_facts(own)} in transactions, {_facts(seen[0])} in the history"
        doubtful |= _without_copy(differing, copies)
        missing |= _without_copy(absent, copies)
    elsewhere = entries_with(missing) if missing else {}
    for name, (client_id, entry) in elsewhere.items():
        one = missing[name]
        doubtful[name] = (
            f"{_facts(entry_of(one))} of merchant {one.client_id} in transactions, "
            f"{_facts(entry)} of merchant {client_id} in the history"
        )
    return {name: f"{name}: {text}. Compare them." for name, text in doubtful.items()}


def _without_copy(found: dict[str, T], copies: str) -> dict[str, T]:
    keys = [{"id": {"S": name}} for name in found]
    known = items.items_at(transactions.TABLE, keys, name=copies + transactions.TABLE)
    return {name: one for name, one in found.items() if name not in known}


def _entry(item: Item) -> HistoryEntry | None:
    try:
        return history.entry_in(item)
    except UNREADABLE:
        return None


def _agree(own: HistoryEntry, entry: HistoryEntry) -> bool:
    """Return whether the entry of a record has the same facts as a stored one, and a phase that may follow.

    An entry that the release before wrote has no taxes.
    """
    phase = own.phase is None or entry.phase is None or own.phase in {entry.phase, *following(entry.phase)}
    taxes = not entry.taxes or own.taxes == entry.taxes
    return phase and taxes and (own.counter, own.amount_minor) == (entry.counter, entry.amount_minor)


def _facts(entry: HistoryEntry) -> str:
    counter = entry.counter
    kind = f"ReverseMode {counter.reverse_mode}, " if counter.reverse_mode else ""
    made = f"{kind}InputType {counter.input_type}, {counter.acquirer}, agent {counter.agent_id}"
    if entry.taxes:
        taxes = (f"{one.code} {one.tax_minor} of {one.gross_minor}" for one in entry.taxes)
        made += f", taxes in minor units: {'; '.join(taxes)}"
    return f"{entry.amount:f} {counter.currency} {entry.phase or 'without outcome'} ({made}, {entry.at:%Y-%m-%d %H:%M})"


# The amounts that payments gave back


def _follow_reversals(merchant_id: int | None, doubtful: Container[str], done: Counter[str]) -> list[str]:
    """Correct the given-back amounts of payments that were restored without their later reversals.

    A payment with a doubtful reversal stays as it is. The suspects are read before their reversals are searched again.
    So a new reversal is found, or it changes the payment and the correction is refused.
    """
    stored: dict[str, Transaction] = {}
    reversals: defaultdict[str, list[Transaction]] = defaultdict(list)
    for one in _transactions(merchant_id):
        if one.original.id:
            reversals[one.original.id].append(one)
        elif one.reversals.amount_minor or one.reversals.given_back:
            stored[one.id] = one
    suspects = [
        payment
        for payment_id in stored.keys() | reversals.keys()
        if (payment := stored.get(payment_id) or _readable(payment_id))
        and not any(one.id in doubtful for one in (payment, *reversals[payment_id]))
        and _differs(payment, _given_back(reversals[payment_id]))
    ]
    orphans = {name for name in reversals if name not in stored and _readable(name) is None}
    lost = [
        f"lost payment: {name}, whose reversal {reversals[name][0].id} is still in the table transactions"
        for name in sorted(orphans - items.items_at(transactions.TABLE, [{"id": {"S": one}} for one in orphans]).keys())
    ]
    if not suspects:
        return lost
    again = {payment.id: payment for one in suspects if (payment := _readable(one.id))}
    reversals.clear()
    for one in _transactions(merchant_id):
        if one.original.id in again:
            reversals[one.original.id].append(one)
    lines = [_correct(payment, reversals[payment.id]) for payment in again.values()]
    done["given-back amounts of payments corrected"] += lines.count(None)
    return lost + [line for line in lines if line]


def _transactions(merchant_id: int | None) -> Iterator[Transaction]:
    for page in _pages_of_transactions(merchant_id):
        yield from page


def _pages_of_transactions(merchant_id: int | None) -> Iterator[list[Transaction]]:
    for page in items.pages(table_name(transactions.TABLE)):
        readable = (decode(Transaction, item) for item in page if is_readable(transactions.TABLE, item))
        yield [one for one in readable if merchant_id in (None, one.client_id)]


def _readable(transaction_id: str) -> Transaction | None:
    with suppress(*UNREADABLE):
        return transactions.get(transaction_id)
    return None


def _given_back(reversals: Iterable[Transaction]) -> GivenBack:
    in_order = sorted(reversals, key=lambda one: one.created_at)
    counted = [one for one in in_order if one.phase in COUNTED]
    return GivenBack(
        sum(one.amount_minor for one in counted),
        sum(one.amount_minor for one in counted if one.is_pending),
        len(counted),
        _lines_and_taxes(one.original.gives_back for one in counted),
        in_order[-1] if in_order else None,
        next((one for one in reversed(counted) if not one.is_pending), None),
    )


def _lines_and_taxes(parts: Iterable[Mapping[str, Decimal] | None]) -> Mapping[str, Decimal]:
    added = reduce(transactions.added, (part for part in parts if part), dict[str, Decimal]())
    return {name: amount for name, amount in added.items() if amount}


def _differs(payment: Transaction, counted: GivenBack) -> bool:
    stored = payment.reversals
    as_stored = (stored.amount_minor, stored.reserved_minor, stored.count, _lines_and_taxes([stored.given_back]))
    return as_stored != (counted.amount_minor, counted.reserved_minor, counted.count, counted.lines_and_taxes)


def _correct(payment: Transaction, reversals: Sequence[Transaction]) -> str | None:
    """Store the counted amounts. Return a line if it cannot be: nothing may be given back twice.

    A payment may have given back more than its stored reversals: then a reversal was lost.
    """
    counted, stored = _given_back(reversals), payment.reversals
    if counted.amount_minor > payment.amount_minor:
        amounts = [from_minor(minor, payment.currency) for minor in (counted.amount_minor, payment.amount_minor)]
        return f"{payment.id}: its reversals give back {amounts[0]:f} of {amounts[1]:f} {payment.currency.code}."
    surplus = stored.amount_minor - counted.amount_minor
    last = next((one for one in reversals if one.id == stored.requested_id), None)
    is_refused = last is not None and last.phase in FAILED and surplus == last.amount_minor
    if surplus > 0 and not is_refused:
        amount = from_minor(surplus, payment.currency)
        return f"{payment.id}: a lost reversal gave back {amount:f} {payment.currency.code}, or tried to."
    try:
        write_one(_correction(payment, counted))
    except AlreadyExistsError:
        return f"{payment.id}: a reversal came in: run the command again."
    return None


def _correction(payment: Transaction, counted: GivenBack) -> Write:
    """Return the write of the counted amounts, which requires that the payment's amounts are as they were read."""
    stored = payment.reversals
    values: dict[str, Any] = {"reversed_minor": counted.amount_minor, "reserved_minor": counted.reserved_minor}
    values |= {"reversals": counted.count}
    was: dict[str, Any] = {"w_amount": stored.amount_minor, "w_reserved": stored.reserved_minor}
    was |= {"w_count": stored.count}
    unchanged = "#reversed_minor = :w_amount AND #reserved_minor = :w_reserved AND #reversals = :w_count"
    if stored.given_back is not None:
        was["w_given_back"] = stored.given_back
        unchanged += " AND #given_back = :w_given_back"
    else:
        unchanged += " AND attribute_not_exists(#given_back)"
    if counted.lines_and_taxes or stored.given_back is not None:
        values["given_back"] = counted.lines_and_taxes
    if counted.requested:
        values["latest_reversal_id"] = counted.requested.id
    if counted.approved:
        values |= {"reverse_id": counted.approved.id, "reverse_invoice": counted.approved.invoice}
    return update(transactions.key(payment.id), set_attributes(values), values | was, condition=unchanged)


# The history


def _write_entries(merchant_id: int | None, doubtful: Container[str]) -> int:
    """Write the entries that differ from their transactions, except the doubtful ones; return their number."""
    written = 0
    for page in _pages_of_transactions(merchant_id):
        wrong = _wrong_entries([one for one in page if one.id not in doubtful])
        if wrong:
            written += _mend(wrong)
    return written


def _wrong_entries(found: Sequence[Transaction]) -> list[str]:
    """Return the IDs of transactions with an entry that is missing or differs."""
    expected = {one.id: _entries_of(one) for one in found}
    stored = items.items_at(history.TABLE, [entry for entries in expected.values() for entry in entries])
    return [
        transaction_id
        for transaction_id, entries in expected.items()
        if any(stored.get(items.name_of(history.TABLE, entry)) != entry for entry in entries)
    ]


def _mend(wrong: Sequence[str]) -> int:
    """Write the entries of these transactions. Each is read after its entries, so that it is as new as they are."""
    written = 0
    for transaction_id in wrong:
        before = transactions.get(transaction_id)
        stored = items.items_at(history.TABLE, _entries_of(before)) if before else {}
        transaction = transactions.get(transaction_id)
        for entry in _entries_of(transaction) if transaction else ():
            present = stored.get(items.name_of(history.TABLE, entry))
            if present != entry:
                with suppress(AlreadyExistsError):  # the transaction's next step has written it
                    write_one(items.put(history.TABLE, entry, present))
                    written += 1
    return written


def _entries_of(transaction: Transaction) -> list[dict[str, Value]]:
    return [write.parameters["Item"] for write in history.writes_for_completion(transaction)]


def _months(merchant_id: int | None, chosen: Sequence[str], now: datetime, done: Counter[str]) -> list[str]:
    left: list[str] = []
    try:
        for merchant in merchants_of(merchant_id):
            for month in months_of(merchant, now):
                left += _month(merchant.id, month, chosen, now, done)
    except UNREADABLE:
        left += printed(["history: not counted, because a merchant is unreadable: repair the table merchants first."])
    return left


def _month(client_id: int, month: str, chosen: Sequence[str], now: datetime, done: Counter[str]) -> list[str]:
    """Count a month of a merchant again; add to `done`, and return a line for each thing left."""
    left: list[str] = []
    _delete_unreadable(client_id, month)
    entries = history.of_month(client_id, month)
    if sequences.TABLE in chosen:
        left += printed(_raise_receipt_numbers(client_id, entries, done))
    if transactions.TABLE in chosen:
        lost, contradicting = _compared_with_records(client_id, month, entries)
        left += lost
        if contradicting:
            names = ", ".join(contradicting[:NAMED])
            line = f"merchant {client_id}, {month}: not counted. Compare history and transactions: {names}"
            return [*left, *printed([line])]
    try:
        outcome = rebuild(client_id, month)
    except UNREADABLE:
        line = f"merchant {client_id}, {month}: not counted, because a transaction is unreadable."
        return [*left, *printed([line])]
    done["counters corrected"] += len(outcome.mended)
    # The stored sum may be of any version: a large step makes all of them stale.
    write_one(month_sums.outdate(client_id, month, by=int(now.timestamp())))
    if outcome.moving:
        line = f"merchant {client_id}, {month}: {len(outcome.moving)} counters move: run rebuild-totals."
        left += printed([line])
    return left


def _delete_unreadable(client_id: int, month: str) -> None:
    """Delete unreadable items of the history. Its entries are written already, and its counters are counted again."""
    for partition in (f"{client_id}#{month}", f"{client_id}#{month[:4]}"):
        for item in items.items_of_partition(history.TABLE, partition):
            try:
                _read(item)
            except UNREADABLE:
                with suppress(AlreadyExistsError):
                    commit(items.delete(history.TABLE, item))


def _read(item: Item) -> None:
    """Read an item of the history by its sort key, or raise one of `UNREADABLE`."""
    at = item["at"]["S"]
    if at.startswith((history.ENTRY, history.IN_ORDER)):
        history.entry_in(item)
    elif "kinds" in item or at.endswith(month_sums.SUM):
        date.fromisoformat(item["through"]["S"])
        _numbers({"version": item["version"]})
        for kind, numbers in item["kinds"]["M"].items():
            counters.counter_of(0, kind)
            _numbers(numbers["M"])
    elif month_sums.LATE in at:
        _numbers({"late": item["late"]})
    else:
        counters.counter_at(at)
        counters.taxes_in(item)
        numbers_of = {name: value for name, value in item.items() if name not in {"month", "at", counters.TAXES}}
        _numbers(numbers_of)
        if not all(map(COUNTER.fullmatch, numbers_of)):
            raise ValueError(at)


def _numbers(values: Mapping[str, Value]) -> None:
    for value in values.values():
        int(value["N"])


def _compared_with_records(client_id: int, month: str, entries: Sequence[HistoryEntry]) -> tuple[list[str], list[str]]:
    """Print and return a line for each payment that only the history knows, and the IDs of contradicting entries.

    The entries of lost payments are deleted, because no total counts them. Their lines are printed first: a run that
    is killed between the two names them, and so does the next run for each entry that is left.
    """
    stored = items.items_at(transactions.TABLE, [{"id": {"S": one.id}} for one in entries])
    lost = {one.id: one for one in entries if one.id not in stored}
    lines = printed(lost_line(client_id, one) for one in lost.values())
    if lost:
        for item in items.items_of_partition(history.TABLE, f"{client_id}#{month}"):
            if item["at"]["S"].startswith((history.ENTRY, history.IN_ORDER)) and history.entry_in(item).id in lost:
                commit(items.delete(history.TABLE, item))
    contradicting = [one.id for one in entries if one.id in stored and _contradicts(one, stored[one.id])]
    return lines, contradicting


def _contradicts(entry: HistoryEntry, item: Item) -> bool:
    """Return whether an entry has other facts than its record. An unreadable record is named elsewhere."""
    if not is_readable(transactions.TABLE, item):
        return False
    own = history.entry_in(_entries_of(decode(Transaction, item))[0])
    return own.at != entry.at or not _agree(own, entry)


def _raise_receipt_numbers(client_id: int, entries: Sequence[HistoryEntry], done: Counter[str]) -> list[str]:
    """Raise the last receipt numbers to those of the history, so that none is given twice."""
    last: defaultdict[tuple[int, date], Counter[str]] = defaultdict(Counter)
    for entry in entries:
        invoice = entry.exact.get("invoice") or entry.invoice or ""
        if OWN_RECEIPT_NUMBER.fullmatch(invoice):
            day, agent, number = invoice.split(".")
            numbers = last[int(agent), date(2000 + int(day[:2]), int(day[2:4]), 1)]
            numbers[day[4:]] = max(numbers[day[4:]], int(number))
    left = []
    for (agent_id, month), numbers in last.items():
        try:
            done["receipt numbers raised"] += _raise(receipt_numbers.key(client_id, agent_id, month), numbers)
        except AlreadyExistsError:
            left.append(f"agent {agent_id} of merchant {client_id}: a receipt number was taken: run the command again.")
    return left


def _raise(key: "Key[MonthNumbers]", numbers: Mapping[str, int]) -> bool:
    """Raise the last numbers of a month; return False if none is too low."""
    stored = read(key)
    before = stored.last if stored else {}
    after = {day: max(before.get(day, 0), numbers.get(day, 0)) for day in before.keys() | numbers.keys()}
    if after == before:
        return False
    condition = "#last = :before" if stored else "attribute_not_exists(#last)"
    values = {"last": after, **({"before": before} if stored else {})}
    write_one(update(key, "SET #last = :last", values, condition=condition))
    return True


# Sign-ins


def _sign_ins(merchant_id: int | None, *, deletes: bool) -> list[str]:
    """Return a line for each agent whose login is missing or of another version: its credentials are refused.

    A missing login is made again, with the secret key and without a password. With `deletes`, the login of a lost agent
    is deleted, because it would refuse its e-mail to a new agent.
    """
    lines, ids = list[str](), set[int]()
    for page in items.pages(table_name(agents.TABLE)):
        ids |= {int(item["id"]["N"]) for item in page}
        for agent in (decode(Agent, item) for item in page if is_readable(agents.TABLE, item)):
            if not agent.deleted and merchant_id in (None, agent.client_id):
                lines += _sign_in(agent)
    if deletes:
        lines += _lost_logins(ids, merchant_id)
    return lines


def _sign_in(agent: Agent) -> Iterator[str]:
    login = None
    with suppress(*UNREADABLE):
        login = read(login_key(agent.email))
    if login is None:
        key = None if agent.secret_key_sealed is None else keyed_digest(unseal(agent.secret_key_sealed, agent.id))
        version, state, terminal = agent.credential_version, agent.state, agent.terminal_id
        made = Login(agent.email, agent.id, agent.client_id, version, state, terminal, key_digest=key)
        try:
            commit(agents.create_login(made))
        except ServiceError as refusal:
            yield f"agent {agent.id}: has no login: {refusal.message}"
        else:
            yield f"agent {agent.id}: its login was made again, with its secret key. Set its password again."
    elif login.agent_id != agent.id:
        yield f"agent {agent.id}: has no login. Agent {login.agent_id} has its e-mail."
    elif login.credential_version != agent.credential_version:
        yield f"agent {agent.id}: changed since: set its password again."


def _lost_logins(ids: Container[int], merchant_id: int | None) -> Iterator[str]:
    for page in items.pages(table_name(agents.LOGINS)):
        for item in page:
            if "agent_id" not in item or int(item["agent_id"]["N"]) in ids or not is_readable(agents.LOGINS, item):
                continue
            login = decode(Login, item)
            if merchant_id not in (None, login.client_id) or read(agents.key(login.agent_id)) is not None:
                continue
            with suppress(AlreadyExistsError):
                commit(items.delete(agents.LOGINS, item))
                name = f"agent {login.agent_id} of merchant {login.client_id}"
                yield f"{name} is lost: its login {login.email} was deleted."
