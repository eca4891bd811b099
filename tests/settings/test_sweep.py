from collections.abc import Iterator

import pytest

from chalicelib.settings import settings


@pytest.fixture(autouse=True)
def read_again() -> Iterator[None]:
    settings.cache_clear()
    yield
    settings.cache_clear()


@pytest.mark.parametrize(("text", "number"), [("", 16), ("1", 1), ("64", 64)])
def test_a_stage_says_how_many_payments_its_sweep_resolves_at_once(
    monkeypatch: pytest.MonkeyPatch, text: str, number: int
) -> None:
    monkeypatch.setenv("SWEEP_CONCURRENCY", text)

    assert settings().sweep_concurrency == number


@pytest.mark.parametrize("text", ["0", "65", "-1", "many", "1.5", "\u0661"])
def test_a_stage_that_names_another_number_does_not_start(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SWEEP_CONCURRENCY", text)

    with pytest.raises(SystemExit, match="SWEEP_CONCURRENCY"):
        settings()
