"""The template that is merged into Chalice's: the stage's resources, parameters, alarms, hosts and network."""

import copy
import json
from collections import defaultdict
from typing import Any

from chalice.app import Chalice, DynamoDBEventConfig

from chalicelib.errors import ErrorCode, envelope
from chalicelib.web import STATUS_OF
from infra.stack import cors, limits, logs, resources, streams
from infra.stack.alarms import monitoring_resources
from infra.stack.runtime import RUNTIME

Template = dict[str, Any]

CALLING_ACQUIRERS = ("APIHandler", "SweepPayments")  # cloud.json permits their roles to have network interfaces
# TLS before 1.2 is refused, at the API's own address too, which takes 1.0 without a policy. STRICT refuses a request
# whose TLS name is another host than its header Host.
TLS = {"SecurityPolicy": "SecurityPolicy_TLS13_1_2_2021_06", "EndpointAccessMode": "STRICT"}
# The settings of the API's function that are parameters of the stack.
FROM_PARAMETERS = {
    "Environment": {
        "Variables": {"ALLOWED_ORIGINS": {"Ref": "AllowedOrigins"}, "SMS_COUNTRIES": {"Ref": "SmsCountries"}}
    }
}
VPC = {"SubnetIds": {"Ref": "SubnetIds"}, "SecurityGroupIds": {"Ref": "SecurityGroupIds"}}


def template(app: Chalice) -> Template:
    """Return the template to be merged into the one that Chalice makes."""
    merged = copy.deepcopy(resources.definition())
    cloud = resources.cloud()
    merged["Resources"] |= _function_resources(app) | cloud["Hosts"] | monitoring_resources() | cloud["Alerts"]
    merged["Resources"] |= cloud["Logs"] | limits.address_limit(cloud["WebACL"]) | cloud["Functions"]
    merged["Resources"]["RestAPI"]["Properties"] |= api_properties(app)
    return merged


def function_names(app: Chalice) -> dict[str, str]:
    """Return the log group's name of each function, by the function's name in the template."""
    names = [handler.name for handler in app.builtin_auth_handlers]
    names += [event.name for event in app.event_sources] + [pure.name for pure in app.pure_lambda_functions]
    return {"APIHandler": "api"} | {logical_id(name): name.replace("_", "-") for name in names}


def logical_id(function: str) -> str:
    """Return Chalice's name for a function in the template: SweepOutbox for sweep_outbox."""
    return "".join(word.capitalize() for word in function.split("_"))


def _function_resources(app: Chalice) -> Template:
    """Return a log group, a runtime and a concurrency limit for each function."""
    items: Template = {}
    for name, log in function_names(app).items():
        items[f"{name}Logs"] = logs.log_group(log)
        items[name] = {
            "Properties": {"Runtime": f"python{RUNTIME}", "LoggingConfig": {"LogGroup": {"Ref": f"{name}Logs"}}}
        }
    for name in CALLING_ACQUIRERS:
        items[name]["Properties"] |= {"VpcConfig": {"Fn::If": ["HasSubnets", VPC, {"Ref": "AWS::NoValue"}]}}
    items["APIHandler"]["Properties"] |= limits.reserved_concurrency("Api") | FROM_PARAMETERS
    for handler in app.builtin_auth_handlers:
        items[logical_id(handler.name)]["Properties"] |= limits.reserved_concurrency("Authorizer")
    for event in app.event_sources:
        properties = items[logical_id(event.name)]["Properties"]
        if isinstance(event, DynamoDBEventConfig):
            properties |= limits.reserved_concurrency("Stream") | streams.source_of(event)
        else:
            properties |= limits.reserved_concurrency("Sweep") | {"EventInvokeConfig": limits.MISSED_RUN}
    return items


def api_properties(app: Chalice) -> Template:
    """Return the properties of the API: limits, access log, its own answers, authorizers, and the 405 of each path."""
    return {
        "Name": {"Ref": "AWS::StackName"},
        **TLS,
        "OpenApiVersion": "2.0",  # without it SAM makes a second stage, "Stage", without any of the limits below
        "AlwaysDeploy": True,  # a stage serves a copy of the API, which SAM does not renew if only a parameter changed
        "TracingEnabled": True,
        "MethodSettings": limits.method_settings(app),
        "AccessLogSetting": logs.access_log_setting(),
        "GatewayResponses": cors.gateway_responses(),
        "DefinitionBody": {
            "securityDefinitions": _authorizers_of_requests(app),
            "paths": {
                path: {"x-amazon-apigateway-any-method": _method_not_allowed(sorted(methods))}
                for path, methods in _methods_by_path(app).items()
            },
        },
    }


def _authorizers_of_requests(app: Chalice) -> Template:
    """Return the differences from Chalice's token authorizer: ours gets the whole request, with its source address."""
    changes = {"type": "request", "identitySource": "method.request.header.Authorization"}
    return {handler.name: {"x-amazon-apigateway-authorizer": changes} for handler in app.builtin_auth_handlers}


def _methods_by_path(app: Chalice) -> dict[str, set[str]]:
    methods: dict[str, set[str]] = defaultdict(set)
    for path, entries in app.routes.items():
        methods[path] |= set(entries)
    return methods


def _method_not_allowed(allowed: list[str]) -> Template:
    """Return a mock that answers the other methods of a path with 405, and preflights of allowed origins."""
    error = ErrorCode.METHOD_NOT_ALLOWED
    methods = ", ".join(allowed)
    body = json.dumps(envelope(error.code, error.message))
    return {
        "responses": {"405": {"description": error.message, "headers": {"Allow": {"type": "string"}}}},
        "x-amazon-apigateway-integration": {
            "type": "mock",
            "passthroughBehavior": "never",
            "requestTemplates": {"application/json": json.dumps({"statusCode": STATUS_OF[error]})},
            "responses": {
                "default": {
                    "statusCode": str(STATUS_OF[error]),
                    "responseParameters": {"method.response.header.Allow": f"'{methods}'"},
                    "responseTemplates": {"application/json": cors.or_a_preflight(body, methods)},
                }
            },
        },
    }
