"""Never a card number, CVV2, track or TLV in any table, object, message or log, whatever the endpoint and the fault.

Cards of numbers nothing else has go through every way in and every fault; then everything that was kept or printed is
searched, in every spelling a number may have been kept in.
"""

import base64
import json
import logging
import re
import secrets
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from chalicelib.domain.acquirer import AcquirerAnswer, AnswerLostError, UnreachableError
from chalicelib.domain.card import has_check_digit
from chalicelib.endpoints import ENDPOINTS
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.services import payment_sweep
from chalicelib.settings import settings
from chalicelib.store import transactions
from infra.local import mail_viewer
from infra.operator import commands as operator
from tests.support.cards import EXP, chip_data
from tests.support.giving import typing
from tests.support.http import OWNER, SYSTEM, TILL, Reply, call, post
from tests.support.intercepted_calls import broken, failing
from tests.support.role_table import parts_of
from tests.support.tills import a_till

SUBMIT = "/api/v1/payment/submit"


@dataclass(frozen=True)
class Canary:
    """A card whose number, CVV2, track and cryptogram nobody else has."""

    pan: str
    cvv2: str
    discretionary: str
    cryptogram: str

    @property
    def track2(self) -> str:
        return f";{self.pan}={EXP[2:]}{EXP[:2]}201{self.discretionary}?"

    @property
    def chip(self) -> str:
        return chip_data(self.pan, cryptogram=self.cryptogram)

    def found_in(self, text: str) -> list[str]:
        """Return the parts of it that a lower-case text holds, however they are spelt."""
        groups = re.findall("....", self.pan)
        words = [
            *(self.pan, self.pan[:-4], self.pan[::-1], " ".join(groups), "-".join(groups)),
            *(self.pan.encode().hex(), base64.b64encode(self.pan.encode()).decode().rstrip("=")[:-1]),
            *(self.discretionary, self.cryptogram, self.chip[:40]),
        ]
        found = [word for word in words if word.lower() in text]
        return found + re.findall(rf"(?<![\w.-]){self.cvv2}(?![\w.-])", text)


SWIPED = {"AllowSwipeOverChip": True}  # the card has a chip


def a_canary(seed: int) -> Canary:
    """A Visa; its digits are drawn so that they turn up by accident nowhere."""
    body = f"4{secrets.randbelow(10**11):011d}111"  # the last four digits are kept, and are no CVV2
    pan = next(body + str(digit) for digit in range(10) if has_check_digit(body + str(digit)))
    cvv2 = f"0{930 + seed}"  # no amount, ID or length begins with a zero
    return Canary(pan, cvv2, f"77{secrets.randbelow(10**9):09d}", secrets.token_hex(8).upper())


def bodies(canary: Canary, amount: str) -> Iterator[dict[str, Any]]:
    """The card through every way in, rightly and wrongly."""
    data = {"PAN": canary.pan, "EXP": EXP, "CVV2": canary.cvv2}
    basic = {"Amount": amount, "CurrencyID": "ZAR"}
    for input_type in (1, 2, 3, 4, 5, 7, 8, 9, 10, 30, 100):
        for reader in (None, canary.track2, canary.chip, canary.chip[:61], canary.pan):
            card = {"CardDataInput": {**data, **({"ReaderData": reader} if reader else {})}}
            yield {"BasicTran": {**basic, "InputType": input_type}, "Card": card, "AcqTran": SWIPED}
    for change in (
        {"PAN": canary.pan + "0"},
        {"PAN": canary.pan[:-1]},
        {"PAN": [canary.pan]},
        {"PAN": {"x": canary.pan}},
        {"PAN": int(canary.pan)},
        {"EXP": canary.pan},
        {"CVV2": canary.pan},
        {"ReaderType": canary.pan},
        {"ReaderData": [canary.track2]},
        {"Unknown": canary.pan},
    ):
        yield {"BasicTran": {**basic, "InputType": 1}, "Card": {"CardDataInput": {**data, **change}}}
    yield {"BasicTran": {**basic, "InputType": 1}, "Card": {"CardInputMode": canary.pan, "CardDataInput": data}}
    yield {"BasicTran": {**basic, "InputType": 1}, "Card": [canary.pan]}
    yield {"BasicTran": {**basic, "InputType": 1}, "Card": canary.track2}


def everywhere_else(stage: str, canary: Canary) -> None:
    """The card where it does not belong: in the body and the path of every other endpoint."""
    card = {
        "Card": {"CardDataInput": {"PAN": canary.pan, "CVV2": canary.cvv2, "EXP": EXP, "ReaderData": canary.track2}}
    }
    body = {"BasicReverseTran": {"TransactionID": "x", "ReverseMode": 2, "Amount": 1}, **card}
    for endpoint in ENDPOINTS:
        if endpoint.path == SUBMIT:
            continue
        for part in ("1", canary.pan):
            path = endpoint.path.format(**dict.fromkeys(parts_of(endpoint), part))
            for login in (TILL, OWNER, SYSTEM):
                sent = None if endpoint.method == "GET" else body
                call(stage, endpoint.method, path, sent, None if endpoint.public else login)


