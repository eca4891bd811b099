"""The acquirers of the local stage: the sandbox, a bank next to the stage, or a host of the environment."""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from chalicelib import outside
from chalicelib.settings import ISO8583
from infra.bank import books
from infra.bank.bank import Bank
from infra.bank.server import Server, certificates_in, host_context

INSTITUTION = "123456"
OF_ANOTHER_HOST = ("ISO8583_HOST", "ISO8583_PORT", "ISO8583_TLS", "ISO8583_CA")


class AcquirerSettingsError(Exception):
    """Wrong settings of acquirers. The message is one line that gives the reason."""


@dataclass(frozen=True)
class LocalAcquirers:
    """The environment variables for the stage, the lines to print, and what makes the bank forget."""

    environment: dict[str, str] = field(default_factory=dict)
    welcome: str = ""
    forget: Callable[[], None] = lambda: None


@contextlib.contextmanager
def acquirers() -> Iterator[LocalAcquirers]:
    """Yield the acquirers that ACQUIRER and ACQUIRERS of the environment choose, until the block ends.

    ACQUIRER=iso8583 starts a bank on free ports. The stage reads its other settings of acquirers from the environment.
    Raises AcquirerSettingsError.
    """
    chosen, named = os.environ.get("ACQUIRER"), os.environ.get("ACQUIRERS")
    beside = {"ACQUIRERS": named} if named else {}
    if not chosen:
        yield LocalAcquirers(beside)
        return
    _check(chosen)
    with contextlib.ExitStack() as stack:
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
        yield LocalAcquirers(settings | beside, welcome, bank.forget)


def _check(chosen: str) -> None:
    if chosen != ISO8583.lower():
        message = f"ACQUIRER is {ISO8583.lower()} or absent, not {chosen}."
        raise AcquirerSettingsError(message)
    if taken := [name for name in OF_ANOTHER_HOST if os.environ.get(name)]:
        message = f"ACQUIRER={chosen} starts a bank of its own, and {', '.join(taken)} is of another: take one of both."
        raise AcquirerSettingsError(message)
