"""The command behind `make deploy`: `python -m infra.stack.deploy STACK BUCKET [NAME=VALUE ...]`.

It uploads build/deployment.zip and the template, and lets CloudFormation create or update the stack. With
`--back STACK` it deploys the template that was deployed before, whose address is a parameter of the stack. With
`--take-in` before the stack it first takes in what a deleted stack left.

An update is watched. CloudFormation goes back to the version before if an alarm of TRIGGERS rings during the update or
in the quarter of an hour after it, which `aws cloudformation deploy` and `sam deploy` cannot ask for. Meanwhile the
smoke payment runs on the new version. If it fails, the update is cancelled, which goes back as well. A new stack has
neither alarms nor a merchant, so it is only created.
WATCHED_MINUTES=0 watches nothing: for the correction of a defect whose alarm rings already.

The tables and the stack are protected from deletion after the change, not by the template: a rollback deletes what it
created.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, WaiterError
from botocore.parsers import ResponseParserError

from infra.stack import parameters, taking_in
from infra.stack.alarms import TOPICS
from infra.stack.package import BUILD
from infra.stack.releases import GOING_BACK, RELEASE, RELEASE_BEFORE, DeployError, release_before, upload
from infra.stack.resources import TABLE_TYPE
from infra.stack.smoke import SmokeError, configured, smoke, till

# Only our own defects: an outage elsewhere must not prevent a deployment. CloudFormation takes five.
TRIGGERS = ("Defects", "SweepsSilent")
WATCHED_MINUTES = "15"
PAUSE_S = 10
WAIT = {"Delay": PAUSE_S, "MaxAttempts": 1080}  # three hours: an index of a large table takes long
QUIET = timedelta(minutes=2)  # without a change for so long, the resources are changed and CloudFormation watches
RETRIES = Config(retries={"mode": "standard", "max_attempts": 10})
AGAIN = "docs/operator.md#when-a-deployment-fails"
# The next step from a status in which CloudFormation takes no other change.
STUCK = {
    "ROLLBACK_FAILED": "Resources remain. Run `aws cloudformation delete-stack --stack-name {}`, then deploy again.",
    "UPDATE_ROLLBACK_FAILED": (
        "Never delete it. Remove the cause, run `aws cloudformation continue-update-rollback --stack-name {}`, then "
        "deploy again."
    ),
}
FAILED_CREATION = "ROLLBACK_COMPLETE"  # no update can lead to this status: the stack was never complete
UPDATED = ("UPDATE_IN_PROGRESS", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "UPDATE_COMPLETE")
BACK, TAKE_IN = "--back", "--take-in"
CALL_FAILS = (BotoCoreError, ClientError, ResponseParserError)  # the last: a proxy answered

Check = Callable[[str], object]  # a trial of the API at an address; it raises SmokeError
Description = Mapping[str, Any]  # of the stack


class Deployment:
    """One change of a stack. CloudFormation refuses it while another runs, or after one that is stuck."""

    def __init__(self, stack: str) -> None:
        self._stack = stack
        self.client: Any = boto3.client("cloudformation", config=RETRIES)
        self.token = f"deploy-{time.time_ns()}"  # a repeated call counts once, and the events of the change have it
        self._change = {"StackName": stack, "ChangeSetName": self.token}

    @cached_property
    def before(self) -> Description | None:
        """Return the description of the stack before the change; None if there is none."""
        return self.described()

    def described(self) -> Description | None:
        """Return the description of the stack; None if there is none."""
        try:
            found: Description = self.client.describe_stacks(StackName=self._stack)["Stacks"][0]
        except ClientError as problem:
            if f"{self._stack} does not exist" in str(problem):
                return None
            raise
        return found if found["StackStatus"] != "REVIEW_IN_PROGRESS" else None

    def deploy(self, url: str, given: Mapping[str, str], check: Check | None, minutes: int) -> str:
        """Create or update the stack from the template at `url`, and return its address. Raises DeployError.

        The alarms are watched for so many minutes after an update; 0 watches none.
        """
        before = self.before
        if before and (step := STUCK.get(before["StackStatus"])):
            message = f"{self._stack} is {before['StackStatus']}. {step.format(self._stack)}"
            raise DeployError(message)
        if before and before["StackStatus"] == FAILED_CREATION:
            print(f"The creation of {self._stack} failed before. The stack is deleted, and created again.", flush=True)
            self.client.delete_stack(StackName=before["StackId"], ClientRequestToken=self.token)
            self._wait("stack_delete_complete", before["StackId"])
            before = None
        if before and not check:
            print("No payment is tried: SMOKE_LOGIN is not set.", flush=True)
        if self._prepare(url, given, before, minutes):
            self.client.execute_change_set(**self._change, ClientRequestToken=self.token)
            try:
                if before and check:
                    self._try_when_changed(check)
                self._wait("stack_update_complete" if before else "stack_create_complete", self._stack)
            except (*CALL_FAILS, KeyboardInterrupt) as problem:
                look = f"Look at it: aws cloudformation describe-stacks --stack-name {self._stack}"
                message = f"{problem} The change of {self._stack} goes on without this command. {look}"
                raise DeployError(message.strip()) from problem
        self._protect()
        return output(self.described() or {}, "EndpointURL")

    def _prepare(self, url: str, given: Mapping[str, str], before: Description | None, minutes: int) -> bool:
        self.client.create_change_set(
            **self._change,
            ClientToken=self.token,
            ChangeSetType="UPDATE" if before else "CREATE",
            TemplateURL=url,
            Parameters=self._parameters(url, given, _values(before)),
            Capabilities=["CAPABILITY_IAM"],
            RollbackConfiguration={
                "RollbackTriggers": self._triggers() if before and minutes else [],
                "MonitoringTimeInMinutes": minutes if before else 0,
            },
        )
        try:
            self.client.get_waiter("change_set_create_complete").wait(**self._change, WaiterConfig=WAIT)
        except WaiterError as failed:
            reason = str(failed.last_response.get("StatusReason", failed))
            self.client.delete_change_set(**self._change)
            if "didn't contain changes" in reason or "No updates are to be performed" in reason:
                return False
            raise DeployError(reason) from failed
        return True

    def _parameters(self, url: str, given: Mapping[str, str], kept: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the given parameters, and the others of the template that have a value, which stays."""
        current = kept.get(RELEASE, "")
        earlier = kept.get(RELEASE_BEFORE, "") if current == url else current
        given = {**given, RELEASE: url, RELEASE_BEFORE: earlier}
        known = {one["ParameterKey"] for one in self.client.get_template_summary(TemplateURL=url)["Parameters"]}
        others = [name for name in kept if name in known and name not in given]
        return [{"ParameterKey": name, "ParameterValue": value} for name, value in given.items()] + [
            {"ParameterKey": name, "UsePreviousValue": True} for name in others
        ]

    def _triggers(self) -> list[dict[str, str]]:
        """Return the alarms to watch. CloudFormation goes back at once if one is missing, so only those that exist."""
        wanted = [f"{self._stack}-{name}" for name in TRIGGERS]
        alarms = boto3.client("cloudwatch").describe_alarms(AlarmNames=wanted)["MetricAlarms"]
        return [{"Arn": alarm["AlarmArn"], "Type": "AWS::CloudWatch::Alarm"} for alarm in alarms]

    def _try_when_changed(self, check: Check) -> None:
        """Try the new version when its resources are changed. Cancel the update if that fails, or raise DeployError."""
        while self._changes(found := self.described() or {}):
            time.sleep(PAUSE_S)
        if found["StackStatus"] not in UPDATED:
            return
        try:
            check(output(found, "EndpointURL"))
        except SmokeError as problem:
            print(f"The smoke payment failed. {problem}", flush=True)
            try:
                self.client.cancel_update_stack(StackName=self._stack)
            except ClientError as refusal:
                message = f"The update cannot be cancelled. {refusal} Go back: {GOING_BACK}"
                raise DeployError(message) from problem
            print("The update is cancelled: CloudFormation goes back to the version before.", flush=True)

    def _changes(self, found: Description) -> bool:
        """Return whether a resource is being changed, or was changed lately."""
        lately = datetime.now(UTC) - QUIET
        return found["StackStatus"] == "UPDATE_IN_PROGRESS" and (
            found.get("LastUpdatedTime", datetime.now(UTC)) > lately
            or any(
                one["LastUpdatedTimestamp"] > lately or one["ResourceStatus"].endswith("_IN_PROGRESS")
                for one in self._listed("list_stack_resources", "StackResourceSummaries[]")
            )
        )

    def _wait(self, waiter: str, stack: str) -> None:
        try:
            self.client.get_waiter(waiter).wait(StackName=stack, WaiterConfig=WAIT)
        except WaiterError as failed:
            last: Any = failed.last_response
            if "Stacks" not in last:
                raise
            status, stack_id = last["Stacks"][0]["StackStatus"], last["Stacks"][0]["StackId"]
            print(message := f"{self._stack} is {status}.", flush=True)
            message = f"{message} {self._first_failure(stack_id)} {STUCK.get(status, '').format(self._stack)}".strip()
            raise DeployError(message) from failed

    def _first_failure(self, stack: str) -> str:
        """Return the resource and the reason of the first failure of the change."""
        failures = [
            f"{event['LogicalResourceId']}: {event['ResourceStatusReason']}"
            for event in self._listed("describe_stack_events", "StackEvents[]", stack)  # the newest first
            if event.get("ClientRequestToken") == self.token
            and event["ResourceStatus"].endswith(("_FAILED", "ROLLBACK_IN_PROGRESS"))
            and "cancelled" not in event.get("ResourceStatusReason", "cancelled")
        ]
        return failures[-1] if failures else "No event names a failure."

    def _protect(self) -> None:
        self.client.update_termination_protection(StackName=self._stack, EnableTerminationProtection=True)
        dynamodb = boto3.client("dynamodb")
        standing = f"StackResourceSummaries[?ResourceType=='{TABLE_TYPE}' && ResourceStatus!='DELETE_COMPLETE']"
        for name in self._listed("list_stack_resources", f"{standing}.PhysicalResourceId"):
            if not dynamodb.describe_table(TableName=name)["Table"].get("DeletionProtectionEnabled"):
                dynamodb.update_table(TableName=name, DeletionProtectionEnabled=True)

    def _listed(self, operation: str, found: str, stack: str = "") -> Iterator[Any]:
        pages = self.client.get_paginator(operation).paginate(StackName=stack or self._stack)
        return iter(pages.search(found))


