"""The command `status`: one screen for the morning, and for the first minute of an alarm. It changes nothing."""

import argparse
import secrets
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

import boto3
from botocore.exceptions import ClientError

from chalicelib import outside
from chalicelib.domain.acquirer import APPROVED_CODE, AcquirerError, UnreachableError, text_of_code
from chalicelib.domain.acquirer_messages import LAST_STAN
from chalicelib.domain.agent import ACTIVE
from chalicelib.domain.business_days import business_day
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.outbox import EMAIL, SMS
from chalicelib.domain.periods import Period
from chalicelib.domain.transaction import MessageTrace
from chalicelib.settings import ISO8583, settings
from chalicelib.store import due_records, events, merchants, outbox, takings, transactions, webhooks
from chalicelib.store.due_index import NO_ACQUIRER
from chalicelib.store.table import read_all
from infra.operator import items, stage_secret, terminal
from infra.operator.merchants import are_stopped, every, transaction_line
from infra.stack.deploy import output, unheard

ECHO_SECONDS = 10.0
EVER = datetime.max.replace(tzinfo=UTC)
SOON = timedelta(days=60)  # the warning before a certificate ends
RUNG = ("OutOfReach", "Unusual")  # a page and a ticket, to which no deployment listens
MOST_SHOWN = 20  # lines of a kind


def status_command(_: argparse.Namespace) -> None:
    """Print the state of the stage. What it does not have is left out, and what AWS refuses is said."""
    parts: list[Callable[[], Iterator[str]]] = [_shops, _unknown_outcomes, _acquirers, _waiting, _secrets]
    if not settings().is_local:
        parts = [_deployment, _alarms, *parts, _senders, _certificate, _copies, _cost]
    print(f"stage          {settings().stage}, {outside.now():%Y-%m-%d %H:%M} UTC")
    for part in parts:
        try:
            for line in part():
                terminal.show(line)
        except ClientError as refusal:
            print(f"{part.__name__.strip('_'):<15}AWS refuses: {refusal.response['Error']['Code']}")


def _named(name: str, lines: Iterator[str] | list[str], *, none: str = "") -> Iterator[str]:
    """Yield lines under a name, at most MOST_SHOWN."""
    listed = list(lines)
    shown = listed[:MOST_SHOWN] or ([none] if none else [])
    shown += [f"and {len(listed) - MOST_SHOWN} more"] if len(listed) > MOST_SHOWN else []
    yield from (f"{'' if number else name:<15}{line}" for number, line in enumerate(shown))


def _shops() -> Iterator[str]:
    now, sold, silent, stopped = outside.now(), list[str](), list[str](), list[str]()
    for one in every(merchants.TABLE, Merchant):
        if stop := "blocked" if one.state != ACTIVE else "cards stopped" if are_stopped(one) else "":
            stopped += [] if one.deleted else [f"{one.id}, {one.name}: {stop}"]
        if not one.is_active:
            continue
        today = business_day(now, one.gmt)
        moved = list(chain.from_iterable(takings.by_day(one.id, Period(today, today), None)))
        number = sum(each.number for each in moved if not each.counter.reverse_mode)
        back = sum(each.number for each in moved if each.counter.reverse_mode)
        facts = f": {number}" + (f", {back} given back" if back else "")
        (sold if number or back else silent).append(f"{one.id}, {one.name}" + (facts if number or back else ""))
    yield from _named("sold today", sold, none="no shop")
    yield from _named("not today", silent)
    yield from _named("stopped", stopped)


def _unknown_outcomes() -> Iterator[str]:
    lanes = [NO_ACQUIRER, *outside.current.acquirers]
    due = list(chain.from_iterable(due_records.of_lane(transactions.TABLE, lane, EVER) for lane in lanes))
    records = [one for one in read_all([transactions.key(entry.id) for entry in due]) if one and one.is_pending]
    yield from _named("no outcome", map(transaction_line, records), none="no payment")


def _acquirers() -> Iterator[str]:
    codes = dict.fromkeys((*settings().acquirers, *([ISO8583] if settings().iso8583 else [])))
    yield from _named("acquirers", [f"{code}{_echo() if code == ISO8583 else ''}" for code in codes])


def _echo() -> str:
    """Return the state of the host of the acquirer ISO8583, asked by an 0800."""
    from chalicelib.gateways.acquirers.iso8583.adapter import Iso8583  # noqa: PLC0415  other stages need no codec

    host = settings().iso8583
    if host is None:
        return ""
    where, began = f", {host.host}:{host.port}", outside.now()
    try:
        code = Iso8583(host).echo(MessageTrace(1 + secrets.randbelow(LAST_STAN), began), ECHO_SECONDS)
    except UnreachableError:
        return f"{where}: NO CONNECTION, see the line `iso8583_unreachable`"
    except AcquirerError:
        return f"{where}: NO ANSWER within {ECHO_SECONDS:.0f} s, or not by the interface"
    if code != APPROVED_CODE:
        return f"{where}: ANSWERS {code:02d}, {text_of_code(code)}"
    return f"{where}: answers, after {(outside.now() - began).total_seconds() * 1000:.0f} ms"


