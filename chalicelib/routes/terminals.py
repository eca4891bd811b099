"""Terminals."""

from chalicelib import outside
from chalicelib.domain.agent import Caller
from chalicelib.schemas.agents import PosView
from chalicelib.schemas.base import Headers
from chalicelib.schemas.shown_size import check_page
from chalicelib.schemas.terminals import (
    CreateTerminal,
    ListTerminals,
    TerminalAnswer,
    TerminalListAnswer,
    TerminalView,
    UpdateTerminal,
)
from chalicelib.services import terminals


def create(body: CreateTerminal, caller: Caller, headers: Headers) -> TerminalAnswer:
    """Create a terminal of a merchant."""
    made = terminals.create(body, caller, outside.now(), key=headers.idempotency_key)
    accounts: list[PosView] | None = [] if made.record.with_accounts else None  # a new terminal has no agents
    return TerminalAnswer.of(TerminalView.of(made.record, accounts=accounts), made.loser, made.headers)


def update(merchant_id: int, terminal_id: int, body: UpdateTerminal, caller: Caller) -> TerminalAnswer:
    """Change the fields of a terminal that the request sets."""
    now = outside.now()
    terminal, at, loser = terminals.update(body, caller, (merchant_id, terminal_id), now)
    shown = None if at.shown is None else at.shown[terminal.id]
    accounts = None if shown is None else [PosView.of(one, now, body.gmt) for one in shown]
    return TerminalAnswer.of(TerminalView.of(terminal, at.agents[terminal.id], accounts), loser)


def list_page(merchant_id: int, body: ListTerminals, caller: Caller) -> TerminalListAnswer:
    """List the terminals of a merchant, the newest first, 100 a page."""
    found, now = terminals.list_page(body, caller, merchant_id), outside.now()
    profiles = found.at.shown or {}
    accounts = {number: [PosView.of(one, now, body.gmt) for one in agents] for number, agents in profiles.items()}
    answer = TerminalListAnswer.of(found.page, found.total, found.at.agents, accounts)
    if accounts:  # of terminals alone a page always fits
        check_page(answer, terminals.TOO_MANY)
    return answer
