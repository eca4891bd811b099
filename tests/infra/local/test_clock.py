"""The clock of the local stage is put forward, and the work that falls due is done in the order of time."""

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib import outside
from infra.demo.data import OWNER, TILL
from infra.local import ports, stage_clock
from infra.local.stage_clock import StageClock, duration, shown
from tests.infra.local.stages import a_stage, url_of
from tests.infra.reference.test_guides import CLOCKS_GUIDE, CODES
from tests.support import guides
from tests.support.http import get, post
from tests.support.receivers import a_receiver

pytestmark = pytest.mark.slow

SECONDS = {"D": 86_400, "H": 3600, "M": 60, "S": 1}


@given(st.tuples(*[st.none() | st.integers(0, 999)] * 4).filter(any))
def test_a_duration_is_the_sum_of_its_parts(parts: tuple[int | None, ...]) -> None:
    written = [f"{number}{unit}" for number, unit in zip(parts, SECONDS, strict=True) if number is not None]
    days, rest = [one for one in written if one.endswith("D")], [one for one in written if not one.endswith("D")]
    text = f"P{''.join(days)}{'T' if rest else ''}{''.join(rest)}"

    assert duration(text) == sum((number or 0) * one for number, one in zip(parts, SECONDS.values(), strict=True))


@given(st.timedeltas(timedelta(), timedelta(days=400)))
def test_what_is_shown_reads_back_the_same(ahead: timedelta) -> None:
    assert duration(shown(ahead)) == Fraction(ahead // timedelta(microseconds=1), 1_000_000)


@pytest.mark.parametrize(
    "text",
    ["", "P", "PT", "P1Y", "P1M", "-PT5M", "+PT5M", "PT-5M", "PT5", "5M", "PT1.5H30M", "P1W2D", "pt5m", "PT5M\n"],
)
def test_another_text_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration such as PT30M"):
        duration(text)


def test_a_request_sees_one_time_and_the_clock_waits_for_it() -> None:
    one, moved = StageClock(), threading.Event()

    def move() -> None:
        one.set_ahead(timedelta(days=1))
        moved.set()

    mover = threading.Thread(target=move)
    with one.request():
        mover.start()
        assert not moved.wait(0.2)
        assert one.ahead == timedelta()
    mover.join()
    assert one.ahead == timedelta(days=1)


class Stage(NamedTuple):
    """A stage that runs as a process."""

    url: str
    aws: str

    def ask(self, body: bytes | None = None) -> tuple[int, dict[str, str]]:
        """Read the clock, or put it forward."""
        try:
            with urllib.request.urlopen(f"{self.aws}{stage_clock.PATH}", body, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refusal:
            return refusal.code, json.load(refusal)

    def advance(self, text: str) -> dict[str, str]:
        status, answer = self.ask(json.dumps({"Advance": text}).encode())
        assert status == 200
        return answer

    @property
    def now(self) -> datetime:
        return datetime.fromisoformat(self.ask()[1]["Now"])


def a_running_stage(**environment: str) -> Iterator[Stage]:
    port = ports.free_port()
    with a_stage(AWS_PORT=str(port), LOG="json", **environment) as process:
        url = url_of(process)
        assert process.stdout
        threading.Thread(target=process.stdout.read, daemon=True).start()  # a full pipe would stop the stage
        yield Stage(url, f"http://127.0.0.1:{port}")


@pytest.fixture(scope="module", params=["moto", "dynamodb-local"])
def running(request: pytest.FixtureRequest) -> Iterator[Stage]:
    if request.param == "dynamodb-local":
        request.getfixturevalue("dynamodb_local_url")  # skipped where it is missing
    yield from a_running_stage(ENGINE=request.param)


def test_the_recipes_of_the_guide_are_answered_as_it_says(running: Stage) -> None:
    answers = guides.pasted(CLOCKS_GUIDE, running.url, running.aws)

    assert [answer.get("ErrorCode") for answer in answers] == CODES[CLOCKS_GUIDE]
    reversed_, signed = (answer["Transactions"][0] for answer in answers if "Transactions" in answer)
    assert (reversed_["State"], reversed_["Substate"]) == (200, 202)
    assert (signed["State"], signed["Substate"]) == (400, 411)


def test_the_answer_is_the_new_time_and_every_answer_of_the_service_has_it(running: Stage) -> None:
    before = running.now
    after = datetime.fromisoformat(running.advance("P2DT3H")["Now"])

    assert timedelta(days=2, hours=3) <= after - before < timedelta(days=2, hours=3, minutes=1)
    assert after.tzinfo is not None
    dated = parsedate_to_datetime(get(running.url, "/api/v1/health").headers["Date"])
    assert abs(dated - after) < timedelta(minutes=1)


REFUSED = ("PT0S", "P0D", "-PT5M", "P1Y", "P1M", "P401D", "P99999999W")


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b"x", b'{"Advance": 5}', b'{"Advance": null}', b"\xff"]
    + [json.dumps({"Advance": text}).encode() for text in REFUSED],
)
def test_a_refused_advance_changes_nothing(body: bytes, running: Stage) -> None:
    before = running.ask()[1]["Ahead"]
    status, answer = running.ask(body)

    assert (status, list(answer)) == (400, ["Error"])
    assert running.ask()[1]["Ahead"] == before


def test_advances_at_once_are_all_made(running: Stage) -> None:
    before = duration(running.ask()[1]["Ahead"])
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(running.advance, ["PT10M"] * 4))

    assert duration(running.ask()[1]["Ahead"]) - before == 2400


def test_a_failed_webhook_is_tried_at_each_of_its_times_in_order(running: Stage) -> None:
    with a_receiver(lambda _: 503) as receiver:
        path = "/api/v1/merchant/1/webhook/create"
        made = post(running.url, path, {"Url": receiver.url}, OWNER).body["Webhook"]
        body = {"BasicTran": {"InputType": 10, "CurrencyID": "ZAR", "Amount": 1}}
        assert post(running.url, "/api/v1/payment/submit", body, TILL).body["ErrorCode"] == 0
        _until(lambda: receiver.calls)
        running.advance("P4D")
        post(running.url, f"/api/v1/merchant/1/webhook/{made['ID']}/delete", {}, OWNER)

    times = [int(call.headers["webhook-timestamp"]) for call in receiver.calls]
    pauses = [after - before for before, after in pairwise(times)]
    assert len(times) >= 9
    assert times == sorted(times)
    assert all(after >= before * 0.7 for before, after in pairwise(pauses))  # longer and longer, with jitter
    assert 86_400 < times[-1] - times[0] <= 3 * 86_400


def _until(condition: Callable[[], object]) -> None:
    for _ in range(100):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError


def test_the_clock_goes_at_most_400_days_ahead() -> None:
    for stage in a_running_stage(ENGINE="moto"):  # of its own: no other test could put its clock forward afterwards
        stage.advance("P3D")
        assert stage.ask(json.dumps({"Advance": "P397DT1S"}).encode())[0] == 400
        assert stage.ask()[1]["Ahead"] == shown(timedelta(days=3))

        assert stage.advance("P397D")["Ahead"] == shown(timedelta(days=400))


def test_another_program_of_the_stage_follows_its_clock(running: Stage) -> None:
    running.advance("P1D")
    with stage_clock.followed(running.aws), stage_clock.followed("http://127.0.0.1:9"):  # nobody is there: it stays
        assert abs(outside.now() - running.now) < timedelta(minutes=1)
        assert outside.now() - outside.machine_time() > timedelta(hours=23)
