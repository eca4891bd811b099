"""A signature that a payment owes: the same request, sent again with it, completes the payment."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from chalicelib import outside
from chalicelib.domain.transaction import Erasure
from chalicelib.services import payment_sweep
from chalicelib.store import transactions
from chalicelib.store.table import update, write_one
from tests.api.test_files import a_file, content_of, objects
from tests.support import events
from tests.support.builders import JPEG, PNG, an_email
from tests.support.cards import STEADY, a_card_body
from tests.support.giving import boto3_client
from tests.support.http import OWNER, TILL, Reply, get, post
from tests.support.intercepted_calls import failing
from tests.support.receipts import mails
from tests.support.stored import stored_transaction
from tests.support.transactions import a_body

SUBMIT = "/api/v1/payment/submit"


def owing(amount: str = "10.08", **parts: Any) -> dict[str, Any]:
    """Return the body of a payment that owes a signature: of these cents by the acquirer's wish."""
    return a_card_body(amount, **parts)


def send(stage: str, body: dict[str, Any], *files: dict[str, str], key: str | None = None) -> Reply:
    headers = {"Idempotency_Key": key} if key else {}
    return post(stage, SUBMIT, {**body, "Files": list(files)}, TILL, **headers)


def state(reply: Reply) -> tuple[Any, ...]:
    shown = reply.body["Transaction"]
    return (shown["State"], shown["Substate"], shown["HasSignature"], reply.body["RequireSignature"])


def is_replay(reply: Reply) -> bool:
    return reply.headers.get("Idempotent-Replayed") == "true"


@pytest.mark.parametrize("erasure", Erasure)
def test_a_signature_waits_until_the_files_of_an_erasure_are_deleted(stage: str, erasure: Erasure) -> None:
    body = owing()
    payment = send(stage, body).body["TransactionID"]
    write_one(update(transactions.key(payment), {"erasure": erasure}))
    reply = send(stage, body, a_file("SIGNATURE", JPEG))

    is_over = erasure is Erasure.DONE
    assert reply.error == ((200, 0) if is_over else (409, 301))
    assert len(objects(payment)) == is_over


AWAITING, SIGNED = (400, 401, False, True), (400, 411, True, False)


@pytest.mark.parametrize("body", [owing(), owing("10.00", AcqTran={"ForceSignatureRequirement": True})])
def test_the_same_request_with_the_signature_completes_the_payment(stage: str, body: dict[str, Any]) -> None:
    first = send(stage, body)
    waiting = send(stage, body)
    signed = send(stage, body, a_file("SIGNATURE", JPEG))
    again = send(stage, body, a_file("SIGNATURE", PNG))
    found = get(stage, f"/api/v1/payment/{first.body['TransactionID']}").body

    assert [state(reply) for reply in (first, waiting, signed, again)] == [AWAITING, AWAITING, SIGNED, SIGNED]
    assert [is_replay(reply) for reply in (first, waiting, signed, again)] == [False, True, False, True]
    assert signed.body["ErrorCode"] == 0
    (key,) = objects(first.body["TransactionID"])  # the second signature is not even stored
    assert content_of(key) == JPEG
    assert key in signed.body["Transaction"]["SignatureUrl"]
    assert found["NotFinishedActualTrans"] == []
    assert (found["Transactions"][0]["Substate"], found["Transactions"][0]["HasSignature"]) == (411, True)
    assert found["Transactions"][0]["SignatureRequiredEffective"] is False


def test_a_key_finds_the_payment_as_its_id_does(stage: str) -> None:
    body = owing(basic={"ID": ""})
    first = send(stage, body, key="signed-later")
    signed = send(stage, body, a_file("SIGNATURE"), key="signed-later")

    assert signed.body["TransactionID"] == first.body["TransactionID"]
    assert (state(first), state(signed), is_replay(signed)) == (AWAITING, SIGNED, False)


def test_only_the_same_content_delivers_it(stage: str) -> None:
    body = owing()
    send(stage, body)
    other_card = {**body, "Card": {"CardDataInput": {"PAN": STEADY, "EXP": "1230"}}}
    other_amount = {**body, "BasicTran": {**body["BasicTran"], "Amount": "11.08"}}

    for other in (other_card, other_amount):
        assert send(stage, other, a_file("SIGNATURE")).error == (422, 302)
    assert post(stage, SUBMIT, {**body, "Files": [a_file("SIGNATURE")]}, OWNER).error == (422, 302)
    assert objects(body["BasicTran"]["ID"]) == []
    assert state(send(stage, body)) == AWAITING


