"""The table of docs/security.md names every place that stores data, and its times are those of the code."""

import importlib
import re
from datetime import timedelta

import pytest

from chalicelib.domain import (
    events,
    known_addresses,
    message_limits,
    outbox,
    password_lock,
    password_reset,
    sessions,
)
from chalicelib.store import creations, drawers, receipt_numbers
from infra.reference import ROOT
from infra.stack import resources
from infra.stack.template import function_names

SECTION = (ROOT / "docs" / "security.md").read_text(encoding="utf-8").split("\n## Retention\n")[1].split("\n## ")[0]
_, _, *CELLS = [line.strip("| ").split(" | ") for line in SECTION.splitlines() if line.startswith("|")]
STORED_FOR = {where: stored_for for where, _, stored_for, _ in CELLS}
BY_TTL = {where for where, _, _, remover in CELLS if remover == "TTL"}
NAMES = {where: re.findall(r"`([^`]+)`", where) for where in STORED_FOR}
UNITS = {"days": timedelta(days=1), "hours": timedelta(hours=1), "minutes": timedelta(minutes=1)}


def period(time: timedelta) -> str:
    """Return a time in its largest unit that is at least twice in it: 30 days, 24 hours."""
    name = next(name for name, unit in UNITS.items() if time >= 2 * unit)
    assert time % UNITS[name] == timedelta()
    return f"{time // UNITS[name]} {name}"


def end_of(lifetime: sessions.Lifetime) -> str:
    return f"at most {period(lifetime.age)}, {period(lifetime.idle)} without use; then {period(sessions.KNOWN_FOR)}"


def of_exports() -> str:
    [bucket] = resources.properties_of(resources.BUCKET_TYPE)
    rule, *_ = bucket["LifecycleConfiguration"]["Rules"]
    days, further = rule["ExpirationInDays"], rule["NoncurrentVersionExpiration"]["NoncurrentDays"]
    assert (rule["Prefix"], rule["Status"]) == ("exports/", "Enabled")
    assert rule["NoncurrentVersionExpiration"].keys() == {"NoncurrentDays"}, "no version stays"
    return f"{days} day, versions {further} day longer"


def of_lost_records() -> str:
    properties = resources.cloud()["Functions"]["LostRecords"]["Properties"]
    return period(timedelta(seconds=properties["MessageRetentionPeriod"]))


def of_the_key() -> str:
    [key] = resources.properties_of("AWS::KMS::Key")
    return f"no end; {key['PendingWindowInDays']} days after somebody schedules its deletion"


def of_logs() -> str:
    return f"`LogDays`: {resources.definition()['Parameters']['LogDays']['Default']} days by default"


def of_a_till() -> str:
    rules = (ROOT / "chalicelib" / "pages" / "till" / "rules.js").read_text(encoding="utf-8")
    [days] = re.findall(r"KEPT_DAYS = (\d+)", rules)
    return f"{days} days after the service's answer"


EXPIRING = {
    "`logins`, unknown": f"{period(password_lock.COUNTED_FOR)} after the last wrong password",
    "`sessions`": end_of(sessions.ORDINARY),
    "`sessions`, remembered": end_of(sessions.REMEMBERED),
    "`sequences`, offline sales": period(receipt_numbers.NUMBERS_KEPT_FOR),
    "`sequences`, messages of a day": f"{period(message_limits.DAY)} after the day (UTC)",
    "`sequences`, receipts later": period(outbox.KEPT_FOR),
    "`sequences`, sessions": f"{period(sessions.REMEMBERED.age + sessions.KNOWN_FOR)} after its last sign-in",
    "`sequences`, links for a password": period(password_reset.GOOD_FOR),
    "`sequences`, addresses of system users": f"{period(known_addresses.KNOWN_FOR)} after the last sign-in",
    "`sequences`, acts on drawers": period(drawers.REQUESTS_KEPT_FOR),
    "`sequences`, creations": period(creations.KEPT_FOR),
    "`outbox`": f"until it is sent or given up; then {period(outbox.KEPT_FOR)}",
    "`events`": period(events.KEPT_FOR),
}
ELSEWHERE = {
    "`exports/` in the bucket": of_exports(),
    "the queue `LostRecords`": of_lost_records(),
    "the key of the stage": of_the_key(),
    "the browser of a till": of_a_till(),
}


def tables(*, expiring: bool = False) -> set[str]:
    return {
        resources.physical_name(one["TableName"], "").lstrip("-")
        for one in resources.properties_of(resources.TABLE_TYPE)
        if not expiring or one.get("TimeToLiveSpecification") == {"AttributeName": "expires_at", "Enabled": True}
    }


def test_every_table_of_the_stack_has_a_row() -> None:
    assert {name for names in NAMES.values() for name in names if re.fullmatch("[a-z]+", name)} == tables()


def test_records_expire_in_exactly_the_tables_with_a_ttl() -> None:
    assert {NAMES[where][0] for where in BY_TTL} == tables(expiring=True)
    assert set(EXPIRING) == BY_TTL


@pytest.mark.parametrize(("where", "time"), [*EXPIRING.items(), *ELSEWHERE.items()])
def test_a_time_of_the_table_is_that_of_the_code(where: str, time: str) -> None:
    assert STORED_FOR[where] == time


def test_other_records_have_no_end() -> None:
    others = {where for where, names in NAMES.items() if where not in EXPIRING and tables() & set(names)}

    assert {STORED_FOR[where] for where in others} == {"no end"}


def test_every_log_group_has_a_row_with_its_time() -> None:
    groups = {*function_names(importlib.import_module("app").app).values(), "access"}

    [where] = [where for where in NAMES if "/payments/" in where]
    assert {name.rpartition("/")[2] for name in NAMES[where]} == groups
    assert STORED_FOR[where] == of_logs()


def test_every_folder_of_the_bucket_has_a_row() -> None:
    folders = {
        folder
        for path in (ROOT / "chalicelib" / "services").glob("*.py")
        for folder in re.findall(r'f"(\w+/)\{', path.read_text(encoding="utf-8"))
    }

    assert {name for names in NAMES.values() for name in names if name.endswith("/")} == folders


def test_the_tables_can_be_restored_for_the_time_of_the_table() -> None:
    recovery = [one["PointInTimeRecoverySpecification"] for one in resources.properties_of(resources.TABLE_TYPE)]

    assert recovery == [{"PointInTimeRecoveryEnabled": True}] * len(recovery)  # for as long as DynamoDB can
    assert STORED_FOR["point-in-time recovery"] == "35 days"
