"""The names that a stack gives to its resources, and the rules of AWS for them, checked before anything is created.

A resource without a name of its own gets one from CloudFormation, which shortens it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from infra.stack.cloudformation import resolved


class Rule(NamedTuple):
    """The property with the name of a resource, its longest value, and its form as a regular expression."""

    name: str
    longest: int
    form: str = ".*"


STACK = Rule("StackName", 128, "[a-zA-Z][a-zA-Z0-9-]*")
RULES = {
    "AWS::CloudWatch::Alarm": Rule("AlarmName", 255),
    "AWS::CloudWatch::Dashboard": Rule("DashboardName", 255, "[A-Za-z0-9_-]+"),
    "AWS::DynamoDB::Table": Rule("TableName", 255),
    "AWS::Events::Rule": Rule("Name", 64),
    "AWS::IAM::ManagedPolicy": Rule("ManagedPolicyName", 128),
    "AWS::IAM::Policy": Rule("PolicyName", 128),
    "AWS::IAM::Role": Rule("RoleName", 64),
    "AWS::KMS::Alias": Rule("AliasName", 256),
    "AWS::Lambda::Function": Rule("FunctionName", 64),
    "AWS::Logs::LogGroup": Rule("LogGroupName", 512),
    "AWS::Logs::QueryDefinition": Rule("Name", 255),
    "AWS::S3::Bucket": Rule("BucketName", 63, "[a-z0-9][a-z0-9.-]+[a-z0-9]"),
    "AWS::SES::ConfigurationSet": Rule("Name", 64, "[A-Za-z0-9_-]+"),
    "AWS::SNS::Topic": Rule("TopicName", 256),
    "AWS::SQS::Queue": Rule("QueueName", 80),
    "AWS::Scheduler::Schedule": Rule("Name", 64),
    "AWS::SecretsManager::Secret": Rule("Name", 512),
    "AWS::Serverless::Api": Rule("Name", 1024),
    "AWS::Serverless::Function": Rule("FunctionName", 64),
    "AWS::WAFv2::WebACL": Rule("Name", 128),
}


def problems(template: Mapping[str, Any], stack: str) -> list[str]:
    """Return a line for each name that AWS would refuse, with this name of the stack."""
    if not re.fullmatch(STACK.form, stack):
        return [f"{stack} is no name of a stack: it has letters, digits and hyphens, and begins with a letter."]
    found = [*_problems("the stack", stack, STACK, stack)]
    for name, item in template["Resources"].items():
        rule = RULES.get(item["Type"])
        value = resolved(template, item["Properties"].get(rule.name), **{"AWS::StackName": stack}) if rule else None
        if rule and isinstance(value, str):
            found += _problems(name, value, rule, stack)
    return found


def _problems(resource: str, value: str, rule: Rule, stack: str) -> Iterator[str]:
    if (more := len(value) - rule.longest) > 0:
        yield (
            f"{value}, the name of {resource}, has {len(value)} characters, and AWS takes {rule.longest}: "
            f"name the stack with at most {len(stack) - more}."
        )
    if not re.fullmatch(rule.form, value):
        yield f"{value}, the name of {resource}, must be lower case: write the name of the stack so."
