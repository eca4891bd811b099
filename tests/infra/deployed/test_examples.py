"""The zip holds what every operation needs. Its module is separate: the examples begin with only the demo data."""

from pathlib import Path

from infra.demo import partner as demo_partner
from infra.reference.examples import examples, fresh_values, mask_volatile, run_examples
from tests.support.deployment import Deployed, served, settings_as_local


def test_what_is_deployed_answers_the_examples_as_the_reference_shows(
    deployed: Deployed, build: Path, tmp_path: Path
) -> None:
    del deployed
    with demo_partner.serve(), served(build, tmp_path, settings=settings_as_local()) as it:
        answers = run_examples(it.url, fresh_values())

    assert {name: mask_volatile(answer) for name, (_, answer) in answers.items()} == {
        example.name: mask_volatile(example.answer) for example in examples()
    }
