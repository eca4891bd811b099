"""What a cold start of the API loads: neither the models of a noun nor what one kind of request needs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LOADED = """
import json, sys
import app
print(json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """Return the modules that the API's function has loaded before its first request."""
    command = [sys.executable, "-c", LOADED]
    return set(json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout))


def test_the_models_of_a_noun_are_loaded_by_its_first_request(loaded: set[str]) -> None:
    layers = ("chalicelib.routes.", "chalicelib.schemas.", "chalicelib.receipts.content")

    assert {name for name in loaded if name.startswith(layers)} == {
        "chalicelib.routes.jobs",
        *(f"chalicelib.schemas.{name}" for name in ("base", "bodies", "misplaced_names")),
    }


def test_no_acquirer_and_no_package_of_one_kind_of_request_is_loaded(loaded: set[str]) -> None:
    packages = {"argon2", "http.client", "iso3166", "iso4217", "iso8583", "jwt", "phonenumbers", "ssl"}

    assert packages & loaded == set()
    assert "chalicelib.gateways.secrets" in loaded
    assert [name for name in loaded if name.startswith("chalicelib.gateways.acquirers")] == []
