"""Features and settings of an agent: each has an effect on payments that is shown here, or the reference says none."""

import json
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from pydantic.alias_generators import to_snake

from chalicelib.schemas.mobile_settings import FeaturesIn, MobileSettingsIn
from infra.reference.schemas import describe_field
from tests.support import http
from tests.support.builders import agent_body, merchant_body, terminal_body
from tests.support.cards import a_card_body
from tests.support.http import SYSTEM, TILL, Reply
from tests.support.transactions import a_body

SUBMIT = "/api/v1/payment/submit"
KEY = "a secret key of some length"


def a_kind(input_type: int, acquirer: str) -> Callable[[], dict[str, Any]]:
    return lambda: {**a_body(InputType=input_type), "AcqTran": {"AcquirerCode": acquirer}}


def a_linked_card() -> dict[str, Any]:
    body = a_body(InputType=5)
    return {**body, "AcqTran": {}, "Card": {"CardInputMode": 2, "LinkedCardId": 10**9}}


# The feature: its default, a payment that needs it, and the answer to that payment when it is on.
FEATURES: dict[str, tuple[bool, Callable[[], dict[str, Any]], tuple[int, int]]] = {
    "AcceptCash": (True, a_body, (200, 0)),
    "AcceptCards": (True, a_card_body, (200, 0)),
    "AcceptPrepaid": (False, a_kind(8, "PREPAID"), (200, 0)),
    "AcceptCredit": (False, a_kind(9, "CREDIT"), (200, 0)),
    "AcceptOuterCard": (False, a_kind(7, "OUTERCARD"), (200, 0)),
}
HAVE_AN_EFFECT = {*FEATURES, "Returns", "Discounts", "Offline", "Inherited", "AutoLogin"}
OFF = (403, 311)


class Till:
    """An agent of a new merchant, each with its own settings."""

    def __init__(self, stage: str, merchant: dict[str, Any] | None, agent: dict[str, Any] | None) -> None:
        self.stage = stage
        number = self._made("merchant/create", merchant_body(MobileSettings=merchant, ImageAvatar=None))["Merchant"][
            "ID"
        ]
        tid = self._made("terminal/create", terminal_body(number))["Terminal"]["Name"]
        body = agent_body(number, TID=tid, MobileSettings=agent, ImageAvatar=None, BranchesActions=None, SecretKey=KEY)
        self.shown: dict[str, Any] = self._made(f"merchant/{number}/pos/create", body)["Pos"]["MobileSettings"]
        self.login = body["Email"], KEY
        self.path = f"merchant/{number}"
        self.id: int = self._made(f"{self.path}/pos/list", {"Email": body["Email"]})["PosList"][0]["ID"]

    def update(self, changes: dict[str, Any]) -> None:
        """Change the agent."""
        self._made(f"{self.path}/pos/{self.id}/update", changes)

    def _made(self, path: str, body: dict[str, Any]) -> Any:
        reply = http.post(self.stage, f"/api/v1/{path}", body, SYSTEM)
        assert reply.error == (200, 0), reply.text
        return reply.body

    def pay(self, body: dict[str, Any]) -> Reply:
        return http.post(self.stage, SUBMIT, body, self.login)


def features(**values: bool | None) -> dict[str, Any] | None:
    """Return settings with these features; None when none is set."""
    set_ones = {name: value for name, value in values.items() if value is not None}
    return {"Features": set_ones} if set_ones else None


@pytest.mark.slow
@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_of_the_agent_else_the_merchant_else_the_default_allows_its_payments(stage: str, name: str) -> None:
    default, a_payment, allowed = FEATURES[name]
    for own, above in product((None, True, False), repeat=2):
        on = next(value for value in (own, above, default) if value is not None)
        till = Till(stage, features(**{name: above}), features(**{name: own}))

        assert till.pay(a_payment()).error == (allowed if on else OFF), (own, above)
        assert till.shown["Features"][name] is on


@pytest.mark.parametrize("name", FEATURES)
def test_an_agent_that_inherits_has_the_features_of_its_merchant(stage: str, name: str) -> None:
    _, a_payment, allowed = FEATURES[name]
    for above in (True, False):
        till = Till(stage, features(**{name: above}), features(**{name: not above, "Inherited": True}))

        assert till.pay(a_payment()).error == (allowed if above else OFF)


