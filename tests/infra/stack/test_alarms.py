"""The alarms count defects of ours apart from outages, and what rings at night apart from what can wait."""

import contextlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.domain.outbox import NotSentError
from chalicelib.domain.secret import Secret
from chalicelib.gateways import https
from chalicelib.gateways.https import Reply
from chalicelib.routes import jobs
from chalicelib.services import health, outbox, payment_sweep
from infra.bank import faults
from infra.bench.client import through
from infra.local import engines
from infra.local.gateway import Gateway, Refused
from infra.operator import stage_secret
from infra.stack import alarms, template
from infra.stack.cloudformation import deployed
from infra.stack.deploy import TRIGGERS
from infra.stack.package import ROOT
from tests.api.test_prepare import PREPARE
from tests.api.test_prepare import a_body as a_preparation
from tests.api.test_unreadable_records import damage
from tests.services.test_jobs import EVENT
from tests.support.accounts import an_account
from tests.support.builders import a_shop
from tests.support.cards import a_card_body
from tests.support.giving import Give, environment
from tests.support.http import call, get, post
from tests.support.intercepted_calls import counting, failing, refusing
from tests.support.iso8583_stage import ending, paying_at_a_bank
from tests.support.outages import closed, hanging, throttling, without
from tests.support.transactions import a_body

SUBMIT = "/api/v1/payment/submit"
FUNCTIONS = {*template.function_names(__import__("app").app), "Access"}
Line = Mapping[str, Any]
COMPARISON = re.compile(r'\$\.(\w+) (=|!=|>=) (?:"([^"]*)"|(\d+))')


def of_type(sam: dict[str, Any], kind: str, **parameters: str | int) -> dict[str, Any]:
    items = deployed(sam, **parameters).items()
    return {name: item["Properties"] for name, item in items if item["Type"] == kind}


def matches(pattern: str, line: Line | str) -> bool:
    """Return whether a line matches a filter pattern, by the rules of CloudWatch for the patterns that we use."""
    if pattern.startswith("?"):
        return any(term in str(line) for term in re.findall(r'\?"([^"]*)"', pattern))
    if isinstance(line, str):
        return False
    ors = pattern.removeprefix("{ ").removesuffix(" }").split(" || ")
    return any(all(_holds(one, line) for one in part.split(" && ")) for part in ors)


def _holds(comparison: str, line: Line) -> bool:
    name, operator, text, number = COMPARISON.fullmatch(comparison).groups()  # type: ignore[union-attr]
    if line.get(name) is None:
        return False
    if operator == ">=":
        return isinstance(line[name], int | float) and line[name] >= int(number)
    is_equal = line[name] == int(number) if number else fnmatchcase(str(line[name]), text)
    return is_equal is (operator == "=")


def counted(lines: Sequence[tuple[str, Line | str]]) -> Counter[str]:
    """Return the sum of each metric over lines, each with its function."""
    sums: Counter[str] = Counter()
    for function, line in lines:
        for one in alarms.METRIC_FILTERS:
            if one.function == function and matches(one.pattern, line):
                field = one.value.removeprefix("$.")
                sums[one.metric] += int(line[field]) if one.value != field and isinstance(line, Mapping) else int(field)
    return sums


