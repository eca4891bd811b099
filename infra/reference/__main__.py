"""Write the reference: what is served, what is read in docs/, and the collection for Postman. `make reference`."""

import contextlib
import importlib
import io

from infra import demo_partner, engines, local
from infra.reference import HERE, ROOT, read_json, to_json
from infra.reference.alarms import alarms_guide
from infra.reference.document import openapi_document
from infra.reference.errors import errors_guide
from infra.reference.examples import documented_values, keep_recorded_values, run_examples
from infra.reference.page import render_page
from infra.reference.postman import postman_collection


def generated_files() -> dict[str, str]:
    """Each file that is generated, by its path in the project."""
    described = openapi_document()
    return {
        "chalicelib/reference/openapi.json": to_json(described),
        "chalicelib/reference/index.html": render_page(described),
        "docs/payments.postman_collection.json": to_json(postman_collection(described)),
        "docs/errors.md": errors_guide(),
        "docs/alarms.md": alarms_guide(),
    }


def record_answers() -> None:
    """Tell the story of the examples on a stage of its own, and keep the answers."""
    app = importlib.import_module("app").app
    log = contextlib.redirect_stdout(io.StringIO())
    with log, engines.moto_engine(), demo_partner.serve(), local.serve(app) as server:
        importlib.import_module("infra.demo_data").seed()
        told = run_examples(server.url, documented_values())
    before = read_json("answers.json")
    kept = {name: keep_recorded_values(answer, before.get(name)) for name, (_, answer) in told.items()}
    (HERE / "answers.json").write_text(to_json(kept), encoding="utf-8")
    read_json.cache_clear()


def main() -> None:
    """Record, then write everything."""
    record_answers()
    for name, content in generated_files().items():
        path = ROOT / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
        print(f"{len(content):>9} {name}")


if __name__ == "__main__":
    main()
