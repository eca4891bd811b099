"""Fixtures of every test: an engine for the tables, and the whole stage on HTTP.

All engines may be up at once. A test chooses the one that the service asks, so the order of tests does not matter.
`engine` is the simulation's store in memory; with ENGINES=all it is each engine in turn, as before a release.
`exact_engine` leaves out moto, whose transactions have no tokens. `memory`, `moto` and `dynamodb_local` are one of
them: DynamoDB Local where calls compete or capacity is counted. tests/store runs on moto and DynamoDB Local.
tests/simulation/test_store.py compares the store in memory. Tables live as long as the session: a test makes its own
merchants and IDs, and asks for nothing it did not make.
"""

import gc
import importlib
import os
import pickle
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from hypothesis import settings as hypothesis
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.dynamodb.models import dynamodb_backends

from chalicelib import outside
from chalicelib.gateways import secrets
from chalicelib.services import lane_runner
from chalicelib.settings import settings
from infra.demo import partner as demo_partner
from infra.local import engines, stage_settings
from infra.local.gateway import Server
from infra.stack import resources
from tests.support import deployment, http
from tests.support.accounts import QUICK_HASHER, accept_test_tokens
from tests.support.deployment import build, sam
from tests.support.giving import Give
from tests.support.iam import enforced_policies, no_call_denied
from tests.support.joined_pages import joined_folder, joined_pages
from tests.support.store_in_memory import URL, StoreInMemory

# The policies of the functions hold in every test; a package is made for the tests that need one.
__all__ = ["build", "enforced_policies", "joined_folder", "joined_pages", "no_call_denied", "sam"]

CI = os.environ.get("CI") == "true"

hypothesis.register_profile("ci", deadline=None, derandomize=True, max_examples=25)  # the same ones in each run
hypothesis.register_profile("dev", deadline=None, max_examples=25)  # other ones in each run
hypothesis.register_profile("release", deadline=None)
hypothesis.register_profile("quick", deadline=None, derandomize=True, max_examples=10)
hypothesis.load_profile("ci" if CI else "release" if os.environ.get("ENGINES") == "all" else "dev")


@pytest.fixture(scope="session", autouse=True)
def nothing_real() -> Iterator[None]:
    """No test reaches a real AWS: credentials that are none, and an endpoint where nobody listens."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in stage_settings.ENVIRONMENT.items():
            patch.setenv(name, value)
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", engines.ENDPOINT_VARIABLE):
            patch.delenv(name, raising=False)
        patch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_passwords() -> Iterator[None]:
    """Each password is hashed and verified by argon2, with its least parameters: tests store and verify thousands."""
    with outside.given(hasher=lambda: QUICK_HASHER):
        yield


@pytest.fixture(scope="session")
def aws(nothing_real: None) -> Iterator[None]:
    """An AWS in the process, for the session."""
    del nothing_real
    with engines.moto_engine():
        yield


@pytest.fixture(autouse=True)
def fresh_sweep() -> None:
    """Let each test begin as a new process does: no acquirer counts as silent."""
    lane_runner.memory().clear()


@pytest.fixture
def give() -> Iterator[Give]:
    """Change the outside until the test ends."""
    with ExitStack() as stack:

        def change(**changes: Any) -> None:
            stack.enter_context(outside.given(**changes))

        yield change


@pytest.fixture(scope="session")
def dynamodb_local_url(aws: None) -> Iterator[str]:
    """A DynamoDB Local for the session. Without Java or npm its tests are skipped, in CI they fail."""
    del aws
    lane = engines.dynamodb_local(expiring=False)  # tests set the clock; TTL deletes by the real one
    try:
        url = lane.__enter__()
    except engines.EngineMissingError as missing:
        (pytest.fail if CI else pytest.skip)(str(missing))
    yield url
    lane.__exit__(None, None, None)


EXACT = "memory", "dynamodb-local"


def tested_engines() -> tuple[str, ...]:
    """Return the engines of the tests that run on any: ENGINES names one or all."""
    chosen = os.environ.get("ENGINES") or "memory"
    return (*EXACT, "moto") if chosen == "all" else (chosen,)


@pytest.fixture(scope="session", params=tested_engines())
def engine_name(request: pytest.FixtureRequest) -> str:
    """Which engine; session-wide, so that pytest runs the tests of one together."""
    name: str = request.param
    return name


@pytest.fixture(scope="session", params=[name for name in tested_engines() if name in EXACT] or EXACT[:1])
def exact_engine_name(request: pytest.FixtureRequest) -> str:
    """Which engine of those that are exact."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def when_tables_change() -> list[Callable[[], None]]:
    """What is called when other tables are asked than before: for processes that remember what they read."""
    return []


