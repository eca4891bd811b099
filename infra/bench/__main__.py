"""The command `make bench`: store calls, capacity units, processor time and cold starts of requests.

DynamoDB Local counts the capacity units. The bench only prints figures: nothing passes or fails.
"""

import base64
import statistics
import sys
import uuid
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from app import app
from chalicelib.domain.agent import Caller
from chalicelib.domain.business_days import business_day
from chalicelib.services import authentication, deliveries, outbox, payment_sweep
from infra.bench.client import LambdaClient, measure_capacity, timed_ms
from infra.bench.cold_start import cold_start_table
from infra.bench.functions import RuntimeMissingError
from infra.bench.history import history_tables
from infra.bench.sign_in import attempts, print_sign_in
from infra.bench.table import Table, show, write_documents
from infra.demo import data as demo_data
from infra.demo import month
from infra.local import engines
from infra.local.engines import EngineMissingError

if TYPE_CHECKING:
    from collections.abc import Callable

SUBMIT = "/api/v1/payment/submit"
TAKINGS = "/api/v1/report/takings"
ROUNDS, WARM_UP_ROUNDS = 300, 20  # of payments


def cash_payment() -> dict[str, Any]:
    """Return the body of a cash payment whose record is about 1 KB."""
    return {
        "BasicTran": {
            "ID": str(uuid.uuid4()),
            "InputType": 10,
            "CurrencyID": "ZAR",
            "Amount": "12.30",
            "Description": "Two coffees and a newspaper",
            "ExtID": f"order-{uuid.uuid4()}",
            "AuxDataInput": {"AuxData": {"Purchases": [{"Title": "Coffee", "Price": "6.15", "Quantity": "2"}] * 6}},
        },
        "AcqTran": {"AcquirerCode": "CASH"},
        "DeviceInfo": {"OS": "Android", "OSVersion": "14", "PhoneModel": "T1"},
        "GMT": 2,
    }


def payment_with_taxes() -> dict[str, Any]:
    """Return the same payment with a tax code on each line."""
    body = cash_payment()
    for line in body["BasicTran"]["AuxDataInput"]["AuxData"]["Purchases"]:
        line["TaxCode"] = [month.VAT]
    return body


def largest_payment() -> dict[str, Any]:
    """Return the body of a cash payment with a hundred long lines and long texts."""
    lines = [{"Title": f"{number} {'x' * 500}", "Price": "0.50", "Quantity": "1"} for number in range(100)]
    texts = {"Amount": "50.00", "ExtTransData": f'["{"x" * 8000}"]', "Description": "日" * 1024}
    body = cash_payment()
    return body | {"BasicTran": body["BasicTran"] | texts | {"AuxDataInput": {"AuxData": {"Purchases": lines}}}}


def card_payment() -> dict[str, Any]:
    """Return the body of a card payment, keyed in, that the sandbox approves."""
    body = cash_payment()
    data = {"PAN": "4242424242424242", "EXP": "1235", "CVV2": "123"}
    transaction = body["BasicTran"] | {"InputType": 1}
    return body | {"BasicTran": transaction, "AcqTran": {}, "Card": {"CardInputMode": 1, "CardDataInput": data}}


def authenticate() -> Caller:
    """Authenticate the demo agent by its secret key, as the authorizer does."""
    login = f"{demo_data.TILL[0]}:{demo_data.TILL_KEY}"
    return authentication.caller_of(f"Basic {base64.b64encode(login.encode()).decode()}", datetime.now(UTC))


def run_sweeps() -> None:
    """Run the sweeps when nothing is due."""
    payment_sweep.run(datetime.now(UTC))
    outbox.sweep(datetime.now(UTC))
    deliveries.sweep(datetime.now(UTC), seconds=0)


