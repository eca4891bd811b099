"""The collection for Postman runs from top to bottom on a stage that nobody has used yet."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from infra.reference import ROOT
from infra.reference.examples import examples
from tests.clients.tools import needs, npm_tool, run

NEWMAN = npm_tool("newman")
COLLECTION = ROOT / "docs" / "payments.postman_collection.json"


@pytest.mark.release
@needs(NEWMAN)
def test_newman_runs_every_request_in_file_order_without_a_failure(stage: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    url = f"base_url={stage}"
    done = run(NEWMAN, "run", COLLECTION, "--env-var", url, "--reporters", "json", "--reporter-json-export", report)

    ran = json.loads(report.read_text(encoding="utf-8"))["run"]
    assert [failure["error"]["message"] for failure in ran["failures"]] == [], done.stdout
    assert [one["item"]["name"] for one in ran["executions"]] == [example.summary for example in examples()]
    assert ran["stats"]["assertions"]["total"] == len(examples())
    assert done.returncode == 0


def test_the_requests_of_the_collection_are_in_the_order_of_the_examples() -> None:
    folders = json.loads(COLLECTION.read_text(encoding="utf-8"))["item"]

    in_file_order = [item["name"] for folder in folders for item in folder["item"]]
    assert in_file_order == [example.summary for example in examples()]
    names = [folder["name"] for folder in folders]
    assert all(one != other for one, other in pairwise(names))
