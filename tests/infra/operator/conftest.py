"""A deployed stage for the commands: a stack on moto with functions, on the tables of the local stage."""

import json
from collections.abc import Callable, Iterator, Mapping

import boto3
import pytest

from chalicelib import outside
from infra.local import stage_settings
from infra.stack import config

SETTINGS = {
    **{name: stage_settings.ENVIRONMENT[name] for name in ("TABLE_PREFIX", "KEY_ID", "BUCKET", "SECRET_ID")},
    "MAIL_CONFIGURATION_SET": "",
    "STAGE": "dev",
    "ACQUIRERS": "SANDBOX",
    "MAIL_FROM": "receipts@payments.example",
    "SMS_SENDER": "Payments",
    "ALLOWED_ORIGINS": "",
    "SMS_COUNTRIES": "",
}
CODE = "def handler(event, context): pass"
Deploy = Callable[..., str]


@pytest.fixture
def deploy(aws: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deploy]:
    """Create a stack with these settings, and others of some functions; return its name. The shell has none of them."""
    del aws
    for name in config.SETTINGS:
        monkeypatch.delenv(name, raising=False)
    outside.forget()
    stacks, functions = boto3.client("cloudformation"), boto3.client("lambda")
    made: list[str] = []

    def make(stack: str = "payments-dev", settings: Mapping[str, str] = SETTINGS, **of: Mapping[str, str]) -> str:
        named = {name: dict(settings) | dict(of.get(name, {})) for name in ("APIHandler", "Sweep")}
        stacks.create_stack(StackName=stack, TemplateBody=json.dumps(template(named)), Capabilities=["CAPABILITY_IAM"])
        made.append(stack)
        return stack

    yield make
    for stack in made:
        stacks.delete_stack(StackName=stack)
    assert functions.list_functions()["Functions"] == []


def template(functions: Mapping[str, Mapping[str, str]]) -> dict[str, object]:
    """Return a template of functions with these variables."""
    trust = {"Version": "2012-10-17", "Statement": []}
    role = {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": trust}}
    common = {"Runtime": "python3.13", "Handler": "index.handler", "Code": {"ZipFile": CODE}}
    return {
        "Parameters": {"CertificateArn": {"Type": "String", "Default": "a certificate"}},
        "Outputs": {"Alerts": {"Value": "Alerts"}, "Tickets": {"Value": "Tickets"}},
        "Resources": {
            "Role": role,
            **{
                name: {
                    "Type": "AWS::Lambda::Function",
                    "Properties": {
                        **common,
                        "Role": {"Fn::GetAtt": ["Role", "Arn"]},
                        "Environment": {"Variables": dict(variables)},
                    },
                }
                for name, variables in functions.items()
            },
        },
    }