def reversals_by_card(stage: str, own: Canary, other: Canary) -> Iterator[Reply]:
    """The card, and another one, with the return of a payment made by it: answered, lost and broken."""
    faults = (None, UnreachableError(), AnswerLostError(), RuntimeError(own.pan), ValueError(own.track2))
    quoting = AcquirerAnswer(5, "Declined", additional_fields=own.pan, additional_fields_title=own.track2)
    for input_type in (1, 2, 3):
        for fault in (*faults, quoting):
            body, *others = [
                {"CardDataInput": {"PAN": card.pan, "EXP": EXP, "CVV2": card.cvv2}}
                if input_type == 1
                else {"CardDataInput": {"ReaderData": card.track2 if input_type == 2 else card.chip}}
                for card in (own, other)
            ]
            basic = {"Amount": "10.00", "CurrencyID": "ZAR", "InputType": input_type}
            paid = post(stage, SUBMIT, {"BasicTran": basic, "Card": body, "AcqTran": SWIPED})
            yield paid
            path = f"/api/v1/payment/{'reversecnp' if input_type == 1 else 'reverse'}"
            returned = {"TransactionID": paid.body["TransactionID"], "ReverseMode": 5 if input_type == 1 else 2}
            wishes = {"AdditionalAcquiringFields": own.pan, "ExternalTerminalID": own.pan}
            reverse = failing(fault) if isinstance(fault, Exception) else lambda *_: quoting
            with broken(**({"reverse": reverse} if fault else {})):
                for card in (*others, body):
                    yield post(stage, path, {"BasicReverseTran": returned, "Card": card, "AcqTran": wishes})


@contextmanager
def store_breaking(patch: pytest.MonkeyPatch, name: str) -> Iterator[None]:
    """Until it ends, this step of the store fails."""

    def fail(*_: Any, **__: Any) -> None:
        raise ServiceError(ErrorCode.STORE_UNAVAILABLE)

    with patch.context() as until:
        until.setattr(transactions, name, fail)
        yield


def everything_kept() -> str:
    """All tables, the bucket and the mails, as text."""
    client, store = boto3.client("dynamodb"), boto3.client("s3")
    bucket = settings().bucket
    pages = client.get_paginator("scan")
    parts = [
        json.dumps(page["Items"], default=lambda value: bytes(value).decode("latin-1"))
        for name in client.list_tables()["TableNames"]
        for page in pages.paginate(TableName=name)
    ]
    parts += [
        store.get_object(Bucket=bucket, Key=item["Key"])["Body"].read().decode("latin-1")
        for item in store.list_objects_v2(Bucket=bucket).get("Contents", [])
    ]
    parts += [repr(mail) for mail in mail_viewer.sent_mails()]
    return "\n".join(parts)


def test_a_card_is_in_nothing_that_is_kept_answered_or_printed(
    stage: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    canaries = [a_canary(seed) for seed in range(12)]
    answers: list[Reply] = []

    def send(canary: Canary, amount: str = "10.00") -> None:
        answers.extend(post(stage, SUBMIT, body) for body in bodies(canary, amount))

    send(canaries[0])
    for number, cents in enumerate(("05", "65", "08", "68", "69"), start=1):
        answers.extend(post(stage, SUBMIT, body) for body in list(bodies(canaries[number], f"10.{cents}"))[:12])
    faults = (UnreachableError(), AnswerLostError(), RuntimeError(canaries[6].pan), ValueError(canaries[6].track2))
    for fault in faults:
        with broken(authorize=failing(fault)):
            send(canaries[6])
    for step, canary in (("record", canaries[7]), ("store_step", canaries[8])):
        with store_breaking(monkeypatch, step):
            answers.extend(post(stage, SUBMIT, body) for body in list(bodies(canary, "10.00"))[:12])
    everywhere_else(stage, canaries[9])
    answers.extend(reversals_by_card(stage, canaries[10], canaries[11]))
    payment_sweep.run(datetime.now(UTC) + timedelta(minutes=3))
    payment_sweep.run(datetime.now(UTC) + timedelta(days=2))

    printed = "\n".join([*capfd.readouterr(), caplog.text, *(f"{reply.headers} {reply.text}" for reply in answers)])
    kept = everything_kept()
    assert len(answers) > 200
    assert canaries[0].pan[:6] in kept  # its details are there: this search finds what there is
    assert [canary.found_in(kept.lower()) for canary in canaries] == [[]] * len(canaries)
    assert [canary.found_in(printed.lower()) for canary in canaries] == [[]] * len(canaries)


def test_a_card_that_is_linked_leaves_its_face_and_a_token(stage: str, capfd: pytest.CaptureFixture[str]) -> None:
    del stage
    canary = a_canary(20)
    with typing(f"{canary.pan}\n{EXP}\n"):
        operator.main(["link-card", "--email", TILL[0], "--alias", "Canary"])

    printed = "".join(capfd.readouterr())
    assert "is linked" in printed
    assert canary.found_in((everything_kept() + printed).lower()) == []


def test_no_exception_on_its_way_out_shows_a_card_nor_does_one_it_came_from(
    stage: str, capfd: pytest.CaptureFixture[str]
) -> None:
    del stage
    canary, till, shown = a_canary(30), a_till(), []
    for error in (None, UnreachableError(), RuntimeError(canary.pan)):
        with broken(**({"authorize": failing(error)} if error else {})):
            for body in bodies(canary, "10.00"):
                try:
                    shown.append(repr(till.submit(body)))
                except ServiceError as refusal:
                    shown += traceback.format_exception(refusal)
                    shown.append(repr(vars(refusal)))

    text = "\n".join([*shown, *capfd.readouterr()])
    assert "Traceback" in text
    assert canary.found_in(text.lower()) == []
