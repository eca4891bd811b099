"""Packaging reports what is wrong with a stage before it is deployed."""

import copy
import os
import re
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from chalicelib import settings
from infra.stack import package, runtime


@pytest.mark.parametrize("name", ["TABLE_PREFIX", "KEY_ID", "BUCKET", "SECRET_ID"])
def test_a_stage_without_a_setting_is_not_packaged(name: str, sam: dict[str, Any]) -> None:
    wrong = copy.deepcopy(sam)
    del wrong["Globals"]["Function"]["Environment"]["Variables"][name]

    with pytest.raises(package.PackageError, match=f"The setting {name} is missing from the environment."):
        package.check_settings(wrong, package.ROOT)


def prod(**variables: str) -> dict[str, Any]:
    return {"stages": {"prod": {"environment_variables": {"STAGE": "prod", **variables}}, "dev": {}}}


@pytest.mark.parametrize(
    ("config", "named"),
    [
        (prod(), "lacks ACQUIRERS and MAIL_FROM for the stage prod"),
        (prod(ACQUIRERS="ISO8583"), "lacks MAIL_FROM for the stage prod"),
        (prod(MAIL_FROM="a@b.example"), 'lacks ACQUIRERS for the stage prod .*"ACQUIRERS": "" if it takes no cards'),
    ],
)
def test_prod_is_not_packaged_before_it_says_whether_it_takes_cards_and_sends_receipts(
    config: dict[str, Any], named: str
) -> None:
    with pytest.raises(package.PackageError, match=named):
        package.check_named(config, "prod")


def test_a_setting_may_be_empty_on_purpose_or_stand_above_the_stages() -> None:
    package.check_named(prod(ACQUIRERS="", MAIL_FROM=""), "prod")
    package.check_named(prod(ACQUIRERS="") | {"environment_variables": {"MAIL_FROM": "a@b.example"}}, "prod")
    package.check_named(prod(), "dev")


def test_prod_as_it_comes_is_not_packaged(tmp_path: Path) -> None:
    with pytest.raises(package.PackageError, match="ACQUIRERS and MAIL_FROM"):
        package.package("prod", tmp_path)
    assert list(tmp_path.iterdir()) == []


HOST = {
    "ACQUIRERS": "ISO8583",
    "ISO8583_HOST": "host.example",
    "ISO8583_PORT": "5000",
    "ISO8583_INSTITUTION": "123456",
    "ISO8583_CA": "system",
}


def with_settings(sam: dict[str, Any], changes: dict[str, str]) -> dict[str, Any]:
    """Return the template of a stage with other settings in each of its functions."""
    changed = copy.deepcopy(sam)
    for resource in changed["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"].setdefault("Environment", {}).setdefault("Variables", {}).update(changes)
    return changed


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"ACQUIRERS": "SANDBOX,NOBODY"}, "ACQUIRERS names NOBODY"),
        ({**HOST, "ISO8583_PORT": ""}, "The setting ISO8583_PORT is missing"),
        ({**HOST, "ISO8583_TLS": "off"}, "ISO8583_TLS is off"),
        ({**HOST, "ISO8583_DIALECT": "pyproject.toml"}, "ISO8583_DIALECT is pyproject.toml, which is no file"),
    ],
)
def test_a_stage_with_a_wrong_acquirer_is_not_packaged(
    changes: dict[str, str], problem: str, sam: dict[str, Any], tmp_path: Path
) -> None:
    changed = with_settings(sam, changes)

    with pytest.raises(package.PackageError, match=problem):
        package.check_settings(changed, package._project(tmp_path))  # noqa: SLF001  pyproject.toml is not packed


def test_a_stage_with_a_host_is_packaged(sam: dict[str, Any], tmp_path: Path) -> None:
    package.check_settings(with_settings(sam, HOST), package._project(tmp_path))  # noqa: SLF001


@pytest.mark.parametrize("stage", ["local", "staging"])
def test_a_stage_nobody_deploys_is_not_packaged(stage: str, tmp_path: Path) -> None:
    with pytest.raises(package.PackageError, match=f"STAGE is one of dev, prod, not {stage}."):
        package.package(stage, tmp_path)


def test_a_package_is_not_made_without_the_python_it_is_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "PYTHON", tmp_path / "python")

    with pytest.raises(
        package.PackageError, match=r"^Python 3\.13, .* is missing: install it, then run `make lambda`\.$"
    ):
        package.package("dev", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("today", "is_warned"),
    [(date(2028, 12, 31), False), (date(2029, 1, 1), True), (date(2029, 6, 30), True), (date(2030, 1, 1), True)],
)
def test_packaging_warns_from_180_days_before_the_end_of_support_on(today: date, is_warned: bool) -> None:  # noqa: FBT001
    warning = runtime.warning(today)

    assert (warning is not None) is is_warned
    assert not is_warned or "Python 3.13 on 2029-06-30" in str(warning)


def test_the_workflow_runs_the_tests_on_the_oldest_python_and_on_that_of_the_functions() -> None:
    workflow = (package.ROOT / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8")
    oldest = re.findall(
        r'requires-python = ">=([0-9.]+)"', (package.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    )

    assert re.findall(r"python: \[(.*)\]", workflow) == [f'"{oldest[0]}", "{runtime.RUNTIME}"']


def test_make_package_prints_the_warning(
    build: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(package, "BUILD", build)
    monkeypatch.setattr(package, "package", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["package", "dev"])
    printed = []
    for end in (date.max, date(2026, 11, 22)):
        monkeypatch.setattr(runtime, "END_OF_SUPPORT", end)
        package.main()
        printed.append(capsys.readouterr().out.splitlines())

    before, after = printed
    assert after == [*before, runtime.warning(date(2026, 11, 22))]


@pytest.mark.parametrize(("named", "is_built_anew"), [((), False), (("3.11",), False), (("3.12",), True)])
def test_make_builds_the_environment_anew_for_another_python_that_is_named(
    named: tuple[str, ...],
    is_built_anew: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    for name in ("Makefile", "requirements.lock", "requirements-stage.lock", "requirements-uv.lock"):
        shutil.copy2(package.ROOT / name, tmp_path / name)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".engines" / "uv").mkdir(parents=True)
    locker = re.findall(r"^LOCKER_PACKAGE := (\S+)", (tmp_path / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for stamp in (f".engines/uv/.stamp-{locker[0]}", ".venv/.stamp-stage", ".venv/.stamp-stage-3.11"):
        (tmp_path / stamp).touch()
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho {''.join(named)}\n")
    python.chmod(0o700)

    words = ["make", "--dry-run", "package", *(f"PYTHON={python}" for _ in named)]
    outside = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "PYTHON"}}
    done = subprocess.run(words, cwd=tmp_path, env=outside, capture_output=True, text=True, check=True)

    assert ("-m venv --clear" in done.stdout) is is_built_anew


def test_prod_takes_no_sandbox_unless_the_settings_allow_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARTNERS", raising=False)
    monkeypatch.setenv("STAGE", "prod")
    monkeypatch.setenv("ACQUIRERS", "SANDBOX")
    settings.settings.cache_clear()
    try:
        with pytest.raises(SystemExit, match="ACQUIRERS names SANDBOX, which moves no money"):
            settings.settings()
        monkeypatch.setenv("ALLOW_SANDBOX", "true")
        assert settings.settings().acquirers == ("SANDBOX",)
    finally:
        settings.settings.cache_clear()
