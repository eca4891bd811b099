"""What requests cost: store calls and capacity units as DynamoDB Local counts them, our own time, the cold start.

`make bench`. Figures, not tests: nothing here passes or fails.
"""

import base64
import contextlib
import importlib
import io
import json
import os
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from chalice.app import Chalice, Response

from infra import engines
from infra.capacity_meter import metered

CALLS = 300
COLD_STARTS = 15
SUBMIT = "/api/v1/payment/submit"


class Till:
    """The app as Lambda calls it, behind the authorizer: events in, answers out."""

    def __init__(self, app: Chalice, agent: dict[str, str]) -> None:
        self.app = app
        self.agent = agent

    def ask(self, method: str, resource: str, body: Any = None, **path: str) -> Any:
        """One request."""
        event = {
            "requestContext": {
                "httpMethod": method,
                "resourcePath": resource,
                "path": resource,
                "authorizer": self.agent,
                "identity": {"sourceIp": "127.0.0.1"},
            },
            "headers": {"content-type": "application/json"},
            "pathParameters": path or None,
            "multiValueQueryStringParameters": None,
            "stageVariables": {},
            "body": None if body is None else json.dumps(body),
        }
        with contextlib.redirect_stdout(io.StringIO()):
            answer = self.app(event, Context())
        if answer["statusCode"] != 200:  # noqa: PLR2004  anything else is not what is measured
            sys.exit(answer["body"])
        return answer


class Context:
    """Lambda's, as far as it is asked."""

    aws_request_id = "bench"


def a_body(size: int = 0) -> dict[str, Any]:
    """A cash payment whose record is about 2 KB, or larger by `size`."""
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
        "UserAgent": "u" * size,
        "DeviceInfo": {"OS": "Android", "OSVersion": "14", "PhoneModel": "T1"},
        "GMT": 2,
    }


def a_card_body() -> dict[str, Any]:
    """A card payment, keyed in, that the sandbox approves."""
    body = a_body()
    data = {"PAN": "4242424242424242", "EXP": "1235", "CVV2": "123"}
    transaction = body["BasicTran"] | {"InputType": 1}
    return body | {"BasicTran": transaction, "AcqTran": {}, "Card": {"CardInputMode": 1, "CardDataInput": data}}


def authorize() -> None:
    """Do what the authorizer does for a till that comes with its secret key."""
    from chalicelib.services import authentication  # noqa: PLC0415  its settings are there once the engine is

    pair = base64.b64encode(b"till@demo.example:till-demo-secret-key-0001").decode()
    authentication.caller_of(f"Basic {pair}", datetime.now(UTC))


def sweep() -> None:
    """What the stage does every minute, when there is nothing to do."""
    from chalicelib.services import outbox, payment_sweep  # noqa: PLC0415  their settings are there once the engine is

    for job, work in ((payment_sweep, payment_sweep.run), (outbox, outbox.deliver_due)):
        work(datetime.now(UTC))
        job.behind_seconds(datetime.now(UTC))


def capacity(till: Till) -> None:
    """Store calls and units of the operations."""
    body = a_body()

    def submit() -> None:
        till.ask("POST", SUBMIT, body)

    def look_up() -> None:
        till.ask("GET", "/api/v1/payment/{tranId}", tranId=body["BasicTran"]["ID"])

    def status() -> None:
        till.ask("GET", "/api/v1/payment/statusPublic/{tranId}", tranId=body["BasicTran"]["ID"])

    def pay_by_card() -> None:
        till.ask("POST", SUBMIT, a_card_body())

    def give_half_back() -> None:
        part = {"TransactionID": body["BasicTran"]["ID"], "ReverseMode": 2, "Amount": "6.15", "PartialReverse": True}
        till.ask("POST", "/api/v1/payment/reverse", {"BasicReverseTran": part})

    def list_a_page() -> None:
        till.ask("POST", "/api/v1/payment/listHistoryEx", {"ListBasicModel": {"Page": 1}})

    print(f"{'operation':26}{'calls':>6}{'RCU':>7}{'WCU':>7}")
    for name, operation in (
        ("authorizer, by secret key", authorize),
        ("cash submit", submit),
        ("replay", submit),
        ("card submit (sandbox)", pay_by_card),
        ("cash reversal, a part", give_half_back),
        ("by ID", look_up),
        ("statusPublic", status),
        ("a page of history", list_a_page),
        ("the two sweeps, idle", sweep),
    ):
        with metered() as meter:
            operation()
        print(f"{name:26}{meter['calls']:>6}{meter['RCU']:>7.1f}{meter['WCU']:>7.1f}")


