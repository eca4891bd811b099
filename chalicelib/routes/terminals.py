"""Terminals."""

from datetime import UTC, datetime

from chalicelib.domain.agent import Caller
from chalicelib.schemas.terminals import CreateTerminal, TerminalAnswer
from chalicelib.services import merchants


def create(body: CreateTerminal, caller: Caller) -> TerminalAnswer:
    """Create a terminal."""
    return TerminalAnswer.of(merchants.create_terminal(body, caller, datetime.now(UTC)))