class Logs:
    """The lines that a stage wrote: of its functions, and of the access log as API Gateway would write it."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture
        self.access: list[Line] = []

    def note(self, status: int, refused_as: str, integration_status: str) -> None:
        line = {"status": str(status), "refused_as": refused_as, "integration_status": integration_status}
        self.access.append({**line, "agent": "-"})

    def sums(self) -> Counter[str]:
        """Return the sums of the metrics. Every line counts as one of each function: the filters must bear that."""
        written = [json.loads(line) for line in self._capture.readouterr().out.splitlines() if line.startswith("{")]
        lines: list[tuple[str, Line | str]] = [("Access", line) for line in self.access]
        return counted(lines + [(function, line) for function in FUNCTIONS - {"Access"} for line in written])


@pytest.fixture
def logs(stage: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Logs:
    """The logs of the stage of the test."""
    del stage
    found = Logs(capsys)
    handle = Gateway.handle_request

    def handled(self: Gateway, *request: Any, **named: Any) -> Any:
        try:
            answer = handle(self, *request, **named)
        except Refused as refusal:
            found.note(refusal.CODE, refusal.kind, "-")
            raise
        found.note(answer["statusCode"], "-", "200")
        return answer

    monkeypatch.setattr(Gateway, "handle_request", handled)
    return found


def of_triggers(sums: Mapping[str, int]) -> dict[str, int]:
    """Return the sums of the metrics by which a deployment goes back when they grow."""
    metrics = {one.metric for one in alarms.ALARMS if one.name in TRIGGERS and not one.below}
    return {name: value for name, value in sums.items() if name in metrics}


def test_a_bank_that_is_away_silent_or_talks_nonsense_is_no_defect(stage: str, logs: Logs) -> None:
    post(stage, SUBMIT, a_body())
    with paying_at_a_bank(datetime.now(UTC)) as running:
        with running.away():
            assert post(stage, SUBMIT, a_card_body()).error == (503, 902)
        for fault in (faults.lost(), ending(faults.garbage()), faults.lost(carries_out=False)):
            running.start_afresh(faults.times(5, fault))
            assert post(stage, SUBMIT, a_card_body()).error in {(200, 310), (400, 404)}
        with running.away():
            for minutes in range(2, 14):
                swept = payment_sweep.run(datetime.now(UTC) + timedelta(minutes=minutes))
                jobs.sweep(EVENT, None)
    assert swept.done
    sums = logs.sums()

    assert of_triggers(sums) == {}
    assert sums["ServerErrors"] == 0
    assert sums["AcquirersOutOfReach"] >= 5
    assert sums["MoneyHeld"] >= 10


def test_a_partner_out_of_reach_is_no_defect(stage: str, logs: Logs) -> None:
    with closed() as url, environment(PARTNERS=json.dumps({"Test": {"url": url}})):
        stage_secret.rotate_partner("Test", Secret("a-secret-of-the-partner"))
        assert post(stage, PREPARE, a_preparation(product="Test")).error == (503, 902)
    sums = logs.sums()

    assert of_triggers(sums) == {}
    assert (sums["ServerErrors"], sums["AcquirersOutOfReach"] > 0) == (0, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "outage", [closed, *(pytest.param(one, marks=pytest.mark.release) for one in (hanging, throttling))]
)
def test_a_store_that_fails_is_no_defect_and_rings_as_sales_that_stop(
    stage: str,
    logs: Logs,
    monkeypatch: pytest.MonkeyPatch,
    outage: Callable[[], contextlib.AbstractContextManager[str]],
) -> None:
    account = an_account()
    with outage() as url, without(monkeypatch, url, engines.ENDPOINT_VARIABLE):
        replies = [
            call(stage, "GET", "/api/v1/user/me", None, None, {"Authorization": account.basic}),
            get(stage, "/api/v1/health?deep=1", None),
        ]
        jobs.sweep(EVENT, None)
    sums = logs.sums()

    assert [reply.error for reply in replies] == [(503, 903)] * 2
    assert of_triggers(sums) == {}
    assert sums["ServerErrors"] > 0
    assert sums["SweepRuns"] == 3  # each kind ended with its line


def test_an_unreadable_record_is_a_ticket_and_no_defect(stage: str, logs: Logs) -> None:
    shop = a_shop(stage)
    shop.terminal()
    damage("terminals", lambda item: item.get("client_id") == {"N": str(shop.id)}, currency={"S": "?"})
    assert shop.post(f"{shop.path}/terminal/list", {}, shop.owner).error == (200, 0)
    paid = post(stage, SUBMIT, a_body()).body["TransactionID"]
    damage("transactions", lambda item: item["id"]["S"] == paid, gmt={"N": "99"})
    assert get(stage, f"/api/v1/payment/{paid}").error == (503, 903)
    sums = logs.sums()

    assert of_triggers(sums) == {}
    assert sums["Unusual"] >= 10
    counting = {one.function for one in alarms.METRIC_FILTERS if "unreadable" in one.pattern}
    assert "Authorizer" in counting  # it reads logins, agents and secrets


def test_mail_that_does_not_leave_is_no_defect(stage: str, logs: Logs, give: Give) -> None:
    def fails(*_: Any) -> None:
        reason = "Throttling"
        raise NotSentError(reason)

    give(send_mail=fails)
    assert post(stage, SUBMIT, a_body() | {"Receipt": {"Email": "a@customer.example"}}).error == (200, 0)
    outbox.sweep(datetime.now(UTC) + timedelta(minutes=2))

    assert of_triggers(logs.sums()) == {}


def test_a_defect_of_the_api_or_the_authorizer_counts(stage: str, logs: Logs) -> None:
    account = an_account()
    with outside.given(client=refusing("TransactWriteItems", ZeroDivisionError())):
        assert post(stage, SUBMIT, a_body()).error == (500, 901)
    sums = logs.sums()
    with outside.given(client=through(failing(ZeroDivisionError()))):
        reply = call(stage, "GET", "/api/v1/user/me", None, None, {"Authorization": account.basic})
    later = logs.sums()

    assert of_triggers(sums) != {}
    assert reply.error == (500, 901)
    assert of_triggers(later) != {}
    assert min(sums["ServerErrors"], later["ServerErrors"]) > 0


CRASHES: list[tuple[str, Line | str]] = [
    *((name, "2026-11-25T10:00:00.000Z 7a Task timed out after 29.03 seconds") for name in FUNCTIONS - {"Access"}),
    *((name, "RequestId: 7a Error: Runtime exited with error: exit status 1") for name in FUNCTIONS - {"Access"}),
    *((name, "[ERROR] Runtime.ImportModuleError: No module named 'x'") for name in FUNCTIONS - {"Access"}),
    ("Sweep", "[ERROR] ZeroDivisionError: division by zero\rTraceback (most recent call last):"),
    *(
        ("Access", {"status": "500", "refused_as": kind, "integration_status": "200"})
        for kind in (
            "INTEGRATION_FAILURE",
            "INTEGRATION_TIMEOUT",
            "API_CONFIGURATION_ERROR",
            "AUTHORIZER_CONFIGURATION_ERROR",
        )
    ),
]
NOT_OURS: list[tuple[str, Line | str]] = [
    ("Authorizer", "[ERROR] ServiceError: The store is out of reach.\rTraceback (most recent call last):"),
    ("Access", {"status": "503", "refused_as": "AUTHORIZER_FAILURE", "integration_status": "-"}),
    ("Access", {"status": "500", "refused_as": "INTEGRATION_FAILURE", "integration_status": "429"}),
    ("Access", {"status": "503", "refused_as": "-", "integration_status": "200"}),
    ("Access", {"status": "429", "refused_as": "THROTTLED", "integration_status": "-"}),
]


def test_a_function_that_crashes_counts_and_an_outage_or_a_limit_does_not() -> None:
    unseen = [line for line in CRASHES if line[0] != "ProbeHealth" and not of_triggers(counted([line]))]
    wrong = [line for line in NOT_OURS if of_triggers(counted([line]))]

    assert (unseen, wrong) == ([], [])  # the errors of the probe are the alarm OutOfReach
    assert counted(NOT_OURS[1:3])["ServerErrors"] == 2
    assert counted(NOT_OURS[4:])["RequestsRefused"] == 1


def test_no_trigger_is_an_alarm_on_answers_of_the_gateway(sam: dict[str, Any]) -> None:
    found = of_type(sam, "AWS::CloudWatch::Alarm")

    assert {found[f"{name}Alarm"]["Namespace"] for name in TRIGGERS} == {"Payments/payments-local"}
    assert len(TRIGGERS) <= 5


def test_pages_and_tickets_go_to_topics_of_their_own(sam: dict[str, Any]) -> None:
    found = of_type(sam, "AWS::CloudWatch::Alarm", SalesHours=9)
    by_topic = {"Alerts": "page", "Tickets": "ticket"}

    levels = {one.name: one.level for one in alarms.ALARMS}
    for name, alarm in found.items():
        [topic] = alarm["AlarmActions"]
        assert levels[name.removesuffix("Alarm")] == by_topic[topic["Ref"]]
        assert alarm["OKActions"] == alarm["AlarmActions"]
    assert len(found) == 12


@pytest.mark.parametrize(
    ("given", "addresses"),
    [
        ({}, {}),
        ({"AlarmEmail": "a@x.example"}, {"Alerts": "a@x.example", "Tickets": "a@x.example"}),
        ({"TicketEmail": "t@x.example"}, {"Tickets": "t@x.example"}),
        ({"AlarmPhone": "+27829876543"}, {"Alerts": "+27829876543"}),
        ({"AlarmUrl": "https://oncall.example/sns"}, {"Alerts": "https://oncall.example/sns"}),
        (
            {"AlarmEmail": "a@x.example", "TicketEmail": "t@x.example"},
            {"Alerts": "a@x.example", "Tickets": "t@x.example"},
        ),
    ],
)
def test_tickets_reach_the_address_of_pages_unless_they_have_their_own(
    sam: dict[str, Any], given: dict[str, str], addresses: dict[str, str]
) -> None:
    found = of_type(sam, "AWS::SNS::Subscription", **given).values()

    assert {one["TopicArn"]["Ref"]: one["Endpoint"] for one in found} == addresses


def _in_hours(expression: str, hour: int, day: int) -> bool:
    """Return whether metric math keeps the values of this hour and day."""
    condition = re.fullmatch(r"IF\((.*), m\)", expression)[1]  # type: ignore[index]
    condition = condition.replace("HOUR(m)", str(hour)).replace("DAY(m)", str(day)).replace("AND", "and")
    return bool(eval(condition))  # noqa: S307  our own template


@pytest.mark.parametrize(
    ("parameters", "inside", "outside"),
    [
        ({"SalesHours": 11, "SalesDays": "1-6"}, [(6, 1), (16, 6)], [(5, 1), (17, 1), (10, 7)]),
        ({"SalesHours": 9, "SalesFrom": 20}, [(20, 1), (23, 7), (0, 1), (4, 3)], [(5, 1), (19, 1)]),
        ({"SalesHours": 24}, [(hour, 7) for hour in range(24)], []),
    ],
)
def test_a_silence_of_the_callers_rings_in_the_hours_of_sale(
    sam: dict[str, Any],
    parameters: dict[str, str | int],
    inside: list[tuple[int, int]],
    outside: list[tuple[int, int]],
) -> None:
    alarm = of_type(sam, "AWS::CloudWatch::Alarm", **parameters)["NoRequestsAlarm"]
    expression, metric = alarm["Metrics"]

    assert all(_in_hours(expression["Expression"], *time) for time in inside)
    assert not any(_in_hours(expression["Expression"], *time) for time in outside)
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("LessThanThreshold", 1)
    assert metric["MetricStat"]["Period"] == 1800
    [counting] = [
        one["MetricTransformations"][0]
        for one in of_type(sam, "AWS::Logs::MetricFilter", **parameters).values()
        if one["MetricTransformations"][0]["MetricName"] == "Requests"
    ]
    assert counting["DefaultValue"] == 0  # the health probe writes a line, so a silence is zero and not nothing


def test_without_hours_of_sale_a_silence_does_not_ring(sam: dict[str, Any]) -> None:
    assert "NoRequestsAlarm" not in of_type(sam, "AWS::CloudWatch::Alarm")


def test_a_look_that_fails_or_is_not_made_rings(sam: dict[str, Any]) -> None:
    alarm = of_type(sam, "AWS::CloudWatch::Alarm")["OutOfReachAlarm"]

    assert (alarm["MetricName"], alarm["Dimensions"][0]["Value"]) == ("Errors", {"Ref": "ProbeHealth"})
    assert alarm["TreatMissingData"] == "breaching"


@pytest.fixture
def public_address(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Set the public address of the stage."""

    def be(address: str) -> None:
        monkeypatch.setenv("PUBLIC_ADDRESS", address)
        outside.forget()

    yield be
    monkeypatch.undo()
    outside.forget()


