"""The guides describe the service as it is."""

import json
import os
import re
import subprocess
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from openapi_schema_validator import OAS31Validator
from pyotp import TOTP

from chalicelib import outside
from chalicelib.domain.kinds import InputType
from chalicelib.domain.permissions import Right
from chalicelib.domain.phases import TRANSITIONS, Phase
from chalicelib.endpoints import ENDPOINTS
from chalicelib.store import transactions
from infra.local import aws_server, ports
from infra.operator import commands as operator
from infra.reference import ROOT
from infra.reference.document import openapi_document
from infra.reference.examples import endpoint_of
from tests.support import aws_commands, guides, http
from tests.support.accounts import PASSWORD, an_account
from tests.support.book_programs import BEAN_CHECK, needs_beancount, needs_hledger
from tests.support.transactions import a_payment

pytestmark = pytest.mark.slow

DOCUMENT = openapi_document()
GUIDES = sorted((ROOT / "docs").glob("*.md"))
OF_REVERSALS = {Phase.CANCELLING, Phase.RETURNING, Phase.REVERSAL_APPROVED}


def phase(name: str) -> Phase:
    return Phase(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())


def test_the_diagram_of_a_payment_is_the_table_of_transitions() -> None:
    text = (ROOT / "docs" / "life-of-a-payment.md").read_text(encoding="utf-8")

    drawn = {(phase(one), phase(other)) for one, other in re.findall(r"^ +(\w+) --> (\w+):", text, re.MULTILINE)}
    legal = {(one, other) for one, others in TRANSITIONS.items() for other in others if one not in OF_REVERSALS}
    assert drawn == legal


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.name)
def test_a_path_and_an_operators_command_of_a_guide_exist(guide: Path) -> None:
    text = guide.read_text(encoding="utf-8")

    paths = {endpoint.path for endpoint in ENDPOINTS}
    assert set(re.findall(r"`POST (/api/[^`]+)`", text)) <= paths
    assert set(re.findall(r"infra\.operator ([a-z-]+)", text)) <= set(operator.COMMANDS)


OPERATORS_GUIDE, BOOKS_GUIDE = "docs/operator.md", "docs/books.md"
PAYERS_GUIDE, CLOCKS_GUIDE = "docs/payer.md", "docs/clock.md"
BAD_DAYS, CARD_DATA, STRIPES_GUIDE = "docs/bad-days.md", "docs/pci.md", "docs/stripe.md"
CODES: dict[str, list[int | None]] = {  # of the answers to a document's requests, in their order
    "README.md": [0, 202],
    "docs/first-payment.md": [0, 0, 0, 1051, 0, 0],
    "docs/goods.md": [0] * 12,
    "docs/idempotency.md": [0],
    "docs/offline.md": [0],
    "docs/requests.md": [0] * 15,
    OPERATORS_GUIDE: [0] * 9,
    BOOKS_GUIDE: [],  # its answers are addresses
    PAYERS_GUIDE: [0],
    BAD_DAYS: [],  # tests/infra/operator/test_bad_days.py has days on which they fail
    CARD_DATA: [0],
    STRIPES_GUIDE: [0, 0],  # tests/api/test_stripe.py pastes it at the stand-in
    CLOCKS_GUIDE: [None, None, None, 104, None, 0, 310, 0, None, 0, 0],
}


OTHERWISE_TESTED = {OPERATORS_GUIDE, BOOKS_GUIDE, PAYERS_GUIDE, CLOCKS_GUIDE, BAD_DAYS, CARD_DATA, STRIPES_GUIDE}


@pytest.mark.usefixtures("aws")
def test_the_commands_of_the_aws_cli_exist_with_their_options() -> None:
    found = {
        aws_commands.parsed(command, {})[1]
        for guide in GUIDES
        for command in guides.commands(str(guide.relative_to(ROOT)))
        if command.startswith("aws ") and not command.startswith("aws s3 ")  # the CLI's own
    }

    assert "PutAccountDetails" in found


def test_the_files_that_the_guides_leave_in_this_folder_are_not_committed() -> None:
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()

    assert {"/export/", "/finance.db*", "/host.csv", "/bank/"} <= set(ignored)


def test_a_lost_telephone_leaves_no_credential_that_its_session_could_read() -> None:
    sent = [one for one in guides.commands_under(OPERATORS_GUIDE, "Lock out a lost telephone") if "/update" in one]

    assert [[name in one for name in ("EndSessions", "Password", "SecretKey")] for one in sent] == [[True] * 3]