@pytest.fixture
def choose(aws: None, when_tables_change: list[Callable[[], None]]) -> Callable[[str | None], None]:
    """Send this test's DynamoDB calls to one engine; a test has one."""
    del aws
    chosen: list[str | None] = []

    def select(url: str | None) -> None:
        assert chosen in ([], [url]), "a test has one engine"
        chosen[:] = [url]
        if os.environ.get(engines.ENDPOINT_VARIABLE) != url:
            for change in when_tables_change:
                change()
        engines.select(url)

    return select


@pytest.fixture(scope="session")
def begin_anew(server: str, when_tables_change: list[Callable[[], None]]) -> Callable[[], None]:
    """Call it when tables begin with the demo data again: the secret does as well. Some tests rotate parts of it.

    The server is there before, because it stores the secret of the demo partner.
    """
    del server
    client = boto3.client("secretsmanager")
    first: list[str] = []  # after the demo data, which stores the signing secret

    def begin() -> None:
        stored: str = client.get_secret_value(SecretId=settings().secret_id)["SecretString"]
        first[:] = first or [stored]
        if first != [stored]:
            client.put_secret_value(SecretId=settings().secret_id, SecretString=first[0])
            secrets.remembered().forget()
        for change in when_tables_change:
            change()

    return begin


@pytest.fixture(scope="session")
def moto_tables(begin_anew: Callable[[], None]) -> "MotoTables":
    """The tables on moto, as they were with the demo data in them and nothing else."""
    return MotoTables(begin_anew)


@pytest.fixture
def fresh_tables(moto_tables: "MotoTables") -> None:
    """Let a test begin from the demo data alone, instead of where the tests of its module before it left the tables."""
    moto_tables.module = None


@pytest.fixture
def moto(choose: Callable[[str | None], None], moto_tables: "MotoTables", request: pytest.FixtureRequest) -> None:
    """The tables on moto with the demo data: quick, and no proof of anything about concurrency or cost."""
    choose(None)
    moto_tables.reset(request.node.path)


class MotoTables:
    """moto copies whole tables at each transaction: each module starts from the demo data."""

    def __init__(self, begin_anew: Callable[[], None]) -> None:
        self.begin_anew = begin_anew
        self.module: Path | None = None
        self.items: dict[str, bytes] = {}  # pickled, which copies them ten times faster than deepcopy

    def reset(self, module: Path) -> None:
        if module == self.module:
            return
        self.module = module
        tables = dynamodb_backends[DEFAULT_ACCOUNT_ID][resources.REGION].tables
        if not self.items:
            importlib.import_module("infra.demo.data").seed()
            self.items = {name: pickle.dumps(table.items) for name, table in tables.items()}
        for name in tables.keys() - self.items.keys():  # copies that a restore made
            del tables[name]
        for name, table in tables.items():
            table.items = pickle.loads(self.items[name])  # noqa: S301  our own
        self.begin_anew()


@pytest.fixture(scope="session")
def store_in_memory(aws: None) -> Iterator[StoreInMemory]:
    """The simulation's store."""
    del aws
    found = StoreInMemory()
    with found.serving():
        yield found


@pytest.fixture
def memory(
    choose: Callable[[str | None], None],
    store_in_memory: StoreInMemory,
    begin_anew: Callable[[], None],
    request: pytest.FixtureRequest,
) -> None:
    """The tables in the simulation's store, with the demo data: each module starts from these alone."""
    choose(URL)
    if store_in_memory.begin(request.node.path, importlib.import_module("infra.demo.data").seed):
        begin_anew()


@pytest.fixture
def dynamodb_local(choose: Callable[[str | None], None], dynamodb_local_url: str) -> str:
    """The tables on DynamoDB Local; its URL."""
    choose(dynamodb_local_url)
    return dynamodb_local_url


@pytest.fixture
def engine(engine_name: str, request: pytest.FixtureRequest) -> str:
    """The tables on each engine in turn; its name."""
    request.getfixturevalue(engine_name.replace("-", "_"))
    return engine_name


@pytest.fixture
def exact_engine(exact_engine_name: str, request: pytest.FixtureRequest) -> str:
    """The tables on each engine that carries out transactions as the cloud does; its name."""
    request.getfixturevalue(exact_engine_name.replace("-", "_"))
    return exact_engine_name


