"""The people of a simulated town: a merchant with an owner and two tills, and a till of another merchant."""

import itertools
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from chalicelib.domain.agent import BranchActions
from chalicelib.domain.permissions import Right
from chalicelib.domain.secret import Secret
from chalicelib.gateways.secrets import keyed_digest, seal
from chalicelib.services.passwords import hash_password
from chalicelib.store import logins
from chalicelib.store.table import put_new, write_one
from tests import builders
from tests.accounts import basic
from tests.builders import a_login, a_merchant, a_terminal, an_agent
from tests.tills import EVERYTHING

MADE = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass
class Person:
    """An agent and what it signs in with, as far as it knows."""

    name: str
    id: int
    merchant_id: int
    email: str
    password: str
    key: str
    session: str | None = None
    old_password: str = "a password that never was"  # noqa: S105  it opens nothing
    old_key: str = "a key that never was"

    def header(self, signs: str) -> str:
        """Return the Authorization header."""
        if signs == "session" and self.session:
            return f"Session {self.session}"
        secrets = {
            "password": self.password,
            "old password": self.old_password,
            "old key": self.old_key,
            "wrong": "not the password",
        }
        return basic(self.email, secrets.get(signs, self.key))


@dataclass
class People:
    """Everybody, by name."""

    by_name: dict[str, Person] = field(default_factory=dict)

    def copy(self) -> "People":
        """Return others who are the same."""
        return deepcopy(self)


def a_town() -> People:
    """Store two merchants and their people, the same each time."""
    builders._ids = itertools.count(500_000)  # noqa: SLF001  the same IDs in every process
    people = People()
    first, second = (_merchant(name) for name in ("Corner Store", "Other Store"))
    people.by_name = {
        "owner": _person("owner", first, rights=(int(Right.ADMINISTRATOR), int(Right.REVERSE_OTHERS))),
        "till 1": _person("till 1", first, rights=(int(Right.REVERSE_OTHERS),)),
        "till 2": _person("till 2", first, rights=(int(Right.REVERSE_OTHERS),)),
        "till of another merchant": _person("till of another merchant", second, rights=(int(Right.REVERSE_OTHERS),)),
    }
    return people


def _merchant(name: str) -> Any:
    merchant = a_merchant(name=name, currency_id="ZAR", created_at=MADE)
    write_one(put_new("merchants", merchant, "id"))
    return merchant


def _person(name: str, merchant: Any, rights: tuple[int, ...]) -> Person:
    tid = f"T{merchant.id % 1000:03d}{name[-1].upper()}"
    terminal = a_terminal(client_id=merchant.id, tid=tid, back_retailer_id="BANK00000000001", created_at=MADE)
    write_one(put_new("terminals", terminal, "id"))
    email = f"{name.replace(' ', '.')}@{merchant.id}.example"
    agent = an_agent(
        client_id=merchant.id,
        name=name,
        email=email,
        terminal_id=terminal.id,
        mobile_settings=EVERYTHING,
        branches_actions=(BranchActions(merchant.id, rights),),
        created_at=MADE,
    )
    person = Person(
        name, agent.id, merchant.id, email, f"password of {name}", f"secret-key-of-{name.replace(' ', '-')}"
    )
    agent = type(agent)(**{**vars(agent), "secret_key_sealed": seal(Secret(person.key), agent.id)})
    login = a_login(
        agent,
        credential_version=agent.credential_version,
        terminal_id=terminal.id,
        password_hash=hash_password(Secret(person.password)),
        key_digest=keyed_digest(Secret(person.key)),
    )
    write_one(put_new("agents", agent, "id"))
    write_one(logins.create(login))
    return person