OF_AN_ENVIRONMENT = re.compile(r"(^|[|;&(] *)(python|pytest|chalice) ", re.MULTILINE)  # a fresh shell has none active
VARIABLE, SET = re.compile(r"\$\{?([A-Za-z_]+)"), re.compile(r"(?:^|[ ;(])([A-Za-z_]+)=|\bfor (\w+) in", re.MULTILINE)
OF_THE_SHELL = {"PWD", "HOME", "STAGE", "API", "OWNER", "YES"}  # the last four are named at the top of a page
GUARD = r'\[ "\$STAGE" = local \]'
ON_THE_LOCAL_STAGE = re.compile(rf"if {GUARD}.*?\bfi$|^[^\n]*{GUARD} &&[^\n]*$", re.DOTALL | re.MULTILINE)
OF_THE_DEMO = re.compile(r"@(demo|other)\.example:|merchant/[0-9]|--merchant [0-9]")


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.name)
def test_a_command_runs_from_a_fresh_shell_and_a_rehearsal_only_on_the_local_stage(guide: Path) -> None:
    known, is_local = set(OF_THE_SHELL), False
    for block in guides.BLOCK.findall(guide.read_text(encoding="utf-8")):
        anywhere = ON_THE_LOCAL_STAGE.sub("", block)
        known |= {name for names in SET.findall(block) for name in names}
        is_local |= f"={guides.LOCAL}" in anywhere or "STAGE=local" in anywhere

        assert not OF_AN_ENVIRONMENT.search(block), block
        assert set(VARIABLE.findall(re.sub(r"'[^']*'", "", block))) <= known, block
        assert is_local or guides.LOCAL in block or not OF_THE_DEMO.search(anywhere), block
        assert subprocess.run(["bash", "-n"], input=block, text=True, check=False).returncode == 0, block  # noqa: S607


def test_the_readme_is_a_page() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_no_other_document_has_requests() -> None:
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *GUIDES]

    assert {
        name
        for name in (str(document.relative_to(ROOT)) for document in documents)
        if any(command.startswith("curl ") for command in guides.commands(name))
    } == set(CODES)


@pytest.mark.parametrize("document", [name for name in CODES if name not in OTHERWISE_TESTED])
def test_the_requests_of_a_document_are_answered_as_it_says_when_they_are_pasted(document: str, stage: str) -> None:
    answers = guides.pasted(document, stage)

    assert [answer["ErrorCode"] for answer in answers] == CODES[document]


EACH_IS_PRINTED = ["README.md", "docs/first-payment.md", "docs/goods.md", "docs/requests.md"]


def requests_of(document: str) -> list[str]:
    return [command for command in guides.commands(document) if command.startswith("curl ")]


@pytest.mark.parametrize("document", EACH_IS_PRINTED)
def test_each_answer_is_printed_with_a_field_on_each_line(document: str) -> None:
    requests = requests_of(document)

    assert len(requests) == len(CODES[document])
    assert [command for command in requests if not command.endswith("| python3 -m json.tool")] == []


def problems_of(request: str, answer: Any) -> list[str]:
    """Return how an answer differs from the OpenAPI document; a refusal has no schema of its own."""
    found = re.search(rf'{guides.LOCAL}(/[^\s"?]+)', request)
    if not found or 0 < answer["ErrorCode"] < 1000:
        return []
    endpoint = endpoint_of("POST" if " -d " in request else "GET", found[1])
    content = DOCUMENT["paths"][endpoint.path][endpoint.method.lower()]["responses"]["200"]["content"]
    schema = content["application/json"]["schema"] | {"components": DOCUMENT["components"]}
    plain = json.loads(json.dumps(answer, default=float))
    return [error.message for error in OAS31Validator(schema).iter_errors(plain)]


@pytest.mark.parametrize("document", EACH_IS_PRINTED)
def test_each_answer_is_as_the_openapi_document_says(document: str, stage: str) -> None:
    answers = zip(requests_of(document), guides.pasted(document, stage), strict=True)

    assert [problem for request, answer in answers for problem in problems_of(request, answer)] == []


def test_the_first_payment_of_the_guide_is_half_given_back(stage: str) -> None:
    paid, _, seen, *_ = guides.pasted("docs/first-payment.md", stage)

    assert paid["Transaction"]["Substate"] == 411
    assert seen["Transactions"][0]["AmountEff"] == 125


def test_the_guide_of_goods_says_the_taxes_that_it_is_answered(stage: str) -> None:
    _, sold, taken, coffee, rest, _, _, receipt, *drawers = guides.pasted("docs/goods.md", stage)

    taxes = [one["Transaction"]["TaxAmounts"][0]["Tax"] for one in (sold, coffee, rest)]
    assert taxes == [Decimal("20.80"), Decimal("4.96"), Decimal("15.84")]
    assert [(one["Gross"], one["Tax"]) for one in taken["Taxes"] if one["Code"] == "VAT15"] == [
        (Decimal("159.50"), Decimal("20.80"))
    ]
    assert "VAT 15 % in R 38.00: R 4.96" in receipt["Receipt"]["Text"]
    assert [one["Drawer"]["Difference"] for one in drawers[:3]] == [None, None, Decimal("-1.50")]


def test_the_last_payment_of_that_guide_is_completed_with_its_signature(stage: str) -> None:
    *_, unsigned, signed = guides.pasted("docs/first-payment.md", stage)

    assert (unsigned["Transaction"]["Substate"], unsigned["Transaction"]["HasSignature"]) == (401, False)
    assert (signed["Transaction"]["Substate"], signed["Transaction"]["HasSignature"]) == (411, True)
    assert signed["Transaction"]["ID"] == unsigned["Transaction"]["ID"]


