"""What a stage logs, who can read it, and for how long."""

import json
from fnmatch import fnmatchcase
from typing import Any

import pytest

from infra.stack import logs
from infra.stack.cloudformation import deployed
from infra.stack.resources import ACCOUNT_ID, REGION, STACK
from tests.infra.stack.creation_order import STAGE, created_before

KEY = {"Fn::GetAtt": ["Key", "Arn"]}
# Whatever else a caller sends (headers, query, path, body) can hold a credential, and so can a message that quotes it.
FACTS = {
    "requestTime",
    "identity.sourceIp",
    "httpMethod",
    "resourcePath",
    "status",
    "error.responseType",
    *(f"authorizer.{name}" for name in ("code", "principalId", "status", "error", "latency", "requestId")),
    *("integrationStatus", "integrationLatency", "responseLatency", "wafResponseCode"),
    *("requestId", "extendedRequestId"),
}


def of_type(items: dict[str, Any], kind: str) -> dict[str, Any]:
    return {name: item["Properties"] for name, item in items.items() if item["Type"] == kind}


def log_groups(sam: dict[str, Any]) -> dict[str, Any]:
    return of_type(deployed(sam), "AWS::Logs::LogGroup")


def test_every_log_group_is_encrypted_with_the_key_of_the_stage(sam: dict[str, Any]) -> None:
    groups = log_groups(sam)

    assert {group["LogGroupName"].rsplit("/", 1)[1] for group in groups.values()} == {
        *("access", "api", "authorizer", "sweep"),
        *("deliver-events", "deliver-outbox", "probe-health"),
    }
    assert all(group["KmsKeyId"] == KEY for group in groups.values())


def test_logs_are_stored_for_a_year_unless_the_account_decides_otherwise(sam: dict[str, Any]) -> None:
    assert {group["RetentionInDays"] for group in log_groups(sam).values()} == {365}
    shorter = of_type(deployed(sam, LogDays=90), "AWS::Logs::LogGroup")
    assert {group["RetentionInDays"] for group in shorter.values()} == {90}
    assert {90, 365, 400} <= set(sam["Parameters"]["LogDays"]["AllowedValues"])
    assert 100 not in sam["Parameters"]["LogDays"]["AllowedValues"]


def test_the_topics_of_the_alarms_are_encrypted_with_the_key_of_the_stage(sam: dict[str, Any]) -> None:
    topics = of_type(deployed(sam), "AWS::SNS::Topic")

    assert topics == {"Alerts": {"KmsMasterKeyId": KEY}, "Tickets": {"KmsMasterKeyId": KEY}}


def key_statements(sam: dict[str, Any]) -> dict[str, Any]:
    key = deployed(sam)["Key"]["Properties"]
    return {statement["Sid"]: statement for statement in key["KeyPolicy"]["Statement"]}


def test_the_account_the_logs_and_the_alarms_may_use_the_key_and_nobody_else(sam: dict[str, Any]) -> None:
    statements = key_statements(sam)

    assert {sid: statement["Principal"] for sid, statement in statements.items()} == {
        "DelegateToTheAccountsPolicies": {"AWS": f"arn:aws:iam::{ACCOUNT_ID}:root"},
        "EncryptTheLogsOfTheStage": {"Service": f"logs.{REGION}.amazonaws.com"},
        "EncryptWhatAlarmsAndMailEventsPublish": {"Service": ["cloudwatch.amazonaws.com", "ses.amazonaws.com"]},
    }
    assert statements["EncryptWhatAlarmsAndMailEventsPublish"]["Action"] == ["kms:Decrypt", "kms:GenerateDataKey*"]
    of_logs = ["Decrypt", "Describe*", "Encrypt", "GenerateDataKey*", "ReEncrypt*"]  # what CloudWatch Logs asks for
    assert statements["EncryptTheLogsOfTheStage"]["Action"] == [f"kms:{one}" for one in of_logs]


def test_the_logs_may_use_the_key_for_the_log_groups_of_the_stage_alone(sam: dict[str, Any]) -> None:
    condition = key_statements(sam)["EncryptTheLogsOfTheStage"]["Condition"]

    ((operator, keys),) = condition.items()
    ((key, pattern),) = keys.items()
    assert (operator, key) == ("ArnLike", "kms:EncryptionContext:aws:logs:arn")
    group = f"arn:aws:logs:{REGION}:{ACCOUNT_ID}:log-group:"
    assert all(fnmatchcase(group + one["LogGroupName"], pattern) for one in log_groups(sam).values())
    assert not fnmatchcase(f"{group}/payments/another-stack/api", pattern)
    assert not fnmatchcase(f"{group}/payments/{STACK}-2/api", pattern)


