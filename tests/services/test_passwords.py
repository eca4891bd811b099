from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from argon2 import PasswordHasher, extract_parameters

from chalicelib.domain.secret import Secret
from chalicelib.services import passwords
from chalicelib.services.passwords import AT_MOST, NOBODYS_HASH, REMEMBERED, Memory, hash_password, matches
from tests.accounts import PASSWORD, PASSWORD_HASH

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


class _Counting(PasswordHasher):
    """A hasher that counts what it verifies."""

    def __init__(self) -> None:
        super().__init__(time_cost=2, memory_cost=19456, parallelism=1)
        self.verified: list[str] = []

    def verify(self, hash: Any, password: Any) -> Any:  # noqa: A002  argon2's name of it
        self.verified.append(hash)
        return super().verify(hash, password)


@pytest.fixture
def hasher(monkeypatch: pytest.MonkeyPatch) -> _Counting:
    hasher = _Counting()
    monkeypatch.setattr(passwords, "hasher", lambda: hasher)
    monkeypatch.setattr(passwords, "_memory", Memory())
    return hasher


def test_passwords_are_argon2id_at_the_owasp_minimum_or_stronger() -> None:
    parameters = extract_parameters(hash_password(Secret(PASSWORD)))

    assert parameters.type.name == "ID"
    assert parameters.memory_cost >= 19456
    assert parameters.time_cost >= 2


def test_nobodys_hash_costs_what_everybodys_does() -> None:
    assert extract_parameters(NOBODYS_HASH) == extract_parameters(hash_password(Secret(PASSWORD)))


def test_a_right_password_is_verified_once_a_minute(hasher: _Counting) -> None:
    uses = [NOW, NOW + REMEMBERED - timedelta(seconds=1), NOW + REMEMBERED]

    assert all(matches(PASSWORD_HASH, Secret(PASSWORD), now) for now in uses)
    assert len(hasher.verified) == 2


def test_a_wrong_password_is_never_remembered(hasher: _Counting) -> None:
    assert not any(matches(PASSWORD_HASH, Secret("wrong"), NOW) for _ in range(3))
    assert len(hasher.verified) == 3


def test_nobodys_password_is_verified_each_time_and_never_right(hasher: _Counting) -> None:
    assert not any(matches(None, Secret(PASSWORD), NOW) for _ in range(3))
    assert hasher.verified == [NOBODYS_HASH] * 3


def test_what_is_no_hash_matches_nothing() -> None:
    assert not matches("not a hash", Secret(PASSWORD), NOW)


def test_one_password_matches_however_its_accents_are_composed() -> None:
    composed, decomposed = "caf\u00e9-au-lait", "cafe\u0301-au-lait"

    assert matches(hash_password(Secret(composed)), Secret(decomposed), NOW)


def test_a_hash_under_weaker_parameters_is_outdated() -> None:
    assert passwords.is_outdated(PasswordHasher(1, 8192, 1).hash(PASSWORD))
    assert not passwords.is_outdated(PASSWORD_HASH)


def test_the_memory_is_bounded_and_forgets_the_oldest_first() -> None:
    memory = Memory(at_most=3)

    for number in range(5):
        memory.keep(f"hash {number}", b"password", NOW)

    assert [number for number in range(5) if memory.knows(f"hash {number}", b"password", NOW)] == [2, 3, 4]
    assert AT_MOST <= 10_000


def test_no_password_is_in_the_memory() -> None:
    memory = Memory()

    memory.keep(PASSWORD_HASH, PASSWORD.encode(), NOW)

    assert PASSWORD not in repr(vars(memory))


def test_two_processes_remember_one_password_differently() -> None:
    one, other = Memory(), Memory()

    for memory in (one, other):
        memory.keep(PASSWORD_HASH, PASSWORD.encode(), NOW)

    assert not set(vars(one)["_until"]) & set(vars(other)["_until"])
