"""The log groups of a stage, and the access log that API Gateway writes.

A log group uses the stage's key, whose policy (in `resources.json`) allows it to the groups `/payments/<stack>/*`.
"""

import json
from typing import Any

Template = dict[str, Any]

# Only facts: no header, query, body or path from a caller, and no message of API Gateway. For an unknown path with a
# credential, `$context.error.message` quotes the credential. The route is the template of the path.
ACCESS_LOG_FORMAT = {
    "time": "$context.requestTime",
    "source": "$context.identity.sourceIp",
    "method": "$context.httpMethod",
    "route": "$context.resourcePath",
    "status": "$context.status",
    "refused_as": "$context.error.responseType",
    "code": "$context.authorizer.code",
    "agent": "$context.authorizer.principalId",
    "authorizer_status": "$context.authorizer.status",
    "authorizer_error": "$context.authorizer.error",
    "authorizer_milliseconds": "$context.authorizer.latency",
    "authorizer_request_id": "$context.authorizer.requestId",
    "integration_status": "$context.integrationStatus",
    "integration_milliseconds": "$context.integrationLatency",
    "milliseconds": "$context.responseLatency",
    "waf": "$context.wafResponseCode",
    "request_id": "$context.requestId",
    "gateway_request_id": "$context.extendedRequestId",  # a caller can choose the other one
}


def log_group(log: str) -> Template:
    """Return the log group of this name: encrypted with the stage's key, and stored for `LogDays`."""
    return {
        "Type": "AWS::Logs::LogGroup",
        "Properties": {
            "LogGroupName": {"Fn::Sub": f"/payments/${{AWS::StackName}}/{log}"},
            "RetentionInDays": {"Ref": "LogDays"},
            "KmsKeyId": {"Fn::GetAtt": ["Key", "Arn"]},
        },
    }


def access_log_setting() -> Template:
    """Return the property of the API that makes its stage write the access log.

    The order of creation must be: API, setting of the account, stage. An account that never had an API refuses the
    setting, and without the setting AWS refuses a stage with an access log. SAM uses this property only in the stage,
    so a reference to the setting in it makes the order. `DependsOn` cannot name a resource with a condition.
    """
    group = {"Fn::GetAtt": ["AccessLogs", "Arn"]}
    after_the_account = {"Fn::Select": [0, [group, {"Ref": "GatewayAccount"}]]}
    return {
        "DestinationArn": {"Fn::If": ["CreatesGatewayLogRole", after_the_account, group]},
        "Format": json.dumps(ACCESS_LOG_FORMAT),
    }