def test_the_refusal_of_the_readme_is_the_one_it_shows(stage: str) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    (shown,) = re.findall(r"```json\n(.*?)\n```", text, re.DOTALL)
    assert json.dumps(guides.pasted("README.md", stage)[1], indent=4) == shown


def test_the_operators_guide_ends_with_a_paid_till(stage: str) -> None:
    answers = guides.answers_in(guides.printed(OPERATORS_GUIDE, stage))
    cash, card, listed = answers[4:7]

    assert [answer["ErrorCode"] for answer in answers] == CODES[OPERATORS_GUIDE]
    assert [answer["Transaction"]["Substate"] for answer in (cash, card)] == [411, 411]
    assert listed["TransactionsCounters"]["AmountCvt"] == 275


def test_a_session_with_a_code_stands_for_the_password_of_the_guide(stage: str) -> None:
    account = an_account(system=True)
    [block] = [one for one in guides.BLOCK.findall((ROOT / OPERATORS_GUIDE).read_text("utf-8")) if "sign_in()" in one]
    session = http.post(stage, "/api/v1/user/login/session", {"Email": account.email, "Password": PASSWORD}).body
    key = (account.email, session["Data"]["SessionID"])
    secret = http.post(stage, "/api/v1/user/totp", {}, key).body["Data"]["Secret"]
    codes = [TOTP(secret).at(outside.now() + timedelta(seconds=30 * step)) for step in (0, 1)]
    assert http.post(stage, "/api/v1/user/totp", {"Code": codes[0]}, key).error == (200, 0)

    typed = f'{block}\nSYSTEM=$(sign_in {account.email} {codes[1]}); curl -s $API/api/v1/user/me -u "$SYSTEM"'
    words = ["bash", "-c", typed.replace(guides.LOCAL, stage)]
    done = subprocess.run(  # without a terminal, so that the password comes from the input
        words, input=f"{PASSWORD}\n", capture_output=True, text=True, check=True, start_new_session=True
    )

    assert json.loads(done.stdout)["Data"]["TotpOn"]


BALANCE = {  # of the payments below, after the payout of the guide
    "Assets:Bank": "980.00",
    "Assets:Cash": "12.30",
    "Assets:Clearing:SANDBOX": "-987.70",
}


@pytest.mark.parametrize(
    ("program", "commands"),
    [
        pytest.param("hledger", ("hledger ", "echo "), marks=needs_hledger),
        pytest.param("beancount", ("bean-", "echo ", "grep "), marks=needs_beancount),
    ],
)
def test_the_guide_to_books_ends_with_a_balance_sheet(
    program: str, commands: tuple[str, ...], stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(BEAN_CHECK or '').parent}:{os.environ['PATH']}")
    owner = an_account(Right.ADMINISTRATOR)
    at = datetime.now(UTC) - timedelta(days=20)
    for kind, acquirer in ((InputType.CASH, "CASH"), (InputType.CHIP, "SANDBOX")):
        facts = {"client_id": owner.agent.client_id, "created_at": at, "input_type": kind, "acquirer": acquirer}
        transactions.record(a_payment(**facts))

    printed = guides.run_programs(BOOKS_GUIDE, stage, f"{owner.email}:{owner.key}", tmp_path, commands)

    sheets = [one for one in printed if "Assets:Bank" in one]
    assert len(sheets) == 1, program
    for account, amount in BALANCE.items():
        assert re.search(rf"{account} .*[ |]{amount} ZAR", sheets[0]), sheets[0]


def test_the_guide_to_card_data_finds_the_masked_number_and_no_other(stage: str) -> None:
    with aws_server.serve(ports.free_port()) as aws:
        printed = guides.printed(CARD_DATA, stage, aws)

    assert json.loads(printed[: printed.index("\n}") + 2])["ErrorCode"] == CODES[CARD_DATA][0]
    whole, masked = map(int, re.findall(r"^(\d+)$", printed, re.MULTILINE))
    assert (whole, masked > 0) == (0, True)


def test_the_guide_to_the_data_of_a_payer_ends_with_no_place(stage: str) -> None:
    with aws_server.serve(ports.free_port()) as aws:
        printed = guides.printed(PAYERS_GUIDE, stage, aws)

    assert json.loads(printed[: printed.index("\n}") + 2])["ErrorCode"] == CODES[PAYERS_GUIDE][0]
    assert [int(number) for number in re.findall(r"(\d+) transactions? of merchant 1\.", printed)] == [1, 1, 0]
    (exported,) = map(json.loads, re.findall(r'^{\n  "merchant".*?^}$', printed, re.DOTALL | re.MULTILINE))
    assert exported["transactions"][0]["particulars_receipt_email"] == "ann.payer@example.com"
    assert exported["transactions"][0]["particulars_description"] == "Two coffees"
