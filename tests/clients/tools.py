"""The programs of users: a generator of clients, linters of OpenAPI documents, a runner of collections."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from infra.reference import ROOT

ENGINES = ROOT / ".engines"
GENERATOR = ENGINES / "tools" / "bin" / "openapi-generator-cli"
DOCUMENT = ROOT / "chalicelib" / "reference" / "openapi.json"
QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_COLOR": "1"}


def npm_tool(name: str) -> Path:
    """Return the path of a program of `make tools RELEASE=1`."""
    return ENGINES / "node_modules" / ".bin" / name


def needs(*programs: Path) -> pytest.MarkDecorator:
    """Return a mark that skips a test without these programs; with CI=true it runs, and fails."""
    is_missing = not all(program.exists() for program in programs) or (
        GENERATOR in programs and not shutil.which("java")
    )
    return pytest.mark.skipif(
        is_missing and os.environ.get("CI") != "true", reason="the tools of clients are missing: `make tools RELEASE=1`"
    )


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end, and return what it printed."""
    texts: Any = list(map(str, command))
    return subprocess.run(
        texts, capture_output=True, text=True, check=False, cwd=cwd, env={**os.environ, **QUIET, **environment}
    )
