"""The role of the operator allows each call of each command, and nothing that no command needs."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient

from chalicelib.domain.agent import BLOCKED
from chalicelib.domain.transaction import ERASED_PICTURE
from chalicelib.store import agents, merchants
from chalicelib.store.aws_client import Client
from chalicelib.store.table import update, write_one
from infra.bench.client import through
from infra.operator import commands as operator
from infra.operator import payer_records
from infra.operator.reconcile import HEADER
from infra.stack.cloudformation import deployed
from infra.stack.operator_role import role
from infra.stack.resources import STACK
from tests.infra.operator.conftest import SETTINGS, Deploy
from tests.support.certificates import an_authority
from tests.support.giving import Give, typing
from tests.support.iam import Permission, is_allowed_by, matches, required_permissions
from tests.support.payers import Payer

pytestmark = [pytest.mark.usefixtures("moto"), pytest.mark.slow]

(POLICY,) = role()["Properties"]["Policies"]
STATEMENTS: list[dict[str, Any]] = POLICY["PolicyDocument"]["Statement"]
PARTNERS = '{"Insurance": {"url": "https://insurer.example/prepare"}}'
MOST_OF_A_POLICY = 9_000  # characters; IAM takes 10,240, and names of stacks are longer elsewhere
MOTO_LACKS: dict[str, Any] = {
    "GetAccount": {"SendQuota": {"SentLast24Hours": 1.0, "Max24HourSend": 200.0}, "ProductionAccessEnabled": False},
    "GetSMSSandboxAccountStatus": {"IsInSandbox": True},
    "GetCostAndUsage": {"ResultsByTime": [{"Total": {"UnblendedCost": {"Amount": "12.3", "Unit": "USD"}}}]},
    "DescribeCertificate": {"Certificate": {"NotAfter": datetime.now(UTC)}},
    "SetAlarmState": {},
    "ListSubscriptionsByTopic": {
        "Subscriptions": [{"Endpoint": "ann@x.example", "SubscriptionArn": "PendingConfirmation"}]
    },
}
# For the saved queries.
OF_THE_CONSOLE = {f"logs:{one}" for one in ("DescribeLogGroups", "DescribeQueryDefinitions", "GetQueryResults")}
OF_THE_CONSOLE |= {"logs:StartQuery", "logs:StopQuery"}
Calls = list[tuple[str, str, Mapping[str, Any]]]
# Each command with its arguments, in this order, and the lines that somebody types.
RUNS: tuple[tuple[str, str, str], ...] = (
    ("system-users", "create --email ann@role.example --name Ann", "long enough a password"),
    ("replace-credentials", "--email ann@role.example", "another long password"),
    ("system-users", "", ""),
    ("system-users", "block --email ann@role.example --yes", ""),
    ("system-users", "unblock --email ann@role.example", ""),
    ("system-users", "totp-off --email ann@role.example --yes", ""),
    ("smoke-merchant", "--email smoke@role.example --system-user ann@role.example", ""),
    ("smoke-merchant", "--email smoke@role.example --system-user ann@role.example --new-key", ""),
    ("system-users", "delete --email ann@role.example --yes", ""),
    ("status", "", ""),
    ("ring", "", ""),
    ("who", "till@demo.example", ""),
    ("merchant", "list", ""),
    ("merchant", "show {merchant}", ""),
    ("merchant", "block {merchant} --yes", ""),
    ("merchant", "unblock {merchant}", ""),
    ("merchant", "cards --all off --yes", ""),
    ("merchant", "cards --all on", ""),
    ("takings", "--month 2026-11", ""),
    ("rotate-signing", "--leaked", ""),
    ("print-signing", "", ""),
    ("partner-secret", "Insurance", "agreed with the partner"),
    ("use-certificate", "--certificate {folder}/ours.pem --key {folder}/ours.key", ""),
    ("stripe-key", "", "sk_test_ofthetests"),
    ("undo-secret", "--yes", ""),
    ("link-card", "--email till@demo.example", "4111111111111111\n1249"),
    ("reconcile", "--acquirer SANDBOX --date 2026-03-14 --file {folder}/host.csv", ""),
    ("payer", "find --merchant {merchant} --email {email}", ""),
    ("payer", "export --merchant {merchant} --email {email}", ""),
    ("payer", "erase --merchant {merchant} --email {email} --yes", ""),
    ("payer", "erase --agent {former} --yes", ""),
    ("audit", "merchant#1", ""),
    ("restore", "--at {at}", ""),
    ("restore", "--at {at} --yes", ""),
    ("rebuild", "", ""),
)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, give: Give) -> Calls:
    """The calls of AWS: service, operation and parameters."""
    made: Calls = []
    call = BaseClient._make_api_call  # type: ignore[attr-defined]  # noqa: SLF001

    def own_noted(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
        made.append((client.service, operation, parameters))
        return client.call(operation, **parameters)

    def noted(client: Any, operation: str, parameters: dict[str, Any]) -> Any:
        made.append((client.meta.service_model.service_name, operation, parameters))
        if operation in MOTO_LACKS:
            return MOTO_LACKS[operation]
        return call(client, operation, parameters)

    give(client=through(own_noted))
    monkeypatch.setattr(BaseClient, "_make_api_call", noted)
    return made


def damage() -> None:
    """Delete and alter transactions."""
    transactions = boto3.resource("dynamodb").Table("payments-local-transactions")
    for number, item in enumerate(transactions.scan()["Items"]):
        if number % 2:
            transactions.delete_item(Key={"id": item["id"]})
        else:
            transactions.put_item(Item={**item, "gmt": 99})


@pytest.fixture
def payer() -> Payer:
    """A payer with data in every table, payments that are pending, and messages that wait."""
    payer = Payer()
    payer.pay_everywhere()
    logo = f"avatars/{payer.merchant}.png"
    boto3.client("s3").put_object(Bucket=SETTINGS["BUCKET"], Key=logo, Body=b"a picture")
    write_one(update(merchants.key(payer.till.merchant.id), {"avatar_key": logo}))
    payer.pay_cash()
    for one in payer_records.files_below(ERASED_PICTURE):  # an erasure stores it once
        boto3.client("s3").delete_object(Bucket=SETTINGS["BUCKET"], Key=one.name, VersionId=one.version)
    return payer


@pytest.mark.slow
def test_the_role_allows_what_the_commands_call_and_nothing_else(  # noqa: PLR0913, PLR0917
    payer: Payer, deploy: Deploy, calls: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, give: Give
) -> None:
    ours, now = an_authority("ours"), datetime.now(UTC)
    ours.write(tmp_path, "ours.pem")
    (tmp_path / "ours.key").write_bytes(ours.key)
    (tmp_path / "host.csv").write_text(",".join(HEADER) + "\n", encoding="utf-8")
    known = {"folder": tmp_path, "at": f"{now:%Y-%m-%dT%H:%M:%SZ}", "merchant": payer.merchant, "email": payer.email}
    known["day"], known["former"] = f"{now:%Y-%m-%d}", payer.till.agent.id
    write_one(update(agents.key(payer.till.agent.id), {"state": BLOCKED}))
    stack = deploy(STACK, {**SETTINGS, "PARTNERS": PARTNERS})
    give(now=lambda: datetime.now(UTC) + timedelta(hours=1))
    monkeypatch.chdir(tmp_path)
    used: list[Permission] = []

    for command, arguments, typed in RUNS:
        if command == "restore" and "--yes" in arguments:
            damage()
        calls.clear()
        with typing(typed), suppress(SystemExit):
            operator.main(["--stage", "dev", "--stack", stack, command, *arguments.format_map(known).split()])
        needed = [one for call in calls for one in required_permissions(*call)]
        assert [one for one in needed if not is_allowed_by(STATEMENTS, one)] == [], command
        used += needed

    assert {command for command, _, _ in RUNS} == set(operator.COMMANDS)
    unused = [part for part in parts() if not any(matches(part, one) for one in used)]
    assert {action for part in unused for action in part["Action"]} == OF_THE_CONSOLE


def parts() -> Iterator[dict[str, Any]]:
    """Yield each allowed action, and each resource, by itself."""
    for statement in STATEMENTS:
        if statement["Effect"] == "Allow":
            yield from ({**statement, "Action": [action]} for action in statement["Action"])
            yield from ({**statement, "Resource": [resource]} for resource in statement["Resource"])


def test_the_role_fits_into_an_inline_policy_and_can_be_assumed_for_the_hours_of_a_restore(sam: dict[str, Any]) -> None:
    arn = "arn:aws:iam::123456789012:role/operators"
    for given, trusted in ({}, "arn:aws:iam::123456789012:root"), ({"OperatorPrincipal": arn}, arn):
        properties = deployed(sam, **given)["OperatorRole"]["Properties"]
        (trust,) = properties["AssumeRolePolicyDocument"]["Statement"]
        assert trust["Principal"] == {"AWS": trusted}
        assert trust["Condition"] == {"Bool": {"aws:MultiFactorAuthPresent": "true"}}

    assert len(json.dumps(properties["Policies"][0]["PolicyDocument"]).replace(" ", "")) < MOST_OF_A_POLICY
    assert properties["MaxSessionDuration"] == 12 * 3600
    assert "RoleName" not in properties, "CAPABILITY_IAM is enough"