def test_linked_cards_are_allowed_by_the_agent_else_the_merchant_else_the_default(stage: str) -> None:
    for own, above in product((None, 1, 0), repeat=2):
        on = next(value for value in (own, above, 1) if value is not None)
        settings = [None if value is None else {"AllowLinkedCards": value} for value in (above, own)]
        till = Till(stage, *settings)

        # 566: the payment is allowed, the card is not the agent's
        assert till.pay(a_linked_card()).error == ((404, 566) if on else OFF), (own, above)
        assert till.shown["AllowLinkedCardsEffective"] == on


def test_a_payment_that_is_not_offline_needs_no_feature_for_it(stage: str) -> None:
    till = Till(stage, None, features(Offline=False))

    assert till.pay(a_body(OfflineTran={"OfflineMode": False, "Paid": "x"})).error == (200, 0)


OFFLINE_KINDS = {  # InputType and acquirer by feature
    "AcceptCash": (10, "CASH"),
    "AcceptPrepaid": (8, "PREPAID"),
    "AcceptCredit": (9, "CREDIT"),
    "AcceptOuterCard": (7, "OUTERCARD"),
}


def offline(name: str) -> dict[str, Any]:
    """Return an offline sale of the kind of a feature."""
    body = a_kind(*OFFLINE_KINDS[name])()
    body["BasicTran"]["OfflineTran"] = {"OfflineMode": True}
    return body


@pytest.mark.parametrize("name", OFFLINE_KINDS)
@pytest.mark.parametrize("is_offline_on", [True, False])
def test_an_offline_sale_is_taken_and_logged_once_when_its_features_are_off(
    stage: str,
    capsys: pytest.CaptureFixture[str],
    name: str,
    is_offline_on: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    till = Till(stage, features(**{name: False}), features(Offline=is_offline_on))
    sale = offline(name)
    taken, again, online = (till.pay(body) for body in (sale, sale, a_kind(*OFFLINE_KINDS[name])()))

    assert (taken.error, again.error, online.error) == ((200, 0), (200, 0), OFF)
    [line] = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "not_enabled" in line]
    shown = taken.body["Transaction"]
    facts = {"transaction": shown["ID"], "merchant": shown["ClientID"], "agent": shown["PosID"]}
    off = [to_snake(name), *([] if is_offline_on else ["offline"])]
    assert line == {"event": "offline_sale_not_enabled", "stage": "local", **facts, "features": off}