def operations_table(agent: LambdaClient) -> Table:
    """Return the store calls and capacity units of each operation."""
    body = cash_payment()
    transaction_id = body["BasicTran"]["ID"]
    today = str(business_day(datetime.now(UTC), demo_data.CONTEXT["GMT"]))
    half = {"TransactionID": transaction_id, "ReverseMode": 2, "Amount": "6.15", "PartialReverse": True}
    largest = largest_payment()
    part_of_it = half | {"TransactionID": largest["BasicTran"]["ID"]}
    operations: dict[str, Callable[[], Any]] = {
        "authorizer, by secret key": authenticate,
        **attempts(),
        "cash payment": lambda: agent.call("POST", SUBMIT, body),
        "cash payment with taxes": lambda: agent.call("POST", SUBMIT, payment_with_taxes()),
        "the same again, a replay": lambda: agent.call("POST", SUBMIT, body),
        "card payment, with the sandbox's own records": lambda: agent.call("POST", SUBMIT, card_payment()),
        "reversal of a part, cash": lambda: agent.call("POST", "/api/v1/payment/reverse", {"BasicReverseTran": half}),
        "cash payment with 100 long lines and long texts": lambda: agent.call("POST", SUBMIT, largest),
        "reversal of a part of it": lambda: agent.call(
            "POST", "/api/v1/payment/reverse", {"BasicReverseTran": part_of_it}
        ),
        "payment by ID": lambda: agent.call("GET", "/api/v1/payment/{tranId}", tranId=transaction_id),
        "receipt of a payment": lambda: agent.call("GET", "/api/v1/payment/receipt/{tranId}", tranId=transaction_id),
        "statusPublic": lambda: agent.call("GET", "/api/v1/payment/statusPublic/{tranId}", tranId=transaction_id),
        "a page of history": lambda: agent.call(
            "POST", "/api/v1/payment/listHistoryEx", {"ListBasicModel": {"Page": 1}}
        ),
        "takings of today, by hour": lambda: agent.call("POST", TAKINGS, {"By": "hour", "Period": {"From": today}}),
        "takings of a month, by day": lambda: agent.call("POST", TAKINGS, {}),
        "an export of its rows": lambda: agent.call("POST", "/api/v1/report/export", {}),
        "the sweeps, with nothing to do": run_sweeps,
    }
    rows = []
    for name, operation in operations.items():
        with measure_capacity() as meter:
            operation()
        rows.append((name, str(meter.calls), f"{meter.read_units:.0f}", f"{meter.write_units:.0f}"))
    return Table("operations", ("operation", "store calls", "read units", "write units"), rows)


def processor_table(agent: LambdaClient) -> Table:
    """Return the median processor time of cash payments, which take turns: a busy machine slows both."""
    payments = {"a cash payment": cash_payment, "a cash payment with taxes on its six lines": payment_with_taxes}
    times: dict[str, list[float]] = {name: [] for name in payments}
    for _ in range(WARM_UP_ROUNDS + ROUNDS):
        for name, make in payments.items():
            times[name].append(timed_ms(partial(agent.call, "POST", SUBMIT, make())))
    rows = [(name, f"{statistics.median(spent[WARM_UP_ROUNDS:]):.2f}") for name, spent in times.items()]
    return Table("payment", ("", "processor ms"), rows)


def main() -> None:
    """Print the tables. With `documents` measure every table of the documents, and write them there."""
    wanted = set(sys.argv[1:])
    if "documents" in wanted:
        tables = [*_tables({*wanted, "history"}), cold_start_table()]
        print(f"\nwritten: {', '.join(write_documents(tables)) or 'nothing new'}")
    else:
        _tables(wanted)


def _tables(wanted: set[str]) -> list[Table]:
    """Print the tables that are measured on DynamoDB Local with the demo data, and return them."""
    with engines.moto_engine(), engines.dynamodb_local() as url:
        engines.select(url)
        month.put_price_list(demo_data.seed(), datetime.now(UTC))
        caller = authenticate()
        agent = LambdaClient(app, caller)
        agent.call("POST", SUBMIT, cash_payment())
        tables = [
            show(operations_table(agent)),
            show(processor_table(agent)),
        ]
        print_sign_in()
        if "history" in wanted:
            tables += history_tables()
    return tables


if __name__ == "__main__":
    try:
        main()
    except (EngineMissingError, RuntimeMissingError) as problem:
        sys.exit(str(problem))
