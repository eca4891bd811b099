from dataclasses import replace
from datetime import UTC, datetime

import pytest

from chalicelib.domain.agent import Login
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store import agent_changes, agents
from chalicelib.store.table import commit, read
from tests.support.accounts import an_account

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
UNKNOWN = "nobody@store.example"

pytestmark = pytest.mark.usefixtures("engine")


def test_a_login_is_found_whatever_its_case() -> None:
    account = an_account()

    assert read(agents.login_key(f" {account.email.upper()} ")) == account.login


def test_an_email_belongs_to_one_agent_whatever_its_case() -> None:
    account = an_account()
    with pytest.raises(ServiceError) as refusal:
        commit(agent_changes.create_login(Login(account.email.upper(), 1, 1)))

    assert refusal.value.error is ErrorCode.EMAIL_TAKEN


def test_a_rehash_replaces_the_hash_it_was_made_from_and_gives_way_to_a_changed_password() -> None:
    account = an_account()
    login = account.login
    agents.rehash(login, "changed")
    agents.rehash(login, "stronger")
    agents.rehash(replace(login, email=UNKNOWN), "stronger")

    assert account.login.password_hash == "changed"  # noqa: S105  a stand-in for a hash
    assert read(agents.login_key(UNKNOWN)) is None
