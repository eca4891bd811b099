"""One call through our client and through boto3's, and what came of it in words that both share."""

from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)

from chalicelib.aws.client import Client, Limits
from chalicelib.aws.endpoints import DYNAMODB, KMS, SECRETS_MANAGER, Service
from chalicelib.aws.errors import RefusedError, TimedOutError, UnansweredError, UnreachableError
from tests.support.giving import Give

SERVICES = {service.name: service for service in (DYNAMODB, KMS, SECRETS_MANAGER)}
LIMITS = Limits(connect_seconds=1, read_seconds=2, attempts=3)
METHODS = {
    "GetItem": "get_item",
    "BatchGetItem": "batch_get_item",
    "PutItem": "put_item",
    "UpdateItem": "update_item",
    "DeleteItem": "delete_item",
    "Query": "query",
    "TransactWriteItems": "transact_write_items",
    "Encrypt": "encrypt",
    "Decrypt": "decrypt",
    "GetSecretValue": "get_secret_value",
}
Outcome = tuple[Any, ...]


def no_pauses(give: Give, patch: pytest.MonkeyPatch) -> tuple[list[float], list[float]]:
    """Let neither client pause; return the pauses ours and boto3's would have made."""
    ours, theirs = [], []  # type: ignore[var-annotated]
    give(pause=ours.append)
    patch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=theirs.append))
    return ours, theirs


def ours(operation: str, parameters: Any, limits: Limits = LIMITS, service: Service = DYNAMODB) -> Outcome:
    """The outcome of a call through our client."""
    try:
        return "answered", Client(service, limits).call(operation, **parameters)
    except RefusedError as error:
        return "refused", error.code, error.status, error.reasons
    except UnreachableError:
        return ("unreachable",)
    except TimedOutError:
        return ("timed out",)
    except UnansweredError:
        return ("unanswered",)


def boto3s(operation: str, parameters: Any, limits: Limits = LIMITS, service: Service = DYNAMODB) -> Outcome:
    """The outcome of the same call through boto3's client, configured as it was for the store."""
    config = Config(
        connect_timeout=limits.connect_seconds,
        read_timeout=limits.read_seconds,
        retries={"mode": "standard", "total_max_attempts": limits.attempts},
        parameter_validation=False,
    )
    client = boto3.client(service.name, config=config)  # type: ignore[call-overload]
    try:
        answer = getattr(client, METHODS[operation])(**parameters)
    except ClientError as error:
        response: Any = error.response
        reasons = tuple(reason["Code"] for reason in response.get("CancellationReasons", []))
        status = response["ResponseMetadata"]["HTTPStatusCode"]
        return "refused", response["Error"]["Code"], status, reasons
    except (EndpointConnectionError, ConnectTimeoutError):
        return ("unreachable",)
    except ReadTimeoutError:
        return ("timed out",)
    except BotoCoreError:
        return ("unanswered",)
    finally:
        client.close()
    return "answered", {name: value for name, value in answer.items() if name != "ResponseMetadata"}
