"""Count again the values that follow from restored items: given-back amounts, the history, totals.

Each write requires that the item is as it was read, so payments may come in meanwhile. Lost payments are printed: their
entries in the history outlived them.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from datetime import datetime
from decimal import Decimal
from functools import reduce
from typing import Any

from chalicelib.domain.agent import Agent, Login
from chalicelib.domain.history_entry import HistoryEntry
from chalicelib.domain.money import from_minor
from chalicelib.domain.phases import FAILED, PENDING, Phase
from chalicelib.domain.sign_in import canonical
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ServiceError
from chalicelib.gateways.secrets import keyed_digest, unseal
from chalicelib.record import Record
from chalicelib.store import agents, counters, history, sequences, transactions
from chalicelib.store.agents import login_key
from chalicelib.store.table import (
    AlreadyExistsError,
    Item,
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
from infra.operator.history_check import contradicting, entries_of, pages_of_transactions
from infra.operator.losses import lost_line, of_lost_merchants
from infra.operator.rebuild_totals import merchants_of, months_of, rebuild
from infra.operator.receipt_counters import given_numbers, raise_counters
from infra.operator.records import UNREADABLE, is_readable

ENTRIES = (history.ENTRY, history.IN_ORDER)  # the sort keys of a transaction's entries begin so
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
        doubtful, sharing = contradicting(merchant_id, copies)
        left += printed([*doubtful.values(), *sharing])
        left += printed(_follow_reversals(merchant_id, doubtful, done))
        done["places in the index of due records corrected"] += _list_due(merchant_id, now)
    if {transactions.TABLE, history.TABLE} & {*chosen}:
        done["entries of the history written"] += _write_entries(merchant_id, doubtful)
        done["entries of the history in a wrong place deleted"] += _delete_strays(merchant_id, doubtful)
        if sequences.TABLE in chosen:
            left += printed(raise_counters(given_numbers(), merchant_id))
        left += _months(merchant_id, chosen, now, doubtful, done)
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
    for page in pages_of_transactions(merchant_id):
        yield from page


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


# The index of due records


def _list_due(merchant_id: int | None, now: datetime) -> int:
    """List unfinished transactions in the index of due records, and no finished one. Return the number of changes."""
    changed = 0
    for page in items.pages(table_name(transactions.TABLE)):
        for item in page:
            if not is_readable(transactions.TABLE, item):
                continue
            one = decode(Transaction, item)
            if merchant_id in {None, one.client_id} and (write := transactions.listed_as_due(one, item, now)):
                with suppress(AlreadyExistsError):  # its next step has listed it
                    write_one(write)
                    changed += 1
    return changed


# The history


def _delete_strays(merchant_id: int | None, doubtful: Container[str]) -> int:
    """Delete the entries of stored transactions that are not in a place of theirs; return their number."""
    deleted = 0
    for page in items.pages(table_name(history.TABLE)):
        entries = [item for item in page if item["at"]["S"].startswith(ENTRIES)]
        ids = [item["at"]["S"].split("#", 3)[-1] for item in entries]
        stored = items.items_at(transactions.TABLE, [{"id": {"S": one}} for one in ids if one])
        for name, item in zip(ids, entries, strict=True):
            if name in doubtful or name not in stored or not is_readable(transactions.TABLE, stored[name]):
                continue
            one = decode(Transaction, stored[name])
            places = {items.name_of(history.TABLE, entry) for entry in entries_of(one)}
            if merchant_id in {None, one.client_id} and items.name_of(history.TABLE, item) not in places:
                with suppress(AlreadyExistsError):
                    commit(items.delete(history.TABLE, item))
                    deleted += 1
    return deleted


def _write_entries(merchant_id: int | None, doubtful: Container[str]) -> int:
    """Write the entries that differ from their transactions, except the doubtful ones; return their number."""
    written = 0
    for page in pages_of_transactions(merchant_id):
        expected = {one.id: entries_of(one) for one in page if one.id not in doubtful}
        stored = items.items_at(history.TABLE, [entry for entries in expected.values() for entry in entries])
        for name, entries in expected.items():
            if any(stored.get(items.name_of(history.TABLE, entry)) != entry for entry in entries):
                written += _write_entries_of(name)
    return written


def _write_entries_of(transaction_id: str) -> int:
    """Write the entries of a transaction. It is read after them, so that it is as new as they are."""
    before, written = transactions.get(transaction_id), 0
    stored = items.items_at(history.TABLE, entries_of(before)) if before else {}
    transaction = transactions.get(transaction_id)
    for entry in entries_of(transaction) if transaction else ():
        present = stored.get(items.name_of(history.TABLE, entry))
        if present != entry:
            with suppress(AlreadyExistsError):  # the transaction's next step has written it
                write_one(items.put(history.TABLE, entry, present))
                written += 1
    return written


def _months(
    merchant_id: int | None, chosen: Sequence[str], now: datetime, doubtful: Container[str], done: Counter[str]
) -> list[str]:
    left: list[str] = []
    for merchant in merchants_of(merchant_id):
        for month in months_of(merchant, now):
            left += _month(merchant.id, month, chosen, doubtful, done)
    return left


def _month(
    client_id: int, month: str, chosen: Sequence[str], doubtful: Container[str], done: Counter[str]
) -> list[str]:
    """Count a month of a merchant again; add to `done`, and return a line for each thing left."""
    left: list[str] = []
    _delete_unreadable(client_id, month)
    kept = _entries_of(client_id, month)
    if transactions.TABLE in chosen:
        left += _lost(client_id, kept)
    if names := sorted({entry.id for _, entry in kept if entry.id in doubtful}):
        compare = f"Compare history and transactions: {', '.join(names[:NAMED])}"
        return [*left, *printed([f"merchant {client_id}, {month}: not counted. {compare}"])]
    try:
        outcome = rebuild(client_id, month)
    except UNREADABLE:
        line = f"merchant {client_id}, {month}: not counted, because a transaction is unreadable."
        return [*left, *printed([line])]
    done["counters corrected"] += len(outcome.mended)
    if outcome.moving:
        left += printed([f"merchant {client_id}, {month}: {len(outcome.moving)} counters move: run rebuild-totals."])
    return left


def _delete_unreadable(client_id: int, month: str) -> None:
    """Delete unreadable items of a month's history, and its sum: entries are written already, the rest is counted."""
    for item in items.items_of_partition(history.TABLE, f"{client_id}#{month}"):
        _delete_unless(_is_sound, item)
    for item in items.items_of_partition(history.TABLE, f"{client_id}#{month[:4]}"):
        if item["at"]["S"].startswith(month[5:]):
            _delete_unless(lambda one: int(one["late"]["N"]) > 0, item)


