"""The Python of the deployed functions: its version, the end of its support, and its environment on this machine."""

from datetime import date, timedelta
from pathlib import Path

RUNTIME = "3.13"  # the version of the template, the wheels and the bytecode, whichever Python runs make; make reads it
# The column "Deprecation date" of https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtimes.html
END_OF_SUPPORT = date(2029, 6, 30)
NOTICE = timedelta(days=180)

# Made by `make tools`: this Python with the packages of the zip for this machine, boto3, and AWS's runtime client.
ENVIRONMENT = Path(__file__).parents[2] / ".engines" / f"lambda-{RUNTIME}"
PYTHON = ENVIRONMENT / "bin" / "python"
PACKAGES = ENVIRONMENT / "lib" / f"python{RUNTIME}" / "site-packages"
HINT = f"Python {RUNTIME}, which compiles and runs the package, is missing: install it, then run `make tools`."


def is_installed() -> bool:
    """Return whether the environment of this Python is on this machine."""
    return PYTHON.exists()


def warning(today: date) -> str | None:
    """Return a line about the end of support from 180 days before it on."""
    if today < END_OF_SUPPORT - NOTICE:
        return None
    return (
        f"WARNING: AWS ends the support of Python {RUNTIME} on {END_OF_SUPPORT}: "
        "choose the next version in infra/stack/runtime.py."
    )
