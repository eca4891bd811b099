"""Functions as Lambda runs them: the files of the zip, and instances that take one request at a time.

An instance is a process under AWS's runtime client, which may be killed at any time. Only Linux: the processor time
comes from the kernel's clock of the process.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import TCPServer
from typing import IO, Any

from infra.local import engines, stage_settings
from infra.local.ports import HOST
from infra.stack import cloudformation
from infra.stack.cloudformation import Resources
from infra.stack.resources import ACCOUNT_ID, FUNCTION_TYPE, REGION
from infra.stack.runtime import PACKAGES, PYTHON

MAX_PAYLOAD_BYTES = 6 * 1024 * 1024  # of a request and of an answer
KILLED = "Runtime.ExitError"
TIMED_OUT = "Sandbox.Timedout"
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


class Instance(TCPServer):
    """A started process, and Lambda's Runtime API for it, on its own port: `invoke` serves what the process asks.

    https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
    """

    timeout = 0.05  # seconds until `invoke` looks again whether the process is alive

    def __init__(self, function: "Function") -> None:
        super().__init__((HOST, 0), _RuntimeApi)
        self.arn = f"arn:aws:lambda:{REGION}:{ACCOUNT_ID}:function:{function.name}"
        self.init: Cost | None = None  # from the start to its first call for a request
        self.peak_mb = 0.0
        self.payload, self.seconds, self.deadline = b"", 0.0, 0.0  # of its request; the deadline in seconds since 1970
        self.outcome: Outcome | None = None
        self._began = Cost(0, 0)
        self._busy = threading.Lock()
        self._started = time.perf_counter()
        self._process = subprocess.Popen(  # noqa: S603  every word of the command is ours
            [os.path.realpath(PYTHON), "-S", "-m", "awslambdaric", function.handler],  # no site-packages, as in Lambda
            cwd=function.folder,
            env={**function.environment, "AWS_LAMBDA_RUNTIME_API": f"{HOST}:{self.server_address[1]}"},
            stdin=subprocess.DEVNULL,
            stdout=function.log,
            stderr=function.log,
            process_group=0,  # Ctrl-C ends this process, which then ends its instances itself
        )

    @property
    def is_alive(self) -> bool:
        """Return whether the process runs."""
        return self._process.poll() is None

    def invoke(self, payload: bytes, seconds: float) -> Outcome:
        """Return the outcome of a request. Kill an instance that takes longer than so many seconds after its start."""
        with self._busy:
            self.payload, self.seconds, self.outcome = payload, seconds, None
            self.deadline = time.time() + INIT_SECONDS
            while self.outcome is None and self.is_alive and time.time() < self.deadline:
                self.handle_request()
        if self.outcome is None:
            self.outcome = Outcome(b"", TIMED_OUT if self.is_alive else KILLED)
            self.end()
        return self.outcome

    def end(self) -> None:
        """Kill the process, and wait for its end and that of its request."""
        self._process.kill()
        self._process.wait()
        with self._busy:
            self.server_close()

    def begin(self) -> None:
        """Start the clocks of the request: the process asks for it."""
        self._began = self._spent()
        self.init = self.init or self._began
        self.deadline = time.time() + self.seconds

    def finish(self, payload: bytes, error: str | None) -> None:
        """Store the answer of the process to its request."""
        spent = self._spent()
        cost = Cost(spent.wall_ms - self._began.wall_ms, spent.cpu_ms - self._began.cpu_ms)
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8"))
        self.peak_mb = int(found[1]) / 1024 if found else self.peak_mb  # a killed process has no memory
        self.outcome = Outcome(payload, error, cost)

    def _spent(self) -> Cost:
        cpu = time.clock_gettime(~self._process.pid << 3 | 2)  # the clock of that process
        return Cost((time.perf_counter() - self._started) * 1000, cpu * 1000)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a lost connection: the process was killed."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _RuntimeApi(BaseHTTPRequestHandler):
    """The requests of AWS's runtime client. Each has its connection, so a call for a request waits for `invoke`."""

    server: Instance

    def do_GET(self) -> None:
        """Answer with the request of the instance."""
        self.server.begin()
        deadline, request_id = self.server.deadline, str(uuid.uuid4())
        headers = {
            "Lambda-Runtime-Aws-Request-Id": request_id,
            "Lambda-Runtime-Deadline-Ms": str(int(deadline * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": self.server.arn,
            "Lambda-Runtime-Trace-Id": f"Root=1-{int(deadline):08x}-{request_id.replace('-', '')[:24]}",
        }
        self._write(HTTPStatus.OK, headers, self.server.payload)

    def do_POST(self) -> None:
        """Receive an answer of the instance, or its error."""
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if "/invocation/" in self.path:  # else an error before the first request: the process ends
            error = None if self.path.endswith("/response") else "Unhandled"
            if len(body) > MAX_PAYLOAD_BYTES:
                body, error = b"", "Function.ResponseSizeTooLarge"
            self.server.finish(body, error)
        self._write(HTTPStatus.ACCEPTED, {}, b'{"status": "OK"}')

    def _write(self, status: HTTPStatus, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is http.server's
        """Log nothing."""


MAX_INSTANCES = 8  # for each function, to spare this machine: further requests wait
NATIVE = re.compile(r"\.(cpython-\d+|abi3)[^/]*\.so$")
# Packages of Lambda's runtime, with its client awslambdaric. Our zip goes before them, with a botocore of its own.
CLIENT_OF_AWS = ("boto3", "botocore", "s3transfer", "jmespath", "urllib3", "dateutil", "six.py")
RUNTIME_CLIENT = ("awslambdaric", "runtime_client*.so", "snapshot_restore_py.py", "simplejson")
INSTALL_HINT = "The deployed functions need the PyPI package awslambdaric (`make tools` installs it)."


@dataclass
class Function:
    """One function of the template. Requests start its instances, and `kill` ends them.

    Without a `log` the instances write where this process does.
    """

    name: str
    handler: str
    timeout_seconds: float
    folder: Path
    environment: Mapping[str, str]
    log: IO[bytes] | None = None
    outcomes: list[Outcome] = field(init=False, default_factory=list)
    started: list[Instance] = field(init=False, default_factory=list)  # all instances, dead ones included
    _idle: list[Instance] = field(init=False, default_factory=list)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    _places: threading.Semaphore = field(init=False, default_factory=lambda: threading.Semaphore(MAX_INSTANCES))

    def invoke(self, event: Any) -> Outcome:
        """Return the answer of an idle instance, or of a new one, to the event."""
        payload = event if isinstance(event, bytes) else json.dumps(event).encode()
        with self._places:
            instance = self._take()
            outcome = instance.invoke(payload, self.timeout_seconds)
            self._idle.append(instance)
        self.outcomes.append(outcome)
        return outcome

    def kill(self) -> None:
        """Kill every instance, even a busy one."""
        with self._lock:
            for instance in self.started:
                instance.end()

    def _take(self) -> Instance:
        with self._lock:
            while self._idle:
                if (instance := self._idle.pop()).is_alive:
                    return instance
            self.started.append(Instance(self))
            return self.started[-1]


def _environment(name: str, properties: dict[str, Any], folder: Path, packages: Path) -> dict[str, str]:
    """Return the environment that Lambda gives to a function of the template."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
        "PYTHONPATH": f"{folder}:{packages}",
        "PYTHONDONTWRITEBYTECODE": "1",  # the folder of a function is read-only
        "LAMBDA_TASK_ROOT": str(folder),
        "LAMBDA_RUNTIME_DIR": str(packages),
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
        **properties.get("Environment", {}).get("Variables", {}),
    }


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


def _runtime(target: Path) -> Path:
    """Fill the folder `target` with links to the packages of Lambda's runtime. Raises RuntimeMissingError."""
    if not is_installed():
        raise RuntimeMissingError(INSTALL_HINT)
    target.mkdir(parents=True)
    for path in (path for name in (*RUNTIME_CLIENT, *CLIENT_OF_AWS) for path in PACKAGES.glob(name)):
        (target / path.name).symlink_to(path)
    return target


@dataclass(frozen=True)
class Stage:
    """The functions of a package by their names in the template, and its resolved resources."""

    functions: Mapping[str, Function]
    resources: Resources


@contextlib.contextmanager
def started(
    build: Path,
    folder: Path,
    settings: Mapping[str, str],
    *,
    parameters: Mapping[str, str] | None = None,
    log: IO[bytes] | None = None,
) -> Iterator[Stage]:
    """Unpack the package in `build` into `folder`, and yield its stage until the block ends.

    `settings` go into the environment of the functions, such as the address of AWS. `parameters` are the template's.
    Raises RuntimeMissingError.
    """
    shutil.rmtree(folder, ignore_errors=True)
    packages = _runtime(folder / "runtime")
    task = unpacked(build / "deployment.zip", folder / "task")
    sam = json.loads((build / "sam.json").read_text(encoding="utf-8"))
    resources = cloudformation.deployed(sam, **(parameters or {}))
    variables = {"PUBLIC_ADDRESS": "", **cloudformation.variables(sam), **settings}
    functions = {}
    for name, properties in (
        (name, item["Properties"]) for name, item in resources.items() if item["Type"] == FUNCTION_TYPE
    ):
        environment = {**_environment(name, properties, task, packages), **variables}
        functions[name] = Function(name, properties["Handler"], properties["Timeout"], task, environment, log)
    try:
        yield Stage(functions, resources)
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