def _delete_unless(is_sound: Callable[[Item], bool], item: Item) -> None:
    with suppress(*UNREADABLE):
        if is_sound(item):
            return
    with suppress(AlreadyExistsError):
        commit(items.delete(history.TABLE, item))


def _is_sound(item: Item) -> bool:
    """Return whether an entry or counter has no further attributes. Raise one of `UNREADABLE` for a wrong value."""
    if item["at"]["S"].startswith(ENTRIES):
        return bool(history.entry_in(item))
    _, numbers = counters.counter_in(item)
    counters.taxes_in(item)
    return item.keys() == numbers.keys() | {"month", "at"} | ({counters.TAXES} & item.keys())


def _entries_of(client_id: int, month: str) -> list[tuple[Item, HistoryEntry]]:
    """Return the items of a month's entries, of both orders, with their entries."""
    partition = items.items_of_partition(history.TABLE, f"{client_id}#{month}")
    return [(item, history.entry_in(item)) for item in partition if item["at"]["S"].startswith(ENTRIES)]


def _lost(client_id: int, kept: Sequence[tuple[Item, HistoryEntry]]) -> list[str]:
    """Print and return a line for each payment that only the history knows.

    Their entries are deleted, because no total counts them. The lines are printed first: a run that is killed between
    the two names them, and so does the next run for each entry that is left. An entry that is equal to that of a stored
    transaction, but for the ID, is a copy of it: it is deleted, and no payment is lost.
    """
    stored = items.items_at(transactions.TABLE, [{"id": {"S": entry.id}} for _, entry in kept])
    lost = {entry.id: entry for _, entry in kept if entry.id not in stored}
    known = [replace(entry, id="") for _, entry in kept if entry.id in stored] if lost else []
    lines = printed(lost_line(client_id, one) for one in lost.values() if replace(one, id="") not in known)
    for item, entry in kept:
        if entry.id in lost:
            commit(items.delete(history.TABLE, item))
    return lines


# Sign-ins


def _sign_ins(merchant_id: int | None, *, deletes: bool) -> list[str]:
    """Return a line for each agent whose login is missing or of another version: its credentials are refused.

    A missing login is made again, with the secret key and without a password. With `deletes`, the login of a lost agent
    is deleted, because it would refuse its e-mail to a new agent.
    """
    lines = list[str]()
    for page in items.pages(table_name(agents.TABLE)):
        for agent in (decode(Agent, item) for item in page if is_readable(agents.TABLE, item)):
            if not agent.deleted and merchant_id in (None, agent.client_id):
                lines += _sign_in(agent)
    if deletes:
        lines += _lost_logins(merchant_id)
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


def _lost_logins(merchant_id: int | None) -> Iterator[str]:
    """Delete logins without their agent, or a deleted one, or of another e-mail than their agent's."""
    for page in items.pages(table_name(agents.LOGINS)):
        for item in page:
            if "agent_id" not in item or not is_readable(agents.LOGINS, item):
                continue
            login = decode(Login, item)
            if merchant_id not in {None, login.client_id}:
                continue
            with suppress(*UNREADABLE, AlreadyExistsError):  # an unreadable agent has a line of its own
                agent = read(agents.key(login.agent_id))
                if agent is not None and not agent.deleted and canonical(agent.email) == login.email:
                    continue
                commit(items.delete(agents.LOGINS, item))
                reason = "is lost" if agent is None else "is deleted" if agent.deleted else "has another e-mail"
                name = f"agent {login.agent_id} of merchant {login.client_id}"
                yield f"{name} {reason}: its login {login.email} was deleted."