def test_alarms_may_use_the_key_and_those_of_another_account_may_not(sam: dict[str, Any]) -> None:
    # AWS documents the statement without a condition. One on a name that CloudWatch does not send silences all alarms.
    assert key_statements(sam)["EncryptWhatAlarmsAndMailEventsPublish"]["Condition"] == {
        "StringEqualsIfExists": {"aws:SourceAccount": ACCOUNT_ID}
    }


def test_bounces_and_complaints_reach_the_tickets_as_alarms_do(sam: dict[str, Any]) -> None:
    of_stack = deployed(sam)
    policy = of_stack["TicketsPolicy"]["Properties"]
    destination = of_stack["BouncesAndComplaints"]["Properties"]["EventDestination"]

    assert destination["SnsDestination"] == {"TopicARN": {"Ref": "Tickets"}}
    assert set(destination["MatchingEventTypes"]) == {"bounce", "complaint"}
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert (policy["Topics"], statement["Action"]) == ([{"Ref": "Tickets"}], "sns:Publish")
    key = key_statements(sam)["EncryptWhatAlarmsAndMailEventsPublish"]
    assert (statement["Principal"], statement["Condition"]) == (key["Principal"], key["Condition"])
    shared = sam["Globals"]["Function"]["Environment"]["Variables"]
    assert shared["MAIL_CONFIGURATION_SET"] == {"Ref": "MailEvents"}


def access_log_format(sam: dict[str, Any]) -> dict[str, str]:
    parsed: dict[str, str] = json.loads(deployed(sam)["RestAPI"]["Properties"]["AccessLogSetting"]["Format"])
    return parsed


def test_the_access_log_says_who_asked_for_what_and_how_it_ended(sam: dict[str, Any]) -> None:
    written = access_log_format(sam)

    assert written == logs.ACCESS_LOG_FORMAT
    for name, variable in {
        "time": "requestTime",
        "source": "identity.sourceIp",
        "method": "httpMethod",
        "route": "resourcePath",
        "status": "status",
        "code": "authorizer.code",
        "authorizer_status": "authorizer.status",
        "authorizer_error": "authorizer.error",
        "authorizer_milliseconds": "authorizer.latency",
        "authorizer_request_id": "authorizer.requestId",
        "integration_status": "integrationStatus",
        "milliseconds": "responseLatency",
        "request_id": "requestId",
    }.items():
        assert written[name] == f"$context.{variable}"


def test_the_access_log_holds_no_header_query_path_or_body(sam: dict[str, Any]) -> None:
    values = access_log_format(sam).values()

    assert {value.removeprefix("$context.") for value in values} == FACTS
    assert all(value.startswith("$context.") for value in values)


def test_nothing_else_of_a_request_is_logged_by_the_gateway(sam: dict[str, Any]) -> None:
    for setting in deployed(sam)["RestAPI"]["Properties"]["MethodSettings"]:
        assert (setting["LoggingLevel"], setting["DataTraceEnabled"]) == ("OFF", False)


@pytest.mark.parametrize("role", ["create", "exists"])
def test_the_template_can_be_deployed_in_one_go(role: str, sam: dict[str, Any]) -> None:
    before = created_before(deployed(sam, GatewayLogRole=role, AddressRateLimit="2000", AlarmEmail="a@b.example"))

    groups = [name for name in before if name.endswith("Logs")]
    assert len(groups) == 7
    assert all("Key" in before[name] for name in [*groups, "Alerts", "Tickets"])
    assert "AccessLogs" in before[STAGE]
    assert STAGE in before["WebACLOfTheStage"]
    if role == "create":  # an account that never had an API refuses the setting; without it a stage is refused
        assert "RestAPI" in before["GatewayAccount"]
        assert "GatewayAccount" in before[STAGE]


def test_the_account_gets_the_role_of_the_gateway_unless_it_has_one(sam: dict[str, Any]) -> None:
    created, existing = deployed(sam), deployed(sam, GatewayLogRole="exists")

    assert set(created) - set(existing) == {"GatewayAccount", "GatewayLogsRole"}
    role = created["GatewayLogsRole"]["Properties"]
    (trusted,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert trusted["Principal"] == {"Service": "apigateway.amazonaws.com"}
    assert role["ManagedPolicyArns"] == ["arn:aws:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs"]
    for name in ("GatewayAccount", "GatewayLogsRole"):  # other stages of the account may write logs with them
        assert created[name]["DeletionPolicy"] == created[name]["UpdateReplacePolicy"] == "Retain"
