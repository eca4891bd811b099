"""The addresses of the services of AWS.

The variables `AWS_ENDPOINT_URL_<SERVICE>` and `AWS_ENDPOINT_URL` replace a service's address in the region. Endpoints
in a profile, FIPS and dual-stack endpoints, and proxies are not supported.
"""

import os
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from chalicelib import outside

if TYPE_CHECKING:
    from botocore.session import Session

DOMAINS = {  # by the prefix of the region's name
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

    name: str  # its name in addresses and signatures
    variable: str  # the end of the variable with its address
    target: str  # the prefix of the operation's name
    content_type: str


DYNAMODB = Service("dynamodb", "DYNAMODB", "DynamoDB_20120810", "application/x-amz-json-1.0")
SECRETS_MANAGER = Service("secretsmanager", "SECRETS_MANAGER", "secretsmanager", "application/x-amz-json-1.1")
S3 = Service("s3", "S3", "", "")  # only for its address: boto3 calls it
KMS = Service("kms", "KMS", "TrentService", "application/x-amz-json-1.1")


class Endpoint(NamedTuple):
    """The address of a service."""

    host: str
    port: int
    is_secure: bool
    authority: str  # the header Host: the host, and the port unless it is the default

    @property
    def url(self) -> str:
        """Return the URL of the service."""
        return f"{'https' if self.is_secure else 'http'}://{self.authority}/"


def endpoint_of(service: Service) -> Endpoint:
    """Return the address of a service; raise ValueError if the environment has no plain http(s) URL for it."""
    named = os.environ.get(f"AWS_ENDPOINT_URL_{service.variable}") or os.environ.get("AWS_ENDPOINT_URL")
    parts = urlsplit(named or f"https://{service.name}.{region()}.{domain(region())}")
    usual = PORTS.get(parts.scheme)
    rest = (parts.path.strip("/"), parts.query, parts.fragment, parts.username)
    if usual is None or not parts.hostname or any(rest):
        message = "An endpoint of AWS is http://host:port or https://host:port, without a path."
        raise ValueError(message)
    port = parts.port or usual
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    authority = host if port == usual else f"{host}:{port}"
    return Endpoint(parts.hostname, port, is_secure=parts.scheme == "https", authority=authority)


def domain(name: str) -> str:
    """Return the end of the addresses of a region."""
    return next((domain for prefix, domain in DOMAINS.items() if name.startswith(prefix)), "amazonaws.com")


@outside.made_once
def region() -> str:
    """Return the region of the calls; raise SystemExit when none is configured."""
    named = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    found: str | None = named or session().get_config_variable("region")
    if not found:
        message = "No region is configured: set AWS_REGION."
        raise SystemExit(message)
    return found


@outside.made_once
def session() -> "Session":
    """Return botocore's session, which finds the credentials and the region of a person's computer."""
    from botocore.session import get_session  # noqa: PLC0415  slow to load, and not needed in Lambda

    return get_session()
