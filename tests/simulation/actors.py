"""The people of a simulated town: a merchant with an owner, two tills and a trainee, and a till of another merchant.

An operator links cards and removes them: it has no account, and works where the tables are.
"""

import itertools
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import jwt

from chalicelib.domain.agent import BranchActions, MobileSettings
from chalicelib.domain.card import VERIFIED, LinkedCard
from chalicelib.domain.kinds import Features
from chalicelib.domain.permissions import Right
from chalicelib.domain.secret import Secret
from chalicelib.domain.transaction import CardDetails
from chalicelib.gateways.secrets import keyed_digest, seal
from chalicelib.services.passwords import hash_password
from chalicelib.store import agent_changes, linked_cards
from chalicelib.store.table import put_new, write_one
from tests.simulation.erasure_acts import HOLDER
from tests.simulation.goods import TAXES
from tests.simulation.scenario_script import CARDS, EXPIRING, STRANGER, TRAINEE
from tests.simulation.wire import SECRET
from tests.support import builders
from tests.support.accounts import basic
from tests.support.builders import a_login, a_merchant, a_terminal, an_agent

ZONE = 2  # hours that the shops are ahead of UTC, as of every merchant of `tests.builders`
MADE = datetime(2026, 3, 1, tzinfo=UTC)
FACE = CardDetails("VISA", "411111", "1111", "1230", cardholder=HOLDER)
THIS_MONTH = "0326"
SIGNING = SECRET["signing"][0]
ALSO_OFFLINE = MobileSettings(
    Features(accept_prepaid=True, accept_credit=True, accept_outer_card=True, offline=True, auto_login=True)
)
FORGER = "a key that signs nothing here, of 40 bytes"


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
    old_email: str = "nobody@nowhere.example"
    old_password: str = "a password that never was"  # noqa: S105  it opens nothing
    old_key: str = "a key that never was"

    def secret(self, signs: str) -> str:
        """Return what it proves who it is with."""
        if signs.startswith("session") and self.session:
            return self.session
        secrets = {
            "password": self.password,
            "old password": self.old_password,
            "old key": self.old_key,
            "old token": self.old_key,
        }
        return secrets.get(signs, self.key)

    def by_session(self, session: str, *, is_secret: bool) -> str:
        """Return the Authorization header of a session; it may also stand where a password stands."""
        return basic(self.email, session) if is_secret else f"Session {session}"

    def header(self, signs: str) -> str:
        """Return the Authorization header."""
        secret = self.secret(signs)
        if signs == "session" and self.session:
            return f"Session {secret}"
        if signs.endswith("token"):
            signing = FORGER if signs == "forged token" else SIGNING
            until = {"exp": int(MADE.timestamp())} if signs == "expired token" else {}
            return f"Jwt {jwt.encode({'email': self.email, 'token': secret, **until}, signing)}"
        return basic(self.old_email if signs == "old email" else self.email, secret)


@dataclass
class People:
    """Everybody, by name."""

    by_name: dict[str, Person] = field(default_factory=dict)
    cards: dict[str, int] = field(default_factory=dict)  # the IDs of linked cards, by their names

    def copy(self) -> "People":
        """Return others who are the same."""
        return People(**{name: {key: copy(one) for key, one in part.items()} for name, part in vars(self).items()})


def a_town() -> People:
    """Store two merchants and their people, the same each time."""
    builders._ids = itertools.count(500_000)  # noqa: SLF001  the same IDs in every process
    people = People()
    first, second = (_merchant(name) for name in ("Corner Store", "Other Store"))
    people.by_name = {
        "owner": _person("owner", first, rights=(int(Right.ADMINISTRATOR), int(Right.REVERSE_OTHERS))),
        "till 1": _person("till 1", first, rights=(int(Right.REVERSE_OTHERS),)),
        "till 2": _person("till 2", first, rights=(int(Right.REVERSE_OTHERS),)),
        STRANGER: _person(STRANGER, second, rights=(int(Right.ADMINISTRATOR), int(Right.REVERSE_OTHERS))),
        TRAINEE: _person(TRAINEE, first, rights=()),
    }
    of_others = people.by_name[STRANGER]
    for number, name in enumerate(CARDS):
        owner = of_others if name == CARDS[-1] else people.by_name["till 1"]
        people.cards[name] = _card(number, name, owner)
    return people


def _card(number: int, name: str, owner: Person) -> int:
    card = LinkedCard(
        id=900_001 + number,
        client_id=owner.merchant_id,
        account_id=owner.id,
        acquirer="SANDBOX",
        details=FACE if name != EXPIRING else replace(FACE, exp=THIS_MONTH),
        alias=name,
        created_at=MADE,
        updated_at=MADE,
        link_id=token_of(name),
        status=VERIFIED,
    )
    linked_cards.create(card)
    return card.id


def token_of(card: str) -> str:
    """Return the acquirer's token for a card that was linked before a scenario begins."""
    return f"token of the {card}"


def _merchant(name: str) -> Any:
    merchant = a_merchant(name=name, currency_id="ZAR", created_at=MADE, taxes=TAXES)
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
        mobile_settings=ALSO_OFFLINE,
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
    write_one(agent_changes.create_login(login))
    return person
