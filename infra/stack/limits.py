"""The limits that protect a stage from floods: of a route, of a function, and of a source address."""

import json
from typing import Any

from chalice.app import Chalice

from chalicelib.errors import ErrorCode, envelope
from chalicelib.web import STATUS_OF
from infra.stack import origins

Template = dict[str, Any]

LOGIN_PATH = "/api/v1/user/login/session"
# No execution logs, which would hold headers and bodies. The access log has the facts.
METHOD_DEFAULTS = {"MetricsEnabled": False, "LoggingLevel": "OFF", "DataTraceEnabled": False}
# A run waits while the one before still runs, but not beyond the time of the next run.
MISSED_RUN = {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60}
WINDOW_SECONDS = 300
RETRY_AFTER_SECONDS = 60


def method_settings(app: Chalice) -> list[Template]:
    """Return the throttle of all routes, and one for each public route, which counts its requests separately."""
    settings = [_throttle("*", "/*", "")]
    for path, entries in app.routes.items():
        kind = "Login" if path == LOGIN_PATH else "Public"
        settings += [
            _throttle(method, "/" + path.replace("/", "~1"), kind)
            for method, entry in entries.items()
            if entry.authorizer is None
        ]
    return settings


def _throttle(method: str, path: str, kind: str) -> Template:
    return {
        "HttpMethod": method,
        "ResourcePath": path,
        **METHOD_DEFAULTS,
        "ThrottlingRateLimit": {"Ref": f"{kind}RateLimit"},
        "ThrottlingBurstLimit": {"Ref": f"{kind}BurstLimit"},
    }


def reserved_concurrency(kind: str) -> Template:
    """Return the reserved concurrency of a function, from the parameter `<kind>Concurrency`."""
    parameter = f"{kind}Concurrency"
    return {
        "ReservedConcurrentExecutions": {"Fn::If": [f"Has{parameter}", {"Ref": parameter}, {"Ref": "AWS::NoValue"}]}
    }


def address_limit() -> Template:
    """Return the web ACL of the stage. It exists if the stage limits each source address."""
    stage = "arn:${AWS::Partition}:apigateway:${AWS::Region}::/restapis/${RestAPI}/stages/${RestAPI.Stage}"
    return {
        "WebACL": {
            "Type": "AWS::WAFv2::WebACL",
            "Condition": "HasAddressRateLimit",
            "Properties": {
                "Description": {"Fn::Sub": "Requests of one source address to ${AWS::StackName}"},
                "Scope": "REGIONAL",
                "DefaultAction": {"Allow": {}},
                "Rules": [_address_rule()],
                "CustomResponseBodies": {"Throttled": _throttled_body()},
                "VisibilityConfig": _visibility("web-acl"),
            },
        },
        "WebACLOfTheStage": {
            "Type": "AWS::WAFv2::WebACLAssociation",
            "Condition": "HasAddressRateLimit",
            "Properties": {"ResourceArn": {"Fn::Sub": stage}, "WebACLArn": {"Fn::GetAtt": ["WebACL", "Arn"]}},
        },
    }


def _address_rule() -> Template:
    readable = [origins.if_any({"Name": name, "Value": value}) for name, value in origins.of_the_gateway().items()]
    response = {
        "ResponseCode": STATUS_OF[ErrorCode.THROTTLED],
        "CustomResponseBodyKey": "Throttled",
        "ResponseHeaders": [{"Name": "Retry-After", "Value": str(RETRY_AFTER_SECONDS)}, *readable],
    }
    limit = {
        "Limit": {"Ref": "AddressRateLimit"},
        "AggregateKeyType": "IP",
        "EvaluationWindowSec": WINDOW_SECONDS,
    }
    return {
        "Name": "SourceAddress",
        "Priority": 0,
        "Statement": {"RateBasedStatement": limit},
        "Action": {"Block": {"CustomResponse": response}},
        "VisibilityConfig": _visibility("source-address"),
    }


def _throttled_body() -> Template:
    error = ErrorCode.THROTTLED
    return {"ContentType": "APPLICATION_JSON", "Content": json.dumps(envelope(error.code, error.message))}


def _visibility(name: str) -> Template:
    """Return a configuration without samples: a sample of a request holds its headers, credentials included."""
    metric = {"Fn::Sub": f"${{AWS::StackName}}-{name}"}
    return {"CloudWatchMetricsEnabled": True, "SampledRequestsEnabled": False, "MetricName": metric}
