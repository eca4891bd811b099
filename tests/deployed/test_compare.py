"""What is deployed answers as `make run` does. A module of its own, because both begin with the demo data alone."""

from pathlib import Path

from infra import demo_partner
from infra.deployed import compare
from tests.deployment import Deployed, served


def test_it_answers_as_the_local_stage_does(deployed: Deployed, build: Path, tmp_path: Path) -> None:
    del deployed
    comparison = compare.Comparison()
    with (
        demo_partner.serve(),
        compare.make_run("moto") as local_url,
        served(build, tmp_path, settings=compare.settings_as_local() | compare.COMPARED_SETTINGS) as it,
    ):
        compare.compare(comparison, (local_url, it.url), 200)

    assert comparison.differences == []
    assert comparison.requests.total() == 200
