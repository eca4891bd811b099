import boto3
import pytest
from botocore.exceptions import ClientError

from chalicelib.domain.picture import Picture
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways import files
from chalicelib.settings import settings
from tests.builders import PNG


@pytest.mark.usefixtures("moto")
def test_a_picture_is_read_through_its_signed_url() -> None:
    files.put("agents/7/a.png", Picture(PNG, "image/png"))

    stored = boto3.client("s3").get_object(Bucket=settings().bucket, Key="agents/7/a.png")
    url = files.signed_url("agents/7/a.png")

    assert (stored["Body"].read(), stored["ContentType"]) == (PNG, "image/png")
    assert url.startswith("https://")
    assert "X-Amz-Expires=900" in url
    assert "X-Amz-Signature=" in url


@pytest.mark.usefixtures("moto")
def test_a_storage_out_of_reach_is_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def put_object(self, **_: object) -> None:
            raise ClientError({"Error": {"Code": "ServiceUnavailable"}}, "PutObject")

    monkeypatch.setattr(files, "_client", Broken)

    with pytest.raises(ServiceError) as refusal:
        files.put("agents/7/a.png", Picture(PNG, "image/png"))

    assert refusal.value.error is ErrorCode.STORE_UNAVAILABLE
