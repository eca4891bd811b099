"""A function as Lambda runs it: its files, and as many instances as there are requests at once."""

import json
import os
import re
import sys
import sysconfig
import threading
import zipfile
from collections import deque
from concurrent.futures import Future
from pathlib import Path
from typing import IO, Any

from infra.api_gateway.gateway import Kind, Refusal
from infra.deployed.instance import MAX_PAYLOAD_BYTES, Instance, Outcome, Process
from infra.local.engines import ACCOUNT_ID, REGION

TYPE = "AWS::Serverless::Function"
THROTTLED = "TooManyRequestsException"
MAX_INSTANCES = 8  # of a function, for the sake of this machine: further requests wait
KEPT_OUTCOMES = 10_000
NATIVE = re.compile(r"\.(cpython-\d+|abi3)[^/]*\.so$")
# Packages that no zip of ours holds, because Lambda's runtime has them; awslambdaric is that runtime.
CLIENT_OF_AWS = ("boto3", "botocore", "s3transfer", "jmespath", "urllib3", "dateutil", "six.py")
RUNTIME_CLIENT = ("awslambdaric", "runtime_client*.so", "snapshot_restore_py.py", "simplejson")
ENGINES = Path(__file__).parents[2] / ".engines"
INSTALL_HINT = "What is deployed runs under the PyPI package awslambdaric (`make lambda` installs it)."


class Function:
    """One function of the template. Its instances start with its requests, and end with `kill`."""

    def __init__(self, name: str, properties: dict[str, Any], process: Process) -> None:
        self.name = name
        self.timeout_seconds: float = properties["Timeout"]
        self.memory_mb = process.memory_mb
        self.outcomes: deque[Outcome] = deque(maxlen=KEPT_OUTCOMES)
        self.started: list[Instance] = []  # all there were
        self._process = process
        self._reserved: int | None = properties.get("ReservedConcurrentExecutions")
        self._alive: set[Instance] = set()
        self._idle: list[Instance] = []
        self._changed = threading.Condition()

    def invoke(self, event: Any) -> Outcome:
        """Return what an instance answers to the event: one that is idle, else a new one."""
        payload = event if isinstance(event, bytes) else json.dumps(event).encode()
        instance = self._take()
        if instance is None:
            return Outcome(b"", THROTTLED)
        outcome = instance.invoke(payload, self.timeout_seconds)
        self.outcomes.append(outcome)
        return outcome

    def answer(self, event: dict[str, Any], seconds: float) -> Any:
        """Return the function's answer to a gateway that waits so many seconds; after them the function works on."""
        payload = json.dumps(event, ensure_ascii=False).encode()
        if len(payload) > MAX_PAYLOAD_BYTES:
            raise Refusal(Kind.REQUEST_TOO_LARGE)
        answered: Future[Outcome] = Future()
        threading.Thread(target=lambda: answered.set_result(self.invoke(payload)), daemon=True).start()
        try:
            outcome = answered.result(seconds)
        except TimeoutError:
            raise Refusal(Kind.INTEGRATION_TIMEOUT) from None
        if outcome.error:
            raise Refusal(Kind.INTEGRATION_FAILURE if outcome.error == THROTTLED else Kind.API_CONFIGURATION_ERROR)
        return json.loads(outcome.payload)

    def kill(self) -> int:
        """Kill every instance, with whatever it works on; return how many there were."""
        with self._changed:
            alive = list(self._alive)
            self._idle.clear()
        for instance in alive:
            instance.end()
        return len(alive)

    def _take(self) -> Instance | None:
        with self._changed:
            while not self._idle and len(self._alive) >= min(self._reserved or MAX_INSTANCES, MAX_INSTANCES):
                if len(self._alive) == self._reserved:
                    return None
                self._changed.wait()
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


def process_of(  # noqa: PLR0913  what a process is made of
    name: str,
    properties: dict[str, Any],
    variables: dict[str, str],
    *,
    folder: Path,
    runtime: Path,
    log: IO[bytes] | None = None,
    freezes: bool = False,
) -> Process:
    """Return how an instance of the function is started, with the environment that Lambda gives it."""
    own: dict[str, str] = properties.get("Environment", {}).get("Variables", {})
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
        "PYTHONPATH": f"{folder}:{runtime}",
        "PYTHONDONTWRITEBYTECODE": "1",  # the folder of a function cannot be written
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
    """Return the command of an instance: the interpreter without packages of its own, and the runtime client."""
    return [os.path.realpath(sys.executable), "-S", "-m", "awslambdaric", handler]


class RuntimeMissingError(Exception):
    """AWS's runtime client is not installed; the message says how to install it."""


def unpacked(zip_path: Path, target: Path) -> Path:
    """Unpack the zip into `target`, with native modules of this machine in place of those for arm64; return `target`.

    They are those of the same lock, installed in the environment this runs in.
    """
    with zipfile.ZipFile(zip_path) as packed:
        packed.extractall(target)
    here = Path(sysconfig.get_path("platlib"))
    for module in [path for path in target.rglob("*.so") if NATIVE.search(path.name)]:
        name = module.relative_to(target)
        stem = name.name.split(".")[0]
        own = [path for path in (here / name.parent).glob(f"{stem}.*so") if NATIVE.search(path.name)]
        module.unlink()
        (target / name.parent / own[0].name).write_bytes(own[0].read_bytes())
    return target


def is_installed() -> bool:
    """Return whether AWS's runtime client is at hand."""
    return bool(_runtime_clients())


def _runtime_clients() -> list[Path]:
    return sorted((ENGINES / "awslambdaric" / "lib").glob("python*/site-packages/awslambdaric"))


def runtime(target: Path) -> Path:
    """Make the folder `target` of what Lambda's runtime has, as links, and return it. Raises RuntimeMissingError."""
    installed = _runtime_clients()
    if not installed:
        raise RuntimeMissingError(INSTALL_HINT)
    own = Path(sysconfig.get_path("purelib"))
    found = [path for name in RUNTIME_CLIENT for path in installed[-1].parent.glob(name)]
    target.mkdir(parents=True)
    for path in (*found, *(own / name for name in CLIENT_OF_AWS)):
        (target / path.name).symlink_to(path)
    return target
