"""The template that is merged into Chalice's: the stage's resources, parameters, alarms, hosts and network."""

import copy
from typing import Any

from chalice.app import Chalice, DynamoDBEventConfig

from chalicelib.web import EXPOSED_HEADERS, SAFETY
from infra.stack import limits, logs, operator_role, resources, streams
from infra.stack.alarms import monitoring_resources
from infra.stack.runtime import RUNTIME

Template = dict[str, Any]

API = "APIHandler"
CALLING_ACQUIRERS = (API, "Sweep")  # cloud.json permits their roles to have network interfaces
# TLS before 1.2 is refused, at the API's own address too, which takes 1.0 without a policy. STRICT refuses a request
# whose TLS name is another host than its header Host.
TLS = {"SecurityPolicy": "SecurityPolicy_TLS13_1_2_2021_06", "EndpointAccessMode": "STRICT"}
# The settings of the API's function that are parameters of the stack.
FROM_PARAMETERS = {
    "Environment": {
        "Variables": {"ALLOWED_ORIGINS": {"Ref": "AllowedOrigins"}, "SMS_COUNTRIES": {"Ref": "SmsCountries"}}
    }
}
# The address of the stage for people. The API's function cannot have it, because the API needs that function.
EXECUTE_API = "https://${RestAPI}.execute-api.${AWS::Region}.${AWS::URLSuffix}/api"
PUBLIC_ADDRESS = {"Fn::If": ["HasBaseDomain", {"Fn::Sub": "https://${BaseDomain}"}, {"Fn::Sub": EXECUTE_API}]}
LOOK = "ProbeHealth"
ADDRESSED = (LOOK, "DeliverOutbox", "Sweep")  # the probe, and links in e-mails
INTEGRATION, ANY_METHOD = "x-amazon-apigateway-integration", "x-amazon-apigateway-any-method"
FUNCTION = "arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${%s.Arn}/invocations"
# Lambda refuses a function in subnets until its role may have network interfaces. A reference makes the order;
# `DependsOn` takes no condition.
AFTER_THE_POLICY = {"After": {"Fn::If": ["HasSubnets", {"Ref": "NetworkPolicy"}, ""]}}
VPC = {"SubnetIds": {"Ref": "SubnetIds"}, "SecurityGroupIds": {"Ref": "SecurityGroupIds"}}


def template(app: Chalice) -> Template:
    """Return the template to be merged into the one that Chalice makes."""
    merged = copy.deepcopy(resources.definition())
    cloud = resources.cloud()
    merged["Resources"] |= _function_resources(app) | cloud["Hosts"] | monitoring_resources() | cloud["Alerts"]
    merged["Resources"] |= cloud["Logs"] | _readable_web_acl(cloud["WebACL"]) | cloud["Functions"]
    merged["Resources"]["OperatorRole"] = operator_role.role()
    merged["Resources"]["RestAPI"]["Properties"] |= api_properties(app)
    return merged


def function_names(app: Chalice) -> dict[str, str]:
    """Return the log group's name of each function, by the function's name in the template."""
    names = [handler.name for handler in app.builtin_auth_handlers]
    names += [event.name for event in app.event_sources] + [pure.name for pure in app.pure_lambda_functions]
    return {API: "api"} | {logical_id(name): name.replace("_", "-") for name in names}


def logical_id(function: str) -> str:
    """Return Chalice's name for a function in the template: DeliverOutbox for deliver_outbox."""
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
        items[name]["Metadata"] = AFTER_THE_POLICY
    items[API]["Properties"] |= limits.reserved_concurrency("Api") | FROM_PARAMETERS
    for handler in app.builtin_auth_handlers:
        items[logical_id(handler.name)]["Properties"] |= limits.reserved_concurrency("Authorizer")
    for event in app.event_sources:
        properties = items[logical_id(event.name)]["Properties"]
        if isinstance(event, DynamoDBEventConfig):
            properties |= limits.reserved_concurrency("Stream") | streams.source_of(event)
        else:
            properties |= limits.reserved_concurrency("Sweep") | {"EventInvokeConfig": limits.MISSED_RUN}
        properties["Tracing"] = "PassThrough"  # a trace of each run would cost more than the runs
    for name in ADDRESSED:
        items[name]["Properties"]["Environment"] = {"Variables": {"PUBLIC_ADDRESS": PUBLIC_ADDRESS}}
    return items