def _waiting() -> Iterator[str]:
    queues = [events.LANE, *(f"{one.client_id}#{one.id}" for one in webhooks.every())]
    lanes = {"messages": (outbox.TABLE, (EMAIL, SMS)), "deliveries": (events.TABLE, queues)}
    waiting = []
    for what, (table, names) in lanes.items():
        due = [one.since for lane in names for one in due_records.of_lane(table, lane, EVER)]
        waiting += [f"{len(due)} {what}, the next at {min(due):%Y-%m-%d %H:%M}"] if due else []
    yield from _named("waiting", waiting, none="nothing")


def _secrets() -> Iterator[str]:
    yield from _named("secrets", stage_secret.described())


@outside.made_once
def _stack() -> dict[str, Any]:
    return dict(boto3.client("cloudformation").describe_stacks(StackName=items.stack())["Stacks"][0])


def _deployment() -> Iterator[str]:
    found = _stack()
    at = found.get("LastUpdatedTime", found["CreationTime"])
    version = output(found, "Version") or "unknown version"
    yield from _named("deployed", [f"{version}, {at:%Y-%m-%d %H:%M} UTC, {found['StackStatus']}"])


def _alarms() -> Iterator[str]:
    pages = boto3.client("cloudwatch").get_paginator("describe_alarms")
    ringing = pages.paginate(AlarmNamePrefix=f"{items.stack()}-", StateValue="ALARM").search("MetricAlarms[]")
    lines = [f"{one['AlarmName']}, since {one['StateUpdatedTimestamp']:%Y-%m-%d %H:%M}" for one in ringing]
    yield from _named("alarms", lines, none="none rings")
    yield from _named("subscriptions", unheard(_stack()))


def ring_command(_: argparse.Namespace) -> None:
    """Let one alarm of each topic ring, so that everybody who should be woken can say whether it came."""
    if settings().is_local:
        sys.exit("The local stage has no alarms.")
    for name in RUNG:
        boto3.client("cloudwatch").set_alarm_state(
            AlarmName=f"{items.stack()}-{name}", StateValue="ALARM", StateReason="A trial by the operator: do nothing."
        )
    print(f"{' and '.join(RUNG)} ring, and end by themselves. Who was woken?")


def _senders() -> Iterator[str]:
    account = boto3.client("sesv2").get_account()
    quota = account["SendQuota"]
    place = "" if account["ProductionAccessEnabled"] else ", IN THE SANDBOX"
    yield from _named("e-mails", [f"{quota['SentLast24Hours']:.0f} of {quota['Max24HourSend']:.0f} today{place}"])
    messages = boto3.client("sns")
    is_sandbox = messages.get_sms_sandbox_account_status()["IsInSandbox"]
    limit = messages.get_sms_attributes(attributes=["MonthlySpendLimit"])["attributes"].get("MonthlySpendLimit", "1")
    yield from _named("SMS", [f"at most {limit} USD a month{', IN THE SANDBOX' if is_sandbox else ''}"])


def _certificate() -> Iterator[str]:
    given = {one["ParameterKey"]: one.get("ParameterValue", "") for one in _stack().get("Parameters", [])}
    if arn := given.get("CertificateArn"):
        ends = boto3.client("acm").describe_certificate(CertificateArn=arn)["Certificate"].get("NotAfter")
        if ends and ends - outside.now() < SOON:
            yield from _named("certificate", [f"of the hosts ENDS on {ends:%Y-%m-%d}"])


def _copies() -> Iterator[str]:
    prefix = f"{settings().table_prefix}copy-"
    names = boto3.client("dynamodb").get_paginator("list_tables").paginate()
    yield from _named("copies", [one for one in names.search("TableNames[]") if one.startswith(prefix)])


def _cost() -> Iterator[str]:
    today = outside.now().date()
    days = {"Start": f"{today.replace(day=1)}", "End": f"{today + timedelta(days=1)}"}
    found = boto3.client("ce", region_name="us-east-1").get_cost_and_usage(
        TimePeriod=days, Granularity="MONTHLY", Metrics=["UnblendedCost"]
    )
    total = found["ResultsByTime"][0]["Total"]["UnblendedCost"]
    yield from _named("cost", [f"{float(total['Amount']):.2f} {total['Unit']} this month, the whole account"])
