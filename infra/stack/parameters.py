"""The parameters of the template: what an account decides, with its defaults and limits."""

from typing import Any

from chalicelib.settings import ORIGIN
from infra.stack import origins

Template = dict[str, Any]

# CloudWatch Logs takes these numbers of days and no others.
RETENTION_DAYS = (
    *(1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731),
    *(1096, 1827, 2192, 2557, 2922, 3288, 3653),
)


def _text(description: str, default: str = "", **limits: Any) -> Template:
    return {"Type": "String", "Default": default, "Description": description, **limits}


def _list(description: str) -> Template:
    return {"Type": "CommaDelimitedList", "Default": "", "Description": description}


def _number(description: str, default: int, **limits: Any) -> Template:
    return {"Type": "Number", "Default": default, "Description": description, **limits}


PARAMETERS = {
    "AlarmEmail": _text("Address that gets the alarms; without it the topic of the alarms has no subscriber."),
    "ApiConcurrency": _number(
        "Reserved concurrency of the API; 0: none, the account's concurrency is shared.", 0, MinValue=0
    ),
    "AuthorizerConcurrency": _number(
        "Reserved concurrency of the authorizer; 0: none, the account's concurrency is shared.", 100, MinValue=0
    ),
    "SweepConcurrency": _number(
        "Reserved concurrency of each sweep: 1, one run at a time; 0 only where the account's quota leaves nothing.",
        1,
        AllowedValues=[0, 1],
    ),
    "StreamConcurrency": _number(
        "Reserved concurrency of each function at a stream; 0: none, the account's concurrency is shared.",
        20,
        MinValue=0,
    ),
    "RateLimit": _number("Requests a second the gateway accepts on routes that need a credential.", 200, MinValue=1),
    "BurstLimit": _number("Requests at once the gateway accepts on routes that need a credential.", 400, MinValue=1),
    "LoginRateLimit": _number("Session logins a second the gateway accepts.", 20, MinValue=1),
    "LoginBurstLimit": _number("Session logins at once the gateway accepts.", 40, MinValue=1),
    "PublicRateLimit": _number("Requests a second the gateway accepts on each other public route.", 50, MinValue=1),
    "PublicBurstLimit": _number("Requests at once the gateway accepts on each other public route.", 100, MinValue=1),
    "AddressRateLimit": _text(
        "Requests AWS WAF accepts from one source address in five minutes; 0: no web ACL.",
        "0",
        AllowedPattern="0|[1-9][0-9]{1,8}",
        ConstraintDescription="0, or a number from 10 to 999999999",
    ),
    "AllowedOrigins": _text(
        "Origins whose pages may call from a browser, comma-separated, such as https://shop.example.com; without them "
        "none may.",
        AllowedPattern=f"({ORIGIN}(,{ORIGIN})*)?",
        ConstraintDescription="https://host[:port] or http://localhost[:port], lower case, no path, no spaces",
        MaxLength=1024,
    ),
    "LogDays": _number("Days the logs are stored.", 365, AllowedValues=list(RETENTION_DAYS)),
    "GatewayLogRole": _text(
        "create: this stack sets the role with which API Gateway writes logs, of which an account has one a region; "
        "exists: the account has one already.",
        "create",
        AllowedValues=["create", "exists"],
    ),
    "SubnetIds": _list(
        "Private subnets of the functions that call acquirers, comma-separated, with a route through a NAT gateway "
        "whose address the acquirer accepts; without them the functions are in no VPC."
    ),
    "SecurityGroupIds": _list("Security groups of those functions, comma-separated; needed with SubnetIds."),
    "BaseDomain": _text("Host of the management endpoints, such as api.example.com."),
    "ProcessingDomain": _text("Host of the payment queries, such as processing.example.com."),
    "CertificateArn": _text("The certificate of both hosts, in the region of the stage."),
}


def _differs(parameter: str, value: str | int) -> Template:
    return {"Fn::Not": [{"Fn::Equals": [{"Ref": parameter}, value]}]}


CONDITIONS = {
    "HasAlarmEmail": _differs("AlarmEmail", ""),
    "HasApiConcurrency": _differs("ApiConcurrency", 0),
    "HasAuthorizerConcurrency": _differs("AuthorizerConcurrency", 0),
    "HasSweepConcurrency": _differs("SweepConcurrency", 0),
    "HasStreamConcurrency": _differs("StreamConcurrency", 0),
    "HasAddressRateLimit": _differs("AddressRateLimit", "0"),
    "CreatesGatewayLogRole": {"Fn::Equals": [{"Ref": "GatewayLogRole"}, "create"]},
    "HasSubnets": {"Fn::Not": [{"Fn::Equals": [{"Fn::Join": ["", {"Ref": "SubnetIds"}]}, ""]}]},
    "HasAllowedOrigins": _differs("AllowedOrigins", ""),
    "HasOneAllowedOrigin": {"Fn::Equals": [{"Fn::Select": [0, origins.LIST]}, {"Ref": "AllowedOrigins"}]},
    "HasBaseDomain": _differs("BaseDomain", ""),
    "HasProcessingDomain": _differs("ProcessingDomain", ""),
}
