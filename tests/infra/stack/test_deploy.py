"""A deployment is watched and tried, and goes back by itself. AWS is moto, with the statuses that moto never has."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ClientError, EndpointConnectionError

from chalicelib.settings import settings
from infra.stack import deploy, parameters, taking_in
from infra.stack.alarms import ALARMS
from infra.stack.deploy import QUIET, TRIGGERS, Deployment
from infra.stack.releases import KEPT, DeployError, upload
from infra.stack.resources import create_table_arguments
from infra.stack.smoke import SmokeError

pytestmark = [
    pytest.mark.filterwarnings("ignore:Tried to parse AWS..Serverless:UserWarning"),  # SAM, which moto lacks
    pytest.mark.slow,
]

ADDRESS = "https://api.example/api/"
FUNCTION = {"Type": "AWS::Serverless::Function", "Properties": {"CodeUri": "./deployment.zip"}}
KEY = {
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "N"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
}
MAKE: Any = boto3.client
LONG_AGO = datetime.now(UTC) - 2 * QUIET


def refused(code: str, message: str) -> dict[str, Any]:
    return {"Error": {"Code": code, "Message": message}}


EXPIRED = refused("ExpiredToken", "The security token included in the request is expired")


def with_outputs(parsed: dict[str, Any], **_: Any) -> None:
    """Add the outputs, which moto forgets of a change set."""
    for stack in parsed.get("Stacks", []):
        stack["Outputs"] = [
            {"OutputKey": "EndpointURL", "OutputValue": ADDRESS},
            {"OutputKey": "Version", "OutputValue": "1.0.0+g1a2b"},
        ]


class Cloud:
    """CloudFormation as moto has it, except for the answers that a test gives; and a built package."""

    def __init__(self, stack: str, build: Path) -> None:
        self.stack = stack
        self.build = build
        self.calls: list[tuple[str, dict[str, Any]]] = []
        # By operation; the last one is repeated. moto has no termination protection.
        self.answers: dict[str, list[dict[str, Any]]] = {
            "UpdateTerminationProtection": [{}],
            "GetAccountSettings": [{"AccountLimit": {"ConcurrentExecutions": 1000}}],
        }

    def client(self, service: str, **options: Any) -> Any:
        client = MAKE(service, **options)
        client.meta.events.register("before-parameter-build.cloudformation", self.note)
        client.meta.events.register("before-call.cloudformation", self.answer)
        client.meta.events.register("before-call.lambda", self.answer)
        client.meta.events.register("after-call.cloudformation.DescribeStacks", with_outputs)
        return client

    def note(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self.calls.append((model.name, params))

    def answer(self, model: Any, **_: Any) -> Any:
        """Answer before anything is sent, as botocore's Stubber does."""
        given = self.answers.get(model.name)
        if not given:
            return None
        content = given.pop(0) if given[1:] else given[0]
        return AWSResponse("", 400 if "Error" in content else 200, HTTPHeaders(), None), content

    def sent(self, operation: str) -> list[dict[str, Any]]:
        return [params for name, params in self.calls if name == operation]

    def show(self, *statuses: str, changed: datetime = LONG_AGO) -> None:
        """Let each look at the stack show its next status."""
        stack = {"StackId": self.stack, "StackName": self.stack, "LastUpdatedTime": changed}
        self.answers["DescribeStacks"] = [{"Stacks": [stack | {"StackStatus": status}]} for status in statuses]

    def resource(self, status: str, changed: datetime) -> None:
        """Let the stack have one resource, with this status since then."""
        found = {"LogicalResourceId": "API", "ResourceType": "Other", "LastUpdatedTimestamp": changed}
        self.answers["ListStackResources"] = [{"StackResourceSummaries": [found | {"ResourceStatus": status}]}]

    def fail(self, *events: tuple[str, str, str], token: str | None = None) -> None:
        """Let the events of the change be these, the newest first: resource, status, reason."""
        token = token or self.sent("ExecuteChangeSet")[0]["ClientRequestToken"]
        self.answers["DescribeStackEvents"] = [
            {
                "StackEvents": [
                    {"LogicalResourceId": name, "ResourceStatus": status, "ResourceStatusReason": reason}
                    | {"ClientRequestToken": token}
                    for name, status, reason in events
                ]
            }
        ]

    def package(self, *tables: str, **parameters: str) -> None:
        """Build a version with these tables, and with parameters besides those of releases."""
        names = {name: {"Type": "String", "Default": ""} for name in ("Release", "ReleaseBefore", *parameters)}
        resources = {
            table: {
                "Type": "AWS::DynamoDB::Table",
                "DeletionPolicy": "RetainExceptOnCreate",
                "Properties": {**KEY, "TableName": {"Fn::Sub": f"${{AWS::StackName}}-{table}"}},
            }
            for table in tables
        }
        template = {"Parameters": names, "Resources": {"API": FUNCTION, **resources}}
        (self.build / "sam.json").write_text(json.dumps(template))
        (self.build / "deployment.zip").write_bytes(" ".join(tables).encode())

    def make(self, *words: str) -> None:
        """Run the command."""
        deploy.main(words or [self.stack, settings().bucket], self.build)

    def update(
        self,
        *statuses: str,
        check: Callable[[str], object] | None = None,
        minutes: int = 15,
        changed: datetime = LONG_AGO,
    ) -> str:
        """Update the stack, which then shows these statuses."""
        self.show("UPDATE_COMPLETE", *statuses, changed=changed)
        url = upload(self.build, self.stack, settings().bucket)
        return Deployment(self.stack).deploy(url, {}, check, minutes)

    def parameters(self) -> dict[str, str]:
        (found,) = boto3.client("cloudformation").describe_stacks(StackName=self.stack)["Stacks"]
        return {one["ParameterKey"]: one["ParameterValue"] for one in found["Parameters"]}


