"""Counting the calls to AWS, so that tests can assert what an operation costs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from chalicelib.aws.client import DYNAMODB, Client


@contextmanager
def store_calls() -> Iterator[list[str]]:
    """Collect the names of all calls to DynamoDB in the block, by any thread, without retries."""
    names: list[str] = []
    really = Client.call

    def call(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
        if client.service is DYNAMODB:
            names.append(operation)
        return really(client, operation, **parameters)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "call", call)
        yield names
