"""The command behind `make deploy`: `python -m infra.stack.deploy STACK BUCKET [NAME=VALUE ...]`.

It uploads build/deployment.zip and the template, and lets CloudFormation create or update the stack.

An update is watched. CloudFormation goes back to the version before if an alarm of TRIGGERS rings during the update or
in the quarter of an hour after it. Meanwhile the smoke payment runs on the new version. If it fails, the update is
cancelled, which goes back as well. A new stack has neither alarms nor a merchant, so it is only created.
WATCHED_MINUTES=0 watches nothing: for the correction of a defect whose alarm rings already.
"""

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from infra.stack.package import BUILD
from infra.stack.smoke import SmokeError, configured, smoke, till

# Only our own defects: an outage elsewhere must not prevent a deployment. CloudFormation takes five.
TRIGGERS = ("Defects", "SweepsSilent")
WATCHED_MINUTES = "15"
PAUSE_S = 5.0
QUIET_S = 120.0  # without a new event for so long, the resources are changed and CloudFormation watches
GOING_BACK = "docs/operator.md#go-back-to-the-release-before"

Check = Callable[[str], object]  # a trial of the API at an address; it raises SmokeError


class DeployError(Exception):
    """The reason why the new version is not deployed, or not sound, in one line."""


class Change(NamedTuple):
    """A change of a stack: its template, its parameters by name, and the version before, if there is one.

    The alarms are watched for so many minutes after the change; 0 watches none.
    """

    stack: str
    template_url: str
    template: Mapping[str, Any]
    parameters: Mapping[str, str]
    before: Mapping[str, Any] | None
    watched_minutes: int


class Deployment:
    """The calls of CloudFormation for one change. `pause` waits so many seconds."""

    def __init__(self, client: Any, pause: Callable[[float], None] = time.sleep) -> None:
        self._client = client
        self._pause = pause

    def described(self, stack: str) -> Mapping[str, Any] | None:
        """Return the description of a stack; None if there is none."""
        with suppress(ClientError):
            found: Mapping[str, Any] = self._client.describe_stacks(StackName=stack)["Stacks"][0]
            return found if found["StackStatus"] != "REVIEW_IN_PROGRESS" else None
        return None

    def deploy(self, change: Change, check: Check | None) -> str:
        """Create or update the stack, and return its address. Raises DeployError."""
        name = f"deploy-{int(time.time())}"
        if not self._prepare(change, name):
            return _address(change.before or {})
        self._client.execute_change_set(StackName=change.stack, ChangeSetName=name)
        is_tried = change.before is None or check is None
        for status in self._statuses(change.stack):
            if status == "UPDATE_IN_PROGRESS" and not is_tried and self._is_quiet(change.stack):
                is_tried = True
                self._try(change.stack, check)
        stack = self.described(change.stack) or {"StackStatus": "DELETED"}
        if stack["StackStatus"] not in {"CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"}:
            message = f"{change.stack} is {stack['StackStatus']}. {self._first_failure(change.stack)}"
            raise DeployError(message)
        if not is_tried and check is not None:
            self._try_late(stack, check)
        return _address(stack)

    def _prepare(self, change: Change, name: str) -> bool:
        """Make the change set. Return whether there is a change. The stack is watched if it has its alarms already."""
        self._client.create_change_set(
            StackName=change.stack,
            ChangeSetName=name,
            ChangeSetType="UPDATE" if change.before else "CREATE",
            TemplateURL=change.template_url,
            Parameters=_parameters(change),
            Capabilities=["CAPABILITY_IAM"],
            RollbackConfiguration={
                "RollbackTriggers": self._triggers(change),
                "MonitoringTimeInMinutes": change.watched_minutes if change.before else 0,
            },
        )
        while (made := self._client.describe_change_set(StackName=change.stack, ChangeSetName=name))["Status"] not in {
            "CREATE_COMPLETE",
            "FAILED",
        }:
            self._pause(PAUSE_S)
        if made["Status"] == "CREATE_COMPLETE":
            return True
        self._client.delete_change_set(StackName=change.stack, ChangeSetName=name)
        reason = made.get("StatusReason", "")
        if "didn't contain changes" in reason or "No updates are to be performed" in reason:
            return False
        raise DeployError(reason)

    def _triggers(self, change: Change) -> list[dict[str, str]]:
        """Return the alarms to watch. CloudFormation goes back at once if one is missing, so only those that exist."""
        if change.before is None or not change.watched_minutes:
            return []
        _, partition, _, region, account, *_ = change.before["StackId"].split(":")
        present = {
            one["PhysicalResourceId"]
            for page in self._client.get_paginator("list_stack_resources").paginate(StackName=change.stack)
            for one in page["StackResourceSummaries"]
            if one["ResourceType"] == "AWS::CloudWatch::Alarm"
        }
        wanted = [name for name in (f"{change.stack}-{one}" for one in TRIGGERS) if name in present]
        arns = [f"arn:{partition}:cloudwatch:{region}:{account}:alarm:{name}" for name in wanted]
        return [{"Arn": arn, "Type": "AWS::CloudWatch::Alarm"} for arn in arns]

    def _statuses(self, stack: str) -> Iterator[str]:
        """Yield the status until the stack is at rest."""
        while True:
            status = str((self.described(stack) or {"StackStatus": "DELETED"})["StackStatus"])
            yield status
            if not status.endswith("_IN_PROGRESS") or status == "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS":
                return
            self._pause(PAUSE_S)

    def _is_quiet(self, stack: str) -> bool:
        """Return whether no resource has changed for two minutes, and none is being changed."""
        events = self._client.describe_stack_events(StackName=stack)["StackEvents"]
        latest: dict[str, str] = {}
        for event in events:  # the newest are first
            latest.setdefault(event["LogicalResourceId"], event["ResourceStatus"])
        own = events[0]["StackName"]
        if any(status.endswith("_IN_PROGRESS") for name, status in latest.items() if name != own):
            return False
        age = time.time() - events[0]["Timestamp"].timestamp()
        return bool(age >= QUIET_S)

    def _try(self, stack: str, check: Check | None) -> None:
        """Try the new version. If that fails, cancel the update: CloudFormation goes back to the version before."""
        if check is None:
            return
        try:
            check(_address(self.described(stack) or {}))
        except SmokeError as problem:
            print(f"The smoke payment failed. {problem}", flush=True)
            print("The update is cancelled: CloudFormation goes back to the version before.", flush=True)
            self._client.cancel_update_stack(StackName=stack)

    def _try_late(self, stack: Mapping[str, Any], check: Check) -> None:
        try:
            check(_address(stack))
        except SmokeError as problem:
            message = f"The smoke payment failed, and the update has ended. {problem} Go back: {GOING_BACK}"
            raise DeployError(message) from problem

    def _first_failure(self, stack: str) -> str:
        with suppress(ClientError):
            events = self._client.describe_stack_events(StackName=stack)["StackEvents"]
            for event in events:
                if event["ResourceStatus"].endswith("ROLLBACK_IN_PROGRESS"):
                    return str(event.get("ResourceStatusReason", ""))
        return ""


