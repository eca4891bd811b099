"""Packaging reports what is wrong with a stage before it is deployed."""

import json
import os
import re
import shutil
import subprocess
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from chalicelib import outside, settings
from infra.stack import config, package, runtime
from tests.support.giving import Give


def test_prod_as_it_comes_is_not_packaged(tmp_path: Path) -> None:
    with pytest.raises(config.ConfigError, match=r"(?s)ACQUIRERS is missing.*MAIL_FROM is missing"):
        package.package("prod", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stage", ["local", "staging"])
def test_a_stage_nobody_deploys_is_not_packaged(stage: str, tmp_path: Path) -> None:
    with pytest.raises(config.ConfigError, match=f"STAGE is one of dev, prod, not {stage}."):
        package.package(stage, tmp_path)


def test_make_package_prints_the_place_of_a_fault_in_the_file_of_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".chalice").mkdir()
    (tmp_path / config.FILE).write_text('{\n  "stages": {"dev": {},}\n}', encoding="utf-8")
    monkeypatch.setattr(package, "ROOT", tmp_path)

    with pytest.raises(SystemExit, match=r"^\.chalice/config\.json is not JSON: line 2, column 2\d: .*\.$"):
        package.main(["dev"])


def test_a_stage_sends_e_mail_only_from_its_own_address(tmp_path: Path) -> None:
    settings = {"stages": {"prod": {"environment_variables": {"MAIL_FROM": "The shop <receipts@shop.example>"}}}}
    project = package._project(tmp_path, "prod", config.senders(settings, "prod"))  # noqa: SLF001  without the wheels

    for name in ("deliver-outbox", "sweep"):
        policy = json.loads((project / ".chalice" / f"policy-{name}.json").read_text(encoding="utf-8"))
        (mail,) = [one for one in policy["Statement"] if "ses:SendEmail" in one["Action"]]
        assert mail["Condition"] == {"StringEquals": {"ses:FromAddress": ["receipts@shop.example"]}}


def test_a_package_is_not_made_without_the_python_it_is_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "PYTHON", tmp_path / "python")

    with pytest.raises(
        package.PackageError, match=r"^Python 3\.13, .* is missing: install it, then run `make tools`\.$"
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


def test_make_package_prints_the_warning(build: Path, give: Give, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for today in (datetime(2028, 12, 31, tzinfo=UTC), datetime(2029, 1, 1, tzinfo=UTC)):
        give(now=lambda today=today: today)
        package.report("dev", build)
        printed.append(capsys.readouterr().out.splitlines())

    before, after = printed
    assert after == [*before, runtime.warning(date(2029, 1, 1))]


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
    for stamp in (".engines/uv/.stamp", ".venv/.stamp-stage", ".venv/.stamp-stage-3.11"):
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
    outside.forget()
    try:
        with pytest.raises(settings.SettingsError, match="ACQUIRERS names SANDBOX, which moves no money"):
            settings.settings()
        monkeypatch.setenv("ALLOW_SANDBOX", "true")
        assert settings.settings().acquirers == ("SANDBOX",)
    finally:
        outside.forget()