def test_the_look_asks_for_the_health_at_the_public_address(
    stage: str, public_address: Callable[[str], None], logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    del logs
    public_address(stage)
    jobs.probe_health(EVENT, None)
    with closed() as url, without(monkeypatch, url, engines.ENDPOINT_VARIABLE), pytest.raises(Exception, match="503"):
        jobs.probe_health(EVENT, None)
    with closed() as url:
        public_address(url)
        with pytest.raises(ConnectionRefusedError):
            jobs.probe_health(EVENT, None)


def test_the_look_shows_a_malformed_credential_without_an_attempt_to_sign_in(
    stage: str, public_address: Callable[[str], None], logs: Logs
) -> None:
    public_address(stage)
    with counting() as calls:
        jobs.probe_health(EVENT, None)
    sums = logs.sums()

    assert calls == ["BatchGetItem"]  # of the health; the authorizer reads no login
    assert (of_triggers(sums), sums["Misuse"]) == ({}, 2)  # one line, counted for two functions; it rings at fifty


@pytest.mark.parametrize(
    "answer",
    [Reply(200, b'{"ErrorCode": 0}'), Reply(500, b'{"ErrorCode": 901}'), Reply(401, b'{"message": "Unauthorized"}')],
)
def test_a_malformed_credential_that_is_not_refused_fails_the_probe(
    stage: str, public_address: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, answer: Reply
) -> None:
    public_address(stage)
    real = https.get

    def answered(url: str, seconds: float, headers: Mapping[str, str]) -> Reply:
        return answer if headers else real(url, seconds, headers)

    monkeypatch.setattr(https, "get", answered)
    with pytest.raises(health.LookError, match=f"a malformed credential is answered with the status {answer.status}"):
        jobs.probe_health(EVENT, None)


def test_an_alarm_is_about_a_metric_that_exists_and_describes_what_to_do(sam: dict[str, Any]) -> None:
    metrics = {metric.metric for metric in alarms.METRIC_FILTERS}
    names = {metric.function for metric in alarms.METRIC_FILTERS}

    assert len(of_type(sam, "AWS::Logs::MetricFilter", SalesHours=9)) == len(alarms.METRIC_FILTERS)
    assert metrics == {one.metric for one in alarms.ALARMS if not one.function and not one.namespace}
    for alarm in of_type(sam, "AWS::CloudWatch::Alarm", SalesHours=9).values():
        assert len(alarm["AlarmDescription"]) < 1024
        parts = re.fullmatch("Meaning: (.+)\nFirst: (.+)\nTell the shops: (.+)\nThen: .+", alarm["AlarmDescription"])
        assert parts
        assert "go back" not in parts[2].lower() or "Was there a deployment" in parts[2].partition("go back")[0]
        for dimension in alarm.get("Dimensions", ()):
            value = dimension["Value"]
            assert (value.get("Ref") or value["Fn::GetAtt"][0]) in sam["Resources"]
    assert names <= FUNCTIONS


def test_each_alarm_has_a_saved_query_over_logs_of_the_stage(sam: dict[str, Any]) -> None:
    found = of_type(sam, "AWS::Logs::QueryDefinition")
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "chalicelib").rglob("*.py"))

    assert {f"payments-local/{one.name}" for one in alarms.ALARMS} < {one["Name"] for one in found.values()}
    for one in found.values():
        assert {group["Ref"] for group in one["LogGroupNames"]} <= {f"{name}Logs" for name in FUNCTIONS}
        for event in re.findall(r"event (?:=|in) (\[.*?\]|'\w+')", one["QueryString"]):
            assert all(f'"{name}"' in sources for name in re.findall(r"'(\w+)'", event))


