"""The settings of the acquirer ISO8583: a stage that lacks one, or has a wrong one, does not start."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.gateways import acquirers
from chalicelib.settings import SettingsError, iso8583, settings
from chalicelib.settings.iso8583 import Host, usual
from tests.support.certificates import an_authority

Stage = dict[str, str]
COMPLETE = {
    "STAGE": "dev",
    "ACQUIRERS": "ISO8583",
    "ISO8583_HOST": "host.example",
    "ISO8583_PORT": "5000",
    "ISO8583_INSTITUTION": "123456",
    "ISO8583_CA": "system",
}


@pytest.fixture(autouse=True)
def read_again() -> Iterator[None]:
    outside.forget()
    yield
    outside.forget()


@pytest.fixture(autouse=True)
def no_partners(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo partner of a stage that this process serves is one for a local stage only."""
    monkeypatch.delenv("PARTNERS", raising=False)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that is deployed."""
    folder = tmp_path / "package"
    folder.mkdir()
    monkeypatch.setattr(iso8583, "PACKAGE", folder)
    return folder


def start(monkeypatch: pytest.MonkeyPatch, **changes: str | None) -> Host:
    """Start a stage with these settings; None leaves one out."""
    for name in ("ISO8583_TLS", "ISO8583_DIALECT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**COMPLETE, **changes}.items():
        monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)
    outside.forget()
    host = settings().iso8583
    assert host is not None
    return host


def refusal(monkeypatch: pytest.MonkeyPatch, **changes: str | None) -> str:
    with pytest.raises(SettingsError) as raised:
        start(monkeypatch, **changes)
    message = str(raised.value)
    assert "\n" not in message
    return message


def test_a_stage_with_all_of_them_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert start(monkeypatch) == Host("host.example", 5000, "123456", tls=True, ca=None, dialect=usual())
    assert acquirers.codes() == ("ISO8583",)
    assert acquirers.named("ISO8583").name == "ISO 8583"
    assert acquirers.named("ISO8583").institution == "123456"


@pytest.mark.parametrize("name", ["ISO8583_HOST", "ISO8583_PORT", "ISO8583_INSTITUTION", "ISO8583_CA"])
@pytest.mark.parametrize("value", [None, ""])
def test_a_stage_without_one_does_not_start(monkeypatch: pytest.MonkeyPatch, name: str, value: str | None) -> None:
    assert refusal(monkeypatch, **{name: value}).startswith(f"The setting {name} is missing")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ISO8583_HOST", "https://host.example"),
        ("ISO8583_HOST", "host example"),
        ("ISO8583_HOST", "host.example:5000"),
        ("ISO8583_HOST", "-host.example"),
        ("ISO8583_HOST", "h\u00f6st.example"),
        ("ISO8583_PORT", "0"),
        ("ISO8583_PORT", "65536"),
        ("ISO8583_PORT", "http"),
        ("ISO8583_PORT", "\u0661"),
        ("ISO8583_INSTITUTION", "123456789012"),
        ("ISO8583_INSTITUTION", "BANK"),
        ("ISO8583_TLS", "yes"),
        ("ISO8583_TLS", "off"),
        ("ISO8583_CA", "nowhere.pem"),
        ("ISO8583_CA", "../outside.pem"),
        ("ISO8583_CA", "/etc/ssl/certs/ca-certificates.crt"),
        ("ISO8583_CA", "app.py"),
        ("ISO8583_CA", "chalicelib"),
        ("ISO8583_DIALECT", "nowhere.json"),
        ("ISO8583_DIALECT", "app.py"),
        ("ISO8583_DIALECT", "../../etc/passwd"),
    ],
)
def test_a_stage_with_a_wrong_one_does_not_start(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    assert refusal(monkeypatch, **{name: value}).startswith(name)


@pytest.mark.parametrize("name", ["host", "10.0.0.7", "::1", "host-1.bank.example"])
def test_a_host_has_a_name_or_an_address(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert start(monkeypatch, ISO8583_HOST=name).host == name


def test_the_local_stage_alone_speaks_without_tls_and_then_needs_no_authority(monkeypatch: pytest.MonkeyPatch) -> None:
    host = start(monkeypatch, STAGE="local", ISO8583_TLS="off", ISO8583_CA=None)

    assert (host.tls, host.ca) == (False, None)


def test_an_authority_is_a_file_of_the_package(monkeypatch: pytest.MonkeyPatch, package: Path) -> None:
    (package / "bank").mkdir()
    path = an_authority("host.example").write(package / "bank", "ca.pem")

    assert start(monkeypatch, ISO8583_CA="bank/ca.pem").ca == str(path)


def test_the_local_stage_alone_takes_an_authority_from_elsewhere(
    monkeypatch: pytest.MonkeyPatch, package: Path, tmp_path: Path
) -> None:
    del package
    path = an_authority("host.example").write(tmp_path, "ca.pem")

    assert start(monkeypatch, STAGE="local", ISO8583_CA=str(path)).ca == str(path)
    assert refusal(monkeypatch, ISO8583_CA=str(path)).startswith("ISO8583_CA")
    assert refusal(monkeypatch, STAGE="local", ISO8583_CA="../ca.pem").startswith("ISO8583_CA")


def dialect(package: Path, document: Any) -> str:
    (package / "dialect.json").write_text(document if isinstance(document, str) else json.dumps(document))
    return "dialect.json"


def test_a_dialect_changes_the_usual_one(monkeypatch: pytest.MonkeyPatch, package: Path) -> None:
    named = dialect(package, {"mti": "bcd", "fields": {"56": None}})
    found = start(monkeypatch, ISO8583_DIALECT=named).dialect

    assert found.mti == "bcd"
    assert found.fields.keys() == usual().fields.keys() - {"56"}


@pytest.mark.parametrize(
    ("document", "key"),
    [
        ({"colour": 1}, "colour is not known"),
        ({"fields": {"60": {"format": "n", "max": 2, "maximum": 3}}}, "fields.60.maximum is not known"),
        ({"length_header": {"size": 2}}, "length_header.size is not known"),
        ([], "it is not an object"),
        ("{", "which is not JSON"),
        ("[" * 100_000, "which is not JSON"),
    ],
    ids=range(6),
)
def test_a_dialect_with_an_unknown_key_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, package: Path, document: Any, key: str
) -> None:
    message = refusal(monkeypatch, ISO8583_DIALECT=dialect(package, document))

    assert message.startswith("ISO8583_DIALECT")
    assert key in message


def test_a_stage_that_does_not_name_it_needs_none_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in COMPLETE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STAGE", "dev")
    monkeypatch.setenv("ACQUIRERS", "SANDBOX")

    assert settings().iso8583 is None
    assert acquirers.named("ISO8583").institution == ""


def test_a_host_named_no_more_is_reached_until_its_last_outcome_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert start(monkeypatch, ACQUIRERS="SANDBOX").host == "host.example"
    assert acquirers.codes() == ("SANDBOX",)


@pytest.mark.parametrize("named", ["ISO8538", "SANDBOX,ISO-8583", "sandbox"])
def test_an_acquirer_nobody_knows_stops_the_start(monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("ACQUIRERS", named)

    with pytest.raises(SettingsError, match=r"ACQUIRERS names .*; there are SANDBOX, ISO8583, STRIPE\."):
        settings()
