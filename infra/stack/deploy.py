"""The command behind `make deploy`: `python -m infra.stack.deploy STACK BUCKET [NAME=VALUE ...]`.

It uploads build/deployment.zip and the template, and lets CloudFormation create or update the stack. With
`--back STACK` it deploys the template that was deployed before, whose address is a parameter of the stack.

An update is watched. CloudFormation goes back to the version before if an alarm of TRIGGERS rings during the update or
in the quarter of an hour after it. Meanwhile the smoke payment runs on the new version. If it fails, the update is
cancelled, which goes back as well. A new stack has neither alarms nor a merchant, so it is only created.
WATCHED_MINUTES=0 watches nothing: for the correction of a defect whose alarm rings already.

A table is created without protection from deletion, and protected by a second update: a rollback must delete it.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

import boto3
from botocore.exceptions import BotoCoreError, ClientError, ConnectionError, HTTPClientError  # noqa: A004  botocore's
from botocore.parsers import ResponseParserError

from infra.stack import names
from infra.stack.package import BUILD
from infra.stack.releases import (
    ReleaseError,
    bucket_of,
    read,
    stored,
    upload,
    with_kept_resources,
    with_new_tables_unprotected,
)
from infra.stack.resources import TABLE_TYPE
from infra.stack.smoke import SmokeError, configured, smoke, till

# Only our own defects: an outage elsewhere must not prevent a deployment. CloudFormation takes five.
TRIGGERS = ("Defects", "SweepsSilent")
WATCHED_MINUTES = "15"
PAUSE_S = 5.0
QUIET_S = 120.0  # without a new event for so long, the resources are changed and CloudFormation watches
PATIENCE = 120  # attempts of a look at the stack, with a pause after each
GOING_BACK = "docs/operator.md#go-back-to-the-release-before"
AGAIN = "docs/operator.md#when-a-deployment-fails"
ALARM_TYPE = "AWS::CloudWatch::Alarm"
RELEASE, RELEASE_BEFORE = "Release", "ReleaseBefore"  # parameters: the addresses of templates
FAILED_CREATION = "ROLLBACK_COMPLETE"  # no update can lead to this status: the stack was never complete
DONE = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
STARTS = ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS")
# The command that comes before the next deployment, by the status of the stack.
REPAIRS = {
    "CREATE_FAILED": "rollback-stack",
    "UPDATE_FAILED": "rollback-stack",
    "UPDATE_ROLLBACK_FAILED": "continue-update-rollback",
    "ROLLBACK_FAILED": "delete-stack",
    "DELETE_FAILED": "delete-stack",
}
PASSING = {"Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException"}
SERVER_ERROR = 500
OUT_OF_REACH = (ConnectionError, HTTPClientError, ResponseParserError)  # the last: a proxy answered
CALL_FAILS = (BotoCoreError, ClientError, ResponseParserError)

BACK = "--back"

Found = TypeVar("Found")
Words = ParamSpec("Words")
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
    first_url: str = ""  # the template that creates the new tables, if there are any
    current_url: str = ""  # the address of the version before, if the stack does not know it


class Deployment:
    """The calls of CloudFormation for one change. `pause` waits so many seconds."""

    def __init__(self, client: Any, pause: Callable[[float], None] = time.sleep) -> None:
        self._client = client
        self._pause = pause

    def described(self, stack: str) -> Mapping[str, Any] | None:
        """Return the description of a stack, by its name or ID; None if there is none."""
        try:
            found: Mapping[str, Any] = self._client.describe_stacks(StackName=stack)["Stacks"][0]
        except ClientError as problem:
            error = problem.response["Error"]
            if error["Code"] == "ValidationError" and "does not exist" in error.get("Message", ""):
                return None
            raise
        return found if found["StackStatus"] != "REVIEW_IN_PROGRESS" else None

    def standing(self, stack: str, kind: str) -> list[Mapping[str, Any]]:
        """Return the resources of this type that the stack has."""
        pages = self._client.get_paginator("list_stack_resources").paginate(StackName=stack)
        return [
            one
            for page in pages
            for one in page["StackResourceSummaries"]
            if one["ResourceType"] == kind and one.get("ResourceStatus") != "DELETE_COMPLETE"
        ]

    def template(self, stack: str) -> Mapping[str, Any] | None:
        """Return the template of the version that is deployed."""
        found: Mapping[str, Any] = self._client.get_template(StackName=stack, TemplateStage="Original")
        body = found.get("TemplateBody")
        return body if isinstance(body, Mapping) else None

    def deploy(self, change: Change, check: Check | None) -> str:
        """Create or update the stack, and return its address. Raises DeployError."""
        change = self._ready(change)
        if not change.first_url:
            return self._change(change, change.template_url, check)
        try:
            self._change(change, change.first_url, check)
        except DeployError as problem:
            if not isinstance(problem.__cause__, (*CALL_FAILS, KeyboardInterrupt)):
                raise
            message = f"{problem} Then deploy again: only that protects the new tables from deletion."
            raise DeployError(message) from problem
        protecting = change._replace(before=self._polled(self.described, change.stack), watched_minutes=0)
        try:
            return self._change(self._ready(protecting), change.template_url, None)
        except DeployError as problem:
            message = f"The new tables are not protected from deletion yet: deploy again. {problem}"
            raise DeployError(message) from problem

    def _ready(self, change: Change) -> Change:
        """Return the change of a stack that takes one, deleted if its creation failed. Raises DeployError if not."""
        if change.before is None:
            return change
        status = str(change.before["StackStatus"])
        if status == FAILED_CREATION:
            self._delete(change.stack, change.before["StackId"])
            return change._replace(before=None)
        if status.endswith("COMPLETE_CLEANUP_IN_PROGRESS"):
            *_, status = self._statuses(change.stack, until_clean=True)
            return change._replace(before={**change.before, "StackStatus": status})
        if status.endswith("_IN_PROGRESS"):
            message = f"{change.stack} is {status}: another change runs. {_look(change.stack)} Deploy after its end."
            raise DeployError(message)
        if status.endswith("_FAILED"):
            repair = f"aws cloudformation {REPAIRS.get(status, 'describe-stack-events')} --stack-name {change.stack}"
            failure = self._first_failure(change.stack, newest=True)
            message = f"{change.stack} is {status}. {failure} Mend this, then run {repair} ({AGAIN})"
            raise DeployError(message)
        return change

    def _delete(self, stack: str, stack_id: str) -> None:
        """Delete a stack whose creation failed, and wait for its end."""
        print(f"The creation of {stack} failed before. The stack is deleted, and created again.", flush=True)
        self._client.delete_stack(StackName=stack_id)
        status = FAILED_CREATION
        while status in {FAILED_CREATION, "DELETE_IN_PROGRESS"}:
            self._pause(PAUSE_S)
            status = str((self._polled(self.described, stack_id) or {}).get("StackStatus", "DELETE_COMPLETE"))
        if status != "DELETE_COMPLETE":
            message = f"{stack} cannot be deleted: it is {status}. {self._first_failure(stack_id, newest=True)} {AGAIN}"
            raise DeployError(message)

    def _change(self, change: Change, template_url: str, check: Check | None) -> str:
        name = f"deploy-{time.time_ns()}"
        if not self._prepare(change, template_url, name):
            return _address(change.before or {})
        self._client.execute_change_set(StackName=change.stack, ChangeSetName=name)
        try:
            return self._watched(change.stack, check if change.before else None)
        except (*CALL_FAILS, KeyboardInterrupt) as problem:
            message = f"{problem} The change of {change.stack} goes on without this command. {_look(change.stack)}"
            raise DeployError(message.strip()) from problem

    def _watched(self, stack: str, check: Check | None) -> str:
        """Wait for the end of a change, try the new version, and return its address. Raises DeployError."""
        is_tried, problem = check is None, ""
        for status in self._statuses(stack):
            if status == "UPDATE_IN_PROGRESS" and not is_tried and self._is_quiet(stack):
                is_tried, problem = True, self._try(stack, check)
                if problem:
                    self._cancel(stack, problem)
        found = self._polled(self.described, stack) or {"StackStatus": "DELETED"}
        if found["StackStatus"] not in DONE:
            message = f"{stack} is {found['StackStatus']}. {self._first_failure(stack)}"
            raise DeployError(message)
        problem = problem if is_tried else self._try(stack, check)
        if problem:
            message = f"The smoke payment failed, and the update has ended. {problem} Go back: {GOING_BACK}"
            raise DeployError(message)
        return _address(found)

    def _prepare(self, change: Change, template_url: str, name: str) -> bool:
        """Make the change set. Return whether there is a change. The stack is watched if it has its alarms already."""
        self._client.create_change_set(
            StackName=change.stack,
            ChangeSetName=name,
            ChangeSetType="UPDATE" if change.before else "CREATE",
            TemplateURL=template_url,
            Parameters=_parameters(change),
            Capabilities=["CAPABILITY_IAM"],
            RollbackConfiguration={
                "RollbackTriggers": self._triggers(change),
                "MonitoringTimeInMinutes": change.watched_minutes if change.before else 0,
            },
        )
        look = {"StackName": change.stack, "ChangeSetName": name}
        while (made := self._polled(self._client.describe_change_set, **look))["Status"] not in {
            "CREATE_COMPLETE",
            "FAILED",
        }:
            self._pause(PAUSE_S)
        if made["Status"] == "CREATE_COMPLETE":
            return True
        self._client.delete_change_set(**look)
        reason = made.get("StatusReason", "")
        if "didn't contain changes" in reason or "No updates are to be performed" in reason:
            return False
        raise DeployError(reason)

    def _triggers(self, change: Change) -> list[dict[str, str]]:
        """Return the alarms to watch. CloudFormation goes back at once if one is missing, so only those that exist."""
        if change.before is None or not change.watched_minutes:
            return []
        _, partition, _, region, account, *_ = change.before["StackId"].split(":")
        present = {one["PhysicalResourceId"] for one in self.standing(change.stack, ALARM_TYPE)}
        wanted = [name for name in (f"{change.stack}-{one}" for one in TRIGGERS) if name in present]
        arns = [f"arn:{partition}:cloudwatch:{region}:{account}:alarm:{name}" for name in wanted]
        return [{"Arn": arn, "Type": ALARM_TYPE} for arn in arns]

    def _statuses(self, stack: str, *, until_clean: bool = False) -> Iterator[str]:
        """Yield the status until the stack is at rest. After an update, CloudFormation deletes old resources."""
        while True:
            found = self._polled(self.described, stack)
            status = str(found["StackStatus"] if found else "DELETED")
            yield status
            if not status.endswith("_IN_PROGRESS") or (status in DONE and not until_clean):
                return
            self._pause(PAUSE_S)

    def _polled(self, call: Callable[Words, Found], *words: Words.args, **named: Words.kwargs) -> Found:
        """Return the answer of a call that changes nothing. A call that is throttled or gets no answer is repeated."""
        for _ in range(PATIENCE):
            try:
                return call(*words, **named)
            except OUT_OF_REACH:
                self._pause(PAUSE_S)
            except ClientError as problem:
                if not _passes(problem):
                    raise
                self._pause(PAUSE_S)
        return call(*words, **named)

    def _events(self, stack: str) -> list[Mapping[str, Any]]:
        """Return the events of the latest change, the newest first."""
        found: list[Mapping[str, Any]] = []
        more: dict[str, str] = {}
        while True:
            page = self._polled(self._client.describe_stack_events, StackName=stack, **more)
            for event in page["StackEvents"]:
                found.append(event)
                is_own = event["LogicalResourceId"] == event["StackName"]
                if is_own and event["ResourceStatus"] in STARTS:
                    return found
            if not page.get("NextToken"):
                return found
            more = {"NextToken": page["NextToken"]}

    def _is_quiet(self, stack: str) -> bool:
        """Return whether no resource has changed for two minutes, and none is being changed."""
        events = self._events(stack)
        latest: dict[str, str] = {}
        for event in events:
            latest.setdefault(event["LogicalResourceId"], event["ResourceStatus"])
        own = events[0]["StackName"]
        if any(status.endswith("_IN_PROGRESS") for name, status in latest.items() if name != own):
            return False
        age = time.time() - events[0]["Timestamp"].timestamp()
        return bool(age >= QUIET_S)

    def _try(self, stack: str, check: Check | None) -> str:
        """Try the new version. Return the problem, or nothing."""
        found = self._polled(self.described, stack)
        try:
            if check is not None:
                check(_address(found or {}))
        except SmokeError as problem:
            return str(problem)
        return ""

    def _cancel(self, stack: str, problem: str) -> None:
        """Cancel the update: CloudFormation goes back to the version before."""
        print(f"The smoke payment failed. {problem}", flush=True)
        try:
            self._client.cancel_update_stack(StackName=stack)
            print("The update is cancelled: CloudFormation goes back to the version before.", flush=True)
        except ClientError as refusal:
            print(f"The update cannot be cancelled. {refusal}", flush=True)

    def _first_failure(self, stack: str, *, newest: bool = False) -> str:
        """Return the reason of the first or newest failure of the latest change, with the resource."""
        try:
            events = self._events(stack)
        except CALL_FAILS as problem:
            return f"Its events cannot be read. {problem}"
        reasons = [
            (event["LogicalResourceId"], str(event.get("ResourceStatusReason", "")), event["ResourceStatus"])
            for event in (events if newest else reversed(events))
        ]
        for name, reason, status in reasons:
            if status.endswith("_FAILED") and "cancelled" not in reason:
                return f"{name}: {reason}"
        return next((reason for _, reason, status in reasons if status.endswith("ROLLBACK_IN_PROGRESS")), "")


def _passes(problem: ClientError) -> bool:
    """Return whether the same call may succeed later."""
    status = problem.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return problem.response["Error"]["Code"] in PASSING or status >= SERVER_ERROR


def _look(stack: str) -> str:
    return f"Look at it: aws cloudformation describe-stacks --stack-name {stack}"


def _parameters(change: Change) -> list[dict[str, Any]]:
    """Return the given parameters, and the others of the template with the values that they have."""
    kept = _values(change.before)
    current = kept.get(RELEASE) or change.current_url
    earlier = kept.get(RELEASE_BEFORE, "") if current == change.template_url else current
    given = {**change.parameters, RELEASE: change.template_url, RELEASE_BEFORE: earlier}
    return [
        {"ParameterKey": name, "ParameterValue": given[name]}
        if name in given
        else {"ParameterKey": name, "UsePreviousValue": True}
        for name in change.template["Parameters"]
        if name in given or name in kept
    ]


def _values(stack: Mapping[str, Any] | None) -> dict[str, str]:
    return {one["ParameterKey"]: one.get("ParameterValue", "") for one in (stack or {}).get("Parameters", [])}


def _address(stack: Mapping[str, Any]) -> str:
    return next((one["OutputValue"] for one in stack.get("Outputs", []) if one["OutputKey"] == "EndpointURL"), "")


def given(words: Sequence[str], template: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters of the command line. Raises DeployError for one that the template lacks."""
    parameters = dict(word.partition("=")[::2] for word in words)
    if wrong := [name for name in parameters if name not in template["Parameters"]]:
        message = f"There is no parameter {wrong[0]}: docs/parameters.md lists them."
        raise DeployError(message)
    return parameters