def api_properties(app: Chalice) -> Template:
    """Return the properties of the API: limits, access log, its own answers, authorizers, and the other methods."""
    return {
        "Name": {"Ref": "AWS::StackName"},
        **TLS,
        "OpenApiVersion": "2.0",  # without it SAM makes a second stage, "Stage", without any of the limits below
        "AlwaysDeploy": True,  # a stage serves a copy of the API, which SAM does not renew if only a parameter changed
        "TracingEnabled": True,
        "MethodSettings": limits.method_settings(app),
        "AccessLogSetting": logs.access_log_setting(),
        "GatewayResponses": gateway_responses(),
        "DefinitionBody": {
            "securityDefinitions": _authorizers_of_requests(app),
            # The function answers the methods that a path lacks, without a credential: 405, and preflights of browsers.
            "paths": {path: {ANY_METHOD: {"responses": {}, INTEGRATION: integration(API)}} for path in app.routes},
        },
    }


def integration(function: str) -> Template:
    """Return the integration of a method that calls this function, as Chalice writes it."""
    uri = {"Fn::Sub": FUNCTION % function}
    return {"type": "aws_proxy", "httpMethod": "POST", "uri": uri, "contentHandling": "CONVERT_TO_TEXT"}


def _authorizers_of_requests(app: Chalice) -> Template:
    """Return the differences from Chalice's token authorizer: ours gets the whole request, with its source address."""
    changes = {"type": "request", "identitySource": "method.request.header.Authorization"}
    return {handler.name: {"x-amazon-apigateway-authorizer": changes} for handler in app.builtin_auth_handlers}


def gateway_responses() -> Template:
    """Return API Gateway's own answers, with the headers of every answer, readable for pages of allowed origins."""
    responses = copy.deepcopy(resources.gateway_responses())
    for response in responses.values():
        headers = response.setdefault("ResponseParameters", {}).setdefault("Headers", {})
        headers |= {name: f"'{value}'" for name, value in SAFETY.items()}
        headers |= {name: _if_any_origin(value) for name, value in _readable_by_pages("'").items()}
    return responses


def _readable_web_acl(web_acl: Template) -> Template:
    """Return the web ACL of `cloud.json`, whose refusals are readable for pages of the allowed origins."""
    (rule,) = web_acl["WebACL"]["Properties"]["Rules"]
    readable = [_if_any_origin({"Name": name, "Value": value}) for name, value in _readable_by_pages().items()]
    readable += [{"Name": name, "Value": value} for name, value in SAFETY.items()]
    rule["Action"]["Block"]["CustomResponse"]["ResponseHeaders"] += readable
    return web_acl


def _readable_by_pages(quote: str = "") -> Template:
    """Return the headers of CORS of answers without a function, by name, with the values in these quotes.

    Such a header is a constant or a copy from the request: it cannot depend on a list of several origins.
    """
    one_or_any = ["HasOneAllowedOrigin", {"Fn::Sub": f"{quote}${{AllowedOrigins}}{quote}"}, f"{quote}*{quote}"]
    return {
        "Access-Control-Allow-Origin": {"Fn::If": one_or_any},
        "Access-Control-Expose-Headers": f"{quote}{EXPOSED_HEADERS}{quote}",
    }


def _if_any_origin(value: Any) -> Template:
    """Return the value, only for a stage that allows origins."""
    return {"Fn::If": ["HasAllowedOrigins", value, {"Ref": "AWS::NoValue"}]}
