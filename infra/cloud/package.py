"""The command `make package STAGE=dev`, which writes the template and the zip of a stage into build/ and checks them.

Chalice packs a copy of the deployed files, so that no other file of the project gets into the zip.
"""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from infra.cloud import dependencies, template, zipped
from infra.cloud.dependencies import RUNTIME

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build"
SOURCES = ("app.py", "chalicelib", ".chalice/config.json")
LOCK = ROOT / "requirements.lock"
REFERENCE = re.compile(r"\$\{[^}]+\}")


def main() -> None:
    """Package the stage named on the command line."""
    stage = sys.argv[1] if len(sys.argv) > 1 else "dev"
    try:
        package(stage, BUILD)
    except (PackageError, dependencies.DependencyError) as problem:
        sys.exit(str(problem))
    size = (BUILD / "deployment.zip").stat().st_size
    print(f"{stage}: build/sam.json and build/deployment.zip, {size / 1024 / 1024:.2f} MB")


class PackageError(Exception):
    """A problem that prevents the package; the message is one line."""


def package(stage: str, build: Path) -> None:
    """Write `sam.json` and `deployment.zip` of a stage into `build`."""
    if sys.version_info[:2] != RUNTIME:
        wanted, own = (".".join(map(str, version[:2])) for version in (RUNTIME, sys.version_info))
        message = (
            f"A package is made with Python {wanted}, and .venv has {own}: add PYTHON=python{wanted} to the command."
        )
        raise PackageError(message)
    config = json.loads((ROOT / ".chalice" / "config.json").read_text(encoding="utf-8"))
    if stage not in config["stages"] or stage == "local":
        stages = ", ".join(name for name in config["stages"] if name != "local")
        message = f"STAGE is one of {stages}, not {stage}."
        raise PackageError(message)
    build.mkdir(parents=True, exist_ok=True)
    project = _project(build)
    dependencies.install(LOCK, project / "vendor")
    merged = build / "merge.json"
    merged.write_text(json.dumps(template.template(importlib.import_module("app").app)), encoding="utf-8")
    _chalice(stage, project, merged, build)
    check_settings(json.loads((build / "sam.json").read_text(encoding="utf-8")), project)
    zipped.repack(build / "deployment.zip")
    if found := zipped.problems(build / "deployment.zip"):
        raise PackageError("; ".join(found))


def _project(build: Path) -> Path:
    project = build / "project"
    shutil.rmtree(project, ignore_errors=True)
    for name in (*SOURCES, *(str(path.relative_to(ROOT)) for path in (ROOT / ".chalice").glob("policy-*.json"))):
        source, target = ROOT / name, project / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    return project


def _chalice(stage: str, project: Path, merged: Path, build: Path) -> None:
    environment = {
        **os.environ,
        "AWS_DEFAULT_REGION": os.environ.get("AWS_DEFAULT_REGION") or "eu-west-1",  # no AWS is asked
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    chalice = Path(sys.executable).with_name("chalice")
    command = [str(chalice), "package", "--stage", stage, "--merge-template", str(merged), str(build)]
    done = subprocess.run(  # noqa: S603  every word of the command is ours
        command, cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise PackageError((done.stderr or done.stdout).strip().splitlines()[-1])


def check_settings(sam: dict[str, Any], project: Path) -> None:
    """Read the settings as each function will: a missing or wrong one fails here, and not in front of a customer.

    They are read by the code that is packed, so that a file they name must be packed, too.
    """
    shared = sam["Globals"]["Function"]["Environment"]["Variables"]
    for name, item in sam["Resources"].items():
        if item["Type"] != "AWS::Serverless::Function":
            continue
        own = item["Properties"].get("Environment", {}).get("Variables", {})
        variables = {
            key: value if isinstance(value, str) else _by_default(value, sam["Parameters"])
            for key, value in (shared | own).items()
        }
        done = subprocess.run(
            [sys.executable, "-c", "from chalicelib import settings; settings.settings()"],
            cwd=project,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            message = f"{name}: {done.stderr.strip().splitlines()[-1]}"
            raise PackageError(message)


def _by_default(value: dict[str, Any], parameters: dict[str, Any]) -> str:
    """Return what a variable is without a decision of whoever deploys: a parameter's default, or some text."""
    parameter = parameters.get(value.get("Ref", ""), {})
    return str(parameter.get("Default", "decided when it is deployed"))


if __name__ == "__main__":
    main()
