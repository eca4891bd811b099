"""Settings of the cloud that the code relies on: the numbers of both are compared, so that neither changes alone."""

import json
from datetime import timedelta
from math import ceil
from typing import Any

import pytest
from chalice.app import DynamoDBEventConfig, ScheduledEventConfig

from chalicelib.domain import deliveries as deliveries_rules
from chalicelib.domain import outbox as outbox_rules
from chalicelib.routes import jobs
from chalicelib.services import deliveries, health, outbox, payment_sweep
from infra.stack import alarms, config, resources, streams
from infra.stack.package import ROOT
from infra.stack.resources import TABLE_TYPE
from tests.services.test_jobs import EVENT

CONFIG = config.read(ROOT)
GATEWAY_SECONDS = 29  # API Gateway waits no longer
ACQUIRER_SECONDS = 15  # three answers of 5 s
MESSAGE_SECONDS = 8  # SES and SNS, with their attempts
ROUNDS_OF_BATCH = ceil(jobs.BATCH / deliveries.THREADS_OF_BATCH)
SECOND = timedelta(seconds=1)


def time_out(function: str) -> int:
    """Return the seconds after which Lambda kills a run of a function."""
    seconds: int = CONFIG["lambda_functions"][function].get("lambda_timeout", CONFIG["lambda_timeout"])
    return seconds


@pytest.mark.parametrize(
    ("function", "needs"),
    [
        ("api_handler", GATEWAY_SECONDS),
        ("sweep", payment_sweep.SECONDS + ACQUIRER_SECONDS),
        ("sweep", outbox.SECONDS + MESSAGE_SECONDS),
        ("sweep", deliveries.SECONDS + deliveries_rules.SECONDS),
        ("deliver_outbox", outbox.SECONDS + MESSAGE_SECONDS),
        ("deliver_events", ROUNDS_OF_BATCH * deliveries_rules.SECONDS + deliveries_rules.SECONDS),
        ("probe_health", 2 * health.LOOK_SECONDS),
    ],
)
def test_a_run_ends_before_lambda_kills_it(function: str, needs: float) -> None:
    assert needs <= time_out(function)


def test_a_run_of_a_sweep_ends_before_the_next_begins() -> None:
    assert schedule("sweep") == timedelta(minutes=1)
    assert time_out("sweep") * SECOND < timedelta(minutes=1)
    assert schedule("probe_health") == timedelta(minutes=jobs.LOOK_MINUTES)


def schedule(function: str) -> timedelta:
    """Return the time between two runs, by the registered schedule."""
    from app import app  # noqa: PLC0415  it registers the functions

    (event,) = [one for one in app.event_sources if isinstance(one, ScheduledEventConfig) and one.name == function]
    expression = event.schedule_expression
    text = expression if isinstance(expression, str) else expression.to_string()
    _, number, unit = text.replace("(", " ").replace(")", "").split()
    return timedelta(**{unit if unit.endswith("s") else f"{unit}s": int(number)})


def test_what_a_process_holds_is_held_longer_than_its_run() -> None:
    assert time_out("deliver_outbox") * SECOND < outbox_rules.HELD_FOR
    assert (outbox.SECONDS + MESSAGE_SECONDS) * SECOND < outbox_rules.HELD_FOR
    assert outbox_rules.STREAMS_TURN < outbox_rules.HELD_FOR
    assert deliveries_rules.SECONDS * SECOND < deliveries_rules.HELD_FOR


def test_the_streams_have_what_their_functions_read() -> None:
    tables = {
        name: item["Properties"]
        for name, item in resources.definition()["Resources"].items()
        if item.get("Type") == TABLE_TYPE and "StreamSpecification" in item["Properties"]
    }
    assert tables.keys() == streams.WANTED.keys()
    assert {one["StreamSpecification"]["StreamViewType"] for one in tables.values()} == {"NEW_IMAGE"}
    for name, table in tables.items():
        source = source_of(name)
        assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"], "the functions name the failed records"
        assert source["BisectBatchOnFunctionError"]
        assert source["MaximumRetryAttempts"] > 0
        retried = timedelta(seconds=source["MaximumRecordAgeInSeconds"])
        assert retried < timedelta(days=1), "a stream keeps its records for a day"
        assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}


def source_of(table: str) -> dict[str, Any]:
    from app import app  # noqa: PLC0415  see above

    (event,) = [one for one in app.event_sources if isinstance(one, DynamoDBEventConfig) and one.stream_arn == table]
    assert event.batch_size == jobs.BATCH or table != "Events"
    ((_, source),) = streams.source_of(event)["Events"].items()
    found: dict[str, Any] = source["Properties"]
    return found


