"""What an operator types: lines of standard input, answers to questions, and secrets that the screen does not show."""

import getpass

from chalicelib import outside


def is_there() -> bool:
    """Return whether somebody sits at standard input."""
    return outside.current.typed().isatty()


def line() -> str:
    """Read a line."""
    return outside.current.typed().readline().rstrip("\n")


def hidden(prompt: str) -> str:
    """Read a line that the screen does not show."""
    return getpass.getpass(prompt) if is_there() else line()


def agrees(question: str) -> bool:
    """Ask a question, and return whether the answer is yes."""
    print(question, end="", flush=True)
    return line().strip().lower() in {"y", "yes"}
