from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from argon2 import PasswordHasher, extract_parameters

from chalicelib.domain.secret import Secret
from chalicelib.services import passwords
from chalicelib.services.passwords import (
    CACHED_FOR,
    MAX_CACHED,
    UNKNOWN_LOGIN_HASH,
    VerifiedPasswords,
    hash_password,
    is_remembered,
    verify,
)
from tests.support.accounts import PASSWORD, PASSWORD_HASH

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
    monkeypatch.setattr(passwords, "_verified", VerifiedPasswords())
    return hasher


def test_passwords_are_argon2id_at_the_owasp_minimum_or_stronger() -> None:
    parameters = extract_parameters(hash_password(Secret(PASSWORD)))

    assert parameters.type.name == "ID"
    assert parameters.memory_cost >= 19456
    assert parameters.time_cost >= 2


def test_the_hash_for_unknown_logins_costs_what_every_other_does() -> None:
    assert extract_parameters(UNKNOWN_LOGIN_HASH) == extract_parameters(hash_password(Secret(PASSWORD)))


def test_a_right_password_is_remembered_for_a_minute(hasher: _Counting) -> None:
    del hasher
    uses = [NOW, NOW + CACHED_FOR - timedelta(seconds=1), NOW + CACHED_FOR]
    before = is_remembered(PASSWORD_HASH, Secret(PASSWORD), NOW)

    assert verify(PASSWORD_HASH, Secret(PASSWORD), NOW)
    assert not before
    assert [is_remembered(PASSWORD_HASH, Secret(PASSWORD), now) for now in uses] == [True, True, False]
    assert not is_remembered(PASSWORD_HASH, Secret("wrong"), NOW)
    assert not is_remembered(None, Secret(PASSWORD), NOW)


def test_a_wrong_password_is_never_cached(hasher: _Counting) -> None:
    assert not any(verify(PASSWORD_HASH, Secret("wrong"), NOW) for _ in range(3))
    assert not is_remembered(PASSWORD_HASH, Secret("wrong"), NOW)
    assert len(hasher.verified) == 3


def test_a_password_of_an_unknown_login_is_verified_each_time_and_never_right(hasher: _Counting) -> None:
    assert not any(verify(None, Secret(PASSWORD), NOW) for _ in range(3))
    assert hasher.verified == [UNKNOWN_LOGIN_HASH] * 3


def test_what_is_no_hash_matches_nothing() -> None:
    assert not verify("not a hash", Secret(PASSWORD), NOW)


def test_one_password_matches_however_its_accents_are_composed() -> None:
    composed, decomposed = "caf\u00e9-au-lait", "cafe\u0301-au-lait"

    assert verify(hash_password(Secret(composed)), Secret(decomposed), NOW)


def test_a_hash_under_weaker_parameters_is_outdated() -> None:
    assert passwords.is_outdated(PasswordHasher(1, 8192, 1).hash(PASSWORD))
    assert not passwords.is_outdated(PASSWORD_HASH)


def test_the_cache_is_bounded_and_forgets_the_oldest_first() -> None:
    cache = VerifiedPasswords(max_cached=3)
    for number in range(5):
        cache.add(f"hash {number}", b"password", NOW)

    assert [number for number in range(5) if cache.contains(f"hash {number}", b"password", NOW)] == [2, 3, 4]
    assert MAX_CACHED <= 10_000


def test_no_password_is_in_the_cache() -> None:
    cache = VerifiedPasswords()
    cache.add(PASSWORD_HASH, PASSWORD.encode(), NOW)

    assert PASSWORD not in repr(vars(cache))


def test_two_processes_cache_one_password_under_different_digests() -> None:
    one, other = VerifiedPasswords(), VerifiedPasswords()
    for cache in (one, other):
        cache.add(PASSWORD_HASH, PASSWORD.encode(), NOW)

    assert not set(vars(one)["_until"]) & set(vars(other)["_until"])