def test_each_rule_of_the_bucket_deletes_earlier_versions_as_well() -> None:
    bucket = resources.definition()["Resources"]["Bucket"]["Properties"]
    rules = bucket["LifecycleConfiguration"]["Rules"]

    assert bucket["VersioningConfiguration"]["Status"] == "Enabled"
    for rule in rules:
        if "ExpirationInDays" in rule:
            assert rule["NoncurrentVersionExpiration"]["NoncurrentDays"] <= rule["ExpirationInDays"]
    assert {rule["Status"] for rule in rules} == {"Enabled"}
    assert {rule["Prefix"] for rule in rules} == {"exports/"}, "photos and signatures stay"
    assert any(rule.get("ExpiredObjectDeleteMarker") for rule in rules), "a version that marks a deletion goes last"


@pytest.mark.parametrize("alarm", alarms.ALARMS, ids=lambda alarm: alarm.name)
def test_an_alarm_rings_when_something_is_wrong_and_only_then(alarm: alarms.Alarm) -> None:
    properties = alarms.monitoring_resources()[f"{alarm.name}Alarm"]["Properties"]
    is_of_work = alarm.metric in {"SweepRuns", "Requests"}  # work that must go on; all others count trouble

    assert rings(properties, None) == (alarm.metric in {"SweepRuns", "Errors"})  # no line at all
    assert rings(properties, 0) == is_of_work
    assert rings(properties, 10_000) != is_of_work


def rings(properties: dict[str, Any], value: float | None) -> bool:
    """Return whether an alarm rings when each period has this value, or none."""
    if value is None:
        return bool(properties["TreatMissingData"] == "breaching")
    if properties["ComparisonOperator"] == "LessThanThreshold":
        return bool(value < properties["Threshold"])
    return bool(value >= properties["Threshold"])


MINUTE = 60
RINGS = {  # name: seconds of a period, periods of the last ones, number in a period, and these in words
    "ServerErrors": (MINUTE, (2, 3), 3, "three times a minute"),
    "AcquirersOutOfReach": (15 * MINUTE, (1, 1), 5, "Five requests to acquirers or partners within 15 minutes"),
    "MoneyHeld": (MINUTE, (10, 15), 1, "For ten minutes"),
    "SweepsSilent": (5 * MINUTE, (2, 2), 11, "For ten minutes"),
    "OutOfReach": (5 * MINUTE, (2, 2), 1, "twice in a row"),
    "NoRequests": (30 * MINUTE, (1, 1), 1, "for half an hour"),
    "Defects": (MINUTE, (1, 1), 1, "an unexpected error"),
    "RequestsRefused": (MINUTE, (1, 1), 10, "Ten requests in a minute"),
    "DeliveriesBehind": (MINUTE, (3, 5), 1, "due for ten minutes"),
    "StreamRecordsLost": (MINUTE, (1, 1), 1, "gave up records"),
    "Misuse": (MINUTE, (1, 1), 50, "Within a minute 50 sign-ins"),
    "Unusual": (MINUTE, (1, 1), 10, "Within a minute: ten messages"),
}


def test_an_alarm_rings_as_soon_as_its_meaning_says() -> None:
    numbers = {one.name: (one.period, tuple(one.periods), one.threshold) for one in alarms.ALARMS}

    assert numbers == {name: row[:3] for name, row in RINGS.items()}
    for alarm in alarms.ALARMS:
        assert RINGS[alarm.name][3] in alarm.meaning


@pytest.mark.usefixtures("engine")
def test_the_sweeps_that_must_run_are_those_that_run(capsys: pytest.CaptureFixture[str]) -> None:
    (alarm,) = [one for one in alarms.ALARMS if one.metric == "SweepRuns"]
    runs = timedelta(seconds=alarm.period) // timedelta(minutes=1)
    jobs.sweep(EVENT, None)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    kinds = sorted(line["kind"] for line in lines if line["event"] == "sweep")

    assert kinds == ["deliveries", "messages", "payments"]
    assert runs * (len(kinds) - 1) < alarm.threshold <= runs * len(kinds), "one that stops is enough"


def test_the_definitions_are_json_with_each_name_once() -> None:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({name for name, _ in pairs}) == len(pairs), pairs
        return dict(pairs)

    for path in sorted((ROOT / "infra" / "stack").glob("*.json")):
        json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique)
