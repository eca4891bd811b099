"""The photo and the signature of a payment, from the till to whoever looks at them."""

import base64
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError

from chalicelib.errors import Check
from chalicelib.settings import settings
from tests.support.builders import JPEG, PNG
from tests.support.giving import Give, boto3_client
from tests.support.http import Reply, get, post
from tests.support.transactions import a_body, a_guid

SUBMIT = "/api/v1/payment/submit"
MEGABYTE = 1024 * 1024


def a_file(kind: str = "PHOTO", content: bytes = PNG) -> dict[str, str]:
    return {"FileType": kind, "FileCode": base64.b64encode(content).decode()}


def pay(stage: str, *sent: Any, body: dict[str, Any] | None = None) -> Reply:
    return post(stage, SUBMIT, {**(body or a_body()), "Files": list(sent)})


def objects(transaction_id: str) -> list[str]:
    listed = boto3.client("s3").list_objects_v2(Bucket=settings().bucket, Prefix=f"transactions/{transaction_id}/")
    return [item["Key"] for item in listed.get("Contents", [])]


def content_of(key: str) -> bytes:
    return boto3.client("s3").get_object(Bucket=settings().bucket, Key=key)["Body"].read()


def test_photo_and_signature_are_shown_by_addresses_that_expire(stage: str) -> None:
    reply = pay(stage, a_file(), a_file("SIGNATURE", JPEG))
    shown = get(stage, f"/api/v1/payment/{reply.body['TransactionID']}").body["Transactions"][0]

    for transaction in (reply.body["Transaction"], shown):
        assert (transaction["HasPhoto"], transaction["HasSignature"]) == (True, True)
        for name, content in (("PhotoUrl", PNG), ("SignatureUrl", JPEG)):
            url = urlsplit(transaction[name])
            assert url.netloc == f"{settings().bucket}.s3.eu-west-1.amazonaws.com"
            assert parse_qs(url.query)["X-Amz-Expires"] == ["900"]
            assert "X-Amz-Signature" in url.query
            assert content_of(url.path.lstrip("/").removeprefix(f"{settings().bucket}/")) == content


def test_without_files_nothing_is_shown_and_no_storage_is_asked(stage: str, give: Give) -> None:
    give(boto3_client=lambda *_, **__: pytest.fail("a client of the storage is made"))
    transaction = pay(stage).body["Transaction"]

    assert [transaction[name] for name in ("HasPhoto", "PhotoUrl", "HasSignature", "SignatureUrl")] == [
        False, None, False, None,
    ]  # fmt: skip


def test_a_repeated_payment_with_another_photo_changes_nothing(stage: str) -> None:
    body = a_body()
    first = pay(stage, a_file(), body=body)
    again = pay(stage, a_file(content=JPEG), body=body)

    (key,) = objects(first.body["TransactionID"])
    assert again.headers["Idempotent-Replayed"] == "true"
    assert content_of(key) == PNG
    assert again.body["Transaction"]["HasPhoto"] is True


def test_a_refused_payment_leaves_no_picture(stage: str) -> None:
    name = a_guid()

    assert pay(stage, a_file(), body=a_body(ID=name, Amount=0)).status == 400
    assert objects(name) == []


def test_when_the_storage_is_out_of_reach_nothing_is_taken(stage: str, give: Give) -> None:
    def unreachable(**_: object) -> None:
        raise EndpointConnectionError(endpoint_url="https://s3.example")

    give(boto3_client=boto3_client("s3", put_object=unreachable))
    name = a_guid()
    reply = pay(stage, a_file(), body=a_body(ID=name))

    assert reply.error == (503, 903)
    assert reply.headers["Retry-After"] == "1"
    assert get(stage, f"/api/v1/payment/{name}").error == (404, 568)


@pytest.mark.parametrize(
    ("sent", "findings"),
    [
        ([{"FileType": "PHOTO", "FileCode": "%%%"}], [("Files[0].FileCode", Check.FORMAT)]),
        ([a_file(content=b"GIF89a" + bytes(60))], [("Files[0].FileCode", Check.FORMAT)]),
        ([a_file(content=b"")], [("Files[0].FileCode", Check.FORMAT)]),
        ([a_file(), {"FileType": "SIGNATURE", "FileCode": 5}], [("Files[1].FileCode", Check.TYPE)]),
        ([a_file("VIDEO")], [("Files[0].FileType", Check.NOT_IN_DICTIONARY)]),
        ([{"FileType": "PHOTO"}], [("Files[0].FileCode", Check.REQUIRED)]),
        ([a_file(content=PNG + bytes(3 * MEGABYTE))], [("Files[0].FileCode", Check.TOO_LONG)]),
        ([a_file(), a_file(content=JPEG)], [("Files", Check.TWICE)]),
    ],
)
def test_what_is_no_picture_is_refused(stage: str, sent: list[Any], findings: list[tuple[str, int]]) -> None:
    reply = pay(stage, *sent)

    assert reply.error == (400, 202)
    assert reply.findings == findings


def test_three_megabytes_are_taken(stage: str) -> None:
    assert pay(stage, a_file(content=PNG + bytes(3 * MEGABYTE - len(PNG)))).error == (200, 0)


def test_what_a_picture_holds_is_not_in_the_record(stage: str) -> None:
    reply = pay(stage, a_file(content=PNG + b"\x01" * 4000))

    assert "AQEBAQEB" not in get(stage, f"/api/v1/payment/{reply.body['TransactionID']}").text
