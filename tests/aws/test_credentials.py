import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from botocore.credentials import ReadOnlyCredentials
from botocore.exceptions import CredentialRetrievalError

from chalicelib.aws import client
from chalicelib.aws.client import KMS, Client, Credentials, Limits, UnansweredError, credentials, region
from chalicelib.domain.secret import Secret
from infra.local import engines

NAMES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION")


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """An environment without credentials and region, and the folder of a person's own."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    engines.clear_caches()
    yield tmp_path
    monkeypatch.undo()
    engines.clear_caches()


@pytest.mark.parametrize("token", [None, "c"])
def test_those_of_the_environment_are_found_without_botocore(
    home: Path, monkeypatch: pytest.MonkeyPatch, token: str | None
) -> None:
    (home / "credentials").write_text("[default]\naws_access_key_id = d\naws_secret_access_key = e\n")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    if token:
        monkeypatch.setenv("AWS_SESSION_TOKEN", token)
    monkeypatch.setitem(sys.modules, "botocore.session", None)  # an import fails

    assert credentials() == Credentials("a", Secret("b"), Secret(token) if token else None)
    assert region() == "eu-west-1"


def test_those_of_a_profile_are_found_when_the_environment_has_none(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "credentials").write_text(
        "[own]\naws_access_key_id = a\naws_secret_access_key = b\naws_session_token = c\n"
    )
    (home / "config").write_text("[profile own]\nregion = af-south-1\n")
    monkeypatch.setenv("AWS_PROFILE", "own")

    assert credentials() == Credentials("a", Secret("b"), Secret("c"))
    assert region() == "af-south-1"


def test_those_that_are_renewed_are_asked_for_each_time(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del home
    keys = iter(["first", "second"])
    renewed = SimpleNamespace(get_frozen_credentials=lambda: ReadOnlyCredentials(next(keys), "b", "c"))
    monkeypatch.setattr(client, "_session", lambda: SimpleNamespace(get_credentials=lambda: renewed))

    assert [credentials().access_key for _ in range(2)] == ["first", "second"]


def test_without_any_a_call_has_no_answer(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del home
    monkeypatch.setenv("AWS_REGION", "eu-west-1")

    with pytest.raises(UnansweredError, match="no credentials"):
        Client(KMS, Limits(1, 1, 3)).call("Encrypt")


def test_those_that_cannot_be_renewed_are_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del home

    def fail() -> None:
        raise CredentialRetrievalError(provider="sso", error_msg="expired")

    monkeypatch.setattr(client, "_session", lambda: SimpleNamespace(get_credentials=fail))

    with pytest.raises(UnansweredError, match="no credentials"):
        credentials()


def test_without_a_region_the_process_ends_with_a_line_that_says_so(home: Path) -> None:
    del home

    with pytest.raises(SystemExit, match="AWS_REGION"):
        region()


def test_credentials_are_not_shown() -> None:
    shown = repr(Credentials("public", Secret("secret-key"), Secret("secret-token")))

    assert "public" in shown
    assert "secret-" not in shown
