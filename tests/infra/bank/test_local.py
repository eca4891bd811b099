"""The bank beside the local stage: what `make run ACQUIRER=iso8583` sets and starts."""

import itertools
import ssl
from pathlib import Path

import pytest

from chalicelib.domain.secret import Secret
from chalicelib.store import terminals
from infra.bank import books
from infra.bank.local import AcquirerSettingsError, acquirers
from infra.local import stage_settings
from tests.infra.bank.messages import Line, a_purchase
from tests.infra.local.stages import a_stage, refusal_of, url_of
from tests.support.cards import STEADY, a_card_body
from tests.support.http import post

pytestmark = pytest.mark.slow

NAMES = (
    *("ACQUIRER", "ACQUIRERS", "DEFAULT_ACQUIRER", "STRIPE_URL", "STRIPE_KEY"),
    *("ISO8583_HOST", "ISO8583_PORT", "ISO8583_TLS", "ISO8583_CA"),
)


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


def test_without_a_choice_the_stage_is_as_it_was() -> None:
    with acquirers() as chosen:
        assert ({**stage_settings.ENVIRONMENT, **chosen.environment}, chosen.welcome) == (
            stage_settings.ENVIRONMENT,
            "",
        )


def test_the_environment_names_the_acquirers_of_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACQUIRERS", "ISO8583,SANDBOX")

    with acquirers() as chosen:
        assert chosen.environment == {"ACQUIRERS": "ISO8583,SANDBOX"}


def test_a_bank_is_started_and_the_environment_leads_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACQUIRER", "iso8583")

    with acquirers() as chosen:
        settings = chosen.environment
        trusting = ssl.create_default_context(cafile=settings["ISO8583_CA"])
        line = Line(int(settings["ISO8583_PORT"]), trusting)
        answer = line.ask(a_purchase(f32=settings["ISO8583_INSTITUTION"]))
        line.socket.close()
        door = int(chosen.welcome.rpartition("--control ")[2])
        assert '"30.00"' in books.read_from(door, "/books")

    assert answer
    assert (answer.text(39), settings["ACQUIRERS"], settings["ISO8583_HOST"]) == ("00", "ISO8583", "127.0.0.1")
    assert Path(settings["ISO8583_CA"]).is_absolute()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"ACQUIRER": "visa"}, "ACQUIRER is iso8583, stripe or absent, not visa."),
        ({"ACQUIRER": "iso8583", "ISO8583_HOST": "bank.example"}, "ISO8583_HOST is of another: take one of both."),
        ({"ACQUIRER": "stripe", "STRIPE_URL": "http://127.0.0.1:1"}, "STRIPE_URL is of another: take one of both."),
        ({"ACQUIRER": "stripe", "STRIPE_KEY": "sk_test_1"}, "STRIPE_KEY is of another: take one of both."),
        ({"ACQUIRERS": "STRIPE", "STRIPE_KEY": "sk_live_1"}, "takes only sk_test_... or rk_test_..."),
    ],
)
def test_a_choice_that_cannot_be_is_refused_with_a_line(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(AcquirerSettingsError) as refusal, acquirers():
        pass
    assert expected in str(refusal.value)


@pytest.mark.parametrize(("given", "key"), [({}, "sk_test_local"), ({"STRIPE_KEY": "rk_test_1"}, "rk_test_1")])
def test_the_key_of_stripe_is_that_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], key: str
) -> None:
    for name, value in {"ACQUIRERS": "STRIPE", **given}.items():
        monkeypatch.setenv(name, value)

    with acquirers() as chosen:
        assert (chosen.environment, chosen.stripe_key) == ({"ACQUIRERS": "STRIPE"}, Secret(key))


def test_a_card_is_paid_at_the_stand_in_that_the_stage_starts() -> None:
    with a_stage(ACQUIRER="stripe") as process:
        paid = post(url_of(process), "/api/v1/payment/submit", a_card_body(pan=STEADY))

    assert paid.error == (200, 0)
    assert paid.body["Transaction"]["AcquirerTranID"].startswith("pi_")


def test_the_stage_refuses_another_acquirer_with_a_line() -> None:
    with a_stage(ACQUIRER="visa") as process:
        assert refusal_of(process) == "ACQUIRER is iso8583, stripe or absent, not visa."


def test_the_stage_takes_its_acquirers_from_its_environment() -> None:
    with a_stage(ACQUIRERS="OTHER", DEFAULT_ACQUIRER="SANDBOX") as process:
        assert "ACQUIRERS" in refusal_of(process)


@pytest.mark.usefixtures("stage")
def test_the_terminals_of_the_demo_data_have_the_merchants_number_at_the_acquirer() -> None:
    found = {one.tid: one.back_retailer_id for client_id in range(1, 9) for one in terminals.of_merchant(client_id)}

    assert found == {"DEMO0001": "DEMOBANK0000001", "OTHER001": "DEMOBANK0000002"}


def test_a_stage_with_a_bank_says_so_and_has_no_linked_card() -> None:
    with a_stage(ACQUIRER="iso8583") as process:
        url = url_of(process)
        assert process.stdout
        printed = "".join(itertools.takewhile(lambda line: "--list" not in line, process.stdout))
        cards = post(url, "/api/v1/payment/GetLinkedCards", {"Page": 1})

    assert "Card payments go to a bank on 127.0.0.1:" in printed
    assert cards.body["LinkedCards"] == []