@pytest.fixture
def cloud(moto: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    """The name of a stack that does not exist yet, and a package with one table."""
    del moto
    cloud = Cloud(f"payments-{uuid4().hex[:8]}", tmp_path)
    cloud.package("old")
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setattr(boto3, "client", cloud.client)
    for name in ("SMOKE_LOGIN", "WATCHED_MINUTES"):
        monkeypatch.delenv(name, raising=False)
    return cloud


@pytest.fixture
def standing(cloud: Cloud) -> Cloud:
    """A stack with one table, and a newer package."""
    cloud.make()
    cloud.calls.clear()
    (cloud.build / "deployment.zip").write_bytes(b"newer")
    return cloud


class Trial:
    """A smoke payment that succeeds or fails."""

    def __init__(self, problem: str = "") -> None:
        self.problem = problem
        self.addresses: list[str] = []

    def __call__(self, address: str) -> None:
        self.addresses.append(address)
        if self.problem:
            raise SmokeError(self.problem)


def is_protected(table: str) -> bool:
    return boto3.client("dynamodb").describe_table(TableName=table)["Table"]["DeletionProtectionEnabled"]


def test_a_stack_is_created_and_updated_and_its_tables_are_protected(
    cloud: Cloud, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud.package("old", AlarmEmail="")
    cloud.make(cloud.stack, settings().bucket, "AlarmEmail=a=b")
    first = cloud.parameters()["Release"]
    assert capsys.readouterr().out == f"{cloud.stack} is at {ADDRESS}, version 1.0.0+g1a2b\n"
    assert is_protected(f"{cloud.stack}-old")
    protection = {"StackName": cloud.stack, "EnableTerminationProtection": True}
    assert cloud.sent("UpdateTerminationProtection") == [protection]

    cloud.package("old", "new", AlarmEmail="", NewOne="")
    cloud.make()

    printed = "No payment is tried: SMOKE_LOGIN is not set.\n"
    assert capsys.readouterr().out == f"{printed}{cloud.stack} is at {ADDRESS}, version 1.0.0+g1a2b\n"
    assert is_protected(f"{cloud.stack}-new")
    assert cloud.parameters() == {
        "AlarmEmail": "a=b",
        "NewOne": "",
        "Release": cloud.parameters()["Release"],
        "ReleaseBefore": first,
    }
    assert cloud.parameters()["Release"] != first


def test_a_table_that_a_rollback_deletes_is_not_protected_yet(standing: Cloud) -> None:
    standing.package("old", "new")

    with pytest.raises(DeployError):
        standing.update("UPDATE_ROLLBACK_COMPLETE")

    assert not is_protected(f"{standing.stack}-new")


def test_going_back_deploys_the_release_before_and_keeps_a_table_that_only_the_newer_has(
    standing: Cloud, capsys: pytest.CaptureFixture[str]
) -> None:
    first = standing.parameters()["Release"]
    standing.make()
    second = standing.parameters()["Release"]

    standing.make("--back", standing.stack)
    assert f"{standing.stack} goes back to {first}\n" in capsys.readouterr().out
    assert (standing.parameters()["Release"], standing.parameters()["ReleaseBefore"]) == (first, second)

    standing.package("old", "new", Given="")
    standing.make(standing.stack, settings().bucket)
    standing.make(standing.stack, settings().bucket, "Given=1")  # only a parameter changes
    assert standing.parameters()["ReleaseBefore"] == first
    standing.make("--back", standing.stack)

    client = boto3.client("cloudformation")
    listed = client.list_stack_resources(StackName=standing.stack)["StackResourceSummaries"]
    assert {"old", "new"} <= {one["LogicalResourceId"] for one in listed}
    template = client.get_template(StackName=standing.stack)["TemplateBody"]
    before = client.get_template_summary(TemplateURL=first)
    assert "Given" not in template["Parameters"]
    assert template["Resources"].keys() == {"API", "old", "new"}
    assert [one["ParameterKey"] for one in before["Parameters"]] == list(template["Parameters"])


def test_a_stack_without_a_release_before_says_so(standing: Cloud) -> None:
    with pytest.raises(SystemExit, match=f"^{standing.stack} knows no release before this one"):
        standing.make("--back", standing.stack)


def test_zip_and_template_have_the_digest_of_their_content_as_names(cloud: Cloud) -> None:
    s3, bucket = boto3.client("s3"), settings().bucket

    url = upload(cloud.build, cloud.stack, bucket)

    assert url.startswith(f"https://s3.eu-west-1.amazonaws.com/{bucket}/{cloud.stack}/")
    key = url.partition(f"{bucket}/")[2]
    template = json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read())
    code = template["Resources"]["API"]["Properties"]["CodeUri"].removeprefix(f"s3://{bucket}/")
    assert s3.get_object(Bucket=bucket, Key=code)["Body"].read() == b"old"
    assert upload(cloud.build, cloud.stack, bucket) == url
    cloud.package("other")
    assert upload(cloud.build, cloud.stack, bucket) != url


def test_a_name_that_aws_refuses_ends_the_command_before_anything_is_uploaded(cloud: Cloud) -> None:
    with pytest.raises(SystemExit, match="is no name of a stack"):
        cloud.make("no_name", "no-such-bucket")


@pytest.mark.parametrize("words", [[], ["payments-prod"]])
def test_the_command_without_a_stack_and_a_bucket_says_how_to_call_it(words: list[str]) -> None:
    with pytest.raises(SystemExit, match=r"^usage: python -m infra\.stack\.deploy STACK BUCKET"):
        deploy.main(words)


def test_an_update_is_watched_and_tried_while_it_can_still_go_back(standing: Cloud) -> None:
    name = f"{standing.stack}-Defects"
    alarm = {"EvaluationPeriods": 1, "ComparisonOperator": "GreaterThanThreshold", "Threshold": 0, "Period": 60}
    boto3.client("cloudwatch").put_metric_alarm(AlarmName=name, MetricName="m", Namespace="n", Statistic="Sum", **alarm)
    trial = Trial()
    standing.resource("UPDATE_COMPLETE", LONG_AGO)

    assert standing.update("UPDATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE", check=trial) == ADDRESS

    (made,) = standing.sent("CreateChangeSet")
    (trigger,) = made["RollbackConfiguration"]["RollbackTriggers"]  # SweepsSilent is new in this version
    assert trigger["Arn"] == f"arn:aws:cloudwatch:eu-west-1:123456789012:alarm:{name}"
    assert made["RollbackConfiguration"]["MonitoringTimeInMinutes"] == 15
    assert trial.addresses == [ADDRESS]
    assert standing.sent("CancelUpdateStack") == []
    standing.update("UPDATE_COMPLETE", minutes=0)  # alarms that ring are ignored
    assert standing.sent("CreateChangeSet")[1]["RollbackConfiguration"] == {
        "RollbackTriggers": [],
        "MonitoringTimeInMinutes": 0,
    }


def test_a_new_stack_is_neither_watched_nor_tried(cloud: Cloud) -> None:
    url, trial = upload(cloud.build, cloud.stack, settings().bucket), Trial()

    assert Deployment(cloud.stack).deploy(url, {}, trial, 15) == ADDRESS

    (made,) = cloud.sent("CreateChangeSet")
    assert made["RollbackConfiguration"] == {"RollbackTriggers": [], "MonitoringTimeInMinutes": 0}
    assert trial.addresses == []


def test_each_trigger_is_an_alarm_of_the_stage() -> None:
    assert set(TRIGGERS) <= {alarm.name for alarm in ALARMS}
    assert len(TRIGGERS) <= 5


def test_an_update_whose_payment_fails_is_cancelled(standing: Cloud, capsys: pytest.CaptureFixture[str]) -> None:
    standing.answers["CancelUpdateStack"] = [{}]
    standing.resource("UPDATE_COMPLETE", LONG_AGO)

    with pytest.raises(DeployError, match=f"^{standing.stack} is UPDATE_ROLLBACK_COMPLETE"):
        standing.update(
            "UPDATE_IN_PROGRESS", "UPDATE_ROLLBACK_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE", check=Trial("HTTP 500")
        )

    assert standing.sent("CancelUpdateStack") == [{"StackName": standing.stack}]
    assert "The smoke payment failed. HTTP 500\nThe update is cancelled" in capsys.readouterr().out


def test_an_update_that_ends_before_its_trial_is_tried_and_the_way_back_is_named(
    standing: Cloud, capsys: pytest.CaptureFixture[str]
) -> None:
    standing.answers["CancelUpdateStack"] = [refused("ValidationError", "The update is over.")]

    with pytest.raises(DeployError, match=r"cannot be cancelled\. .*is over\. Go back: docs/operator\.md#go-back"):
        standing.update("UPDATE_COMPLETE", check=Trial("HTTP 500"))

    printed = capsys.readouterr().out
    assert "The smoke payment failed. HTTP 500" in printed
    assert "The update is cancelled" not in printed


@pytest.mark.parametrize(
    ("resource", "changed", "updated"),
    [
        ("UPDATE_IN_PROGRESS", 2 * QUIET, 2 * QUIET),
        ("UPDATE_COMPLETE", QUIET / 2, 2 * QUIET),
        ("UPDATE_COMPLETE", 2 * QUIET, QUIET / 2),  # the first resource is not changed yet
    ],
)
def test_no_payment_is_tried_while_resources_change(
    standing: Cloud, resource: str, changed: timedelta, updated: timedelta
) -> None:
    trial, now = Trial(), datetime.now(UTC)
    standing.resource(resource, now - changed)

    with pytest.raises(DeployError, match="is UPDATE_ROLLBACK_COMPLETE"):
        standing.update(*["UPDATE_IN_PROGRESS"] * 3, "UPDATE_ROLLBACK_COMPLETE", check=trial, changed=now - updated)

    assert trial.addresses == []


def test_a_stack_whose_creation_failed_is_deleted_and_created_again(
    standing: Cloud, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = boto3.client("cloudformation").describe_stacks(StackName=standing.stack)["Stacks"]
    boto3.client("dynamodb").update_table(TableName=f"{standing.stack}-old", DeletionProtectionEnabled=False)
    standing.answers["DescribeStacks"] = [
        {"Stacks": [dict(found, StackStatus="ROLLBACK_COMPLETE")]},
        {"Stacks": [dict(found, StackStatus="DELETE_IN_PROGRESS")]},
        {"Stacks": [dict(found, StackStatus="DELETE_COMPLETE")]},
        {"Stacks": [dict(found, StackStatus="CREATE_COMPLETE")]},
    ]
    capsys.readouterr()

    standing.make()

    (deleted,) = standing.sent("DeleteStack")
    (made,) = standing.sent("CreateChangeSet")
    assert deleted["StackName"] == found["StackId"]
    assert made["ChangeSetType"] == "CREATE"
    assert capsys.readouterr().out.startswith(f"The creation of {standing.stack} failed before.")


def test_a_stack_whose_creation_failed_and_that_cannot_be_deleted_is_not_created(cloud: Cloud) -> None:
    cloud.show("ROLLBACK_COMPLETE", "DELETE_FAILED")
    cloud.answers["DeleteStack"] = [{}]
    deployment = Deployment(cloud.stack)
    cloud.fail(("Bucket", "DELETE_FAILED", "It is not empty"), token=deployment.token)

    with pytest.raises(DeployError, match=r"is DELETE_FAILED\. Bucket: It is not empty$"):
        deployment.deploy("https://s3/b/t", {}, None, 15)

    assert cloud.sent("CreateChangeSet") == []


def test_a_stack_that_takes_no_change_is_left_alone_and_cloudformation_says_why(standing: Cloud) -> None:
    state = f"Stack:{standing.stack} is in UPDATE_IN_PROGRESS state and can not be updated."
    standing.answers["CreateChangeSet"] = [refused("ValidationError", state)]

    with pytest.raises(SystemExit, match=state) as refusal:
        standing.make()

    assert "\n" not in str(refusal.value)
    assert standing.sent("ExecuteChangeSet") == []


@pytest.mark.parametrize(
    ("status", "step"),
    [("ROLLBACK_FAILED", "delete-stack"), ("UPDATE_ROLLBACK_FAILED", "continue-update-rollback")],
)
def test_a_stack_that_is_stuck_names_the_next_step(standing: Cloud, status: str, step: str) -> None:
    named = rf"is {status}\..* `aws cloudformation {step} --stack-name {standing.stack}`"
    with pytest.raises(DeployError, match=named):
        standing.update(status)

    standing.show(status)
    with pytest.raises(SystemExit, match=named):
        standing.make()


@pytest.mark.parametrize("code", ["ExpiredToken", "ValidationError"])
def test_only_a_missing_stack_is_taken_for_a_new_one(cloud: Cloud, code: str) -> None:
    assert Deployment(cloud.stack).described() is None
    cloud.show("REVIEW_IN_PROGRESS")
    assert Deployment(cloud.stack).described() is None

    cloud.answers["DescribeStacks"] = [refused(code, "1 validation error detected")]
    with pytest.raises(ClientError, match=code):
        Deployment(cloud.stack).described()


@pytest.mark.parametrize("lost", [400, 503, EndpointConnectionError(endpoint_url="https://x")])
def test_a_look_at_the_stack_that_is_throttled_or_lost_is_repeated(standing: Cloud, lost: Any) -> None:
    deployment, left = Deployment(standing.stack), [lost] * 3

    def lose(**_: Any) -> Any:
        if not left:
            return None
        problem = left.pop()
        if isinstance(problem, Exception):
            raise problem
        body = b"<ErrorResponse><Error><Code>Throttling</Code><Message>Rate</Message></Error></ErrorResponse>"
        return type("Answer", (AWSResponse,), {"content": body})("", problem, HTTPHeaders(), None)

    deployment.client.meta.events.register_first("before-send.cloudformation.DescribeStacks", lose)

    assert deployment.described()
    assert left == []


@pytest.mark.parametrize("statuses", [["UPDATE_IN_PROGRESS"], []])
def test_an_expired_token_says_that_the_change_goes_on(standing: Cloud, statuses: list[str]) -> None:
    standing.show("UPDATE_COMPLETE", *statuses)
    standing.answers["DescribeStacks"].append(EXPIRED)
    url = upload(standing.build, standing.stack, settings().bucket)

    with pytest.raises(DeployError, match=r"is expired.* goes on .* aws cloudformation describe-stacks"):
        Deployment(standing.stack).deploy(url, {}, None, 15)


def test_the_first_failure_of_the_change_is_named(standing: Cloud) -> None:
    standing.show("UPDATE_COMPLETE", "UPDATE_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE")
    url = upload(standing.build, standing.stack, settings().bucket)
    deployment = Deployment(standing.stack)
    standing.fail(
        (standing.stack, "UPDATE_ROLLBACK_IN_PROGRESS", "The following resources failed: First"),
        ("Third", "UPDATE_FAILED", "A later failure"),
        ("First", "CREATE_FAILED", "A quota is reached"),
        ("Next to it", "CREATE_FAILED", "Resource creation cancelled"),
        token=deployment.token,
    )
    events = standing.answers["DescribeStackEvents"][0]["StackEvents"]
    events.append(dict(events[1], LogicalResourceId="Old", ClientRequestToken="deploy-1"))

    with pytest.raises(DeployError, match=rf"^{standing.stack} is UPDATE_ROLLBACK_COMPLETE\. First: A quota is reach"):
        deployment.deploy(url, {}, None, 15)


def test_the_alarm_that_rolled_the_change_back_is_named(standing: Cloud) -> None:
    standing.show("UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE")
    deployment = Deployment(standing.stack)
    standing.fail((standing.stack, "UPDATE_ROLLBACK_IN_PROGRESS", "Alarm Defects rang"), token=deployment.token)

    with pytest.raises(DeployError, match="Alarm Defects rang"):
        deployment.deploy(upload(standing.build, standing.stack, settings().bucket), {}, None, 15)


def test_events_that_cannot_be_read_hide_no_failure(standing: Cloud, capsys: pytest.CaptureFixture[str]) -> None:
    standing.answers["DescribeStackEvents"] = [refused("AccessDenied", "Not you.")]

    with pytest.raises(DeployError, match=r"Not you\."):
        standing.update("UPDATE_ROLLBACK_COMPLETE")

    assert capsys.readouterr().out.endswith(f"{standing.stack} is UPDATE_ROLLBACK_COMPLETE.\n")


@pytest.mark.parametrize(
    "reason", ["The submitted information didn't contain changes.", "No updates are to be performed."]
)
def test_the_same_version_again_changes_nothing_but_protects_tables(
    standing: Cloud, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = f"{standing.stack}-old"
    boto3.client("dynamodb").update_table(TableName=table, DeletionProtectionEnabled=False)
    standing.answers["DescribeChangeSet"] = [
        {"Status": "CREATE_IN_PROGRESS"},
        {"Status": "FAILED", "StatusReason": reason},
    ]

    standing.make()

    assert capsys.readouterr().out.endswith(f"{standing.stack} is at {ADDRESS}, version 1.0.0+g1a2b\n")
    assert [len(standing.sent(name)) for name in ("DeleteChangeSet", "ExecuteChangeSet")] == [1, 0]
    assert is_protected(table)


def test_a_change_that_cloudformation_refuses_is_one_clear_line(standing: Cloud) -> None:
    standing.answers["DescribeChangeSet"] = [{"Status": "FAILED", "StatusReason": "Template format error"}]

    with pytest.raises(SystemExit, match=r"^Template format error \(docs/operator\.md#when-a-deployment-fails\)$"):
        standing.make()


ARN = "arn:aws:acm:{}:123456789012:certificate/a"
HOST = ("BaseDomain=api.example.com", f"CertificateArn={ARN.format('af-south-1')}")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("AlarmEmail=ops",), "AlarmEmail is ops: it is one e-mail address"),
        (("AlarmEmail=<ann@x.example>",), "AlarmEmail is <ann@x.example>"),
        (("AlarmEmail=a@b.example,c@d.example",), "AlarmEmail is a@b.example,c@d.example"),
        (("AlarmPhone=0829876543",), "AlarmPhone is 0829876543"),
        (("AlarmUrl=http://x.example",), "AlarmUrl is http://x.example"),
        (("AlarmEmail=a@b.example,SalesHours=9",), "AlarmEmail holds SalesHours: write a blank"),
        (("SubnetIds=subnet-1,SecurityGroupIds=sg-1",), "SubnetIds holds SecurityGroupIds: write a blank"),
        (("SmsCountries=ZA,", "NA"), "NA: a parameter is NAME=VALUE"),
        (("SalesHours=9", "SalesDays=6-4"), "SalesDays is 6-4"),
        (("SalesDays=1-6",), "SalesDays needs SalesHours"),
        (("SalesHours=9", "SalesFrom=24"), "SalesFrom is 24: it is at most 23"),
        (("SalesFrom=6.5", "SalesHours=-1"), "SalesHours is -1, which is not a whole number"),
        (("SmsCountries=ZA,XX",), "SmsCountries names XX, which is no country"),
        (("SmsCountries=za",), "SmsCountries is za"),
        (("MonthlyBudget=50",), "MonthlyBudget needs AlarmEmail"),
        (("BaseDomain=api.example.com",), "BaseDomain needs CertificateArn"),
        (("BaseDomain=https://api.example.com",), "BaseDomain is https"),
        (("BaseDomain=10.0.0.1",), "BaseDomain is 10.0.0.1"),
        (("BaseDomain=api..example",), "BaseDomain is api..example"),
        (("ProcessingDomain=p.example.com:443",), "ProcessingDomain is p.example.com:443"),
        (("AllowedOrigins=https://a..example",), "AllowedOrigins is https"),
        ((*HOST[:1], "CertificateArn=", "ProcessingDomain=api.example.com"), "ProcessingDomain is the same host"),
        (HOST, "CertificateArn is in the region af-south-1, and the stage in eu-west-1"),
        (("CertificateArn=arn:aws:iam::1:server-certificate/a",), "CertificateArn is arn:aws:iam"),
        (("SubnetIds=subnet-1",), "SubnetIds needs SecurityGroupIds"),
        (("SubnetIds=subnet-1", "SecurityGroupIds=vpc-1"), "SecurityGroupIds names vpc-1"),
        (("ApiConcurrency=1.5",), "ApiConcurrency is 1.5, which is not a whole number"),
        (("ApiConcurrency=900",), "need Lambda's quota of 1142 concurrent executions, and the account has 1000"),
        (("LogDays=100",), "LogDays is 100"),
        (("AlarmMail=a@b.example",), "There is no parameter AlarmMail; there is AlarmEmail"),
        (("MonthlyBudget=much", "AlarmEmail=a@b.example"), "MonthlyBudget is much: it is a number"),
    ],
)
def test_wrong_parameters_are_refused_by_name_before_anything_is_uploaded(
    cloud: Cloud, sam: dict[str, Any], words: tuple[str, ...], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cloud.build / "sam.json").write_text(json.dumps(sam))
    monkeypatch.setattr(deploy, "upload", None)

    with pytest.raises(SystemExit, match=re.escape(problem)):
        cloud.make(cloud.stack, settings().bucket, *words)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("AlarmEmail=ops",), "AlarmEmail is ops: it is one e-mail address"),
        (("AlarmMail=a@b.example",), "There is no parameter AlarmMail"),
        (("SubnetIds=subnet-1",), "SubnetIds needs SecurityGroupIds"),
        (HOST, "You must specify a region"),
    ],
)
def test_the_form_of_parameters_needs_no_region(
    cloud: Cloud, sam: dict[str, Any], words: tuple[str, ...], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cloud.build / "sam.json").write_text(json.dumps(sam))
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)

    with pytest.raises(SystemExit, match=re.escape(problem)):
        cloud.make(cloud.stack, settings().bucket, *words)
    assert cloud.calls == []


