"""The log groups of a stage, and the access log that API Gateway writes.

A log group uses the stage's key, whose policy (in `resources.json`) allows it to the groups `/payments/<stack>/*`.
"""

import json
from typing import Any

Template = dict[str, Any]

# Facts only. No header, query, body or path that a caller sent is here, nor any message of API Gateway: for an unknown
# path with a credential, `$context.error.message` quotes the credential. The route is the template of the path.
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
    """Return the log group of this name: under the stage's key, stored as long as the stage's parameter says."""
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

    The order of creation is: API, setting of the account, stage. An account that never had an API refuses the setting,
    and without the setting a stage with an access log is refused. SAM gives this property to the stage alone, so it
    names the setting, beside the log group; `DependsOn` cannot name what may not exist.
    """
    group = {"Fn::GetAtt": ["AccessLogs", "Arn"]}
    after_the_account = {"Fn::Select": [0, [group, {"Ref": "GatewayAccount"}]]}
    return {
        "DestinationArn": {"Fn::If": ["CreatesGatewayLogRole", after_the_account, group]},
        "Format": json.dumps(ACCESS_LOG_FORMAT),
    }
