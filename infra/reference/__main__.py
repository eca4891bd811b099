"""Write the reference: what is served, what is read in docs/, and the collection for Postman. `make reference`."""

import contextlib
import importlib
import io

from infra import demo_partner, engines, local
from infra.reference import HERE, ROOT, data, text
from infra.reference.alarms import alarms
from infra.reference.document import document
from infra.reference.errors import errors
from infra.reference.examples import documented, settled, tell
from infra.reference.page import page
from infra.reference.postman import collection


def artefacts() -> dict[str, str]:
    """Each file that is generated, by its path in the project."""
    described = document()
    return {
        "chalicelib/reference/openapi.json": text(described),
        "chalicelib/reference/index.html": page(described),
        "docs/payments.postman_collection.json": text(collection(described)),
        "docs/errors.md": errors(),
        "docs/alarms.md": alarms(),
    }


def record() -> None:
    """Tell the story of the examples on a stage of its own, and keep the answers."""
    app = importlib.import_module("app").app
    log = contextlib.redirect_stdout(io.StringIO())
    with log, engines.moto_engine(), demo_partner.served(), local.serve(app) as server:
        importlib.import_module("infra.demo_data").seed()
        told = tell(server.url, documented())
    before = data("answers.json")
    kept = {name: settled(answer, before.get(name)) for name, (_, answer) in told.items()}
    (HERE / "answers.json").write_text(text(kept), encoding="utf-8")
    data.cache_clear()


def main() -> None:
    """Record, then write everything."""
    record()
    for name, content in artefacts().items():
        path = ROOT / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
        print(f"{len(content):>9} {name}")


if __name__ == "__main__":
    main()