def test_right_parameters_are_no_problem(sam: dict[str, Any]) -> None:
    given = parameters.read(
        [
            *("AlarmEmail=ann.lee+night@ops.example.co.za", "AlarmPhone=+27829876543", "MonthlyBudget=50"),
            *("SalesHours=10", "SalesFrom=6", "SalesDays=1-6", "SmsCountries=ZA,NA", "BaseDomain=api.example.com"),
            *(
                f"CertificateArn={ARN.format('eu-west-1')}",
                "SubnetIds=subnet-0a1b,subnet-2c3d",
                "SecurityGroupIds=sg-4e",
            ),
            *(
                "AllowedOrigins=https://a.example,http://localhost:3000",
                "LogDays=90",
                "TicketEmail=",
                "ApiConcurrency=5",
            ),
        ]
    )

    assert list(parameters.problems(given, sam["Parameters"], "eu-west-1")) == []
    assert list(parameters.contradictions(given, {"SalesDays": "1-7"})) == []
    assert list(sam["Parameters"])[:10] == [
        *("AlarmEmail", "TicketEmail", "AlarmPhone", "MonthlyBudget", "SalesHours"),
        *("SalesFrom", "SalesDays", "SmsCountries", "BaseDomain", "CertificateArn"),
    ]


def test_a_deleted_stack_is_created_again_from_what_it_left(
    cloud: Cloud, sam: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    (cloud.build / "sam.json").write_text(json.dumps(sam))
    left = taking_in.template_of(sam, cloud.stack, "eu-west-1")["Resources"]
    key = boto3.client("kms").create_key()["KeyMetadata"]
    encrypted: Any = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": key["Arn"]}
    for arguments in create_table_arguments(cloud.stack):
        boto3.client("dynamodb").create_table(**arguments, SSESpecification=encrypted)
    boto3.client("s3").create_bucket(
        Bucket=left["Bucket"]["Properties"]["BucketName"], CreateBucketConfiguration={"LocationConstraint": "eu-west-1"}
    )
    with pytest.raises(SystemExit, match=f"{cloud.stack}-secret is missing: restore it first"):
        cloud.make("--take-in", cloud.stack, settings().bucket)
    arn = boto3.client("secretsmanager").create_secret(Name=left["Secret"]["Properties"]["Name"])["ARN"]
    cloud.answers |= {
        "DescribeStacks": [
            refused("ValidationError", f"Stack with id {cloud.stack} does not exist"),
            *({"Stacks": [{"StackId": "s", "StackName": cloud.stack, "StackStatus": one}]} for one in IMPORTED),
        ],
        "CreateChangeSet": [{"Id": "c", "StackId": "s"}],
        "DescribeChangeSet": [{"Status": "CREATE_COMPLETE"}],
        "ExecuteChangeSet": [{}],
        "ListStackResources": [{"StackResourceSummaries": []}],
        "DescribeAlarms": [{"MetricAlarms": []}],
    }

    cloud.make("--take-in", cloud.stack, settings().bucket)

    imported, updated = cloud.sent("CreateChangeSet")
    assert (imported["ChangeSetType"], updated["ChangeSetType"]) == ("IMPORT", "UPDATE")
    found = {one["LogicalResourceId"]: one["ResourceIdentifier"] for one in imported["ResourcesToImport"]}
    assert found.keys() == {n for n, one in sam["Resources"].items() if one.get("DeletionPolicy") == KEPT}
    assert (found["Key"], found["Secret"]) == ({"KeyId": key["KeyId"]}, {"Id": arn})
    assert found["Merchants"] == {"TableName": f"{cloud.stack}-merchants"}
    names = set(re.findall(r'"(?:Ref|Fn::GetAtt)": (?:\[)?"(\w+)"', json.dumps(left)))
    assert names <= left.keys(), "all else is not there yet"
    assert "has 20 resources of the deleted stack again" in capsys.readouterr().out


IMPORTED = ("IMPORT_COMPLETE", "IMPORT_COMPLETE", "UPDATE_COMPLETE")