def _values(stack: Description | None) -> dict[str, str]:
    return {one["ParameterKey"]: one.get("ParameterValue", "") for one in (stack or {}).get("Parameters", [])}


def output(stack: Description, name: str) -> str:
    """Return an output of a stack; empty if it has none of this name."""
    return next((one["OutputValue"] for one in stack.get("Outputs", []) if one["OutputKey"] == name), "")


def unheard(stack: Description) -> Iterator[str]:
    """Yield a line for each topic of the alarms that reaches nobody, and for each subscriber who has not confirmed."""
    outputs = {one["OutputKey"]: one["OutputValue"] for one in stack.get("Outputs", [])}
    for name in (name for name in TOPICS.values() if name in outputs):  # a stack of an earlier release has no output
        pages = boto3.client("sns").get_paginator("list_subscriptions_by_topic").paginate(TopicArn=outputs[name])
        known = list(pages.search("Subscriptions[]"))
        waiting = [one["Endpoint"] for one in known if not one["SubscriptionArn"].startswith("arn:")]
        if len(waiting) == len(known):
            yield f"NOBODY HEARS {name}: no subscription is confirmed."
        yield from (f"{one} has not confirmed the subscription of {name}." for one in waiting)


def _check_form(given: Mapping[str, str], template: Mapping[str, Any]) -> None:
    """Raise DeployError for parameters that no stack takes, before AWS is asked."""
    try:
        region = boto3.session.Session().region_name or ""
    except BotoCoreError:  # such as a profile that does not exist: the first call says so
        region = ""
    found = list(parameters.problems(given, template.get("Parameters"), region))
    found += [] if region else parameters.contradictions(given, {})  # no stack is found that keeps the other one
    _refuse(found)


