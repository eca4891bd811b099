"""SANDBOX keeps the promises of the acquirer port."""

import pytest

from chalicelib.domain.acquirer import AuthorizationRequest
from chalicelib.gateways.acquirers.sandbox import Sandbox
from tests.gateways.acquirer_contract import ContractOfInquiries
from tests.support.cards import an_authorization


@pytest.mark.usefixtures("engine")
class TestSandbox(ContractOfInquiries):
    acquirer = Sandbox()

    def approved(self) -> AuthorizationRequest:
        return an_authorization(amount_minor=1230)

    def declined(self) -> AuthorizationRequest:
        return an_authorization(amount_minor=1205)

    def lost(self) -> AuthorizationRequest:
        return an_authorization(amount_minor=1268)

    def never_arriving(self) -> AuthorizationRequest:
        return an_authorization(amount_minor=1269)
