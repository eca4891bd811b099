"""Merchants for the operator: found, shown, blocked, without cards, billed; and the stage on one screen."""

import csv
import re
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.domain.acquirer import AnswerLostError, UnreachableError
from chalicelib.gateways.acquirers.iso8583.adapter import Iso8583
from chalicelib.gateways.secrets import pseudonym
from chalicelib.services.authentication import LOGIN
from chalicelib.store import audit, merchant_changes, merchants
from chalicelib.store.audit import Act
from infra.operator import commands as operator
from infra.operator import status
from tests.support.builders import PASSWORD, Shop, a_shop
from tests.support.cards import a_card_body
from tests.support.giving import Give, Terminal, typing
from tests.support.http import get, post
from tests.support.intercepted_calls import failing
from tests.support.stored import stored_record
from tests.support.tills import a_till
from tests.support.transactions import a_body

SUBMIT = "/api/v1/payment/submit"
Run = Callable[..., str]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command where nobody sits, and return its output."""
    monkeypatch.setattr(status, "MOST_SHOWN", 1000)  # the shops of other tests too

    def printed(line: str, typed: str = "") -> str:
        capsys.readouterr()
        with typing(typed):
            operator.main(line.split())
        return capsys.readouterr().out

    return printed


def refused(command: Run, line: str) -> tuple[int | str | None, str]:
    """Return the status of a refused command, and its reason."""
    with pytest.raises(SystemExit) as ended:
        command(line)
    return (1, ended.value.code) if isinstance(ended.value.code, str) else (ended.value.code, "")


@pytest.fixture
def shop(stage: str) -> Shop:
    return a_shop(stage)


def a_login(shop: Shop) -> tuple[str, str]:
    """Return the login of a new till."""
    tid = shop.terminal()["Name"]
    features = {"Features": {"AcceptCards": True, "AcceptCash": True}}
    return shop.agent(TID=tid, MobileSettings=features)["Email"], PASSWORD


def kept(shop: Shop) -> dict[str, Any]:
    """Return what the interface shows of the merchant's settings to its owner."""
    data: dict[str, Any] = get(shop.stage, "/api/v1/user/me", shop.owner).body["Data"]
    return data


def test_a_merchant_is_blocked_and_unblocked_and_keeps_the_rest(shop: Shop, command: Run) -> None:
    before = kept(shop)

    assert refused(command, f"merchant block {shop.id}")[0] == 1
    assert kept(shop) == before
    command(f"merchant block {shop.id} --yes")
    assert re.search(rf"^(stopped)? +{shop.id}, .*: blocked$", command("status"), re.MULTILINE)
    assert f"{shop.id} " in next(line for line in command("merchant list").splitlines() if " blocked " in line)
    assert get(shop.stage, "/api/v1/user/me", shop.owner).error == (401, 108)
    command(f"merchant unblock {shop.id}")

    assert kept(shop) == before
    acts = [(one.kind, one.by, one.fields) for one in audit.of(f"merchant#{shop.id}")[1:]]
    assert acts == [("block", audit.OPERATOR, ("state",)), ("unblock", audit.OPERATOR, ("state",))]


@pytest.mark.parametrize("answer", ["y", "no"])
def test_at_a_terminal_a_block_asks(shop: Shop, give: Give, answer: str) -> None:
    give(typed=lambda: Terminal(f"{answer}\n"))
    if answer == "y":
        operator.main(["merchant", "block", str(shop.id)])
    else:
        with pytest.raises(SystemExit, match="Nothing is changed"):
            operator.main(["merchant", "block", str(shop.id)])

    assert get(shop.stage, "/api/v1/user/me", shop.owner).error == ((401, 108) if answer == "y" else (200, 0))


def test_a_stop_of_cards_stands_beside_the_features(shop: Shop, command: Run) -> None:
    till = a_login(shop)
    assert post(shop.stage, SUBMIT, a_card_body(), till).error == (200, 0)

    assert "are stopped; returns go on." in command(f"merchant cards {shop.id} off --yes")
    assert re.search(rf"^(stopped)? +{shop.id}, .*: cards stopped$", command("status"), re.MULTILINE)
    stopped = [post(shop.stage, SUBMIT, body, till).error for body in (a_card_body(), a_body())]
    features = kept(shop)["Features"]
    lifted = shop.post(f"{shop.path}/pos/list", {}, shop.owner)
    line = command(f"merchant show {shop.id}")
    command(f"merchant cards {shop.id} on")

    assert stopped == [(403, 311), (200, 0)]
    assert (features["AcceptCards"], features["AcceptCash"]) == (False, True)
    assert lifted.error == (200, 0)
    assert "cards stopped by the operator" in line
    assert post(shop.stage, SUBMIT, a_card_body(), till).error == (200, 0)
    assert [one.kind for one in audit.of(f"merchant#{shop.id}")[1:]] == ["cards off", "cards on"]
    assert refused(command, "merchant cards --all off")[0] == 1
    assert "all " in command("merchant cards --all off --yes")
    assert "all " in command("merchant cards on --all")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("merchant show 999999", 1),
        ("merchant show x", 1),
        ("merchant show", 2),
        ("merchant cards 1", 2),
        ("merchant cards 1 maybe", 2),
        ("merchant cards on", 2),
        ("merchant frobnicate", 2),
        ("takings --month 2026-13", 2),
        ("takings", 2),
        ("who nobody-has-this", 1),
    ],
)
def test_a_misused_command_is_2_and_nothing_found_is_1(stage: str, command: Run, line: str, code: int) -> None:
    del stage
    assert refused(command, line)[0] == code


