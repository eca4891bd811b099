"""Attempts to sign in with a password. Their time must not reveal whether a login is known."""

import base64
import contextlib
import itertools
import statistics
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from chalicelib.domain.agent import Login
from chalicelib.domain.secret import Secret
from chalicelib.errors import ServiceError
from chalicelib.services import authentication, passwords
from chalicelib.store import agent_changes
from chalicelib.store.table import write_one

PASSWORD = Secret("a password of the bench")
GUESSES = 8  # at one login: two fewer than lock it
LOGINS = 40


def attempts() -> dict[str, Callable[[], None]]:
    """Return attempts to sign in with a password, by the work of the authorizer."""
    known = _known_login(passwords.hash_password(PASSWORD))
    return {
        "authorizer, by a password that is verified": partial(_try, known, PASSWORD.reveal()),
        "authorizer, by a wrong password": partial(_try, known, "wrong"),
        "authorizer, by an unknown login": partial(_try, _email(), "wrong"),
    }


def print_sign_in() -> None:
    """Print the times of wrong passwords of known logins and of unknown ones."""
    password_hash = passwords.hash_password(PASSWORD)
    times: dict[str, list[float]] = {"known": [], "unknown": []}
    for _ in range(LOGINS):
        emails = {"known": _known_login(password_hash), "unknown": _email()}
        for _ in range(GUESSES):
            for kind, email in emails.items():
                times[kind].append(_wall_ms(email))
    print(f"\nwrong password, wall ms over {LOGINS * GUESSES} guesses{'p50':>10}{'p90':>8}")
    for kind, values in times.items():
        print(f"{kind + ' login':26}{statistics.median(values):>24.2f}{statistics.quantiles(values, n=10)[-1]:>8.2f}")
    slower = sum(a > b for a, b in itertools.product(times["unknown"], times["known"]))
    share = slower / len(times["known"]) ** 2
    print(f"an unknown login is slower than a known one in {share:.0%} of all pairs (50%: time tells nothing)")


def _email() -> str:
    return f"{uuid.uuid4().hex}@bench.example"


def _known_login(password_hash: str) -> str:
    login = Login(_email(), 1, 1, password_hash=password_hash, last_logon=datetime.now(UTC))
    write_one(agent_changes.create_login(login))
    return login.email


def _try(email: str, password: str) -> None:
    header = base64.b64encode(f"{email}:{password}".encode()).decode()
    with contextlib.suppress(ServiceError):
        authentication.caller_of(f"Basic {header}", datetime.now(UTC))


def _wall_ms(email: str) -> float:
    started = time.perf_counter()
    _try(email, "wrong")
    return (time.perf_counter() - started) * 1000
