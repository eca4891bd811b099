"""A stage that allows pages of other origins, for tests."""

import contextlib
import importlib
from collections.abc import Iterator

from infra.local.gateway import Server
from tests.support.giving import environment

SHOP = "https://shop.example"
CORS = "Access-Control-"


def allowed(*origins: str) -> contextlib.AbstractContextManager[None]:
    """Let the settings list these origins until the block ends."""
    return environment(ALLOWED_ORIGINS=",".join(origins))


@contextlib.contextmanager
def allowing(*origins: str) -> Iterator[str]:
    """Serve the local stage with these origins allowed: its URL."""
    with allowed(*origins), Server(importlib.import_module("app").app) as server:
        yield server.url


def told(headers: dict[str, str]) -> dict[str, str]:
    """Return what an answer tells a browser about origins, by the ends of the headers' names."""
    return {name.removeprefix(CORS): value for name, value in headers.items() if name.startswith(CORS)}
