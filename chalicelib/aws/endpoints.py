"""The addresses of the services.

`AWS_ENDPOINT_URL_<SERVICE>` and `AWS_ENDPOINT_URL` of the environment come first. Endpoints in a profile, FIPS and
dual-stack endpoints, and proxies are not used.
"""

import os
from typing import NamedTuple
from urllib.parse import urlsplit

from chalicelib.aws.credentials import region

DOMAINS = {  # by the beginning of the region's name
    "cn-": "amazonaws.com.cn",
    "eusc-": "amazonaws.eu",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "us-isof-": "csp.hci.ic.gov",
    "eu-isoe-": "cloud.adc-e.uk",
}
PORTS = {"http": 80, "https": 443}


class Service(NamedTuple):
    """A service with a JSON interface."""

    name: str  # in addresses and signatures
    variable: str  # the end of the variable that says where it is
    target: str  # before the name of the operation
    content_type: str


DYNAMODB = Service("dynamodb", "DYNAMODB", "DynamoDB_20120810", "application/x-amz-json-1.0")
SECRETS_MANAGER = Service("secretsmanager", "SECRETS_MANAGER", "secretsmanager", "application/x-amz-json-1.1")
S3 = Service("s3", "S3", "", "")  # its address alone: boto3 calls it
KMS = Service("kms", "KMS", "TrentService", "application/x-amz-json-1.1")


class Endpoint(NamedTuple):
    """The address of a service."""

    host: str
    port: int
    is_secure: bool
    authority: str  # the host, and the port when it is not the usual one: the header Host

    @property
    def url(self) -> str:
        """Return the URL of the service."""
        return f"{'https' if self.is_secure else 'http'}://{self.authority}/"


def endpoint_of(service: Service) -> Endpoint:
    """Return the address of a service; raise ValueError for one in the environment that is no plain http(s) URL."""
    named = os.environ.get(f"AWS_ENDPOINT_URL_{service.variable}") or os.environ.get("AWS_ENDPOINT_URL")
    return _parsed(named or f"https://{service.name}.{region()}.{_domain(region())}")


def _domain(name: str) -> str:
    return next((domain for prefix, domain in DOMAINS.items() if name.startswith(prefix)), "amazonaws.com")


def _parsed(url: str) -> Endpoint:
    parts = urlsplit(url)
    usual = PORTS.get(parts.scheme)
    rest = (parts.path.strip("/"), parts.query, parts.fragment, parts.username)
    if usual is None or not parts.hostname or any(rest):
        message = "An endpoint of AWS is http://host:port or https://host:port, without a path."
        raise ValueError(message)
    port = parts.port or usual
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return Endpoint(
        parts.hostname, port, is_secure=parts.scheme == "https", authority=host if port == usual else f"{host}:{port}"
    )
