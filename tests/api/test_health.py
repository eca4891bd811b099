"""The health check, and what a person and a program find at the root."""

import tomllib
from typing import Any

import pytest

from chalicelib.store.aws_client import Client, RefusedError
from infra.bench.client import through
from infra.local import engines
from infra.reference import ROOT
from tests.support.cost import store_calls
from tests.support.giving import Give
from tests.support.http import call, get
from tests.support.outages import OUTAGES, without

HEALTH = "/api/v1/health"


def test_anybody_is_told_that_the_service_is_up_without_a_look_at_the_store(stage: str) -> None:
    with store_calls() as calls:
        reply = get(stage, HEALTH, None)

    assert (reply.error, reply.headers["Cache-Control"]) == ((200, 0), "no-store")
    assert reply.body["Version"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert calls == []


def test_a_deep_check_reads_the_store_once(stage: str) -> None:
    with store_calls() as calls:
        reply = get(stage, f"{HEALTH}?deep=1", None)

    assert reply.error == (200, 0)
    assert calls == ["BatchGetItem"]


@pytest.mark.parametrize(
    ("table", "code"),
    [
        *((table, "ResourceNotFoundException") for table in ("transactions", "agents", "logins", "terminals")),
        ("transactions", "AccessDeniedException"),
    ],
)
def test_a_deep_check_without_a_table_is_503(stage: str, give: Give, table: str, code: str) -> None:
    def missing(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
        if any(name.endswith(f"-{table}") for name in parameters.get("RequestItems", ())):
            raise RefusedError(operation, code)
        return client.call(operation, **parameters)

    give(client=through(missing))

    assert get(stage, f"{HEALTH}?deep=1", None).error == (503, 903)


def test_a_deep_check_without_a_store_is_503_a_shallow_one_is_200(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with OUTAGES["closed"]() as url, without(monkeypatch, url, engines.ENDPOINT_VARIABLE):
        deep, shallow = get(stage, f"{HEALTH}?deep=1", None), get(stage, HEALTH, None)

    assert (deep.error, shallow.error) == ((503, 903), (200, 0))


def test_another_depth_is_refused_by_name(stage: str) -> None:
    assert [item["Property"] for item in get(stage, f"{HEALTH}?deep=2", None).body["Validations"]] == ["deep"]


def test_a_person_at_the_root_finds_links_that_lead_somewhere(stage: str) -> None:
    reply = call(stage, "GET", "/", None, None, {"Accept": "text/html,*/*"})

    assert (reply.status, reply.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    for path in ("docs", "api/v1/openapi.json"):
        assert f'<a href="{path}">' in reply.text
        assert get(stage, f"/{path}", None).status == 200


@pytest.mark.parametrize("accept", ["", "*/*", "application/json"])
def test_a_program_at_the_root_is_at_an_unknown_path(stage: str, accept: str) -> None:
    assert call(stage, "GET", "/", None, None, {"Accept": accept}).error == (404, 207)
