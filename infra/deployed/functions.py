"""A function as Lambda runs it: as many instances as there are requests at once, each with one request at a time."""

import json
import os
import threading
from collections import deque
from pathlib import Path
from typing import IO, Any

from infra.deployed import task
from infra.deployed.instance import Instance, Outcome, Process
from infra.engines import ACCOUNT_ID, REGION

TYPE = "AWS::Serverless::Function"
THROTTLED = "TooManyRequestsException"
MAX_INSTANCES = 8  # of a function, for the sake of this machine: further requests wait
KEPT_OUTCOMES = 10_000


class Function:
    """One function of the template. Its instances start with its requests, and end with `close`."""

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

    @property
    def busy(self) -> int:
        """Return how many requests are worked on, or wait for an instance to start."""
        with self._changed:
            return len(self._alive) - len(self._idle)

    def kill(self) -> int:
        """Kill every instance, with whatever it works on; return how many there were."""
        with self._changed:
            alive = list(self._alive)
            self._idle.clear()
        for instance in alive:
            instance.end()
        return len(alive)

    close = kill

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
    command = task.command(properties["Handler"])
    return Process(command, folder, environment, arn, properties["MemorySize"], log, freezes)
