from typing import Any

import pytest
from argon2 import PasswordHasher, extract_parameters

from chalicelib import outside
from chalicelib.domain.secret import Secret
from chalicelib.services import passwords
from chalicelib.services.passwords import UNKNOWN_LOGIN_HASH, hash_password, verify
from tests.support.accounts import PASSWORD
from tests.support.giving import Give, Instead

HASHER = outside.Outside().hasher()  # that of a stage
PASSWORD_HASH = HASHER.hash(PASSWORD)


@pytest.fixture(autouse=True)
def verified(give: Give) -> list[Any]:
    """Hash with the parameters of a stage, and return the hashes that are verified."""
    found: list[Any] = []

    def noted(stored: Any, password: Any) -> Any:
        found.append(stored)
        return HASHER.verify(stored, password)

    give(hasher=lambda: Instead(HASHER, verify=noted))
    return found


def test_passwords_are_argon2id_at_the_owasp_minimum_or_stronger() -> None:
    parameters = extract_parameters(hash_password(Secret(PASSWORD)))

    assert parameters.type.name == "ID"
    assert parameters.memory_cost >= 19456
    assert parameters.time_cost >= 2


def test_the_hash_for_unknown_logins_costs_what_every_other_does() -> None:
    assert extract_parameters(UNKNOWN_LOGIN_HASH) == extract_parameters(hash_password(Secret(PASSWORD)))


def test_a_password_is_verified_each_time(verified: list[Any]) -> None:
    assert [verify(PASSWORD_HASH, Secret(password)) for password in (PASSWORD, PASSWORD, "wrong")] == [
        True,
        True,
        False,
    ]
    assert verified == [PASSWORD_HASH] * 3


def test_a_password_of_an_unknown_login_is_verified_each_time_and_never_right(verified: list[Any]) -> None:
    assert not any(verify(None, Secret(PASSWORD)) for _ in range(3))
    assert verified == [UNKNOWN_LOGIN_HASH] * 3


def test_what_is_no_hash_matches_nothing() -> None:
    assert not verify("not a hash", Secret(PASSWORD))


def test_one_password_matches_however_its_accents_are_composed() -> None:
    composed, decomposed = "caf\u00e9-au-lait", "cafe\u0301-au-lait"

    assert verify(hash_password(Secret(composed)), Secret(decomposed))
    assert verify(hash_password(Secret(decomposed)), Secret(composed))


def test_a_hash_under_weaker_parameters_is_outdated() -> None:
    assert passwords.is_outdated(PasswordHasher(1, 8192, 1).hash(PASSWORD))
    assert not passwords.is_outdated(PASSWORD_HASH)