def test_a_metric_is_read_from_a_line_that_is_written() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "chalicelib").rglob("*.py"))

    for metric in alarms.METRIC_FILTERS:
        if metric.function == "Access":
            continue
        for name, _, value, _ in COMPARISON.findall(metric.pattern):
            assert (f'"{value}"' if value else f"{name}=") in sources
        if metric.value.startswith("$."):
            assert f"{metric.value.removeprefix('$.')}=" in sources


LET_IN = {"agent": "3", "status": "200", "refused_as": "-", "integration_status": "200"}
AT_THE_GATEWAY: list[tuple[Line, dict[str, int]]] = [
    (LET_IN, {"Requests": 1}),
    ({**LET_IN, "status": "500"}, {"Requests": 1}),  # of the API, whose own line counts
    (
        {**LET_IN, "status": "504", "refused_as": "INTEGRATION_TIMEOUT"},
        {"Requests": 1, "ServerErrors": 1, "Defects": 1},
    ),
    ({**LET_IN, "agent": "-", "status": "500", "refused_as": "AUTHORIZER_FAILURE"}, {"ServerErrors": 1}),
    ({**LET_IN, "integration_status": "429", "status": "502"}, {"Requests": 1, "RequestsRefused": 10}),
    ({**LET_IN, "agent": "nobody", "status": "401", "refused_as": "ACCESS_DENIED"}, {}),
    ({**LET_IN, "agent": "-", "status": "429", "refused_as": "THROTTLED"}, {"RequestsRefused": 1}),
    ({**LET_IN, "agent": "-", "status": "200"}, {}),  # it needs no credential
    ({**LET_IN, "status": "429"}, {"Requests": 1}),  # a limit of the service
]


