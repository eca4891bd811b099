"""Lists of records that come in several pages."""

from typing import Any

import pytest

from chalicelib.aws.client import Client
from chalicelib.store import webhooks
from tests.support.accounts import a_stored_merchant
from tests.support.events import a_stored_hook

pytestmark = pytest.mark.usefixtures("engine")


def test_a_list_goes_on_to_its_last_page(monkeypatch: pytest.MonkeyPatch) -> None:
    merchant = a_stored_merchant().id
    hooks = [a_stored_hook(merchant, f"https://shop.example/{number}") for number in range(3)]
    really = Client.call

    def call(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
        return really(client, operation, **parameters, **({"Limit": 2} if operation == "Query" else {}))

    monkeypatch.setattr(Client, "call", call)

    assert webhooks.of_merchant(merchant) == hooks
