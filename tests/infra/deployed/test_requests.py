"""The zip holds what the operations need. Its module is separate: the requests begin with only the demo data."""

from pathlib import Path

import pytest

from infra.demo import partner as demo_partner
from tests.support import guides
from tests.support.deployment import Deployed, served, settings_as_local


@pytest.mark.parametrize("document", ["docs/goods.md", "docs/requests.md"])
def test_what_is_deployed_answers_the_requests_of_a_guide(
    deployed: Deployed, build: Path, tmp_path: Path, document: str
) -> None:
    del deployed
    with demo_partner.serve(), served(build, tmp_path, settings=settings_as_local()) as it:
        answers = guides.pasted(document, it.url)

    assert {answer["ErrorCode"] for answer in answers} == {0}