def test_the_photo_of_the_first_request_stays(stage: str) -> None:
    body = owing()
    send(stage, body, a_file("PHOTO", PNG))
    signed = send(stage, body, a_file("PHOTO", JPEG), a_file("SIGNATURE", JPEG))
    (photo, signature) = (content_of(key) for key in sorted(objects(body["BasicTran"]["ID"]), key=_is_jpeg))

    assert state(signed) == SIGNED
    assert signed.body["Transaction"]["HasPhoto"] is True
    assert (photo, signature) == (PNG, JPEG)


def _is_jpeg(key: str) -> bool:
    return key.endswith("jpeg")


def test_a_photo_alone_is_a_replay(stage: str) -> None:
    body = owing()
    send(stage, body)
    again = send(stage, body, a_file("PHOTO"))

    assert (state(again), is_replay(again)) == (AWAITING, True)
    assert objects(body["BasicTran"]["ID"]) == []


def test_a_signature_that_is_no_picture_is_refused_and_still_owed(stage: str) -> None:
    body = owing()
    send(stage, body)
    refused = send(stage, body, {"FileType": "SIGNATURE", "FileCode": "%%%"})

    assert refused.error == (400, 202)
    assert refused.findings == [("Files[0].FileCode", 3)]
    assert state(send(stage, body)) == AWAITING


def test_a_payment_in_two_steps_has_its_signature_and_waits_for_the_second(stage: str) -> None:
    body = owing(AcqTran={"SingleStepAuthMode": False})
    send(stage, body)
    signed, again = send(stage, body, a_file("SIGNATURE")), send(stage, body, a_file("SIGNATURE", JPEG))

    assert state(signed) == state(again) == (400, 401, True, False)
    assert (is_replay(signed), is_replay(again)) == (False, True)


def test_a_payment_that_owes_none_takes_none(stage: str) -> None:
    for body in (a_card_body("10.00"), a_body(), a_card_body("10.05")):
        first = send(stage, body)
        again = send(stage, body, a_file("SIGNATURE"))

        assert is_replay(again)
        assert again.body == first.body
        assert objects(body["BasicTran"]["ID"]) == []


def test_after_the_deadline_the_signature_is_attached_and_the_state_stays(stage: str) -> None:
    body = owing()
    first = send(stage, body)
    payment_sweep.run(datetime.now(UTC) + timedelta(days=2))
    late, signed = send(stage, body), send(stage, body, a_file("SIGNATURE"))

    assert state(first) == AWAITING
    assert state(late) == (400, 411, False, True)
    assert (state(signed), is_replay(signed)) == (SIGNED, False)
    assert is_replay(send(stage, body, a_file("SIGNATURE", JPEG)))


def test_the_receipt_of_the_completed_payment_is_sent_once(stage: str) -> None:
    to = an_email()
    body = owing(Receipt={"Email": to})
    send(stage, body)
    events.deliver_all()
    for _ in range(2):
        send(stage, body, a_file("SIGNATURE"))
        events.deliver_all()

    authorized, paid = mails(to)
    assert "AUTHORIZED, NOT YET COMPLETED" in authorized.body
    assert "AUTHORIZED, NOT YET COMPLETED" not in paid.body


def test_a_reversed_payment_keeps_what_was_reversed_of_it(stage: str) -> None:
    body = owing()
    paid = send(stage, body).body["TransactionID"]
    basic = {"TransactionID": paid, "ReverseMode": 5, "Amount": "4.00", "ID": ""}
    reversed_part = post(stage, "/api/v1/payment/reversecnp", {"BasicReverseTran": basic})
    signed = send(stage, body, a_file("SIGNATURE"))

    assert reversed_part.error == (200, 0)
    assert state(signed) == SIGNED
    kept = stored_transaction(paid)
    assert (kept.reversals.amount_minor, kept.reversals.count, kept.pictures.photo_key) == (400, 1, None)


def test_a_payment_that_was_reversed_in_full_takes_its_signature_without_another_receipt(stage: str) -> None:
    to = an_email()
    body = owing(Receipt={"Email": to})
    paid = send(stage, body).body["TransactionID"]
    basic = {"TransactionID": paid, "ReverseMode": 5}
    returned = post(stage, "/api/v1/payment/reversecnp", {"BasicReverseTran": basic})
    signed = send(stage, body, a_file("SIGNATURE"))
    events.deliver_all()

    assert returned.error == (200, 0)
    assert state(signed) == (500, 502, True, False)
    assert len(mails(to)) == 1


def test_with_the_storage_out_of_reach_the_signature_is_owed(stage: str) -> None:
    unreachable = failing(EndpointConnectionError(endpoint_url="https://s3.example"))
    body = owing()
    send(stage, body)
    with outside.given(boto3_client=boto3_client("s3", put_object=unreachable)):
        assert send(stage, body, a_file("SIGNATURE")).error == (503, 903)

    assert state(send(stage, body)) == AWAITING
    assert state(send(stage, body, a_file("SIGNATURE"))) == SIGNED
