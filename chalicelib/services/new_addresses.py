"""A sign-in of a system user from a new address: the other system users get an e-mail."""

import secrets as random_source
from contextlib import suppress
from datetime import datetime

from chalicelib.domain.agent import NO_CLIENT, Agent
from chalicelib.domain.known_addresses import KnownAddress, known_address, new_address
from chalicelib.domain.outbox import NOTICE
from chalicelib.gateways.secrets import pseudonym
from chalicelib.services import message_limits
from chalicelib.store import agents, outbox
from chalicelib.store.table import AlreadyExistsError, Key, Write, put_new, read, update, write_one


def remember(agent: Agent, source: str, now: datetime) -> None:
    """Remember the address of a sign-in. The e-mail about a new one is stored with it, all or nothing."""
    key = Key("sequences", KnownAddress, {"name": f"address#{agent.id}#{pseudonym('source', source)}"})
    known, record = read(key), known_address(key.key["name"], now)
    if known:
        write_one(update(key, {"until": record.until, "expires_at": record.expires_at}))
    if known and now < known.until:
        return
    others = [
        one.email
        for one in agents.of_merchant(NO_CLIENT)
        if one.id != agent.id and one.is_system_user and one.is_active
    ]

    def writes(admitted: tuple[str, ...]) -> list[Write]:
        told = new_address(random_source.token_hex(16), agent, source, admitted, now)
        return [*([] if known else [put_new(key.table, record, "name")]), *([outbox.put(told)] if admitted else [])]

    with suppress(AlreadyExistsError):  # another sign-in from this address was first, and tells the others
        admitted = message_limits.admit(others, NO_CLIENT, agent.id, now, writes=writes)
        if withheld := len(others) - len(admitted):
            message_limits.log_withheld(NOTICE, NO_CLIENT, agent.id, withheld)
