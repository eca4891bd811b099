"""Merchants: find, show, block and unblock them, stop their cards, and the money that they took in a month."""

import argparse
import csv
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from chalicelib import phone_numbers
from chalicelib.domain.agent import ACTIVE, BLOCKED, Agent, MobileSettings
from chalicelib.domain.guid import is_guid
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.money import from_minor
from chalicelib.domain.periods import Period, days_of_month
from chalicelib.domain.permissions import is_administrator
from chalicelib.domain.printed_text import one_line
from chalicelib.domain.sign_in import canonical
from chalicelib.domain.takings import takings_of
from chalicelib.domain.terminal import Terminal, canonical_mid
from chalicelib.domain.transaction import Transaction
from chalicelib.gateways.secrets import pseudonym
from chalicelib.schemas.history_export import neutral
from chalicelib.services.authentication import LOGIN
from chalicelib.store import agents, merchant_changes, merchants, takings, terminals, transactions
from chalicelib.store.retries import retry_on_change
from chalicelib.store.table import read, scan
from infra.operator import terminal

LIST, SHOW, BLOCK, UNBLOCK, CARDS = "list", "show", "block", "unblock", "cards"
ON, OFF = "on", "off"
HEADER = ("ID", "state", "cards", "name", "manager")
MONTH = re.compile("[0-9]{4}-(0[1-9]|1[0-2])")
R = TypeVar("R", Merchant, Agent, Terminal)


def merchant_command(options: argparse.Namespace) -> None:
    """List merchants, show one, or change one thing of it. Exit with one line if nothing can be done."""
    action, is_of_all = options.action, options.all is not None
    words = [*options.words, *([options.all] if options.all else [])]
    if action == LIST and not words:
        terminal.print_table([HEADER, *map(_row, every(merchants.TABLE, Merchant))])
    elif action == SHOW and len(words) == 1:
        _show(_merchant(words[0]))
    elif action in {BLOCK, UNBLOCK} and len(words) == 1:
        _set_state(_merchant(words[0]), ACTIVE if action == UNBLOCK else BLOCKED, is_agreed=options.yes)
    elif action == CARDS and words and words[-1] in {ON, OFF} and len(words) == (1 if is_of_all else 2):
        chosen = list(every(merchants.TABLE, Merchant)) if is_of_all else [_merchant(words[0])]
        _set_cards(chosen, is_stopped=words[-1] == OFF, is_agreed=options.yes)
    else:
        options.misused("merchant list | show N | block N | unblock N | cards N on|off | cards --all on|off")


def every(table: str, record: type[R]) -> Iterator[R]:
    """Yield the records of a table of merchants, agents or terminals, by ID."""
    yield from sorted(scan(table, record, ConsistentRead=True), key=_id_of)


def _id_of(record: Merchant | Agent | Terminal) -> int:
    return record.id


def _merchant(text: str) -> Merchant:
    found = read(merchants.key(int(text))) if text.isascii() and text.isdecimal() else None
    return found or sys.exit(f"There is no merchant {text}: `merchant list` lists them.")


def are_stopped(merchant: Merchant) -> bool:
    """Return whether the operator has stopped the cards of a merchant."""
    return bool(merchant.mobile_settings and merchant.mobile_settings.cards_stopped)


def _state(record: Merchant | Agent | Terminal) -> str:
    if getattr(record, "deleted", False):
        return "deleted"
    return "active" if record.state == ACTIVE else "blocked"


def _row(one: Merchant) -> tuple[str, ...]:
    cards = "stopped" if are_stopped(one) else "-"
    return str(one.id), _state(one), cards, one.name, f"{one.manager.name} <{one.manager.email}>"


def _show(one: Merchant) -> None:
    facts = {
        "merchant": f"{one.id}, {one.name}",
        "state": _state(one) + (", cards stopped by the operator" if are_stopped(one) else ""),
        "created": f"{one.created_at:%Y-%m-%d}",
        "manager": f"{one.manager.name}, {one.manager.email}, {one.manager.phone}",
        "telephone": one.phone,
        "address": one.address_de_facto,
        "country": f"{one.country_code}, {one.currency_id or '-'}, UTC{one.gmt:+}",
        "tax number": one.tax_id or "-",
        "webhooks": str(one.webhooks),
    }
    for name, value in facts.items():
        terminal.show(f"{name:<12}{value}")
    held = {each.id: each for each in terminals.of_merchant(one.id)}
    for each in held.values():
        terminal.show(f"terminal    {_terminal_line(each)}")
    for agent in agents.of_merchant(one.id):
        terminal.show(f"agent       {_agent_line(agent, held.get(agent.terminal_id or 0))}")


def _terminal_line(one: Terminal) -> str:
    return f"{one.id}, TID {one.tid}, MID {one.back_retailer_id or '-'}, {_state(one)}"


def _agent_line(one: Agent, at: Terminal | None) -> str:
    role = "system user" if one.is_system_user else "administrator" if is_administrator(one) else "till"
    return f"{one.id}, {one.name}, {one.email}, {role}, TID {at.tid if at else '-'}, {_state(one)}"


def _set_state(one: Merchant, state: int, *, is_agreed: bool) -> None:
    effect = "its tills and administrators are refused from the next request"
    if state == BLOCKED and one.state != BLOCKED:
        terminal.confirm(f"Block merchant {one.id}, {one.name}: {effect}?", is_agreed=is_agreed)
    _change(one, BLOCK if state == BLOCKED else UNBLOCK, lambda before: replace(before, state=state))
    terminal.show(f"Merchant {one.id}, {one.name}, is {'active again' if state == ACTIVE else f'blocked: {effect}'}.")


