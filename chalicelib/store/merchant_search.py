"""All merchants, and the facts of their agents and terminals that find them. These reads do not grow with payments."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import partial
from typing import TypeVar

from chalicelib.domain.merchant import Merchant
from chalicelib.store import agents, merchants, terminals
from chalicelib.store.table import attribute_names, decode, pages_of, readable, table_name

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
    pages = pages_of({"TableName": table_name(merchants.TABLE), "ConsistentRead": True}, "Scan")
    found = (readable(merchants.TABLE, page["Items"], partial(decode, Merchant)) for page in pages)
    return [one for page in found for one in page if not one.deleted]


def every_agent() -> Iterator[AgentFacts]:
    """Yield the facts of all agents."""
    return _every(agents.TABLE, AgentFacts)


def every_terminal() -> Iterator[TerminalFacts]:
    """Yield the facts of all terminals."""
    return _every(terminals.TABLE, TerminalFacts)


def _every(table: str, facts: type[F]) -> Iterator[F]:
    names = ", ".join(f"#{one.name}" for one in fields(facts))
    parameters = {"TableName": table_name(table), "ConsistentRead": True, "ProjectionExpression": names}
    for page in pages_of({**parameters, "ExpressionAttributeNames": attribute_names(names)}, "Scan"):
        yield from readable(table, page["Items"], partial(decode, facts))