def _check(given: Mapping[str, str], kept: Mapping[str, str], template: Mapping[str, Any]) -> None:
    """Raise DeployError for parameters that do not fit the stack or the account."""
    found = list(parameters.contradictions(given, kept))
    _refuse(found or (list(parameters.beyond_the_quota(template, {**kept, **given})) if template else []))


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        raise DeployError("\n".join(problems))


def main(arguments: Sequence[str] | None = None, build: Path = BUILD) -> None:
    """Deploy the package in `build`, or the release before."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if len(words) < 2:  # noqa: PLR2004  a stack and a bucket
        sys.exit("usage: python -m infra.stack.deploy STACK BUCKET [NAME=VALUE ...], or --back STACK [NAME=VALUE ...]")
    trial = configured()
    check = (lambda api: smoke(till(api, *trial))) if trial else None
    is_back, takes_in = words[0] == BACK, words[0] == TAKE_IN
    words = words[1:] if takes_in else words
    stack = words[1] if is_back else words[0]
    try:
        given = parameters.read(words[2:])
        template = {} if is_back else json.loads((build / "sam.json").read_text(encoding="utf-8"))
        _check_form(given, template)
        deployment = Deployment(stack)
        kept = _values(deployment.before)
        _check(given, kept, template)
        if takes_in:
            if deployment.before:
                sys.exit(f"{stack} exists: deploy it without TAKE_IN.")
            taking_in.take_in(deployment.client, build, stack, words[1], deployment.token)
            deployment = Deployment(stack)
        url = release_before(stack, kept) if is_back else upload(build, *words[:2])
        address = deployment.deploy(url, given, check, int(os.environ.get("WATCHED_MINUTES") or WATCHED_MINUTES))
    except (DeployError, *CALL_FAILS) as problem:
        sys.exit(f"{problem} ({AGAIN})")
    deployed = deployment.described() or {}
    for line in unheard(deployed):
        print(line)
    version = output(deployed, "Version")
    print(f"{stack} is at {address}" + (f", version {version}" if version else ""))


if __name__ == "__main__":
    main()
