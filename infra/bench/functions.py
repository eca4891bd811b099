"""Functions as Lambda runs them: the files of the zip, and instances that take one request at a time.

An instance is a process under AWS's runtime client. It may be frozen between requests, as Lambda freezes it, and
killed at any time. Only Linux: the processor time comes from the kernel's clock of the process.
"""

import contextlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
import zipfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingTCPServer
from typing import IO, Any

from infra.local import engines, stage_settings
from infra.local.ports import HOST
from infra.stack import cloudformation
from infra.stack.cloudformation import Resources
from infra.stack.resources import ACCOUNT_ID, REGION
from infra.stack.runtime import PACKAGES, PYTHON

VERSION = "/2018-06-01/runtime"
MAX_PAYLOAD_BYTES = 6 * 1024 * 1024  # of a request and of an answer
KILLED = "Runtime.ExitError"
TIMED_OUT = "Sandbox.Timedout"
OUT_OF_MEMORY = "Runtime.OutOfMemory"
INIT_SECONDS = 60  # Lambda waits ten seconds, then starts again; this machine may be busy


@dataclass(frozen=True)
class Cost:
    """The cost of a step: milliseconds on the clock, and of processor time."""

    wall_ms: float
    cpu_ms: float

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.wall_ms + other.wall_ms, self.cpu_ms + other.cpu_ms)


@dataclass(frozen=True)
class Outcome:
    """The answer of Lambda to an invocation: a payload, or the kind of error."""

    payload: bytes
    error: str | None = None
    cost: Cost = Cost(0, 0)


@dataclass(frozen=True)
class Process:
    """The command and environment of an instance. Without a `log` it writes where this process does."""

    command: list[str]
    folder: Path
    environment: Mapping[str, str]
    arn: str
    memory_mb: int
    log: IO[bytes] | None = None
    freezes: bool = False


@dataclass
class Invocation:
    """One request that an instance works on."""

    payload: bytes
    deadline: float  # seconds since 1970
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    outcome: Outcome | None = None
    done: threading.Event = field(default_factory=threading.Event)
    began: Cost = Cost(0, 0)