def new_change(  # noqa: PLR0913, PLR0917  each argument is needed
    deployment: Deployment, s3: Any, stack: str, bucket: str, words: Sequence[str], build: Path = BUILD
) -> Change:
    """Return the change that deploys the package in `build`. Raises DeployError before anything is uploaded."""
    template = json.loads((build / "sam.json").read_text(encoding="utf-8"))
    parameters = given(words, template)
    if lines := names.problems(template, stack):
        raise DeployError("\n".join(lines))
    before = deployment.described(stack)
    stands = before is not None and before["StackStatus"] != FAILED_CREATION
    template, url = upload(build, stack, bucket, s3)
    tables = deployment.standing(stack, TABLE_TYPE) if stands else []
    first = with_new_tables_unprotected(template, {one["LogicalResourceId"] for one in tables})
    current = deployment.template(stack) if stands and not _values(before).get(RELEASE) else None
    return Change(
        stack,
        url,
        template,
        parameters,
        before,
        _watched_minutes(),
        first_url=stored(first, stack, bucket, s3) if first else "",
        current_url=stored(current, stack, bucket, s3) if current else "",
    )


def change_back(deployment: Deployment, s3: Any, stack: str, words: Sequence[str]) -> Change:
    """Return the change that deploys the release before. Raises DeployError if the stack knows none."""
    before = deployment.described(stack)
    url = _values(before).get(RELEASE_BEFORE)
    if not url:
        message = f"{stack} knows no release before this one. Deploy one with its own checkout: {GOING_BACK}"
        raise DeployError(message)
    earlier = read(url, s3)
    template = with_kept_resources(earlier, read(_values(before)[RELEASE], s3))
    if template is not earlier:
        url = stored(template, stack, bucket_of(url), s3)
    print(f"{stack} goes back to {url}", flush=True)
    return Change(stack, url, template, given(words, template), before, _watched_minutes())


def _watched_minutes() -> int:
    return int(os.environ.get("WATCHED_MINUTES") or WATCHED_MINUTES)


def main(arguments: Sequence[str] | None = None, build: Path = BUILD) -> None:
    """Deploy the package in `build`, or the release before."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if len(words) < 2:  # noqa: PLR2004  a stack and a bucket
        sys.exit("usage: python -m infra.stack.deploy STACK BUCKET [NAME=VALUE ...], or --back STACK [NAME=VALUE ...]")
    trial = configured()
    check = (lambda api: smoke(till(api, *trial))) if trial else None
    try:
        deployment, s3 = Deployment(boto3.client("cloudformation")), boto3.client("s3")
        if words[0] == BACK:
            change = change_back(deployment, s3, words[1], words[2:])
        else:
            change = new_change(deployment, s3, words[0], words[1], words[2:], build)
        if change.before and check is None:
            print("No payment is tried: SMOKE_LOGIN is not set.", flush=True)
        address = deployment.deploy(change, check)
    except (DeployError, ReleaseError, *CALL_FAILS) as problem:
        sys.exit(str(problem))
    print(f"{change.stack} is at {address}")


if __name__ == "__main__":
    main()
