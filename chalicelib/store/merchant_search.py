"""All merchants, and the facts of their agents and terminals that find them. These reads do not grow with payments."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TypeVar

from chalicelib.domain.merchant import Merchant
from chalicelib.store import agents, merchants, terminals
from chalicelib.store.table import attribute_names, scan

F = TypeVar("F", "AgentFacts", "TerminalFacts")


@dataclass(frozen=True)
class AgentFacts:
    """The facts of an agent that find its merchant."""

    client_id: int
    email: str
    phone: str
    deleted: bool = False


@dataclass(frozen=True)
class TerminalFacts:
    """The facts of a terminal that find its merchant."""

    id: int
    client_id: int
    tid: str
    back_retailer_id: str | None = None


def every_merchant() -> list[Merchant]:
    """Return all merchants that are not deleted."""
    return [one for one in scan(merchants.TABLE, Merchant, ConsistentRead=True) if not one.deleted]


def every_agent() -> Iterator[AgentFacts]:
    """Yield the facts of all agents."""
    return _every(agents.TABLE, AgentFacts)


def every_terminal() -> Iterator[TerminalFacts]:
    """Yield the facts of all terminals."""
    return _every(terminals.TABLE, TerminalFacts)


def _every(table: str, facts: type[F]) -> Iterator[F]:
    names = ", ".join(f"#{one.name}" for one in fields(facts))
    only = {"ProjectionExpression": names, "ExpressionAttributeNames": attribute_names(names)}
    return scan(table, facts, ConsistentRead=True, **only)