class Instance:
    """A started process. It calls `on_idle` when it asks for more work, and `on_exit` when it has ended."""

    def __init__(
        self, process: Process, on_idle: Callable[["Instance"], None], on_exit: Callable[["Instance"], None]
    ) -> None:
        self.init: Cost | None = None  # from the start to its first call for a request
        self.first: Cost | None = None  # of its first request
        self.peak_mb = 0.0
        self.arn = process.arn
        self._settings, self._on_idle, self._on_exit = process, on_idle, on_exit
        self._queue: queue.SimpleQueue[Invocation | None] = queue.SimpleQueue()
        self._current: Invocation | None = None
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._api = _RuntimeApi(self)
        self._started = time.perf_counter()
        self._process = subprocess.Popen(  # noqa: S603  every word of the command is ours
            process.command,
            cwd=process.folder,
            env={**process.environment, "AWS_LAMBDA_RUNTIME_API": self._api.address},
            stdin=subprocess.DEVNULL,
            stdout=process.log,
            stderr=process.log,
            process_group=0,  # Ctrl-C ends this process, which then ends its instances itself
        )
        threading.Thread(target=self._api.serve_forever, args=(0.05,), daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()

    def spent(self) -> Cost:
        """Return the cost since the process started."""
        cpu = time.clock_gettime(~self._process.pid << 3 | 2)  # the clock of that process
        return Cost((time.perf_counter() - self._started) * 1000, cpu * 1000)

    def invoke(self, payload: bytes, seconds: float) -> Outcome:
        """Return the outcome of a request. Kill an instance that takes longer than so many seconds after its start."""
        if not self._ready.wait(INIT_SECONDS):
            self.kill()
            return Outcome(b"", TIMED_OUT)
        invocation = Invocation(payload, time.time() + seconds)
        with self._lock:
            if not self.is_alive:
                return Outcome(b"", KILLED)
            self._current = invocation
        self._queue.put(invocation)
        if not invocation.done.wait(seconds):
            self._finish(Outcome(b"", TIMED_OUT))
            self.kill()
        return invocation.outcome or Outcome(b"", TIMED_OUT)

    @property
    def is_alive(self) -> bool:
        """Return whether the process runs, or is frozen."""
        return self._process.poll() is None

    @property
    def state(self) -> str:
        """Return the kernel's letter for the state of the process: S asleep, T stopped, R running."""
        found = re.search(r"State:\s+(\w)", self._status())
        return found[1] if found else ""

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process, and wait for its end."""
        self.kill()
        self._process.wait()

    # Called by the Runtime API, in the thread of the process's connection.

    def next(self) -> Invocation | None:
        """Wait for the next request and return it; None if the process has ended."""
        is_first = self.init is None
        self.init = self.init or self.spent()
        if self._settings.freezes:
            self._process.send_signal(signal.SIGSTOP)
        if is_first:
            self._ready.set()
        else:  # idle before the answer leaves: the caller may send its next request at once
            self._finish(Outcome(b"", KILLED), before=lambda: self._on_idle(self))
        invocation = self._queue.get()
        if invocation is not None:
            if self._settings.freezes:
                self._process.send_signal(signal.SIGCONT)
            invocation.began = self.spent()
        return invocation

    def answer(self, invocation_id: str, payload: bytes, error: str | None) -> bool:
        """Store the answer to a request; return whether the instance works on that request."""
        with self._lock:
            invocation = self._current
        if invocation is None or invocation.id != invocation_id:
            return False
        spent, began = self.spent(), invocation.began
        cost = Cost(spent.wall_ms - began.wall_ms, spent.cpu_ms - began.cpu_ms)
        self.first = self.first or cost
        self.peak_mb = self._peak_mb()
        invocation.outcome = Outcome(payload, error, cost)
        if self.peak_mb > self._settings.memory_mb:
            invocation.outcome = Outcome(b"", OUT_OF_MEMORY, cost)
            self.kill()
        return True

    def _finish(self, otherwise: Outcome, before: Callable[[], None] | None = None) -> None:
        """Complete the current request, with its answer if there is one and `otherwise` if not."""
        with self._lock:
            invocation, self._current = self._current, None
        if before:
            before()
        if invocation:
            invocation.outcome = invocation.outcome or otherwise
            invocation.done.set()

    def _peak_mb(self) -> float:
        found = re.search(r"VmHWM:\s+(\d+) kB", self._status())
        return int(found[1]) / 1024 if found else self.peak_mb  # a killed process has no memory

    def _status(self) -> str:
        return Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")

    def _watch(self) -> None:
        """Wait for the end of the process, then complete its request without an answer."""
        self._process.wait()
        self._finish(Outcome(b"", KILLED))
        self._queue.put(None)
        self._ready.set()
        self._on_exit(self)
        self._api.shutdown()
        self._api.server_close()


class _RuntimeApi(ThreadingTCPServer):
    """Lambda's Runtime API for one instance, on its own port, as far as AWS's runtime client uses it.

    https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
    """

    daemon_threads = True

    def __init__(self, instance: Instance) -> None:
        super().__init__((HOST, 0), _Handler)
        self.instance = instance
        self.address = f"{HOST}:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a lost connection: the process was killed."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _RuntimeApi
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the next request of the instance."""
        invocation = self.server.instance.next() if self.path == f"{VERSION}/invocation/next" else None
        if invocation is None:
            self.close_connection = True
            return
        headers = {
            "Lambda-Runtime-Aws-Request-Id": invocation.id,
            "Lambda-Runtime-Deadline-Ms": str(int(invocation.deadline * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": self.server.instance.arn,
            "Lambda-Runtime-Trace-Id": f"Root=1-{int(invocation.deadline):08x}-{invocation.id.replace('-', '')[:24]}",
        }
        self._write(HTTPStatus.OK, headers, invocation.payload)

    def do_POST(self) -> None:
        """Receive an answer of the instance, or its error."""
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        kind = self.path.rpartition("/")[2]
        accepted = True
        if kind in {"response", "error"} and self.path.startswith(f"{VERSION}/invocation/"):
            error = None if kind == "response" else "Unhandled"
            if len(body) > MAX_PAYLOAD_BYTES:
                body, error = b"", "Function.ResponseSizeTooLarge"
            accepted = self.server.instance.answer(self.path.split("/")[-2], body, error)
        status = HTTPStatus.ACCEPTED if accepted else HTTPStatus.BAD_REQUEST
        self._write(status, {}, b'{"status": "OK"}')

    def _write(self, status: HTTPStatus, headers: dict[str, str], body: bytes) -> None:
        lines = [f"HTTP/1.1 {status.value} {status.phrase}", "Content-Type: application/json"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines += [f"Content-Length: {len(body)}", "", ""]
        self.wfile.write("\r\n".join(lines).encode() + body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is http.server's
        """Log nothing."""


TYPE = "AWS::Serverless::Function"
MAX_INSTANCES = 8  # for each function, to spare this machine: further requests wait
KEPT_OUTCOMES = 10_000
NATIVE = re.compile(r"\.(cpython-\d+|abi3)[^/]*\.so$")
# Packages of Lambda's runtime, which our zip does not hold. awslambdaric is the runtime client.
CLIENT_OF_AWS = ("boto3", "s3transfer")
RUNTIME_CLIENT = ("awslambdaric", "runtime_client*.so", "snapshot_restore_py.py", "simplejson")
INSTALL_HINT = "The deployed functions need the PyPI package awslambdaric (`make tools` installs it)."


class Function:
    """One function of the template. Requests start its instances, and `kill` ends them."""

    def __init__(self, name: str, properties: dict[str, Any], process: Process) -> None:
        self.name = name
        self.timeout_seconds: float = properties["Timeout"]
        self.memory_mb = process.memory_mb
        self.outcomes: deque[Outcome] = deque(maxlen=KEPT_OUTCOMES)
        self.started: list[Instance] = []  # all instances, dead ones included
        self._process = process
        self._alive: set[Instance] = set()
        self._idle: list[Instance] = []
        self._changed = threading.Condition()

    def invoke(self, event: Any) -> Outcome:
        """Return the answer of an idle instance, or of a new one, to the event."""
        payload = event if isinstance(event, bytes) else json.dumps(event).encode()
        outcome = self._take().invoke(payload, self.timeout_seconds)
        self.outcomes.append(outcome)
        return outcome

    def kill(self) -> int:
        """Kill every instance, even a busy one; return their number."""
        with self._changed:
            alive = list(self._alive)
            self._idle.clear()
        for instance in alive:
            instance.end()
        return len(alive)

    def _take(self) -> Instance:
        with self._changed:
            self._changed.wait_for(lambda: self._idle or len(self._alive) < MAX_INSTANCES)
            if self._idle:
                return self._idle.pop()
            instance = Instance(self._process, self._put_back, self._remove)
            self._alive.add(instance)
            self.started.append(instance)
            return instance

    def _put_back(self, instance: Instance) -> None:
        with self._changed:
            if instance in self._alive and instance.is_alive:
                self._idle.append(instance)
            self._changed.notify()

    def _remove(self, instance: Instance) -> None:
        with self._changed:
            self._alive.discard(instance)
            if instance in self._idle:
                self._idle.remove(instance)
            self._changed.notify()


def process_of(  # noqa: PLR0913  the parts of a process
    name: str,
    properties: dict[str, Any],
    variables: dict[str, str],
    *,
    folder: Path,
    runtime: Path,
    log: IO[bytes] | None = None,
    freezes: bool = False,
) -> Process:
    """Return the command of an instance, and the environment that Lambda gives it."""
    own: dict[str, str] = properties.get("Environment", {}).get("Variables", {})
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
        "PYTHONPATH": f"{folder}:{runtime}",
        "PYTHONDONTWRITEBYTECODE": "1",  # the folder of a function is read-only
        "LAMBDA_TASK_ROOT": str(folder),
        "LAMBDA_RUNTIME_DIR": str(runtime),
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{properties['Runtime']}",
        "AWS_LAMBDA_FUNCTION_NAME": name,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(properties["MemorySize"]),
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_SESSION_TOKEN": "local",  # Lambda's credentials always have one
        "_HANDLER": properties["Handler"],
        **own,
        **variables,
    }
    arn = f"arn:aws:lambda:{REGION}:{ACCOUNT_ID}:function:{name}"
    command = _command(properties["Handler"])
    return Process(command, folder, environment, arn, properties["MemorySize"], log, freezes)


def _command(handler: str) -> list[str]:
    """Return the command of an instance: Lambda's Python without site-packages, and the runtime client."""
    return [os.path.realpath(PYTHON), "-S", "-m", "awslambdaric", handler]


class RuntimeMissingError(Exception):
    """AWS's runtime client is not installed; the message says how to install it."""


def unpacked(zip_path: Path, target: Path) -> Path:
    """Unpack the zip into `target`, and return it. Modules for arm64 are replaced by those for this machine."""
    with zipfile.ZipFile(zip_path) as packed:
        packed.extractall(target)
    for module in [path for path in target.rglob("*.so") if NATIVE.search(path.name)]:
        name = module.relative_to(target)
        stem = name.name.split(".")[0]
        own = [path for path in (PACKAGES / name.parent).glob(f"{stem}.*so") if NATIVE.search(path.name)]
        module.unlink()
        (target / name.parent / own[0].name).write_bytes(own[0].read_bytes())
    return target


def is_installed() -> bool:
    """Return whether AWS's runtime client is installed."""
    return (PACKAGES / "awslambdaric").exists()


def runtime(target: Path) -> Path:
    """Fill the folder `target` with links to the packages of Lambda's runtime. Raises RuntimeMissingError."""
    if not is_installed():
        raise RuntimeMissingError(INSTALL_HINT)
    target.mkdir(parents=True)
    for path in (path for name in (*RUNTIME_CLIENT, *CLIENT_OF_AWS) for path in PACKAGES.glob(name)):
        (target / path.name).symlink_to(path)
    return target


@dataclass(frozen=True)
class Stage:
    """The functions and processes of a package by their names in the template, and its resolved resources."""

    functions: Mapping[str, Function]
    processes: Mapping[str, Process]
    resources: Resources


@contextlib.contextmanager
def started(  # noqa: PLR0913  the parts of a stage
    build: Path,
    folder: Path,
    settings: Mapping[str, str],
    *,
    parameters: Mapping[str, str] | None = None,
    log: IO[bytes] | None = None,
    freezes: bool = False,
) -> Iterator[Stage]:
    """Unpack the package in `build` into `folder`, and yield its stage until the block ends.

    `settings` go into the environment of the functions, such as the address of AWS. `parameters` are the template's.
    Raises RuntimeMissingError.
    """
    shutil.rmtree(folder, ignore_errors=True)
    packages = runtime(folder / "runtime")
    task = unpacked(build / "deployment.zip", folder / "task")
    sam = json.loads((build / "sam.json").read_text(encoding="utf-8"))
    resources = cloudformation.deployed(sam, **(parameters or {}))
    variables = {"PUBLIC_ADDRESS": "", **cloudformation.variables(sam), **settings}
    found = {name: item["Properties"] for name, item in resources.items() if item["Type"] == TYPE}
    processes = {
        name: process_of(name, properties, variables, folder=task, runtime=packages, log=log, freezes=freezes)
        for name, properties in found.items()
    }
    functions = {name: Function(name, properties, processes[name]) for name, properties in found.items()}
    try:
        yield Stage(functions, processes, resources)
    finally:
        for function in functions.values():
            function.kill()


# Settings that each deployment chooses. The functions get those of the local stage.
LEFT_OPEN = ("PRINTERS", "MAIL_FROM", "SMS_SENDER")


def settings_of_this_aws(url: str) -> dict[str, str]:
    """Return the settings of a process that uses this process's AWS at `url`."""
    tables = os.environ.get(engines.ENDPOINT_VARIABLE)
    found = {name: stage_settings.ENVIRONMENT[name] for name in LEFT_OPEN} | {"AWS_ENDPOINT_URL": url}
    return found | ({engines.ENDPOINT_VARIABLE: tables} if tables else {})
