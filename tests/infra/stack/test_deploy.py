"""A deployment is watched and tried, and goes back by itself. botocore checks the parameters of each call."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator

from chalicelib.settings import settings
from infra.stack import deploy
from infra.stack.alarms import ALARMS
from infra.stack.deploy import QUIET_S, TRIGGERS, Change, DeployError, Deployment, given
from infra.stack.releases import upload
from infra.stack.smoke import SmokeError

STACK = "payments-prod"
ID = f"arn:aws:cloudformation:eu-west-1:123456789012:stack/{STACK}/1"
URL = "https://code.s3.eu-west-1.amazonaws.com/payments-prod/1.template"
ADDRESS = "https://api.example/api/"
TEMPLATE: dict[str, Any] = {"Parameters": {"AlarmEmail": {}, "ApiConcurrency": {}, "NewOne": {}}}


class CloudFormation:
    """Answers as CloudFormation does. After the change is executed, each look at the stack shows its next status."""

    def __init__(self, *statuses: str, is_new: bool = False, reason: str = "") -> None:
        self.statuses = list(statuses)
        self.stack: dict[str, Any] | None = None if is_new else {"StackId": ID, "StackStatus": "UPDATE_COMPLETE"}
        self.reason = reason
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.quiet_for = timedelta(seconds=QUIET_S + 1)
        self.is_executed = False
        self._model = boto3.client("cloudformation").meta.service_model

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation = "".join(word.title() for word in name.split("_"))

        def call(**parameters: Any) -> Any:
            shape = self._model.operation_model(operation).input_shape
            assert shape
            assert not ParamValidator().validate(parameters, shape).has_errors()
            self.calls.append((operation, parameters))
            return getattr(type(self), f"answer_{name}", lambda _: {})(self)

        return call

    def get_paginator(self, name: str) -> "CloudFormation":
        assert name == "list_stack_resources"
        return self

    def paginate(self, **_: Any) -> list[dict[str, Any]]:
        names = [f"{STACK}-{alarm.name}" for alarm in ALARMS if alarm.name != "OutboxSweepFails"]
        found = [{"PhysicalResourceId": name, "ResourceType": "AWS::CloudWatch::Alarm"} for name in names]
        return [{"StackResourceSummaries": found}]

    def answer_describe_stacks(self) -> Any:
        if self.is_executed:
            self.stack = {"StackId": ID, "StackStatus": self.statuses[0]}
            self.statuses[1:] and self.statuses.pop(0)
        if self.stack is None:
            raise ClientError(
                {"Error": {"Code": "ValidationError", "Message": f"Stack with id {STACK} does not exist"}},
                "DescribeStacks",
            )
        kept = [{"ParameterKey": name, "ParameterValue": "1"} for name in ("AlarmEmail", "ApiConcurrency", "GoneOne")]
        outputs = [{"OutputKey": "EndpointURL", "OutputValue": ADDRESS}]
        return {"Stacks": [{**self.stack, "Parameters": kept, "Outputs": outputs}]}

    def answer_describe_change_set(self) -> Any:
        return {"Status": "FAILED" if self.reason else "CREATE_COMPLETE", "StatusReason": self.reason}

    def answer_execute_change_set(self) -> Any:
        self.is_executed = True

    def answer_describe_stack_events(self) -> Any:
        at = datetime.now(UTC) - self.quiet_for
        rows = [
            ("APIHandler", "UPDATE_COMPLETE", ""),
            (STACK, "UPDATE_ROLLBACK_IN_PROGRESS", "Alarm ServerErrors rang"),
        ]
        return {
            "StackEvents": [
                {
                    "LogicalResourceId": name,
                    "StackName": STACK,
                    "ResourceStatus": status,
                    "ResourceStatusReason": reason,
                    "Timestamp": at,
                }
                for name, status, reason in rows
            ]
        }

    def sent(self, operation: str) -> list[dict[str, Any]]:
        return [parameters for name, parameters in self.calls if name == operation]


def deployed(
    client: CloudFormation, check: Callable[[str], object] | None = None, minutes: int = 15, **parameters: str
) -> str:
    deployment = Deployment(client, pause=lambda _: None)
    return deployment.deploy(Change(STACK, URL, TEMPLATE, parameters, deployment.described(STACK), minutes), check)


class Trial:
    """A smoke payment that succeeds or fails."""

    def __init__(self, problem: str = "") -> None:
        self.problem = problem
        self.addresses: list[str] = []

    def __call__(self, address: str) -> None:
        self.addresses.append(address)
        if self.problem:
            raise SmokeError(self.problem)


def test_an_update_is_watched_and_tried_while_it_can_still_go_back() -> None:
    client, trial = CloudFormation("UPDATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"), Trial()

    assert deployed(client, trial, ApiConcurrency="50") == ADDRESS

    (made,) = client.sent("CreateChangeSet")
    names = [one["Arn"].rpartition(":alarm:")[2] for one in made["RollbackConfiguration"]["RollbackTriggers"]]
    assert names == [
        f"{STACK}-{name}" for name in TRIGGERS if name != "OutboxSweepFails"
    ]  # which is new in this version
    assert made["RollbackConfiguration"]["MonitoringTimeInMinutes"] == 15
    assert made["ChangeSetType"] == "UPDATE"
    assert made["Parameters"] == [
        {"ParameterKey": "AlarmEmail", "UsePreviousValue": True},
        {"ParameterKey": "ApiConcurrency", "ParameterValue": "50"},
    ]
    assert trial.addresses == [ADDRESS]
    assert client.sent("CancelUpdateStack") == []


def test_an_update_whose_payment_fails_is_cancelled(capsys: pytest.CaptureFixture[str]) -> None:
    client = CloudFormation("UPDATE_IN_PROGRESS", "UPDATE_ROLLBACK_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE")

    with pytest.raises(DeployError, match="payments-prod is UPDATE_ROLLBACK_COMPLETE"):
        deployed(client, Trial("HTTP 500"))

    assert client.sent("CancelUpdateStack") == [{"StackName": STACK}]
    assert "The smoke payment failed. HTTP 500" in capsys.readouterr().out


def test_no_payment_is_tried_while_resources_change() -> None:
    client, trial = CloudFormation("UPDATE_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE"), Trial()
    client.quiet_for = timedelta(seconds=10)

    with pytest.raises(DeployError, match="Alarm ServerErrors rang"):
        deployed(client, trial)

    assert trial.addresses == []


def test_an_update_that_ends_before_its_trial_is_tried_afterwards() -> None:
    client, trial = CloudFormation("UPDATE_COMPLETE"), Trial("HTTP 500")

    with pytest.raises(DeployError, match=r"HTTP 500 Go back: docs/operator\.md#go-back"):
        deployed(client, trial)

    assert trial.addresses == [ADDRESS]


def test_an_update_without_watched_minutes_ignores_alarms_that_ring() -> None:
    client = CloudFormation("UPDATE_COMPLETE")

    deployed(client, minutes=0)

    (made,) = client.sent("CreateChangeSet")
    assert made["RollbackConfiguration"] == {"RollbackTriggers": [], "MonitoringTimeInMinutes": 0}


def test_a_new_stack_is_neither_watched_nor_tried() -> None:
    client, trial = CloudFormation("CREATE_IN_PROGRESS", "CREATE_COMPLETE", is_new=True), Trial()

    assert deployed(client, trial, AlarmEmail="ops@example.com") == ADDRESS

    (made,) = client.sent("CreateChangeSet")
    assert (made["ChangeSetType"], made["RollbackConfiguration"]) == (
        "CREATE",
        {"RollbackTriggers": [], "MonitoringTimeInMinutes": 0},
    )
    assert made["Parameters"] == [{"ParameterKey": "AlarmEmail", "ParameterValue": "ops@example.com"}]
    assert trial.addresses == []


@pytest.mark.parametrize(
    "reason", ["The submitted information didn't contain changes.", "No updates are to be performed."]
)
def test_the_same_version_again_changes_nothing(reason: str) -> None:
    client = CloudFormation(reason=reason)

    assert deployed(client) == ADDRESS
    assert [len(client.sent(name)) for name in ("DeleteChangeSet", "ExecuteChangeSet")] == [1, 0]


def test_a_change_that_cloudformation_refuses_is_one_clear_line() -> None:
    with pytest.raises(DeployError, match="Template format error"):
        deployed(CloudFormation(reason="Template format error"))


def test_each_trigger_is_an_alarm_of_the_stage() -> None:
    assert set(TRIGGERS) <= {alarm.name for alarm in ALARMS}
    assert len(TRIGGERS) <= 5


def test_an_unknown_parameter_is_refused_before_anything_is_changed() -> None:
    assert given(["AlarmEmail=a=b"], TEMPLATE) == {"AlarmEmail": "a=b"}
    with pytest.raises(DeployError, match="There is no parameter AlarmMail"):
        given(["AlarmMail=ops@example.com"], TEMPLATE)


def test_zip_and_template_are_uploaded_under_the_digest_of_their_content(moto: None, tmp_path: Path) -> None:
    del moto
    (tmp_path / "deployment.zip").write_bytes(b"zip")
    function = {"Type": "AWS::Serverless::Function", "Properties": {"CodeUri": "./deployment.zip"}}
    (tmp_path / "sam.json").write_text(json.dumps({"Resources": {"A": function, "T": {"Type": "Other"}}}))
    s3, bucket = boto3.client("s3"), settings().bucket

    template, url = upload(tmp_path, STACK, bucket, s3)

    code = template["Resources"]["A"]["Properties"]["CodeUri"]
    assert s3.get_object(Bucket=bucket, Key=code.removeprefix(f"s3://{bucket}/"))["Body"].read() == b"zip"
    stored = s3.get_object(Bucket=bucket, Key=url.partition("amazonaws.com/")[2])["Body"].read()
    assert json.loads(stored) == template
    assert upload(tmp_path, STACK, bucket, s3)[1] == url


def test_a_wrong_parameter_ends_the_command_with_one_line(
    moto: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del moto
    (tmp_path / "deployment.zip").write_bytes(b"zip")
    (tmp_path / "sam.json").write_text('{"Resources": {}, "Parameters": {}}')
    monkeypatch.setattr(deploy, "BUILD", tmp_path)

    with pytest.raises(SystemExit, match="There is no parameter Wrong: docs/parameters"):
        deploy.main([STACK, settings().bucket, "Wrong=1"])
