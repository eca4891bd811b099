"""The command `python -m infra.operator echo`: whether the host of the acquirer ISO8583 answers. It moves no money."""

import argparse
import secrets
import sys
from datetime import UTC, datetime

from chalicelib.domain.acquirer import APPROVED_CODE, AcquirerError, UnreachableError, text_of_code
from chalicelib.domain.host_messages import LAST_STAN
from chalicelib.domain.transaction import MessageTrace
from chalicelib.settings import settings

SECONDS = 10.0


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `echo` to the operator's commands."""
    command = commands.add_parser("echo", help="ask the host of the acquirer ISO8583 whether it is there (0800)")
    command.set_defaults(command=echo_command)


def echo_command(_: argparse.Namespace) -> None:
    """Print how long the host's answer took; exit with one line when there is none, or it is no 00."""
    from chalicelib.gateways.acquirers.iso8583.adapter import Iso8583  # noqa: PLC0415  the other commands need no codec

    host = settings().iso8583
    if host is None:
        sys.exit("The stage has no acquirer ISO8583.")
    where = f"{host.name}:{host.port}"
    began = datetime.now(UTC)
    try:
        code = Iso8583(host).echo(MessageTrace(1 + secrets.randbelow(LAST_STAN), began), SECONDS)
    except UnreachableError:
        sys.exit(f"No connection to {where}: see the line `iso8583_unreachable` above.")
    except AcquirerError:
        sys.exit(f"{where} took the message and did not answer within {SECONDS:.0f} s, or not by the interface.")
    if code != APPROVED_CODE:
        sys.exit(f"{where} answers {code:02d}: {text_of_code(code)}.")
    print(f"{where} answers, after {(datetime.now(UTC) - began).total_seconds() * 1000:.0f} ms.")
