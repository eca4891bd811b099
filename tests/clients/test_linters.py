"""Linters of OpenAPI documents have nothing against ours."""

import json
from pathlib import Path

import pytest

from tests.clients.tools import DOCUMENT, needs, npm_tool, run

REDOCLY, SPECTRAL = npm_tool("redocly"), npm_tool("spectral")
pytestmark = pytest.mark.release


@needs(REDOCLY)
def test_redocly_finds_no_error_and_no_warning() -> None:
    done = run(REDOCLY, "lint", "--format=json", DOCUMENT)

    found = json.loads(done.stdout)
    assert found["problems"] == [], done.stdout
    assert found["totals"] == {"errors": 0, "warnings": 0, "ignored": 0}
    assert done.returncode == 0


@needs(SPECTRAL)
def test_spectral_finds_no_error_no_warning_and_no_hint() -> None:
    rules = Path(__file__).parent / "spectral.yaml"
    done = run(SPECTRAL, "lint", "--quiet", "--format=json", "--fail-severity=hint", "--ruleset", rules, DOCUMENT)

    assert json.loads(done.stdout) == []
    assert done.returncode == 0