@pytest.mark.parametrize(("line", "sums"), AT_THE_GATEWAY)
def test_a_line_of_the_gateway_counts_for_what_it_says(line: Line, sums: dict[str, int]) -> None:
    assert counted([("Access", line)]) == sums


OURS = FUNCTIONS - {"Access", "ProbeHealth"}  # the probe has an alarm of its own
ACQUIRERS, GUESSES, MESSAGES = (
    {"APIHandler", "Sweep"},
    {"APIHandler", "Authorizer"},
    {"DeliverOutbox", "Sweep"},
)
WRITTEN: list[tuple[set[str], Line, dict[str, int]]] = [  # who writes the line, and for what it counts there
    (OURS, {"event": "defect"}, {"Defects": 1}),
    (OURS, {"event": "unreadable"}, {"Unusual": 10}),
    ({"APIHandler"}, {"event": "request", "status": 503, "error_code": 503}, {"ServerErrors": 1}),
    ({"APIHandler"}, {"event": "request", "status": 500, "error_code": 901}, {"ServerErrors": 1, "Defects": 1}),
    ({"APIHandler"}, {"event": "request", "status": 503, "error_code": 902}, {"AcquirersOutOfReach": 1}),
    ({"APIHandler"}, {"event": "request", "status": 499, "error_code": 1}, {}),
    (ACQUIRERS, {"event": "answer_lost"}, {"AcquirersOutOfReach": 1}),
    ({"Sweep"}, {"event": "acquirer_silent"}, {"AcquirersOutOfReach": 5}),
    ({"Sweep"}, {"event": "reversal_outstanding"}, {"MoneyHeld": 1}),
    ({"Sweep"}, {"event": "overdue"}, {"MoneyHeld": 1}),
    ({"Sweep"}, {"event": "sweep", "kind": "payments", "behind_seconds": 300}, {"SweepRuns": 1, "MoneyHeld": 1}),
    ({"Sweep"}, {"event": "sweep", "kind": "messages", "behind_seconds": 600}, {"SweepRuns": 1, "DeliveriesBehind": 1}),
    (
        {"Sweep"},
        {"event": "sweep", "kind": "deliveries", "behind_seconds": 3600},
        {"SweepRuns": 1, "DeliveriesBehind": 1},
    ),
    ({"Sweep"}, {"event": "sweep", "kind": "payments", "behind_seconds": 299}, {"SweepRuns": 1}),
    ({"Sweep"}, {"event": "sweep", "kind": "messages", "behind_seconds": 599}, {"SweepRuns": 1}),
    ({"Sweep"}, {"event": "sweep", "kind": "deliveries", "behind_seconds": 3599}, {"SweepRuns": 1}),
    (GUESSES, {"event": "denied"}, {"Misuse": 1}),
    (GUESSES, {"event": "login_from_many_places"}, {"Misuse": 50}),
    (MESSAGES, {"event": "outbox", "outcome": "given up"}, {"Unusual": 1}),
    (MESSAGES, {"event": "outbox", "outcome": "sent"}, {}),
    ({"APIHandler"}, {"event": "messages_withheld", "messages": 3}, {"Unusual": 3}),
    ({"APIHandler"}, {"event": "offline_sale", "waited_seconds": 86_400}, {"Unusual": 2}),
    ({"APIHandler"}, {"event": "offline_sale", "waited_seconds": 86_399}, {}),
    ({"APIHandler"}, {"event": "offline_sale_not_enabled"}, {"Unusual": 2}),
]


