"""What an operator types (lines, answers, secrets that the screen does not show), and stored texts on the screen."""

import getpass
import os
import pwd
import re
import sys

import boto3

from chalicelib import outside
from chalicelib.domain.printed_text import one_line
from chalicelib.settings import settings
from chalicelib.store.audit import OPERATOR, Act

NAMELESS = re.compile("(botocore|aws-sdk|AWS-CLI)-session-.*")  # of a profile without `role_session_name`


def user() -> str:
    """Return the name of the session or the user at AWS; on the local stage, or without one, that of this machine."""
    if not settings().is_local:
        name = re.split("[/:]", boto3.client("sts").get_caller_identity()["Arn"])[-1]
        if not NAMELESS.fullmatch(name):
            return name
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def act(kind: str) -> Act:
    """Return an act of the operator at this machine, for the audit."""
    return Act(kind, OPERATOR, outside.now(), user())


def is_there() -> bool:
    """Return whether somebody sits at standard input."""
    return outside.current.typed().isatty()


def line() -> str:
    """Read a line."""
    return outside.current.typed().readline().rstrip("\n")


def hidden(prompt: str) -> str:
    """Read a line that the screen does not show."""
    return getpass.getpass(prompt) if is_there() else line()


def confirm(question: str, *, is_agreed: bool) -> None:
    """Ask before an act. Exit with one line for another answer than yes, and without a terminal or `--yes`."""
    if is_agreed:
        return
    if not is_there():
        sys.exit(f"{one_line(question)} There is no terminal to ask at: nothing is changed. Add --yes.")
    print(f"{one_line(question)} [y/N] ", end="", flush=True)
    if line().strip().lower() not in {"y", "yes"}:
        sys.exit("Nothing is changed.")


def show(*lines: object) -> None:
    """Print each text on a line of its own: a stored one writes no other line, and sends the screen no command."""
    for line in lines:
        print(one_line(str(line)))


def print_table(rows: list[tuple[str, ...]]) -> None:
    """Print rows of texts in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        show("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