def _parameters(change: Change) -> list[dict[str, Any]]:
    """Return the given parameters, and the others of the template with the values that they have."""
    kept = {one["ParameterKey"] for one in (change.before or {}).get("Parameters", [])}
    return [
        {"ParameterKey": name, "ParameterValue": change.parameters[name]}
        if name in change.parameters
        else {"ParameterKey": name, "UsePreviousValue": True}
        for name in change.template["Parameters"]
        if name in change.parameters or name in kept
    ]


def _address(stack: Mapping[str, Any]) -> str:
    return next((one["OutputValue"] for one in stack.get("Outputs", []) if one["OutputKey"] == "EndpointURL"), "")


def given(words: Sequence[str], template: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters of the command line. Raises DeployError for one that the template lacks."""
    parameters = dict(word.partition("=")[::2] for word in words)
    if wrong := [name for name in parameters if name not in template["Parameters"]]:
        message = f"There is no parameter {wrong[0]}: docs/parameters.md lists them."
        raise DeployError(message)
    return parameters


def upload(build: Path, stack: str, bucket: str, s3: Any) -> tuple[dict[str, Any], str]:
    """Upload the zip and the template under names of their content. Return the template and its address."""
    content = (build / "deployment.zip").read_bytes()
    code = f"{stack}/{hashlib.sha256(content).hexdigest()}.zip"
    s3.put_object(Bucket=bucket, Key=code, Body=content)
    template = json.loads((build / "sam.json").read_text(encoding="utf-8"))
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = f"s3://{bucket}/{code}"
    text = json.dumps(template).encode()
    name = f"{stack}/{hashlib.sha256(text).hexdigest()}.template"
    s3.put_object(Bucket=bucket, Key=name, Body=text)
    location = s3.get_bucket_location(Bucket=bucket).get("LocationConstraint") or "us-east-1"
    return template, f"https://{bucket}.s3.{location}.amazonaws.com/{name}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Deploy the package in build/."""
    stack, bucket, *words = sys.argv[1:] if arguments is None else arguments
    trial = configured()
    check = (lambda api: smoke(till(api, *trial))) if trial else None
    try:
        deployment = Deployment(boto3.client("cloudformation"))
        template, url = upload(BUILD, stack, bucket, boto3.client("s3"))
        minutes = int(os.environ.get("WATCHED_MINUTES") or WATCHED_MINUTES)
        change = Change(stack, url, template, given(words, template), deployment.described(stack), minutes)
        if change.before and check is None:
            print("No payment is tried: SMOKE_LOGIN is not set.", flush=True)
        address = deployment.deploy(change, check)
    except (DeployError, BotoCoreError, ClientError) as problem:
        sys.exit(str(problem))
    print(f"{stack} is at {address}")


if __name__ == "__main__":
    main()
