import json
from pathlib import Path

import boto3
import botocore
import pytest
from botocore.session import get_session

from chalicelib import outside
from chalicelib.aws.endpoints import DYNAMODB, KMS, SECRETS_MANAGER, Service, endpoint_of

SERVICES = (DYNAMODB, SECRETS_MANAGER, KMS)
PARTITIONS = json.loads((Path(botocore.__file__).parent / "data" / "partitions.json").read_text())["partitions"]
REGIONS = [name for partition in PARTITIONS for name in partition["regions"] if not name.endswith("-global")]


@pytest.fixture(autouse=True)
def no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("AWS_ENDPOINT_URL", *(f"AWS_ENDPOINT_URL_{service.variable}" for service in SERVICES)):
        monkeypatch.delenv(variable, raising=False)
    outside.forget()


@pytest.mark.parametrize("service", SERVICES, ids=str)
def test_the_address_in_every_region_is_botocores(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in REGIONS:
        monkeypatch.setenv("AWS_REGION", name)
        outside.forget()
        theirs = boto3.client(service.name, region_name=name).meta.endpoint_url  # type: ignore[call-overload]
        assert endpoint_of(service).url == f"{theirs}/"
    outside.forget()


@pytest.mark.parametrize("service", SERVICES, ids=str)
def test_the_variable_of_the_service_precedes_the_common_one(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://common:1")
    common = endpoint_of(service).url
    service_id = get_session().get_service_model(service.name).service_id
    monkeypatch.setenv(f"AWS_ENDPOINT_URL_{service_id.upper().replace(' ', '_')}", "https://own/")

    assert (common, endpoint_of(service).url) == ("http://common:1/", "https://own/")


@pytest.mark.parametrize(
    ("url", "authority", "port"),
    [
        ("http://localhost", "localhost", 80),
        ("http://localhost:80", "localhost", 80),
        ("https://localhost:8443/", "localhost:8443", 8443),
        ("http://[::1]:8000", "[::1]:8000", 8000),
    ],
)
def test_the_host_header_has_its_port(monkeypatch: pytest.MonkeyPatch, url: str, authority: str, port: int) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)

    assert (endpoint_of(KMS).authority, endpoint_of(KMS).port) == (authority, port)


@pytest.mark.parametrize("url", ["localhost:1", "ftp://a", "http://", "http://a/path", "http://a?b", "http://a:b@c"])
def test_an_address_that_is_not_plain_is_refused_and_not_quoted(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    with pytest.raises(ValueError, match="An endpoint of AWS is") as refused:
        endpoint_of(KMS)

    assert "a:b@c" not in str(refused.value)
