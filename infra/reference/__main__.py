"""The command `make reference`: write every generated file, such as the OpenAPI document and the pages."""

import contextlib
import io

from app import app
from infra.demo import data as demo_data
from infra.demo import partner as demo_partner
from infra.local import engines, stage
from infra.reference import HERE, ROOT, read_json, to_json, to_lines
from infra.reference.currencies import coins_module, iso_numbers_module
from infra.reference.document import openapi_document
from infra.reference.examples import documented_values, keep_recorded_values, run_examples
from infra.reference.guides import alarms_guide, error_codes_module, errors_guide, parameters_guide
from infra.reference.pages import pages
from infra.reference.postman import postman_collection
from infra.stack.policies import policy_files


def generated_files() -> dict[str, str]:
    """Return the content of each generated file, by its path in the project."""
    document = openapi_document()
    return {
        "chalicelib/reference/openapi.json": to_lines(document, levels=3) + "\n",
        **{f"chalicelib/reference/{name}": content for name, content in pages().items()},
        "docs/payments.postman_collection.json": to_json(postman_collection(document)),
        "docs/errors.md": errors_guide(),
        "docs/alarms.md": alarms_guide(),
        "docs/parameters.md": parameters_guide(),
        "chalicelib/pages/till/coins.js": coins_module(),
        "chalicelib/pages/shop/iso_numbers.js": iso_numbers_module(),
        "chalicelib/pages/kit/error_codes.js": error_codes_module(),
        **policy_files(),
    }


def record_answers() -> None:
    """Send the examples to a stage of their own, and store the answers."""
    log = contextlib.redirect_stdout(io.StringIO())
    with log, engines.moto_engine(), demo_partner.serve(), stage.serve(app) as server:
        demo_data.seed()
        answers = run_examples(server.url, documented_values())
    recorded = read_json("answers.json")
    stable = {name: keep_recorded_values(answer, recorded.get(name)) for name, (_, answer) in answers.items()}
    (HERE / "answers.json").write_text(to_json(stable), encoding="utf-8")
    read_json.cache_clear()


def main() -> None:
    """Record the answers, then write every file."""
    record_answers()
    for name, content in generated_files().items():
        path = ROOT / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
        print(f"{len(content):>9} {name}")


if __name__ == "__main__":
    main()