def pytest_collection_finish() -> None:
    """Let Python look for garbage seldom, and never among modules and tests: it took a thirtieth of the time."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of a run.

    With `--quick` only the tests run that take milliseconds and need Python alone: they start no process. With
    `--slow` all others run. With `--deployed` the tests of the API ask the package instead of the local stage.
    """
    parser.addoption("--deployed", action="store_true", help="run tests/api against the functions of the package")
    parser.addoption("--quick", action="store_true", help="run the tests that take no time")
    parser.addoption("--slow", action="store_true", help="run the tests that --quick leaves out")


FOLDER = Path(__file__).parent
NO_PARAMETERS = SimpleNamespace(params={})
SLOW_FIXTURES = frozenset({"browser", "build", "dynamodb_local", "dynamodb_local_url"})


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip, with a reason, what cannot be asked of functions that are processes of their own; select by the option."""
    if config.getoption("--deployed"):
        deployment.skip_what_is_local(items)
    if config.getoption("--quick"):
        hypothesis.load_profile("quick")
    if (is_quick := config.getoption("--quick")) or config.getoption("--slow"):
        chosen = [item for item in items if _is_quick(item) is is_quick]
        config.hook.pytest_deselected(items=set(items).difference(chosen))
        items[:] = chosen


def _is_quick(item: pytest.Item) -> bool:
    if item.get_closest_marker("slow") or set(getattr(item, "fixturenames", ())) & SLOW_FIXTURES:
        return False
    if item.path.relative_to(FOLDER).parts[0] in {"browser", "clients", "infra", "pages", "properties", "simulation"}:
        return False
    return "dynamodb-local" not in getattr(item, "callspec", NO_PARAMETERS).params.values()


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest, aws: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The service on HTTP, and the demo partner: its URL. The engine behind it is the one the test chose."""
    del aws
    if request.config.getoption("--deployed"):
        package: Path = request.getfixturevalue("build")
        with (
            demo_partner.serve(),
            deployment.served(
                package, tmp_path_factory.mktemp("deployed"), settings=deployment.settings_as_local()
            ) as running,
        ):

            def begin_anew() -> None:
                accept_test_tokens()  # before its functions read the secret, which they remember for minutes
                running.forget()

            request.getfixturevalue("when_tables_change").append(begin_anew)
            yield running.url
    else:
        with demo_partner.serve(), Server(importlib.import_module("app").app) as server:
            yield server.url
    http.close()


@pytest.fixture(scope="session")
def seeded() -> set[str]:
    """The engines that hold the demo data, by their URLs."""
    return set()


@pytest.fixture
def stage(server: str, request: pytest.FixtureRequest) -> str:
    """The local stage with its demo data, on moto, or with --quick in memory unless the test wants moto: its URL."""
    in_memory = request.config.getoption("--quick") and "moto" not in request.fixturenames
    request.getfixturevalue("stage_in_memory" if in_memory else "moto")
    return server


STAGES = {"memory": "stage_in_memory", "moto": "stage", "dynamodb-local": "stage_on_dynamodb_local"}


@pytest.fixture
def stage_on_engine(engine_name: str, request: pytest.FixtureRequest) -> str:
    """The local stage on the engine of the tests that run on any: its URL."""
    url: str = request.getfixturevalue(STAGES[engine_name])
    return url


@pytest.fixture
def stage_in_memory(memory: None, server: str) -> str:
    """The local stage with its demo data, on the simulation's store: its URL."""
    del memory
    return server


@pytest.fixture
def stage_on_dynamodb_local(dynamodb_local: str, server: str, seeded: set[str]) -> str:
    """The local stage with its demo data, on DynamoDB Local: its URL."""
    if dynamodb_local not in seeded:
        importlib.import_module("infra.demo.data").seed()
        seeded.add(dynamodb_local)
    return server


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let the first line of a failure say which claim does not hold, in words."""
    report = yield
    if report.failed:
        report.location = (*report.location[:2], claim_of(item.name))
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let a run of CI fail in which a test was skipped, unless the environment says what this machine lacks."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if CI and reporter and reporter.getreports("skipped") and not {"NO_BROWSER", "NO_RUNTIME"} & os.environ.keys():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def claim_of(name: str) -> str:
    """Return the claim that a test's name makes."""
    words, bracket, parameters = name.removeprefix("test_").partition("[")
    return f"NOT TRUE: {words.replace('_', ' ')}{' ' + bracket if bracket else ''}{parameters}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once that the lane on DynamoDB Local did not run, and why."""
    skipped = [str(report.longrepr) for report in terminalreporter.getreports("skipped")]
    if missing := [reason for reason in skipped if engines.INSTALL_HINT in reason]:
        terminalreporter.write_line(f"{len(missing)} tests skipped: {engines.INSTALL_HINT}")