def cpu(till: Till) -> None:
    """Our own processor time beside a bare Chalice route that makes the same two store calls."""
    from chalicelib.store.table import client  # noqa: PLC0415  its settings are there once the engine is

    recorded: list[dict[str, Any]] = []
    events = client().meta.events
    events.register("provide-client-params.dynamodb.*", lambda params, **_: recorded.append(params), unique_id="rec")
    till.ask("POST", SUBMIT, a_body())
    events.unregister("provide-client-params.dynamodb.*", unique_id="rec")
    reads, writes = recorded
    bare = Chalice(app_name="bare")

    def view() -> Response:
        client().batch_get_item(**reads)
        put = json.loads(json.dumps(writes["TransactItems"]))
        name = str(uuid.uuid4())
        put[0]["Put"]["Item"]["id"]["S"] = name
        client().transact_write_items(TransactItems=put)
        return Response(json.dumps({"id": name}))

    bare.route(SUBMIT, methods=["POST"], name="bare")(view)
    ours = _cpu_ms(lambda: till.ask("POST", SUBMIT, a_body()))
    theirs = _cpu_ms(lambda: Till(bare, till.agent).ask("POST", SUBMIT, a_body()))
    print(f"\ncash submit, processor ms: ours {ours:.2f}, a bare route {theirs:.2f}, ratio {ours / theirs:.2f}")


def _cpu_ms(operation: Callable[[], Any]) -> float:
    for _ in range(20):
        operation()
    times = []
    for _ in range(CALLS):
        started = time.process_time()
        operation()
        times.append(time.process_time() - started)
    return statistics.median(times) * 1000


def cold_start() -> None:
    """Importing the service, beside importing what it is built on."""
    model = "class Model(pydantic.BaseModel): name: str = ''"
    code = {
        "the service": "import app",
        "the authorizer": "import chalicelib.authorizer",
        "chalice, boto3, pydantic": "import chalice, boto3, pydantic",
        "the same and one model": f"import chalice, boto3, pydantic\n{model}",
    }
    print("\nimport, processor ms")
    for name, statement in code.items():
        print(f"{name:26}{_import_ms(statement):>6.0f}")


def _import_ms(statement: str) -> float:
    timed = f"import time\ns = time.process_time()\n{statement}\nprint((time.process_time() - s) * 1000)"
    runs = [
        float(subprocess.run([sys.executable, "-c", timed], check=True, capture_output=True).stdout)  # noqa: S603
        for _ in range(COLD_STARTS)
    ]
    return statistics.median(runs)


def main() -> None:
    """Everything, on DynamoDB Local with the demo data."""
    with engines.moto_engine(), engines.dynamodb_local() as url:
        engines.select(url)
        importlib.import_module("infra.demo_data").seed()
        till = Till(importlib.import_module("app").app, _demo_till())
        till.ask("POST", SUBMIT, a_body())
        capacity(till)
        cpu(till)
        if "history" in sys.argv[1:]:
            importlib.import_module("infra.bench_history").history()
        os.environ.pop(engines.ENDPOINT, None)
        cold_start()


def _demo_till() -> dict[str, str]:
    from chalicelib.store import logins  # noqa: PLC0415  its settings are there once the engine is
    from chalicelib.store.table import read  # noqa: PLC0415

    login = read(logins.key("till@demo.example"))
    if login is None:
        sys.exit("The demo data is not there.")
    facts = {"agent": login.agent_id, "client": login.client_id, "version": login.credential_version}
    return {name: str(value) for name, value in {**facts, "terminal": login.terminal_id}.items()}


if __name__ == "__main__":
    main()
