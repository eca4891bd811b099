"""What is merged into the template Chalice makes: the resources of the stage, and how it is run."""

import copy
import json
from collections import defaultdict
from typing import Any

from chalice.app import Chalice

from chalicelib.errors import ErrorCode, envelope
from infra import resources
from infra.cloud import alarms

Template = dict[str, Any]

METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
API_LOGS = "api"
PARAMETERS = {
    "AlarmEmail": ("String", "", "Who is called; without it the alarms go to a topic nobody listens to."),
    "ApiConcurrency": ("Number", 0, "Requests the API carries out at once, reserved; 0: what the account has."),
    "RateLimit": ("Number", 200, "Requests a second the gateway lets through."),
    "BurstLimit": ("Number", 400, "Requests at once the gateway lets through."),
    "LogDays": ("Number", 90, "Days the logs are kept."),
    "BaseDomain": ("String", "", "Host of the management endpoints, such as api.example.com."),
    "ProcessingDomain": ("String", "", "Host of the payment queries, such as processing.example.com."),
    "CertificateArn": ("String", "", "The certificate of both hosts, in the region of the stage."),
}
CONDITIONS = {
    "HasAlarmEmail": {"Fn::Not": [{"Fn::Equals": [{"Ref": "AlarmEmail"}, ""]}]},
    "HasConcurrency": {"Fn::Not": [{"Fn::Equals": [{"Ref": "ApiConcurrency"}, 0]}]},
    "HasBaseDomain": {"Fn::Not": [{"Fn::Equals": [{"Ref": "BaseDomain"}, ""]}]},
    "HasProcessingDomain": {"Fn::Not": [{"Fn::Equals": [{"Ref": "ProcessingDomain"}, ""]}]},
}


def template(app: Chalice) -> Template:
    """The whole of what is merged."""
    merged = copy.deepcopy(resources.definition())
    merged["Parameters"] = {
        name: {"Type": kind, "Default": default, "Description": text}
        for name, (kind, default, text) in PARAMETERS.items()
    }
    merged["Conditions"] = CONDITIONS
    merged["Resources"] |= _functions(app) | _domains() | alarms.resources() | _subscription()
    merged["Resources"]["RestAPI"]["Properties"] |= _api(app)
    merged["Outputs"] = {
        "Alerts": {"Value": {"Ref": "Alerts"}, "Description": "The topic alarms go to"},
        "TablePrefix": {"Value": {"Fn::Sub": "${AWS::StackName}-"}},
        "Key": {"Value": {"Ref": "KeyAlias"}},
        "Files": {"Value": {"Ref": "Bucket"}},
        "Credentials": {"Value": {"Ref": "Secret"}, "Description": "The secret of the stage"},
    }
    return merged


def functions(app: Chalice) -> dict[str, str]:
    """The functions of the service: their names in the template, and for people."""
    named = [handler.name for handler in app.builtin_auth_handlers]
    named += [event.name for event in app.event_sources] + [pure.name for pure in app.pure_lambda_functions]
    others = {"".join(word.capitalize() for word in name.split("_")): name.replace("_", "-") for name in named}
    return {"APIHandler": API_LOGS} | others


def _functions(app: Chalice) -> Template:
    """For each function a log group of its own; what runs on the clock is not tried again, the next minute does."""
    made: Template = {}
    for name, log in functions(app).items():
        made[f"{name}Logs"] = {
            "Type": "AWS::Logs::LogGroup",
            "Properties": {
                "LogGroupName": {"Fn::Sub": f"/payments/${{AWS::StackName}}/{log}"},
                "RetentionInDays": {"Ref": "LogDays"},
            },
        }
        made[name] = {"Properties": {"LoggingConfig": {"LogGroup": {"Ref": f"{name}Logs"}}}}
    for event in app.event_sources:
        name = "".join(word.capitalize() for word in event.name.split("_"))
        made[name]["Properties"]["EventInvokeConfig"] = {"MaximumRetryAttempts": 0}
    reserved = {"Fn::If": ["HasConcurrency", {"Ref": "ApiConcurrency"}, {"Ref": "AWS::NoValue"}]}
    made["APIHandler"]["Properties"]["ReservedConcurrentExecutions"] = reserved
    return made


def _api(app: Chalice) -> Template:
    throttle = {"ThrottlingRateLimit": {"Ref": "RateLimit"}, "ThrottlingBurstLimit": {"Ref": "BurstLimit"}}
    return {
        "Name": {"Ref": "AWS::StackName"},
        "TracingEnabled": True,
        "MethodSettings": [{"HttpMethod": "*", "ResourcePath": "/*", "MetricsEnabled": False, **throttle}],
        "DefinitionBody": {
            "paths": {
                path: {"x-amazon-apigateway-any-method": _not_allowed(sorted(methods))}
                for path, methods in _methods(app).items()
            }
        },
    }


def _methods(app: Chalice) -> dict[str, set[str]]:
    methods: dict[str, set[str]] = defaultdict(set)
    for path, entries in app.routes.items():
        methods[path] |= set(entries)
    return methods


def _not_allowed(allowed: list[str]) -> Template:
    """What any other method of a path is answered, by the gateway alone: 405 as the local stage has it."""
    error = ErrorCode.METHOD_NOT_ALLOWED
    headers = {"Allow": ", ".join(allowed)}
    return {
        "responses": {"405": {"description": error.message, "headers": {"Allow": {"type": "string"}}}},
        "x-amazon-apigateway-integration": {
            "type": "mock",
            "passthroughBehavior": "never",
            "requestTemplates": {"application/json": json.dumps({"statusCode": error.status})},
            "responses": {
                "default": {
                    "statusCode": str(error.status),
                    "responseParameters": {
                        f"method.response.header.{name}": f"'{value}'" for name, value in headers.items()
                    },
                    "responseTemplates": {"application/json": json.dumps(envelope(error.code, error.message))},
                }
            },
        },
    }


def _subscription() -> Template:
    properties = {"TopicArn": {"Ref": "Alerts"}, "Protocol": "email", "Endpoint": {"Ref": "AlarmEmail"}}
    return {"AlertsByEmail": {"Type": "AWS::SNS::Subscription", "Condition": "HasAlarmEmail", "Properties": properties}}


def _domains() -> Template:
    """The two hosts of the interface, each optional, both leading to the one API."""
    made: Template = {}
    for name in ("BaseDomain", "ProcessingDomain"):
        made[f"{name}Name"] = {
            "Type": "AWS::ApiGateway::DomainName",
            "Condition": f"Has{name}",
            "Properties": {
                "DomainName": {"Ref": name},
                "RegionalCertificateArn": {"Ref": "CertificateArn"},
                "EndpointConfiguration": {"Types": ["REGIONAL"]},
                "SecurityPolicy": "TLS_1_2",
            },
        }
        made[f"{name}Mapping"] = {
            "Type": "AWS::ApiGateway::BasePathMapping",
            "Condition": f"Has{name}",
            "Properties": {
                "DomainName": {"Ref": f"{name}Name"},
                "RestApiId": {"Ref": "RestAPI"},
                "Stage": {"Ref": "RestAPI.Stage"},
            },
        }
    return made
