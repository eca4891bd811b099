"""The guide docs/bad-days.md is rehearsed: its commands are pasted on a stage that has such a day."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from chalicelib import outside
from chalicelib.domain.phases import Phase
from infra.bank import books
from infra.demo.data import OTHER_OWNER, OTHER_TILL
from infra.local import aws_server, engines, ports
from tests.support import guides
from tests.support.cards import a_card_body
from tests.support.http import get, post
from tests.support.iso8583_stage import RunningBank, check_books, paying_at_a_bank
from tests.support.outages import closed, without
from tests.support.stored import stored_transaction
from tests.support.transactions import a_body

# The guide's commands are for a fresh stage.
pytestmark = [pytest.mark.usefixtures("fresh_tables"), pytest.mark.slow]
GUIDE = "docs/bad-days.md"
SUBMIT = "/api/v1/payment/submit"
PAID, UNKNOWN, REJECTED, _, _, AFTERWARDS = (f"77F0B0F7-3D0B-4F0D-9A43-9B7C0C8A1D0{number}" for number in range(1, 7))
Paste = Callable[..., str]


@pytest.fixture
def paste(stage: str) -> Iterator[Paste]:
    """Paste a section of the guide, and return its output."""
    with aws_server.serve(ports.free_port()) as aws:

        def run(*headings: str, **others: str) -> str:
            return guides.printed_by(GUIDE, headings, {guides.LOCAL: stage, guides.AWS: aws, **others})

        yield run


def codes(printed: str) -> list[int]:
    return [answer["ErrorCode"] for answer in guides.answers_in(printed)]


def test_a_leaked_credential_is_found_revoked_and_its_use_is_listed(paste: Paste) -> None:
    printed = paste("A till's credential leaked")

    me, _, refused, listed, former, system = guides.answers_in(printed)
    assert [one["ErrorCode"] for one in (me, refused, listed, former, system)] == [0, 102, 0, 102, 0]
    assert (me["Data"]["AgentID"], me["Data"]["ClientID"]) == (3, 1)
    assert re.search("update   by agent 2, .*password, secret_key_sealed, sessions", printed)
    assert "has a new password and a new secret key" in printed


def test_a_shop_that_gives_back_too_much_is_seen_and_stopped(stage: str, paste: Paste) -> None:
    for _ in range(2):
        paid = post(stage, SUBMIT, a_body(), OTHER_TILL).body["TransactionID"]
        tran = {"BasicReverseTran": {"TransactionID": paid, "ReverseMode": 2}}
        assert post(stage, "/api/v1/payment/reverse", tran, OTHER_TILL).error == (200, 0)

    printed = paste("A shop gives back too much")

    assert re.search("^sold today +2, .*: 2, 2 given back$", printed, re.MULTILINE)
    assert get(stage, "/api/v1/user/me", OTHER_OWNER).error == (401, 108)


def test_a_person_who_left_is_refused(paste: Paste) -> None:
    shop = paste("Somebody of a shop leaves")
    support = paste("A system user leaves")

    assert codes(shop) == [0, 0, 0, 103, 0, 0, 0, 0]
    assert codes(support) == [103, 102]
    assert re.search("^[0-9]+ +active .* 0 +ben@example.com +Ben Smith$", support, re.MULTILINE)


class Day:
    """A stage whose bank can go away, and the guide that is pasted there."""

    def __init__(self, running: RunningBank, paste: Paste, folder: Path) -> None:
        self.bank, self._paste, self._folder = running, paste, folder

    def paste(self, heading: str) -> str:
        """Paste a section with the setup of the rehearsal. Its payments are replays after the first time."""
        with books.serve(self.bank.bank) as control:
            ports_here = {"PORT=8583": f"PORT={self.bank.server.port}", "8584": control.rpartition(":")[2]}
            return self._paste("The bank is down", heading, **ports_here, **{"host.csv": f"{self._folder}/host.csv"})


def test_a_bank_that_is_down_leaves_no_difference(stage: str, paste: Paste, tmp_path: Path) -> None:
    with paying_at_a_bank(datetime.now(UTC)) as running:
        day = Day(running, paste, tmp_path)
        before = day.paste("The answers to tills")
        with running.away():
            during = day.paste("While the bank is down")
            refund = {"TransactionID": PAID, "ReverseMode": 5, "Amount": "10.00", "PartialReverse": True}
            refused = post(stage, "/api/v1/payment/reversecnp", {"BasicReverseTran": refund}, OTHER_TILL)
        after = day.paste("When the bank is back")
        transactions = [stored_transaction(one) for one in (PAID, UNKNOWN, AFTERWARDS)]
        check_books(running.bank, transactions)

    assert codes(before) == [0, 310]
    assert codes(during) == [902, 311, 0]
    assert re.search("HTTP/1.1 503 .*?^Retry-After: 1\r?$.*?Ask again with a new ID", during, re.DOTALL | re.MULTILINE)
    assert "NO CONNECTION" in during
    assert (refused.error, stored_transaction(REJECTED).phase) == ((503, 902), Phase.REJECTED)
    assert codes(after) == [0, 0]
    assert "answers, after" in after
    assert "no outcome     no payment" in after
    assert [one.phase for one in transactions] == [Phase.APPROVED, Phase.AUTO_CANCELLED, Phase.APPROVED]
    assert transactions[0].remaining_minor == transactions[0].amount_minor
    assert after.endswith("0 differences, 0 open; 2 in our books, 2 in the list.\n")


def test_a_stage_without_the_acquirer_takes_no_card_and_settles_its_unknown_payment(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with paying_at_a_bank(datetime.now(UTC)):
        unknown = post(stage, SUBMIT, a_card_body("12.67"), OTHER_TILL)
        with monkeypatch.context() as patch:
            patch.setenv("ACQUIRERS", "")
            outside.forget()
            refused = post(stage, SUBMIT, a_card_body("12.00"), OTHER_TILL)
            cash = post(stage, SUBMIT, a_body(), OTHER_TILL)
            seen = get(stage, f"/api/v1/payment/{unknown.body['TransactionID']}", OTHER_TILL)

    assert unknown.body["ErrorCode"] == 310
    assert (refused.error, cash.error) == ((400, 312), (200, 0))
    assert seen.body["Transactions"][0]["Substate"] == 404


def test_a_sale_of_an_outage_is_taken_once_when_the_store_is_back(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    offline = {"MobileSettings": {"Features": {"Offline": True}}}
    assert post(stage, "/api/v1/merchant/2/pos/5/update", offline, OTHER_OWNER).error == (200, 0)
    paid = (datetime.now(UTC) - timedelta(hours=3)).strftime("%Y-%m-%dT%H:%M:%S")
    sale = {"GMT": 0, **a_body(OfflineTran={"OfflineMode": True, "Invoice": "K7QX4-000001", "Paid": paid})}

    with closed() as url, without(monkeypatch, url, engines.ENDPOINT_VARIABLE):
        refused = post(stage, SUBMIT, sale, OTHER_TILL)
    taken, again = (post(stage, SUBMIT, sale, OTHER_TILL) for _ in range(2))

    assert (refused.error, refused.headers["Retry-After"]) == ((503, 903), "1")
    assert (taken.error, again.error) == ((200, 0), (200, 0))
    assert "Idempotent-Replayed" not in taken.headers
    assert again.headers["Idempotent-Replayed"] == "true"