@pytest.mark.parametrize(("functions", "line", "sums"), WRITTEN)
def test_a_line_counts_in_each_function_that_writes_it(functions: set[str], line: Line, sums: dict[str, int]) -> None:
    assert {name: counted([(name, line)]) for name in functions} == dict.fromkeys(functions, sums)


def test_the_dashboard_is_json_and_within_the_free_tier() -> None:
    body = alarms.monitoring_resources()["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"]
    widgets = json.loads(body)["widgets"]

    assert len(widgets) == 5
    assert sum(len(one["properties"]["metrics"]) for one in widgets) <= 50


def test_the_bill_of_a_pilot_adds_up_and_is_at_most_six_dollars() -> None:
    text = (ROOT / "docs" / "costs.md").read_text(encoding="utf-8")
    table = (
        text.replace("\N{MULTIPLICATION SIGN}", "x")
        .partition("## A pilot, each month")[2]
        .partition("\n\n| Further item")[0]
    )
    rows = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in table.splitlines() if "|" in line]
    items = {name: (how, amount) for name, how, amount in rows[2:]}
    together = float(items.pop("Together")[1].removeprefix("about "))

    assert sum(float(amount) for _, amount in items.values()) == pytest.approx(together, abs=0.005)
    assert together <= 6
    number, metrics = len(alarms.ALARMS), len({one.metric for one in alarms.METRIC_FILTERS})
    assert items["Alarms"] == (f"{number} x 0.10", f"{number / 10:.2f}")
    assert items["Metrics of log lines"][0].startswith(f"2 x 0.30, and {metrics - 2} x 0.30")
