"""The cost of signing in with a password, and whether time tells a known login from an unknown one."""

import base64
import contextlib
import itertools
import statistics
import time
import uuid
from datetime import UTC, datetime

from chalicelib.domain.agent import Login
from chalicelib.domain.secret import Secret
from chalicelib.errors import ServiceError
from chalicelib.services import authentication, passwords
from chalicelib.store import logins
from chalicelib.store.table import write_one
from infra.capacity_meter import measure_capacity

PASSWORD = Secret("a password of the bench")
GUESSES = 8  # at one login: two fewer than lock it
LOGINS = 40


def print_sign_in() -> None:
    """Print the store calls and capacity units of passwords, and the times of wrong ones."""
    password_hash = passwords.hash_password(PASSWORD)
    known = _known_login(password_hash)
    attempts = {
        "password, verified": (known, PASSWORD.reveal()),
        "password, remembered": (known, PASSWORD.reveal()),
        "wrong password": (known, "wrong"),
        "unknown login": (_email(), "wrong"),
    }
    print()
    for name, attempt in attempts.items():
        with measure_capacity() as meter:
            _try(*attempt)
        print(f"{name:26}{meter['calls']:>6}{meter['RCU']:>7.1f}{meter['WCU']:>7.1f}")

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
    write_one(logins.create(login))
    return login.email


def _try(email: str, password: str) -> None:
    header = base64.b64encode(f"{email}:{password}".encode()).decode()
    with contextlib.suppress(ServiceError):
        authentication.caller_of(f"Basic {header}", datetime.now(UTC))


def _wall_ms(email: str) -> float:
    started = time.perf_counter()
    _try(email, "wrong")
    return (time.perf_counter() - started) * 1000
