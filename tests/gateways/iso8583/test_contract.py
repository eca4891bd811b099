"""ISO8583 keeps the promises of the acquirer port, at a bank on TCP."""

from collections.abc import Iterator

import pytest

from chalicelib.domain.acquirer import AuthorizationRequest
from chalicelib.gateways.acquirers.iso8583.adapter import Iso8583
from chalicelib.settings.iso8583 import Host, usual
from infra.bank.bank import REFUSED, Bank
from infra.bank.server import Server
from tests.gateways.acquirer_contract import ContractOfMessages
from tests.gateways.iso8583.requests import a_terminal
from tests.support.cards import an_authorization

# What the contract does on purpose, and the service never does.
PROVOKED = (
    *REFUSED.values(),
    "an 0200 with this RRN was sent before",
    "another message had this STAN on this day, or it is a repeat that differs",
)


class TestIso8583(ContractOfMessages):
    terminal = a_terminal()
    institution = "123456"

    @pytest.fixture(autouse=True)
    def running(self) -> Iterator[None]:
        """A bank with empty books, and an adapter that has its address."""
        with Server(Bank()) as server:
            host = Host(server.host, server.port, self.institution, tls=False, ca=None, dialect=usual())
            self.acquirer = Iso8583(host)
            yield
            assert [one for one in server.bank.violations if not one.endswith(PROVOKED)] == []

    def approved(self) -> AuthorizationRequest:
        return self.of(1230)

    def declined(self) -> AuthorizationRequest:
        return self.of(1205)

    def lost(self) -> AuthorizationRequest:
        return self.of(1267)

    def never_arriving(self) -> AuthorizationRequest:
        return self.of(1269)

    def of(self, amount_minor: int) -> AuthorizationRequest:
        return an_authorization(amount_minor=amount_minor, merchant=self.terminal.mid, message=self.a_message())