def test_anybody_is_found_by_what_the_operator_has(shop: Shop, command: Run) -> None:
    terminal = shop.terminal(Name="TILL-77", BackRetailerID=f"MID{shop.id}")
    agent = shop.agent(TID="TILL-77", Name="Thandi Mbeki", Phone="082 111 4455")
    named = f"agent {agent['ID']}, Thandi Mbeki"

    for text in (agent["Email"].upper(), "thandi", str(agent["ID"]), "till-77", "+27821114455"):
        assert named in command(f"who {text}"), text
    assert named in command(f"who {pseudonym(LOGIN, agent['Email'].lower())}")
    assert f"terminal {terminal['ID']}, TID TILL-77" in command(f"who mid{shop.id}")
    assert f"merchant {shop.id}, " in command(f"who {shop.id}")
    assert "Thandi Mbeki" in command(f"merchant show {shop.id}")
    assert "create" in command(f"audit {agent['Email']}")


FORGED = "1 Long St\n2026-03-14T09:26:53  update   by operator root name\x1b[2J\x9b2J\u2028"
PRINTED = ["merchant list", "merchant show {}", "merchant unblock {}", "merchant cards {} on", "who {}", "status"]
PRINTED += ["audit merchant#{}", "takings --month 2019-02"]


def test_a_text_of_a_merchant_writes_no_line_and_sends_the_screen_no_command(shop: Shop, command: Run) -> None:
    def change(**fields: Any) -> None:
        before = stored_record(merchants.key(shop.id))
        merchant_changes.change(before, replace(before, **fields), Act("update", shop.owner_id, outside.now()))

    change(address_de_facto=FORGED, name="Shop \u202eevil")
    shown = "".join(command(line.format(shop.id)) for line in PRINTED)
    change(address_de_facto="other", name="other")
    lines = (shown + command(PRINTED[-2].format(shop.id))).split("\n")

    assert [line for line in lines if not line.isprintable() or line.startswith("2026-03-14T09:26:53  update")] == []
    assert sum("2026-03-14T09:26:53  update   by operator root" in line for line in lines) == 2
    assert sum("Shop  evil" in line for line in lines) >= len(PRINTED) - 1


def test_the_invoice_of_a_month_has_each_merchant(shop: Shop, command: Run) -> None:
    till, today = a_login(shop), f"{outside.now():%Y-%m}"
    paid = post(shop.stage, SUBMIT, a_body(Amount="12.30"), till).body
    post(shop.stage, SUBMIT, a_body(Amount="7.70"), till)
    given = {"TransactionID": paid["TransactionID"], "ReverseMode": 2, "Amount": "2.30", "PartialReverse": True}
    post(shop.stage, "/api/v1/payment/reverse", {"BasicReverseTran": given}, till)

    rows = list(csv.DictReader(StringIO(command(f"takings --month {today}"))))

    (own,) = (row for row in rows if row["merchant"] == str(shop.id))
    assert [own[name] for name in ("payments", "taken", "given back", "currency")] == ["2", "20.00", "2.30", "ZAR"]
    assert all(row["payments"] == "0" for row in csv.DictReader(StringIO(command("takings --month 2019-02"))))


def test_the_stage_is_on_one_screen(shop: Shop, command: Run) -> None:
    unknown, till = a_till().pay(a_card_body("12.68")), a_login(shop)
    for _ in range(2):
        paid = post(shop.stage, SUBMIT, a_body(), till).body["TransactionID"]
    post(shop.stage, "/api/v1/payment/reverse", {"BasicReverseTran": {"TransactionID": paid, "ReverseMode": 2}}, till)

    printed = command("status")

    assert printed.startswith("stage          local, ")
    assert f"payment {unknown.id} of 12.68 ZAR, unknown, " in printed
    assert "sold today     " in printed
    assert re.search(rf" {shop.id}, .*: 2, 1 given back$", printed, re.MULTILINE)
    assert command(f"who {unknown.id.lower()}").rstrip() in printed
    assert f"terminal {unknown.terminal_id}, TID {unknown.terminal_name}; " in printed
    assert "secrets        " in printed
    assert "waiting        " in printed


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (lambda *_: 0, "host.example:5000: answers, after"),
        (lambda *_: 91, "host.example:5000: ANSWERS 91, "),
        (failing(UnreachableError()), "host.example:5000: NO CONNECTION"),
        (failing(AnswerLostError()), "host.example:5000: NO ANSWER within"),
    ],
    ids=["approved", "refused", "unreachable", "silent"],
)
def test_the_host_is_asked_whether_it_is_there(
    give: Give, monkeypatch: pytest.MonkeyPatch, answer: Any, line: str
) -> None:
    give(
        settings=SimpleNamespace(
            acquirers=("ISO8583",), iso8583=SimpleNamespace(host="host.example", port=5000, institution="1")
        )
    )
    monkeypatch.setattr(Iso8583, "echo", answer)

    (printed,) = status._acquirers()  # noqa: SLF001  the settings are its subject

    assert line in printed
