"""A complete request to each endpoint that moves no money, from its row of the role table and its schema.

The row's body has the fields that name objects, and those that must not contradict each other.
"""

from typing import Any

from chalicelib.store import unique_names
from chalicelib.store.table import write_one
from tests.support import builders
from tests.support.complete_requests import EVERYTHING
from tests.support.role_table import OK, ROLES, ROWS, Row, World, a_world, endpoint_of, fixed

MANAGEMENT = {
    endpoint_of(row).path: row
    for row in reversed(ROWS)
    if endpoint_of(row).method == "POST" and OK in row.answers and endpoint_of(row).path not in EVERYTHING
}


def a_request(stage: str, path: str) -> tuple[World, Row]:
    """Return the request with every field, at a new merchant, whose caller is somebody who may send it."""
    row = MANAGEMENT[path]
    world = a_world(stage, ROLES[row.answers.index(OK)])
    parts, of_row, terminal = row.parts(world), row.body(world), world.colleague.agent.terminal_id
    assert terminal is not None
    write_one(unique_names.register_tid(world.home.id, "SHOP0001", terminal))
    given = {
        "CurrentAccountID": world.caller.agent.id,
        "ID": next(reversed(parts.values()), None),
        **dict.fromkeys(("BranchID", "ClientID"), world.home.id),
        "TerminalID": terminal,
        "TID": "SHOP0001",
        "TerminalGroupID": 2,
    }
    return world, fixed(row, parts, _merged(builders.complete(path, given), of_row))


def _merged(whole: Any, part: Any) -> Any:
    """Return the whole with the values of the part."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return whole | {name: _merged(whole.get(name), value) for name, value in part.items()}
    if isinstance(part, list) and isinstance(part[0], dict):
        return [_merged(whole[0], one) for one in part]
    return part
