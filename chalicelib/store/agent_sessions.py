"""The sessions of an agent: at most `MOST_ALIVE` at a time, and the list of the remembered ones."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain, islice

from chalicelib.domain.agent import Agent
from chalicelib.domain.sessions import (
    MOST_ALIVE,
    REMEMBERED,
    RememberedSession,
    Session,
    ends_at,
    is_alive,
    last_expiry,
    remembered_for,
)
from chalicelib.store import table
from chalicelib.store.retries import ChangedMeanwhileError, retry_with
from chalicelib.store.sessions import TABLE, ending, key


@dataclass(frozen=True)
class AgentSessions:
    """The digests of an agent's sessions of one credential version, the oldest first. Some may have ended."""

    name: str
    credential_version: int
    digests: tuple[str, ...]
    expires_at: int
    version: int = 1


def key_of(agent_id: int) -> table.Key[AgentSessions]:
    """Return the key of the digests of an agent's sessions."""
    return table.Key("sequences", AgentSessions, {"name": f"sessions#{agent_id}"})


def create(session: Session, stored: AgentSessions | None = None) -> None:
    """Store a new session, and end the oldest one that is alive if the agent has `MOST_ALIVE` already.

    `stored` is the record of the agent's sessions, if it was read already.
    """
    own = key_of(session.agent_id)
    # If it exists, our first write succeeded: its ID is random.
    with suppress(table.AlreadyExistsError):
        retry_with(stored, lambda read: _create(session, own, read), lambda: table.read(own))


def _create(session: Session, own: table.Key[AgentSessions], stored: AgentSessions | None) -> None:
    earlier = stored.digests if stored and stored.credential_version == session.credential_version else ()
    ended: list[Session] = []
    if len(earlier) >= MOST_ALIVE:
        found: list[Session | None] = table.read_all([key(one) for one in earlier])
        alive = [one for one in found if one and is_alive(one, session.opened_at)]
        ended, kept = alive[: 1 - MOST_ALIVE], alive[1 - MOST_ALIVE :]
        earlier = tuple(one.digest for one in kept)
    after = AgentSessions(
        name=str(own.key["name"]),
        credential_version=session.credential_version,
        digests=(*earlier, session.digest),
        expires_at=last_expiry(session.opened_at),
        version=stored.version if stored else 1,
    )
    changed = ChangedMeanwhileError()
    table.commit(
        table.put_new(TABLE, session, "digest"),
        table.replace_record(own, after, changed) if stored else table.put_new(own.table, after, "name", changed),
        *(ending(one.digest, "digest", changed) for one in ended),
    )


def remembered(agent: Agent, now: datetime) -> list[RememberedSession]:
    """List the agent's remembered sessions that are valid, the last used first: at most `MOST_ALIVE`.

    The index is milliseconds behind. Sessions that were ended, or are of an older credential version, are not in it.
    """
    condition = "#remembered_for = :whose AND #used_at > :idle"
    values = {"whose": remembered_for(agent.id, agent.credential_version), "idle": now - REMEMBERED.idle}
    newest = {
        "TableName": table.table_name(TABLE),
        "IndexName": "remembered",
        "KeyConditionExpression": condition,
        "ExpressionAttributeNames": table.attribute_names(condition),
        "ExpressionAttributeValues": {f":{name}": table.value_of(value) for name, value in values.items()},
        "ScanIndexForward": False,
        "Limit": MOST_ALIVE,
    }
    items = chain.from_iterable(page["Items"] for page in table.pages_of(newest))  # a page may be short
    found = table.readable(TABLE, items, partial(table.decode, RememberedSession))
    return list(islice((session for session in found if now < ends_at(session)), MOST_ALIVE))


def end_remembered(sessions: Iterable[RememberedSession]) -> list[table.Write]:
    """Return the writes that end remembered sessions. ChangedMeanwhileError is raised when one has ended meanwhile."""
    return [ending(one.digest, "remembered_for", ChangedMeanwhileError()) for one in sessions]
