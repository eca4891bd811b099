"""The limits that protect a stage from floods: of a route and of a function."""

from typing import Any

from chalice.app import Chalice

Template = dict[str, Any]

LOGIN_PATH = "/api/v1/user/login/session"
# No execution logs, which would hold headers and bodies. The access log has the facts.
METHOD_DEFAULTS = {"MetricsEnabled": False, "LoggingLevel": "OFF", "DataTraceEnabled": False}
BURSTS = {"": 400, "Login": 40, "Public": 100}  # requests at once
# A run waits while the one before still runs, but not beyond the time of the next run.
MISSED_RUN = {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60}


def method_settings(app: Chalice) -> list[Template]:
    """Return the throttle of all routes, and one for each public route, which counts its requests separately."""
    settings = [_throttle("*", "/*", "")]
    for path, entries in app.routes.items():
        kind = "Login" if path == LOGIN_PATH else "Public"
        settings += [
            _throttle(
                method, path if path == "/" else "/" + path.replace("/", "~1"), kind
            )  # as CloudFormation writes it
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
        "ThrottlingBurstLimit": BURSTS[kind],
    }


def reserved_concurrency(kind: str) -> Template:
    """Return the reserved concurrency of a function, from the parameter `<kind>Concurrency`."""
    parameter = f"{kind}Concurrency"
    return {
        "ReservedConcurrentExecutions": {"Fn::If": [f"Has{parameter}", {"Ref": parameter}, {"Ref": "AWS::NoValue"}]}
    }
