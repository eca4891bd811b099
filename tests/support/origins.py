"""A stage that allows pages of other origins, for tests."""

import contextlib
import importlib
from collections.abc import Iterator

import pytest

from chalicelib.settings import settings
from infra.local import stage

SHOP = "https://shop.example"
CORS = "Access-Control-"


@contextlib.contextmanager
def allowed(*origins: str) -> Iterator[None]:
    """Let the settings list these origins until the block ends."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALLOWED_ORIGINS", ",".join(origins))
        settings.cache_clear()
        yield
    settings.cache_clear()


@contextlib.contextmanager
def allowing(*origins: str) -> Iterator[str]:
    """Serve the local stage with these origins allowed: its URL."""
    with allowed(*origins), stage.serve(importlib.import_module("app").app) as server:
        yield server.url


def told(headers: dict[str, str]) -> dict[str, str]:
    """Return what an answer tells a browser about origins, by the ends of the headers' names."""
    return {name.removeprefix(CORS): value for name, value in headers.items() if name.startswith(CORS)}
