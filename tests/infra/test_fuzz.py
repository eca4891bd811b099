"""The list of what fuzzing need not report speaks of what exists, and gives reasons."""

import json
import re
from typing import Any

import pytest

from chalicelib.errors import Check, ErrorCode
from infra.fuzz import __main__ as fuzz
from infra.reference import ROOT
from infra.reference.document import openapi_document

EXPLAINED = json.loads((ROOT / "infra" / "fuzz" / "explained.json").read_text(encoding="utf-8"))
FIELDS = {
    name for schema in openapi_document()["components"]["schemas"].values() for name in schema.get("properties", ())
}


def test_a_refusal_of_a_valid_request_that_is_explained_is_one_of_the_catalogue() -> None:
    codes = {str(error.code) for error in ErrorCode if error.status in {400, 422}}

    assert set(EXPLAINED["refused"]) < codes
    assert "202" not in EXPLAINED["refused"]
    assert all(len(reason.split()) > 5 for reason in EXPLAINED["refused"].values())


@pytest.mark.parametrize("listed", EXPLAINED["findings"], ids=lambda listed: str(listed["codes"]))
def test_a_finding_that_is_explained_has_codes_and_fields_that_exist(listed: dict[str, Any]) -> None:
    assert set(listed["codes"]) <= {*map(int, Check), *range(561, 572)}
    assert listed["fields"] == ".*" or set(listed["fields"].split("|")) <= FIELDS | {"Idempotency-Key"}
    assert len(listed["reason"].split()) > 5


def test_what_a_schema_can_say_is_not_explained_away() -> None:
    everywhere = [code for one in EXPLAINED["findings"] if one["fields"] == ".*" for code in one["codes"]]

    assert {Check.REQUIRED, Check.TYPE, Check.FORMAT, Check.TOO_LONG, Check.OUT_OF_RANGE}.isdisjoint(everywhere)


def test_every_check_of_the_fuzzer_is_made_but_the_two_that_ours_replace() -> None:
    assert fuzz.HOOKS.exists()
    ours = re.findall(r"^from schemathesis\.specs\.openapi\.checks import (.+)$", fuzz.HOOKS.read_text(), re.MULTILINE)
    assert set(fuzz.REPLACED.split(",")) == set(ours[0].split(", "))
