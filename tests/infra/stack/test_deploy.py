"""A deployment is watched and tried, and goes back by itself. botocore checks the parameters of each call."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.validate import ParamValidator

from chalicelib.settings import settings
from infra.stack import deploy
from infra.stack.alarms import ALARMS
from infra.stack.deploy import PATIENCE, QUIET_S, TRIGGERS, Change, DeployError, Deployment, given
from infra.stack.releases import read, stored, upload, with_new_tables_unprotected
from infra.stack.smoke import SmokeError

STACK = "payments-prod"
ID = f"arn:aws:cloudformation:eu-west-1:123456789012:stack/{STACK}/1"
URL = "https://code.s3.eu-west-1.amazonaws.com/payments-prod/1.template"
ADDRESS = "https://api.example/api/"
TEMPLATE: dict[str, Any] = {"Parameters": {"AlarmEmail": {}, "ApiConcurrency": {}, "NewOne": {}}}


def refusal(code: str, message: str = "No.", status: int = 400) -> ClientError:
    return ClientError(
        {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}},  # type: ignore[typeddict-item]
        "DescribeStacks",
    )


class CloudFormation:
    """Answers as CloudFormation does. After the change is executed, each look at the stack shows its next status."""

    def __init__(self, *statuses: str, is_new: bool = False, reason: str = "") -> None:
        self.statuses = list(statuses)
        self.stack: dict[str, Any] | None = None if is_new else {"StackId": ID, "StackStatus": "UPDATE_COMPLETE"}
        self.reason = reason
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.quiet_for = timedelta(seconds=QUIET_S + 1)
        self.is_executed = False
        self.failures: list[Exception] = []  # of the next looks at the stack, after the change is executed
        self.parameters = {"AlarmEmail": "1", "ApiConcurrency": "1", "GoneOne": "1"}
        self.events = [  # the newest first; each list is a page
            [("APIHandler", "UPDATE_COMPLETE", ""), (STACK, "UPDATE_ROLLBACK_IN_PROGRESS", "Alarm Defects rang")]
        ]
        self.looks_at_changes = ["CREATE_COMPLETE"]
        self.refused: dict[str, ClientError] = {}  # by operation
        self.after_deletion: str | None = None
        self._model = boto3.client("cloudformation").meta.service_model

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation = "".join(word.title() for word in name.split("_"))

        def call(**parameters: Any) -> Any:
            shape = self._model.operation_model(operation).input_shape
            assert shape
            assert not ParamValidator().validate(parameters, shape).has_errors()
            self.calls.append((operation, parameters))
            if operation in self.refused:
                raise self.refused[operation]
            return getattr(type(self), f"answer_{name}", lambda _: {})(self)

        return call

    def get_paginator(self, name: str) -> "CloudFormation":
        assert name == "list_stack_resources"
        return self

    def paginate(self, **_: Any) -> list[dict[str, Any]]:
        names = [f"{STACK}-{alarm.name}" for alarm in ALARMS if alarm.name != "SweepsSilent"]
        found = [{"PhysicalResourceId": name, "ResourceType": "AWS::CloudWatch::Alarm"} for name in names]
        return [{"StackResourceSummaries": found}]

    def answer_describe_stacks(self) -> Any:
        if self.is_executed and self.failures:
            raise self.failures.pop(0)
        if self.is_executed:
            self.stack = {"StackId": ID, "StackStatus": self.statuses[0]}
            self.statuses[1:] and self.statuses.pop(0)
        if self.stack is None:
            missing = refusal("ValidationError", f"Stack with id {STACK} does not exist")
            raise missing
        kept = [{"ParameterKey": name, "ParameterValue": value} for name, value in self.parameters.items()]
        outputs = [{"OutputKey": "EndpointURL", "OutputValue": ADDRESS}]
        return {"Stacks": [{**self.stack, "Parameters": kept, "Outputs": outputs}]}

    def answer_describe_change_set(self) -> Any:
        made = self.looks_at_changes[0]
        self.looks_at_changes[1:] and self.looks_at_changes.pop(0)
        return {"Status": "FAILED" if self.reason else made, "StatusReason": self.reason}

    def answer_execute_change_set(self) -> Any:
        self.is_executed = True

    def answer_delete_stack(self) -> Any:
        self.stack = {"StackId": ID, "StackStatus": self.after_deletion} if self.after_deletion else None

    def answer_describe_stack_events(self) -> Any:
        at = datetime.now(UTC) - self.quiet_for
        rows, more = self.events[0], {"NextToken": "next"} if self.events[1:] else {}
        self.events[1:] and self.events.pop(0)
        return more | {
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
    assert names == [f"{STACK}-{name}" for name in TRIGGERS if name != "SweepsSilent"]  # which is new in this version
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


@pytest.mark.parametrize(("seconds", "status"), [(10, "UPDATE_COMPLETE"), (QUIET_S + 1, "UPDATE_IN_PROGRESS")])
def test_no_payment_is_tried_while_resources_change(seconds: int, status: str) -> None:
    client, trial = CloudFormation("UPDATE_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE"), Trial()
    client.quiet_for = timedelta(seconds=seconds)
    client.events[0][0] = ("APIHandler", status, "")

    with pytest.raises(DeployError, match="Alarm Defects rang"):
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


def test_a_stack_whose_creation_failed_is_deleted_and_created_again() -> None:
    client = CloudFormation("CREATE_IN_PROGRESS", "CREATE_COMPLETE")
    client.stack = {"StackId": ID, "StackStatus": "ROLLBACK_COMPLETE"}

    assert deployed(client, AlarmEmail="ops@example.com") == ADDRESS

    assert client.sent("DeleteStack") == [{"StackName": ID}]
    (made,) = client.sent("CreateChangeSet")
    assert made["ChangeSetType"] == "CREATE"
    assert made["Parameters"] == [{"ParameterKey": "AlarmEmail", "ParameterValue": "ops@example.com"}]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("UPDATE_IN_PROGRESS", "another change runs. Look at it: aws cloudformation describe-stacks"),
        ("CREATE_IN_PROGRESS", "another change runs"),
        ("ROLLBACK_IN_PROGRESS", "another change runs"),
        ("DELETE_IN_PROGRESS", "another change runs"),
        ("UPDATE_ROLLBACK_FAILED", "aws cloudformation continue-update-rollback --stack-name payments-prod"),
        ("ROLLBACK_FAILED", "aws cloudformation delete-stack --stack-name payments-prod"),
        ("DELETE_FAILED", "aws cloudformation delete-stack"),
        ("CREATE_FAILED", "aws cloudformation rollback-stack"),
        ("UPDATE_FAILED", "aws cloudformation rollback-stack"),
    ],
)
def test_a_stack_that_takes_no_change_is_left_alone_and_the_next_step_is_named(status: str, said: str) -> None:
    client = CloudFormation()
    client.stack = {"StackId": ID, "StackStatus": status}

    with pytest.raises(DeployError) as refused:
        deployed(client)

    assert said in str(refused.value)
    assert status in str(refused.value)
    assert "\n" not in str(refused.value)
    assert [name for name, _ in client.calls if name not in {"DescribeStacks", "DescribeStackEvents"}] == []


@pytest.mark.parametrize(
    "failure",
    [refusal("Throttling"), refusal("InternalFailure", status=500), EndpointConnectionError(endpoint_url="https://x")],
)
def test_a_look_at_the_stack_that_is_throttled_or_lost_is_repeated(failure: Exception) -> None:
    client = CloudFormation("UPDATE_IN_PROGRESS", "UPDATE_COMPLETE")
    client.failures = [failure, failure]

    assert deployed(client) == ADDRESS


def test_an_expired_token_says_that_the_change_goes_on() -> None:
    client = CloudFormation("UPDATE_IN_PROGRESS", "UPDATE_COMPLETE")
    client.failures = [refusal("ExpiredToken", "The security token included in the request is expired")]

    with pytest.raises(DeployError, match=r"is expired.* goes on .* aws cloudformation describe-stacks"):
        deployed(client)


def test_an_expired_token_while_tables_are_new_says_that_they_are_not_protected() -> None:
    client = CloudFormation("CREATE_IN_PROGRESS", "CREATE_COMPLETE", is_new=True)
    client.failures = [refusal("ExpiredToken", "The security token included in the request is expired")]
    change = Change(STACK, URL, TEMPLATE, {}, None, 15, first_url="https://first")

    with pytest.raises(DeployError, match=r"goes on .* deploy again: only that protects the new tables"):
        Deployment(client, pause=lambda _: None).deploy(change, None)


def test_only_a_missing_stack_is_taken_for_a_new_one() -> None:
    client = CloudFormation()
    client.is_executed = True
    client.failures = [refusal("ExpiredToken"), refusal("ValidationError", "1 validation error detected")]

    for _ in range(2):
        with pytest.raises(ClientError):
            Deployment(client).described(STACK)


def test_new_tables_are_protected_when_they_stand() -> None:
    client = CloudFormation("CREATE_IN_PROGRESS", "CREATE_COMPLETE", "UPDATE_COMPLETE", is_new=True)
    change = Change(STACK, URL, TEMPLATE, {}, None, 15, first_url="https://first")

    assert Deployment(client, pause=lambda _: None).deploy(change, Trial("no trial")) == ADDRESS

    made = client.sent("CreateChangeSet")
    assert [(one["TemplateURL"], one["ChangeSetType"]) for one in made] == [
        ("https://first", "CREATE"),
        (URL, "UPDATE"),
    ]
    assert [one["RollbackConfiguration"]["MonitoringTimeInMinutes"] for one in made] == [0, 0]


def test_only_tables_that_do_not_stand_are_created_without_protection() -> None:
    template = {
        "Resources": {
            name: {"Type": "AWS::DynamoDB::Table", "Properties": {"DeletionProtectionEnabled": True}}
            for name in ("Old", "New")
        }
    }

    first = with_new_tables_unprotected(template, {"Old"})

    assert first
    assert [one["Properties"]["DeletionProtectionEnabled"] for one in first["Resources"].values()] == [True, False]
    assert with_new_tables_unprotected(template, {"Old", "New"}) is None


RELEASES: dict[str, Any] = {"Parameters": {"Release": {}, "ReleaseBefore": {}}}


@pytest.mark.parametrize(
    ("known", "url", "sent"),
    [
        ({}, "2", ("2", "")),
        ({"Release": "1", "ReleaseBefore": ""}, "2", ("2", "1")),
        ({"Release": "2", "ReleaseBefore": "1"}, "2", ("2", "1")),  # only a parameter changes
        ({"Release": "2", "ReleaseBefore": "1"}, "1", ("1", "2")),  # the way back, and then forward again
    ],
)
def test_the_stack_remembers_the_release_before(known: dict[str, str], url: str, sent: tuple[str, str]) -> None:
    client = CloudFormation("UPDATE_COMPLETE")
    client.parameters = known
    deployment = Deployment(client, pause=lambda _: None)

    deployment.deploy(Change(STACK, url, RELEASES, {}, deployment.described(STACK), 0), None)

    (made,) = client.sent("CreateChangeSet")
    assert [one["ParameterValue"] for one in made["Parameters"]] == list(sent)


def release(bucket: str, s3: Any, *names: str) -> tuple[str, str]:
    """Store a template with these tables. Return its address and the key of its zip."""
    key = f"{'-'.join(names)}.zip"
    s3.put_object(Bucket=bucket, Key=key, Body=b"zip")
    function = {"Type": "AWS::Serverless::Function", "Properties": {"CodeUri": f"s3://{bucket}/{key}"}}
    table = {"Type": "AWS::DynamoDB::Table", "DeletionPolicy": "RetainExceptOnCreate", "Properties": {}}
    template = {**RELEASES, "Resources": {"Api": function, **dict.fromkeys(names, table)}}
    return stored(template, STACK, bucket, s3), key


def gone_back(client: CloudFormation, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    real = boto3.client
    monkeypatch.setattr(boto3, "client", lambda name: client if name == "cloudformation" else real(name))
    monkeypatch.setattr("time.sleep", lambda _: None)
    deploy.main(["--back", STACK])
    (made,) = client.sent("CreateChangeSet")
    return made


def test_going_back_deploys_the_very_template_of_the_release_before(
    moto: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    del moto
    s3, bucket = boto3.client("s3"), settings().bucket
    (before, zip_key), (now, _) = release(bucket, s3, "Old"), release(bucket, s3)
    client = CloudFormation("UPDATE_COMPLETE")
    client.parameters = {"Release": now, "ReleaseBefore": before}

    made = gone_back(client, monkeypatch)

    assert made["TemplateURL"] == before
    assert [one["ParameterValue"] for one in made["Parameters"]] == [before, now]
    assert made["RollbackConfiguration"]["RollbackTriggers"]
    s3.delete_object(Bucket=bucket, Key=zip_key)
    with pytest.raises(SystemExit, match=r"Old\.zip is gone"):
        gone_back(client, monkeypatch)


def test_going_back_keeps_a_table_that_only_the_new_release_has(moto: None, monkeypatch: pytest.MonkeyPatch) -> None:
    del moto
    s3, bucket = boto3.client("s3"), settings().bucket
    (before, _), (now, _) = release(bucket, s3, "Old"), release(bucket, s3, "Old", "New")
    client = CloudFormation("UPDATE_COMPLETE")
    client.parameters = {"Release": now, "ReleaseBefore": before}

    template = read(gone_back(client, monkeypatch)["TemplateURL"], s3)

    assert template["Resources"].keys() == {"Api", "Old", "New"}
    assert template["Resources"]["Api"]["Properties"]["CodeUri"].endswith("/Old.zip")


def test_a_stack_without_a_release_before_says_so(moto: None, monkeypatch: pytest.MonkeyPatch) -> None:
    del moto
    with pytest.raises(SystemExit, match="payments-prod knows no release before this one"):
        gone_back(CloudFormation(), monkeypatch)


def test_the_first_upgrade_stores_the_template_that_the_stack_does_not_know(moto: None, tmp_path: Path) -> None:
    del moto
    (tmp_path / "deployment.zip").write_bytes(b"zip")
    (tmp_path / "sam.json").write_text(json.dumps({**RELEASES, "Resources": {}}))
    s3, bucket = boto3.client("s3"), settings().bucket
    address, _ = release(bucket, s3, "Old")

    class WithTemplate(CloudFormation):
        def answer_get_template(self) -> dict[str, Any]:
            return {"TemplateBody": read(address, s3)}

    change = deploy.new_change(Deployment(WithTemplate()), s3, STACK, bucket, [], tmp_path)

    assert change.current_url == address


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("cn-north-1", "code.s3.cn-north-1.amazonaws.com.cn"),
        ("eusc-de-east-1", "code.s3.eusc-de-east-1.amazonaws.eu"),
        ("eu-west-1", "code.s3.eu-west-1.amazonaws.com"),
        ("EU", "code.s3.eu-west-1.amazonaws.com"),
        (None, "code.s3.us-east-1.amazonaws.com"),
    ],
)
def test_a_template_has_the_address_of_its_bucket_in_every_region(location: str | None, host: str) -> None:
    s3 = Mock(get_bucket_location=lambda Bucket: {"LocationConstraint": location})  # noqa: ARG005, N803

    assert urlsplit(stored({}, STACK, "code", s3)).netloc == host


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


def test_a_wrong_parameter_ends_the_command_with_one_line(moto: None, tmp_path: Path) -> None:
    del moto
    (tmp_path / "deployment.zip").write_bytes(b"zip")
    (tmp_path / "sam.json").write_text('{"Resources": {}, "Parameters": {}}')

    with pytest.raises(SystemExit, match="There is no parameter Wrong: docs/parameters"):
        deploy.main([STACK, settings().bucket, "Wrong=1"], tmp_path)


def test_the_first_failure_of_the_latest_change_is_named() -> None:
    client = CloudFormation("UPDATE_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE")
    client.events = [
        [("Third", "UPDATE_FAILED", "A later failure"), ("Second", "CREATE_FAILED", "Resource creation cancelled")],
        [
            ("First", "CREATE_FAILED", "A quota is reached"),
            ("Next to it", "CREATE_FAILED", "Resource creation cancelled"),
            (STACK, "UPDATE_IN_PROGRESS", ""),
            ("Old", "UPDATE_FAILED", "Old"),
        ],
    ]

    with pytest.raises(DeployError, match=rf"^{STACK} is UPDATE_ROLLBACK_COMPLETE\. First: A quota is reached$"):
        deployed(client)


def test_events_that_cannot_be_read_hide_no_failure() -> None:
    client = CloudFormation("UPDATE_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE")
    client.refused = {"DescribeStackEvents": refusal("AccessDenied", "Not you.")}

    with pytest.raises(DeployError, match=r"is UPDATE_ROLLBACK_COMPLETE\. Its events cannot be read\. .*Not you\."):
        deployed(client)


def test_a_change_is_executed_when_it_is_made_and_the_stack_is_clean() -> None:
    client = CloudFormation("UPDATE_COMPLETE")
    client.stack = {"StackId": ID, "StackStatus": "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"}
    client.looks_at_changes = ["CREATE_PENDING", "CREATE_IN_PROGRESS", "CREATE_COMPLETE"]
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        client.stack = {"StackId": ID, "StackStatus": "UPDATE_COMPLETE"}

    deployment = Deployment(client, pause=pause)
    assert deployment.deploy(Change(STACK, URL, TEMPLATE, {}, deployment.described(STACK), 15), None) == ADDRESS
    assert len(pauses) == 3  # one until the stack is clean
    names = [name for name, _ in client.calls]
    assert names[names.index("ExecuteChangeSet") - 3 : names.index("ExecuteChangeSet")] == ["DescribeChangeSet"] * 3


def test_a_stack_whose_creation_failed_and_that_cannot_be_deleted_is_not_created() -> None:
    client = CloudFormation("CREATE_COMPLETE")
    client.stack, client.after_deletion = {"StackId": ID, "StackStatus": "ROLLBACK_COMPLETE"}, "DELETE_FAILED"
    client.events = [[("Bucket", "DELETE_FAILED", "It is not empty"), (STACK, "DELETE_IN_PROGRESS", "")]]

    with pytest.raises(DeployError, match=r"cannot be deleted: it is DELETE_FAILED\. Bucket: It is not empty"):
        deployed(client)
    assert client.sent("CreateChangeSet") == []


@pytest.mark.parametrize(
    ("statuses", "said", "changes"),
    [
        (("CREATE_IN_PROGRESS", "ROLLBACK_COMPLETE"), rf"^{STACK} is ROLLBACK_COMPLETE\.", 1),
        (
            ("CREATE_COMPLETE", "CREATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"),
            r"^The new tables are not protected .* again\.",
            2,
        ),
    ],
)
def test_a_failure_says_whether_new_tables_stand_without_protection(
    statuses: tuple[str, ...], said: str, changes: int
) -> None:
    client = CloudFormation(*statuses, is_new=True)
    change = Change(STACK, URL, TEMPLATE, {}, None, 15, first_url="https://first")

    with pytest.raises(DeployError, match=said) as failed:
        Deployment(client, pause=lambda _: None).deploy(change, None)
    assert "only that protects" not in str(failed.value)
    assert len(client.sent("ExecuteChangeSet")) == changes


def test_looks_at_the_stack_end_at_last() -> None:
    client = CloudFormation("UPDATE_COMPLETE")
    client.failures = [refusal("Throttling")] * PATIENCE
    assert deployed(client) == ADDRESS

    client = CloudFormation("UPDATE_COMPLETE")
    client.failures = [refusal("Throttling")] * (PATIENCE + 1)
    with pytest.raises(DeployError, match=r"Throttling.* goes on without this command"):
        deployed(client)


def test_an_update_that_cannot_be_cancelled_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    client = CloudFormation("UPDATE_IN_PROGRESS", "UPDATE_COMPLETE")
    client.refused = {"CancelUpdateStack": refusal("ValidationError", "The update is over.")}

    with pytest.raises(DeployError, match="The smoke payment failed, and the update has ended"):
        deployed(client, Trial("No answer."))
    printed = capsys.readouterr().out
    assert "The update cannot be cancelled." in printed
    assert "is cancelled: CloudFormation" not in printed


@pytest.mark.parametrize("words", [[], [STACK]])
def test_the_command_without_a_stack_and_a_bucket_says_how_to_call_it(words: list[str]) -> None:
    with pytest.raises(SystemExit, match=r"^usage: python -m infra\.stack\.deploy STACK BUCKET"):
        deploy.main(words)
