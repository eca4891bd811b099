"""The stage's secret is changed by commands: no value is printed unasked, and no change undoes another."""

import datetime as dt
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import boto3
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from chalicelib import outside
from chalicelib.domain.secret import Secret
from chalicelib.domain.sign_in import Scheme
from chalicelib.gateways import secrets
from chalicelib.settings import settings
from infra.operator import commands as operator
from infra.operator import stage_secret
from infra.operator.commands import main
from tests.support.giving import Give, Terminal, environment, typing

pytestmark = pytest.mark.usefixtures("moto")

TODAY = dt.datetime.now(dt.UTC)
PARTNERS_SECRET = "agreed with the partner"  # noqa: S105  of no partner


@pytest.fixture
def stored() -> Iterator[Callable[[], dict[str, Any]]]:
    """Return the document as it is stored now. It is put back after the test."""
    client, name = boto3.client("secretsmanager"), settings().secret_id

    def read() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(client.get_secret_value(SecretId=name)["SecretString"])
        return found

    before = read()
    yield read
    client.put_secret_value(SecretId=name, SecretString=json.dumps(before))
    secrets.remembered().forget()


@pytest.fixture
def certificate(tmp_path: Path) -> Callable[..., tuple[Path, Path]]:
    """Make a certificate and its key."""

    def make(name: str = "ours", *, days: int = 90, password: bytes = b"") -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        built = (
            x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
            .not_valid_before(TODAY - dt.timedelta(days=100))
            .not_valid_after(TODAY + dt.timedelta(days=days))
            .sign(key, hashes.SHA256())
        )
        encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
        paths = tmp_path / f"{name}.pem", tmp_path / f"{name}.key"
        paths[0].write_bytes(built.public_bytes(serialization.Encoding.PEM))
        paths[1].write_bytes(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
        )
        return paths

    return make


def run(*arguments: str, typed: str = "") -> None:
    with typing(typed):
        main(arguments)


def test_a_rotation_keeps_the_signing_secret_before_and_prints_neither(
    give: Give, capsys: pytest.CaptureFixture[str]
) -> None:
    stage_secret.rotate_signing(again=True)
    before, later = secrets.signing(), outside.now() + stage_secret.BETWEEN
    give(now=lambda: later)
    run("rotate-signing")
    new, *earlier = secrets.signing()
    said = capsys.readouterr().out

    assert earlier == list(before[:1])
    assert new.reveal() not in said
    assert "in 5 minutes, not before" in said
    assert "The secret before it is accepted until the next rotation" in said
    run("print-signing")
    assert capsys.readouterr().out == f"{new.reveal()}\n"


def test_two_rotations_in_a_day_are_refused_because_tills_still_sign_with_the_first_secret(
    stored: Callable[[], dict[str, Any]], give: Give
) -> None:
    del stored  # the fixture puts the document back
    for _ in range(2):
        stage_secret.rotate_signing(again=True)
    accepted = secrets.signing()

    with pytest.raises(SystemExit, match=r"The secret was rotated at .* If a secret leaked, use --leaked"):
        run("rotate-signing")
    assert secrets.signing() == accepted

    tomorrow = outside.now() + dt.timedelta(days=1)
    give(now=lambda: tomorrow)
    run("rotate-signing")
    assert secrets.signing()[1:] == accepted[:1]


@pytest.mark.parametrize("command", ["rotate-signing", "print-signing"])
def test_a_stage_without_tokens_has_no_signing_secret(command: str, give: Give) -> None:
    give(settings=replace(settings(), auth_schemes=frozenset({Scheme.BASIC})))

    with pytest.raises(SystemExit, match="AUTH_SCHEMES of the stage has no Jwt"):
        run(command)


def test_a_leaked_signing_secret_is_accepted_no_longer_nor_is_the_one_before_it(
    capsys: pytest.CaptureFixture[str], stored: Callable[[], dict[str, Any]]
) -> None:
    leaked = [stage_secret.rotate_signing(again=True).reveal() for _ in range(2)]
    run("rotate-signing", "--leaked")
    said = capsys.readouterr().out

    (new,) = secrets.signing()
    assert new.reveal() not in leaked
    assert "Every earlier secret is refused in 6 minutes at the latest" in said
    assert [one for one in leaked if one in json.dumps(stored()) + said] == []


