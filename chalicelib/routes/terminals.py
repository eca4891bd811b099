"""Terminals."""

from chalicelib import outside
from chalicelib.domain.agent import Caller
from chalicelib.schemas.agents import PosView
from chalicelib.schemas.base import Headers
from chalicelib.schemas.terminals import CreateTerminal, ListTerminals, TerminalAnswer, TerminalListAnswer
from chalicelib.services import terminals


def create(body: CreateTerminal, caller: Caller, headers: Headers) -> TerminalAnswer:
    """Create a terminal of a merchant."""
    made = terminals.create(body, caller, outside.now(), key=headers.idempotency_key)
    return TerminalAnswer.of(made.record, made.loser, made.headers)


def list_page(merchant_id: int, body: ListTerminals, caller: Caller) -> TerminalListAnswer:
    """List the terminals of a merchant, the newest first, 100 a page."""
    found, now = terminals.list_page(body, caller, merchant_id), outside.now()
    profiles = found.shown.items() if found.shown is not None else ()
    accounts = {terminal_id: [PosView.of(one, now, body.gmt) for one in agents] for terminal_id, agents in profiles}
    return TerminalListAnswer.of(found.page, found.total, found.agents, accounts)