def _set_cards(chosen: list[Merchant], *, is_stopped: bool, is_agreed: bool) -> None:
    whose = f"merchant {chosen[0].id}, {chosen[0].name}" if len(chosen) == 1 else f"all {len(chosen)} merchants"
    if is_stopped:
        terminal.confirm(f"Stop cards (InputTypes 1 to 5) of {whose}?", is_agreed=is_agreed)

    def changed(before: Merchant) -> Merchant:
        settings = before.mobile_settings or MobileSettings()
        return replace(before, mobile_settings=replace(settings, cards_stopped=is_stopped or None))

    for one in chosen:
        _change(one, f"cards {OFF if is_stopped else ON}", changed)
    result = "are stopped; returns go on" if is_stopped else "are taken again, as their features say"
    terminal.show(f"Cards of {whose} {result}.")


def _change(one: Merchant, kind: str, changed: Callable[[Merchant], Merchant]) -> None:
    """Store a change of the latest version of a merchant, unless it is so already."""

    def attempt() -> None:
        before = read(merchants.key(one.id)) or one
        after = changed(before)
        if after != before:
            merchant_changes.change(before, after, terminal.act(kind))

    retry_on_change(attempt)


def who_command(options: argparse.Namespace) -> None:
    """Print each merchant, terminal and agent that a text names. Exit with one line if there is none."""
    text = options.text.strip()
    paid = transactions.get(text.upper()) if is_guid(text) else None
    found = [transaction_line(paid)] if paid else list(_named(text)) if text else []
    if not found:
        sys.exit(f"Nobody has this: {text}. It is an e-mail, name, number, TID, MID, payment, or digest of the log.")
    terminal.show(*found)


def transaction_line(one: Transaction) -> str:
    """Return a line that says whose a payment or reversal is, and how it stands."""
    what, amount = "reversal" if one.is_reversal else "payment", from_minor(one.amount_minor, one.currency)
    return (
        f"{what} {one.id} of {amount} {one.currency.code}, {one.phase}, since {one.created_at:%Y-%m-%d %H:%M}: "
        f"merchant {one.client_id}, {one.merchant.name}; agent {one.agent.id}, {one.agent.name}; "
        f"terminal {one.terminal_id}, TID {one.terminal_name}; {one.acquirer}"
    )


def _named(text: str) -> Iterator[str]:
    folded, mid = text.casefold(), canonical_mid(text)
    shops = {one.id: one for one in every(merchants.TABLE, Merchant)}
    tills = {one.id: one for one in every(terminals.TABLE, Terminal)}

    def is_meant(*values: str, numbers: Iterable[tuple[str, str]] = ()) -> bool:
        names = any(folded in value.casefold() for value in values)
        return names or any(_is_number(text, number, country) for number, country in numbers)

    for shop in shops.values():
        numbers = [(number, shop.country_code) for number in (shop.phone, shop.manager.phone)]
        if text == str(shop.id) or is_meant(shop.name, shop.manager.name, shop.manager.email, numbers=numbers):
            print_name = f"merchant {shop.id}, {shop.name}, {shop.manager.email}, {_state(shop)}"
            yield print_name + (", cards stopped" if are_stopped(shop) else "")
    for one in tills.values():
        if folded == one.tid.casefold() or (mid and mid == canonical_mid(one.back_retailer_id or "")):
            yield f"terminal {_terminal_line(one)}, of {_shop_line(shops.get(one.client_id))}"
    for agent in every(agents.TABLE, Agent):
        owner, at = shops.get(agent.client_id), tills.get(agent.terminal_id or 0)
        has_digest = text == pseudonym(LOGIN, canonical(agent.email))
        is_at = at is not None and folded == at.tid.casefold()
        numbers = [(agent.phone, owner.country_code if owner else "")]
        if has_digest or is_at or text == str(agent.id) or is_meant(agent.name, agent.email, numbers=numbers):
            yield f"agent {_agent_line(agent, at)}, of {_shop_line(owner)}"


def _shop_line(shop: Merchant | None) -> str:
    return f"merchant {shop.id}, {shop.name}, {_state(shop)}" if shop else "no merchant"


def _is_number(text: str, number: str, country: str) -> bool:
    """Return whether a text is a telephone number, in any notation of its country."""
    typed, stored = (phone_numbers.parse(one, country or None) if one else None for one in (text, number))
    return typed is not None and stored is not None and typed.international == stored.international


def takings_command(options: argparse.Namespace) -> None:
    """Print what each merchant took and gave back in a month, as CSV with a row for each currency."""
    if not MONTH.fullmatch(options.month):
        options.misused(f"--month is {options.month}; write it like 2026-11.")
    written = csv.writer(sys.stdout, lineterminator="\n")
    written.writerow(("merchant", "name", "payments", "taken", "given back", "currency"))
    for one in every(merchants.TABLE, Merchant):
        written.writerows(_taken(one, days_of_month(options.month)))


def _taken(one: Merchant, period: Period) -> Iterator[tuple[object, ...]]:
    rows = takings_of(moved for page in takings.by_day(one.id, period, None) for moved in page).rows
    for currency in sorted({row.currency for row in rows}) or [one.currency_id or ""]:
        own = [row for row in rows if row.currency == currency]
        taken, returned = sum(row.amount for row in own), sum(row.amount_reversed for row in own)
        yield one.id, neutral(one_line(one.name)), sum(row.payments for row in own), taken, returned, currency