def test_the_undo_of_a_change_accepts_a_leaked_signing_secret_only_on_demand(
    stored: Callable[[], dict[str, Any]],
) -> None:
    stage_secret.rotate_signing(again=True)
    before = stored()
    run("rotate-signing", "--leaked")
    after = stored()

    with pytest.raises(SystemExit, match=r"accepts a signing secret that leaked\. Nothing was changed"):
        run("undo-secret", "--yes")
    assert stored() == after
    run("undo-secret", "--accept-leaked", "--yes")
    assert stored() == before
    run("undo-secret", "--yes")
    assert stored() == after


def test_a_later_change_is_undone_without_the_leaked_signing_secret(stored: Callable[[], dict[str, Any]]) -> None:
    run("rotate-signing", "--leaked")
    leaked_before = stored()
    stage_secret.rotate_partner("Boats", Secret(PARTNERS_SECRET))

    run("undo-secret", "--yes")

    assert stored() == leaked_before


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Let PARTNERS of the shell name a product."""

    def name(product: str) -> None:
        monkeypatch.setenv("PARTNERS", json.dumps({product: {"url": "https://partner.example/prepare"}}))
        outside.forget()

    yield name
    outside.forget()


def test_a_product_that_nobody_registered_gets_no_secret(stored: Callable[[], dict[str, Any]]) -> None:
    before = stored()

    for product, message in {"Trains": "PARTNERS of the stage does not name Trains", " ": "Name the product"}.items():
        with pytest.raises(SystemExit, match=message):
            run("partner-secret", product, typed=f"{PARTNERS_SECRET}\n")
    assert stored() == before


def test_a_secret_that_is_stored_is_replaced_for_a_product_that_is_registered_no_longer() -> None:
    stage_secret.rotate_partner("Trams", Secret(PARTNERS_SECRET))

    run("partner-secret", "Trams", typed=f"another {PARTNERS_SECRET}\n")

    assert secrets.partner("Trams") == Secret(f"another {PARTNERS_SECRET}")


def test_the_secret_of_a_partner_is_removed_once_and_no_other(
    capsys: pytest.CaptureFixture[str], stored: Callable[[], dict[str, Any]]
) -> None:
    for product in ("Old", "Older"):
        stage_secret.rotate_partner(product, Secret(PARTNERS_SECRET))
    run("partner-secret", "Old", "--remove")

    assert "no secret for Old any more" in capsys.readouterr().out
    assert {"Old", "Older"} & stored()["partners"].keys() == {"Older"}
    with pytest.raises(SystemExit, match=r"There is no secret of a partner for Old\."):
        run("partner-secret", "Old", "--remove")


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(("length", "is_stored"), [(15, False), (16, True)])
def test_a_short_secret_of_a_partner_is_refused(length: int, *, is_stored: bool) -> None:
    stage_secret.rotate_partner("Old", Secret(PARTNERS_SECRET))
    typed = "s" * length

    with nullcontext() if is_stored else pytest.raises(SystemExit, match="at least 16 characters"):
        run("partner-secret", "Old", typed=typed)
    assert (secrets.partner("Old") == Secret(typed)) is is_stored


def test_a_stage_whose_secret_never_changed_has_no_step_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_secret, "_versions", lambda: {stage_secret.CURRENT: "1"})

    with pytest.raises(stage_secret.SecretError, match="There is no version before this one"):
        stage_secret.step_back()


def test_a_secret_that_somebody_broke_by_hand_is_named_and_undone(stored: Callable[[], dict[str, Any]]) -> None:
    before = stored()
    boto3.client("secretsmanager").put_secret_value(SecretId=settings().secret_id, SecretString="{signing")
    with pytest.raises(SystemExit, match="is no JSON object: undo-secret returns to the one before"):
        run("status")

    run("undo-secret", "--yes")

    assert stored() == before


@pytest.mark.parametrize("level", ["the stage", "all stages"])
def test_a_product_is_registered_in_the_settings_of_the_stage(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, level: str
) -> None:
    named = {"environment_variables": {"PARTNERS": json.dumps({"Metro": {"url": "https://partner.example"}})}}
    config = {"stages": {"local": named}} if level == "the stage" else {"stages": {"local": {}}, **named}
    monkeypatch.setattr(operator, "CONFIG", tmp_path / "config.json")
    operator.CONFIG.write_text(json.dumps(config))

    run("partner-secret", "Metro", typed=f"{PARTNERS_SECRET} of {level}\n")

    assert secrets.partner("Metro") == Secret(f"{PARTNERS_SECRET} of {level}")


def test_an_unknown_secret_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_ID", "nobody-has-it")
    outside.forget()

    with pytest.raises(SystemExit, match=r"AWS refused: .*Is the environment that of the stage"):
        run("rotate-signing")
    outside.forget()


def test_the_list_has_names_and_dates_and_no_value(
    capsys: pytest.CaptureFixture[str],
    certificate: Callable[..., tuple[Path, Path]],
    stored: Callable[[], dict[str, Any]],
    registered: Callable[[str], None],
) -> None:
    public, key = certificate()
    registered("Pets")
    run("partner-secret", "Pets", typed=f"{PARTNERS_SECRET}\n")
    run("use-certificate", "--certificate", str(public), "--key", str(key))
    capsys.readouterr()
    run("status")
    said = capsys.readouterr().out

    assert "digest_key               never changed by a command\n" in said
    assert re.search(
        r"^ *signing +changed .*Z; (it and the secret before it are|only it is) accepted$", said, re.MULTILINE
    )
    assert f"partners.Pets            changed {TODAY:%Y-%m-%d}" in said
    expires = f"{TODAY + dt.timedelta(days=90):%Y-%m-%d}"
    assert re.search(f"^ *iso8583 +changed .*Z; the certificate expires on {expires}$", said, re.MULTILINE)
    content = stored()
    values = [content["digest_key"], *content["signing"], PARTNERS_SECRET, *key.read_text().splitlines()[1:2]]
    assert [value for value in values if value in said] == []


def test_a_certificate_is_used_with_its_own_key_only(
    certificate: Callable[..., tuple[Path, Path]], tmp_path: Path
) -> None:
    ours, other, late = certificate(), certificate("other"), certificate("late", days=-1)
    soon = certificate("soon", days=6)
    locked, missing = certificate("locked", password=b"a password"), tmp_path / "missing"
    before = secrets.client_certificate()

    for public, key, problem in [
        (ours[0], other[1], "no certificate with its key"),
        (late[0], late[1], "expired on"),
        (soon[0], soon[1], "within 7 days"),
        (locked[0], locked[1], "without a password"),
        (missing, missing, "No such file"),
    ]:
        with pytest.raises(SystemExit, match=problem):
            run("use-certificate", "--certificate", str(public), "--key", str(key))
    assert secrets.client_certificate() == before

    run("use-certificate", "--certificate", str(ours[0]), "--key", str(ours[1]))
    assert secrets.client_certificate() == Secret(f"{ours[0].read_text()}\n{ours[1].read_text()}\n")


def test_a_change_keeps_all_other_parts(stored: Callable[[], dict[str, Any]]) -> None:
    before = stored()
    stage_secret.rotate_partner("Ferry", Secret(PARTNERS_SECRET))
    after = stored()

    assert {name for name in {*before, *after} if before.get(name) != after.get(name)} == {"partners", "changed"}


def test_a_change_that_another_one_overtakes_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, stored: Callable[[], dict[str, Any]]
) -> None:
    read = stage_secret._read  # noqa: SLF001

    def overtaken(version: str) -> stage_secret.Document:
        content = read(version)
        monkeypatch.setattr(stage_secret, "_read", read)
        stage_secret.rotate_partner("Quick", Secret(PARTNERS_SECRET))
        return content

    monkeypatch.setattr(stage_secret, "_read", overtaken)
    signing = stored()["signing"]
    with pytest.raises(SystemExit, match="Another change came between"):
        run("rotate-signing", "--leaked")

    assert stored()["signing"] == signing
    assert secrets.partner("Quick") == Secret(PARTNERS_SECRET)


def test_a_change_that_dies_before_it_is_current_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, stored: Callable[[], dict[str, Any]]
) -> None:
    before, accepted = stored(), secrets.signing()
    with monkeypatch.context() as patch:
        patch.setattr(stage_secret, "_make_current", lambda *_, **__: sys.exit(9))
        with pytest.raises(SystemExit):
            stage_secret.rotate_signing(again=True)
    assert stored() == before

    stage_secret.rotate_signing(again=True)
    assert secrets.signing()[1:] == accepted[:1]


def test_one_command_undoes_a_change_and_repeats_it(
    capsys: pytest.CaptureFixture[str], stored: Callable[[], dict[str, Any]]
) -> None:
    stage_secret.rotate_partner("Air", Secret(PARTNERS_SECRET))
    before = stored()
    stage_secret.rotate_signing(again=True)
    after = stored()

    run("undo-secret", "--yes")
    assert stored() == before
    assert "signing differs" in capsys.readouterr().out
    run("undo-secret", "--yes")
    assert stored() == after


@pytest.mark.parametrize(
    ("answer", "more", "is_undone"),
    [(None, [], False), (None, ["--yes"], True), ("y", [], True), ("", [], False), ("no", [], False)],
)
def test_a_signing_secret_is_removed_only_on_demand(  # noqa: PLR0913
    capsys: pytest.CaptureFixture[str],
    give: Give,
    stored: Callable[[], dict[str, Any]],
    answer: str | None,
    more: list[str],
    *,
    is_undone: bool,
) -> None:
    fresh = {name: value for name, value in stored().items() if name != "signing"}
    boto3.client("secretsmanager").put_secret_value(SecretId=settings().secret_id, SecretString=json.dumps(fresh))
    stage_secret.rotate_signing()
    after, asked = stored(), list[str]()
    capsys.readouterr()
    terminal = StringIO() if answer is None else Terminal(answer)
    give(typed=lambda: terminal)

    if is_undone:
        main(["undo-secret", *more])
    else:
        with pytest.raises(SystemExit) as refused:
            main(["undo-secret", *more])
        asked.append(str(refused.value.code))
    if answer is not None:
        asked.insert(0, capsys.readouterr().out)

    assert stored() == (fresh if is_undone else after)
    named = "The version before the latest change differs: signing is removed."
    assert more or asked[0].startswith(named)


def test_a_document_that_lost_its_digest_key_is_named_and_undone(
    capsys: pytest.CaptureFixture[str], stored: Callable[[], dict[str, Any]]
) -> None:
    before = stored()
    boto3.client("secretsmanager").put_secret_value(SecretId=settings().secret_id, SecretString='{"signing": ["a"]}')
    run("status")
    assert "digest_key               IS MISSING" in capsys.readouterr().out

    run("undo-secret", "--yes")
    assert stored() == before


def test_the_key_of_stripe_is_typed_and_stored_and_shown_nowhere(
    capsys: pytest.CaptureFixture[str], stored: Callable[[], dict[str, Any]]
) -> None:
    run("stripe-key", typed="rk_live_Typed\n")

    assert stored()["stripe"] == "rk_live_Typed"
    assert secrets.stripe_key() == Secret("rk_live_Typed")
    assert "rk_live" not in "".join(capsys.readouterr()) + "".join(stage_secret.described())


@pytest.mark.parametrize(("typed", "url"), [("pk_test_1", ""), ("", ""), ("sk_live_1", "http://127.0.0.1:9")])
def test_another_key_of_stripe_is_refused(typed: str, url: str, stored: Callable[[], dict[str, Any]]) -> None:
    before = stored()

    with environment(STRIPE_URL=url), pytest.raises(SystemExit) as refused:
        run("stripe-key", typed=f"{typed}\n")

    assert stored() == before
    assert not typed or typed not in str(refused.value)