def test_an_offline_sale_whose_features_are_on_is_not_logged_as_disabled(
    stage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Till(stage, None, features(Offline=True)).pay(offline("AcceptCash")).error == (200, 0)
    assert "not_enabled" not in capsys.readouterr().out


def test_a_card_payment_needs_its_feature_whatever_it_says_of_offline(stage: str) -> None:
    body = a_card_body(basic={"OfflineTran": {"OfflineMode": True}})

    assert Till(stage, None, features(AcceptCards=False)).pay(body).error == OFF


def test_a_blocked_agent_is_refused_when_it_sends_an_offline_sale(stage: str) -> None:
    till = Till(stage, None, features(Offline=True))
    till.update({"State": 0})

    assert till.pay(offline("AcceptCash")).error == (401, 103)


def test_credit_vouchers_are_not_allowed_whatever_was_set(stage: str) -> None:
    for own, above in product((None, 1, 0), repeat=2):
        settings = [None if value is None else {"AllowCreditVoucherReverses": value} for value in (above, own)]
        shown = Till(stage, *settings).shown

        assert (shown["AllowCreditVoucherReverses"], shown["AllowCreditVoucherReversesEffective"]) == (own, 0)


@pytest.mark.parametrize("name", [field.alias for field in FeaturesIn.model_fields.values()])
def test_a_feature_has_an_effect_or_is_for_the_client_and_the_reference_says_so(name: str) -> None:
    assert (name in HAVE_AN_EFFECT) is not describe_field("FeaturesIn", name, {}).startswith("For the client: ")


@pytest.mark.parametrize("name", [field.alias for field in MobileSettingsIn.model_fields.values()])
def test_a_setting_has_an_effect_or_the_reference_says_who_it_is_for(name: str) -> None:
    text = describe_field("MobileSettingsIn", name, {})
    has_an_effect = name in {"Features", "AllowLinkedCards"} or name.endswith("Null")

    assert has_an_effect is not text.startswith(("For the client: ", "Stored without effect"))


# Fields of a payment that nothing depends on: the path of the field, and a value.
WITHOUT_EFFECT = {
    "SkipFiscalization": True,
    "FiscalRouteProfileCode": "PROFILE-7",
    "BasicTran.SkipFiscalization": True,
    "BasicTran.FiscalRouteProfileCode": "PROFILE-7",
    "BasicTran.ServiceID": "SERVICE-7",
    "BasicTran.CPFData": {"ProductsCustomFields": [{"ProductCode": "PRODUCT-7"}]},
    "ServerBuildNumber": "BUILD-7",
    "UserAgent": "AGENT-7",
}
ITS_OWN = {"ID", "MerchantTranID", "Date", "Invoice"}  # of each payment, whatever it was sent with


@pytest.mark.parametrize("path", WITHOUT_EFFECT)
def test_a_field_without_effect_changes_no_answer(stage: str, path: str) -> None:
    *place, name = path.split(".")
    plain, sent = a_body(), a_body()
    (sent["BasicTran"] if place else sent)[name] = WITHOUT_EFFECT[path]

    one, other = (http.post(stage, SUBMIT, body, TILL).body["Transaction"] for body in (plain, sent))

    assert {key: one[key] for key in one.keys() - ITS_OWN} == {key: other[key] for key in one.keys() - ITS_OWN}
    assert "Without effect" in describe_field(place[0] if place else "SubmitPayment", name, {})


RETURN = "/api/v1/payment/reverse"
LINES = [{"Title": "Coffee", "Price": "20.00", "Quantity": 1}, {"Title": "Off", "Price": "-7.70", "Quantity": 1}]


def a_discount(**basic: Any) -> dict[str, Any]:
    """Return a payment of 12.30 with a line below zero."""
    return a_body(AuxDataInput={"AuxData": {"Purchases": LINES}}, **basic)


def a_return(payment: Reply) -> dict[str, Any]:
    return {"BasicReverseTran": {"TransactionID": payment.body["TransactionID"], "ReverseMode": 2}}


@pytest.mark.parametrize(("own", "above"), [*product((None, True, False), repeat=2)])
def test_an_agent_gives_money_back_with_the_feature_returns_only(
    stage: str,
    own: bool | None,  # noqa: FBT001  parameters of the test
    above: bool | None,  # noqa: FBT001
) -> None:
    till = Till(stage, features(Returns=above), features(Returns=own))
    on = next(value for value in (own, above, True) if value is not None)
    payment = till.pay(a_body())
    given_back = http.post(stage, RETURN, a_return(payment), till.login)

    assert given_back.error == ((200, 0) if on else OFF)
    assert payment.body["Transaction"]["CanReturn"] is True  # of the payment, whoever asks
    assert till.shown["Features"]["Returns"] is on
    me = http.get(stage, "/api/v1/user/me", till.login).body["Data"]
    assert me["Features"] == till.shown["Features"]


def test_a_cancel_needs_the_feature_returns_and_a_repeated_one_does_not(stage: str) -> None:
    till = Till(stage, None, None)
    cancels = [
        {"BasicReverseTran": {**a_return(till.pay(a_body()))["BasicReverseTran"], "ReverseMode": 1}} for _ in "12"
    ]
    first = http.post(stage, RETURN, cancels[0], till.login, **{"Idempotency-Key": "one"})
    till.update({"MobileSettings": {"Features": {"Returns": False}}})
    again, other = (
        http.post(stage, RETURN, body, till.login, **{"Idempotency-Key": key})
        for body, key in zip(cancels, ("one", "two"), strict=True)
    )

    assert (first.error, again.error, other.error) == ((200, 0), (200, 0), OFF)


@pytest.mark.parametrize("is_on", [True, False])
def test_an_agent_sells_with_a_line_below_zero_with_the_feature_discounts_only(
    stage: str,
    is_on: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    till = Till(stage, features(Discounts=is_on), None)
    sale = a_discount(OfflineTran={"OfflineMode": True})

    assert till.pay(a_discount()).error == ((200, 0) if is_on else OFF)
    assert till.pay(sale).error == (200, 0)
    assert till.pay(a_body()).error == (200, 0)
