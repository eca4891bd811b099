from collections.abc import Iterator
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.exceptions import ClientError

from chalicelib import outside
from chalicelib.domain.picture import Picture
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways import files
from chalicelib.settings import settings
from tests.support.builders import PNG
from tests.support.giving import Give, boto3_client


@pytest.mark.usefixtures("moto")
def test_a_picture_is_read_through_its_signed_url() -> None:
    files.put("agents/7/a.png", Picture(PNG, "image/png"))

    stored = boto3.client("s3").get_object(Bucket=settings().bucket, Key="agents/7/a.png")
    url = files.signed_url("agents/7/a.png")

    assert (stored["Body"].read(), stored["ContentType"]) == (PNG, "image/png")
    assert url.startswith("https://")
    assert "X-Amz-Expires=900" in url
    assert "X-Amz-Signature=" in url


@pytest.fixture
def anew() -> Iterator[None]:
    """Read the region and the address of the storage of this test alone."""
    outside.forget()
    yield
    outside.forget()


@pytest.mark.usefixtures("anew")
@pytest.mark.parametrize(
    ("name", "endpoint"),
    [
        ("eu-west-1", ""),
        ("us-east-1", ""),
        ("af-south-1", ""),
        ("cn-north-1", ""),
        ("eu-west-1", "http://127.0.0.1:8001"),
        ("eu-west-1", "http://localhost:8001"),
        ("eu-west-1", "https://storage.example"),
    ],
)
def test_the_origin_is_that_of_the_signed_urls(name: str, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(variable, name)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", endpoint)  # empty: none
    url = urlsplit(files.signed_url("agents/7/a.png"))

    assert files.origin() == f"{url.scheme}://{url.netloc}"


@pytest.mark.usefixtures("moto")
def test_a_storage_out_of_reach_is_an_outage(give: Give) -> None:
    def refuse(**_: object) -> None:
        raise ClientError({"Error": {"Code": "ServiceUnavailable"}}, "PutObject")

    give(boto3_client=boto3_client("s3", put_object=refuse))

    with pytest.raises(ServiceError) as refusal:
        files.put("agents/7/a.png", Picture(PNG, "image/png"))

    assert refusal.value.error is ErrorCode.STORE_UNAVAILABLE
