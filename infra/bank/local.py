"""The acquirers of the local stage: the sandbox, a bank or a stand-in for Stripe next to the stage, or others."""

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from chalicelib import outside
from chalicelib.domain.secret import Secret
from chalicelib.settings import ISO8583, STRIPE
from infra.bank import books
from infra.bank.bank import Bank
from infra.bank.server import Server, certificates_in, host_context
from infra.local import stripe_stand_in
from infra.local.stripe_stand_in import StripeStandIn
from infra.operator import stage_secret

INSTITUTION = "123456"
OF_ANOTHER = {
    ISO8583.lower(): ("ISO8583_HOST", "ISO8583_PORT", "ISO8583_TLS", "ISO8583_CA"),
    STRIPE.lower(): ("STRIPE_URL", "STRIPE_KEY"),
}
USUAL_KEY = "sk_test_local"


class AcquirerSettingsError(Exception):
    """Wrong settings of acquirers. The message is one line that gives the reason."""


@dataclass(frozen=True)
class LocalAcquirers:
    """The stage's variables, the lines to print, what makes bank and stand-in forget, and the key of STRIPE."""

    environment: dict[str, str] = field(default_factory=dict)
    welcome: str = ""
    forget: Callable[[], None] = lambda: None
    stripe_key: Secret | None = None

    def store_secret(self) -> None:
        """Store the key in the stage's secret, if STRIPE is an acquirer."""
        if self.stripe_key:
            stage_secret.use_stripe_key(self.stripe_key)


@contextlib.contextmanager
def acquirers() -> Iterator[LocalAcquirers]:
    """Yield the acquirers that ACQUIRER and ACQUIRERS of the environment choose, until the block ends.

    ACQUIRER=iso8583 starts a bank on free ports, ACQUIRER=stripe a stand-in for Stripe. The stage reads its other
    settings of acquirers from the environment. Raises AcquirerSettingsError.
    """
    chosen, named = os.environ.get("ACQUIRER"), os.environ.get("ACQUIRERS")
    with contextlib.ExitStack() as stack:
        started = LocalAcquirers()
        if chosen:
            _check(chosen)
            started = STARTS[chosen](stack)
        elif named and STRIPE in named:
            started = LocalAcquirers(stripe_key=_stripe_key())
        beside = {"ACQUIRERS": named} if named else {}
        yield replace(started, environment=started.environment | beside)


def _bank(stack: contextlib.ExitStack) -> LocalAcquirers:
    bank = stack.enter_context(contextlib.closing(Bank(clock=outside.now)))
    certificates = certificates_in(Path(stack.enter_context(TemporaryDirectory(prefix="bank-"))))
    server = stack.enter_context(Server(bank, tls=host_context(certificates)))
    door = stack.enter_context(books.serve(bank)).rpartition(":")[2]
    settings = {
        "ACQUIRERS": ISO8583,
        "ISO8583_HOST": server.host,
        "ISO8583_PORT": str(server.port),
        "ISO8583_INSTITUTION": INSTITUTION,
        "ISO8583_CA": str(certificates.ca.absolute()),
    }
    welcome = f"""
Card payments go to a bank on {server.host}:{server.port} (ISO 8583 with TLS). Its books, its list of a day:

  python -m infra.bank --books --control {door}
  python -m infra.bank --list YYYY-MM-DD --control {door}
"""
    return LocalAcquirers(settings, welcome, bank.forget)


def _stand_in(stack: contextlib.ExitStack) -> LocalAcquirers:
    stand_in = StripeStandIn()
    url = stack.enter_context(stripe_stand_in.serve(stand_in))
    welcome = f"""
Card payments go to a stand-in for Stripe on {url}. Its balance report of a day:

  curl {url}{stripe_stand_in.REPORT}YYYY-MM-DD
"""
    return LocalAcquirers({"ACQUIRERS": STRIPE, "STRIPE_URL": url}, welcome, stand_in.forget, Secret(USUAL_KEY))


STARTS = {ISO8583.lower(): _bank, STRIPE.lower(): _stand_in}


def _check(chosen: str) -> None:
    if chosen not in OF_ANOTHER:
        message = f"ACQUIRER is {', '.join(OF_ANOTHER)} or absent, not {chosen}."
        raise AcquirerSettingsError(message)
    if taken := [name for name in OF_ANOTHER[chosen] if os.environ.get(name)]:
        started = "a bank of its own" if chosen == ISO8583.lower() else "a stand-in of its own"
        message = f"ACQUIRER={chosen} starts {started}, and {', '.join(taken)} is of another: take one of both."
        raise AcquirerSettingsError(message)


def _stripe_key() -> Secret:
    """Return the key for STRIPE. The local stage moves no real money."""
    key = os.environ.get("STRIPE_KEY") or USUAL_KEY
    if not re.fullmatch("(sk|rk)_test_[A-Za-z0-9_]+", key):
        message = "STRIPE_KEY is no test key of Stripe: the local stage takes only sk_test_... or rk_test_..."
        raise AcquirerSettingsError(message)
    return Secret(key)
