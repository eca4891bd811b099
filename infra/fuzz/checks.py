"""Two checks of schemathesis, with exceptions: valid requests are accepted, and invalid ones are refused.

`explained.json` lists the refusals of valid requests by rules that a schema cannot express. The service accepts some
invalid requests because it reads more than the schema allows. This runs in the environment of `make tools`.
"""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import schemathesis
from schemathesis.checks import CheckContext
from schemathesis.core.failures import Failure
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

EXPLAINED = json.loads(Path(__file__).with_name("explained.json").read_text(encoding="utf-8"))
VALIDATION_FAILED, TYPE = 202, 2
WHOLE = re.compile(r"-?[0-9]+\.0+")
DECIMALS, DECIMAL_STRINGS = {"Amount", "AmountCashGot"}, {"Price", "Quantity"}
DECIMAL = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?")
MODES = {"Cancel": 1, "Return": 2, "CancelCNP": 3, "ReturnCNP": 5}
NOTHING: tuple[Any, ...] = ("", 0, "0", {})


@schemathesis.check  # type: ignore[untyped-decorator]  # its types are in its own environment
def valid_requests_are_accepted(ctx: CheckContext, response: schemathesis.Response, case: schemathesis.Case) -> None:
    """Fail when a valid request is refused for a reason that is not in the list."""
    try:
        positive_data_acceptance(ctx, response, case)
    except Failure:
        if not _is_explained(response.json(), _whole_floats("", {**(case.query or {}), "body": case.body})):
            raise


@schemathesis.check  # type: ignore[untyped-decorator]  # its types are in its own environment
def invalid_requests_are_refused(ctx: CheckContext, response: schemathesis.Response, case: schemathesis.Case) -> None:
    """Fail when a request is accepted that is invalid even as the service reads it."""
    try:
        negative_data_rejection(ctx, response, case)
    except Failure:
        if not _is_valid_as_read(case):
            raise


def _is_explained(refusal: dict[str, Any], whole_floats: set[str]) -> bool:
    if refusal["ErrorCode"] != VALIDATION_FAILED:
        return str(refusal["ErrorCode"]) in EXPLAINED["refused"]
    return all(_is_listed(finding, whole_floats) for finding in refusal["Validations"])


def _is_listed(finding: dict[str, Any], whole_floats: set[str]) -> bool:
    """Return whether a finding is in the list, or a warning that did not refuse the request.

    JSON Schema counts 2.0 as an integer; the service does not.
    """
    field = re.sub(r"\[\d+\]", "", finding["Property"]).rpartition(".")[2]
    if finding["Type"] != 1 or (finding["Code"] == TYPE and field in whole_floats):
        return True
    listed = (one for one in EXPLAINED["findings"] if finding["Code"] in one["codes"])
    return any(re.fullmatch(one["fields"], field) for one in listed)


def _whole_floats(name: str, value: Any) -> set[str]:
    """Return the names of the fields whose value is a whole number with a decimal point."""
    if isinstance(value, dict):
        return {found for key, item in value.items() for found in _whole_floats(key, item)}
    if isinstance(value, list):
        return {found for item in value for found in _whole_floats(name, item)}
    is_whole = value.is_integer() if isinstance(value, float) else bool(WHOLE.fullmatch(str(value)))
    return {name} if is_whole else set()


def _is_valid_as_read(case: schemathesis.Case) -> bool:
    document = case.operation.schema.raw_schema
    operation = document["paths"][case.operation.path][case.operation.method.lower()]
    if "requestBody" not in operation or not isinstance(case.body, dict):
        return False
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    validator = jsonschema_rs.Draft202012Validator({**schema, "components": document["components"]})
    return bool(validator.is_valid(_as_read("", case.body)))


def _as_read(name: str, value: Any) -> Any:
    """Return a value of a request as the service reads it.

    Placeholders of tills are absent. An amount may be a decimal string, a price and a quantity numbers, ReverseMode a
    text, OfflineQueueId a number.
    """
    if isinstance(value, dict):
        read = {key: _as_read(key, item) for key, item in value.items()}
        return {key: item for key, item in read.items() if item is not None and item not in NOTHING}
    if isinstance(value, list):
        judged = [] if name == "PosBulk" else value  # the answer names the faulty items of a batch
        return [item for item in (_as_read(name, one) for one in judged) if item not in ("", None)]
    if name in DECIMALS and isinstance(value, str) and DECIMAL.fullmatch(value):
        return float(value)
    if name in DECIMAL_STRINGS and isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:f}"
    if name == "OfflineQueueId" and isinstance(value, int):
        return str(value)
    return MODES.get(value, value) if name == "ReverseMode" and isinstance(value, str) else value
