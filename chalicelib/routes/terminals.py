"""Terminals."""

from chalicelib import outside
from chalicelib.domain.agent import Caller
from chalicelib.schemas.terminals import CreateTerminal, ListTerminals, TerminalAnswer, TerminalListAnswer
from chalicelib.services import terminals


def create(body: CreateTerminal, caller: Caller) -> TerminalAnswer:
    """Create a terminal of a merchant."""
    return TerminalAnswer.of(*terminals.create(body, caller, outside.now()))


def list_page(merchant_id: int, body: ListTerminals, caller: Caller) -> TerminalListAnswer:
    """List the terminals of a merchant, the newest first, 100 a page."""
    return TerminalListAnswer.of(*terminals.list_page(body, caller, merchant_id))
