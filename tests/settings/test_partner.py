"""The registry of partners, read from PARTNERS."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.settings import Partner, settings


@pytest.fixture(autouse=True)
def read_again() -> Iterator[None]:
    settings.cache_clear()
    yield
    settings.cache_clear()


def partners(monkeypatch: pytest.MonkeyPatch, registry: Any, stage: str = "dev") -> dict[str, Partner]:
    monkeypatch.setenv("STAGE", stage)
    monkeypatch.setenv("PARTNERS", registry if isinstance(registry, str) else json.dumps(registry))
    settings.cache_clear()
    return dict(settings().partners)


def test_partners_are_registered_by_product(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = {
        "Insurance": {"url": "https://insurer.example:8443/v1/prepare?from=till", "timeout_seconds": 2.5},
        "Airtime": {"url": "https://air.example"},
    }

    assert partners(monkeypatch, registry) == {
        "Insurance": Partner("Insurance", "https://insurer.example:8443/v1/prepare?from=till", 2.5),
        "Airtime": Partner("Airtime", "https://air.example", 5),
    }


def test_without_the_setting_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert partners(monkeypatch, "") == {}


def test_plain_http_is_for_the_local_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = {"Insurance": {"url": "http://127.0.0.1:5000/prepare"}}

    assert partners(monkeypatch, registry, "local")
    with pytest.raises(SystemExit, match="Insurance"):
        partners(monkeypatch, registry, "dev")


@pytest.mark.parametrize(
    "url",
    [
        None,
        5,
        "",
        "insurer.example",
        "//insurer.example",
        "ftp://insurer.example",
        "https://",
        "https:///prepare",
        "https://user:password@insurer.example/",
        "https://insurer.example@evil.example/",
        "https://insurer.example:99999/",
        "https://insurer.example:0/",
        "https://insurer.example/#part",
        "https://insurer.example/a b",
        "https://insurer.example/\r\nX-Header: 1",
        "https://insurer.example/\n",
        "https://versicherung-ü.example/",
    ],
)
def test_a_stage_does_not_start_with_a_wrong_url(monkeypatch: pytest.MonkeyPatch, url: Any) -> None:
    with pytest.raises(SystemExit, match="the url of Insurance"):
        partners(monkeypatch, {"Insurance": {"url": url}})


@pytest.mark.parametrize("seconds", [0, -1, 20.1, 10**9, "5", True, None, [], float("nan"), float("inf")])
def test_a_stage_does_not_start_with_a_wrong_timeout(monkeypatch: pytest.MonkeyPatch, seconds: Any) -> None:
    with pytest.raises(SystemExit, match="the timeout_seconds of Insurance"):
        partners(monkeypatch, {"Insurance": {"url": "https://insurer.example", "timeout_seconds": seconds}})


@pytest.mark.parametrize("registry", ["{", "[]", "null", '"text"', '{"Insurance": "https://insurer.example"}'])
def test_a_stage_does_not_start_with_something_else(monkeypatch: pytest.MonkeyPatch, registry: str) -> None:
    with pytest.raises(SystemExit, match="PARTNERS"):
        partners(monkeypatch, registry)
