"""`/faults` of the local stage: a developer chooses what goes wrong with the next answers of the service.

An answer with an ErrorCode is given before anything is carried out, so no ID is used up. A dropped and a slow one are
carried out first: the program that asked cannot know it.
"""

import threading
from http import HTTPStatus
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chalicelib.errors import ErrorCode

PATH = "/faults"  # on the port of the simulated AWS
FAULTY, NEVER_FAULTY = "/api/v1/", "/api/v1/health"
DROP, SLOW = "drop", "slow"
LONGEST_SECONDS, MOST_TIMES = 300, 1000


class Fault(BaseModel):
    """What goes wrong with answers, and how many more."""

    model_config = ConfigDict(extra="forbid", strict=True)
    Next: Literal["901", "902", "903", "402", "drop", "slow"]
    Seconds: float = Field(5, gt=0, le=LONGEST_SECONDS)  # of a slow one
    Times: int = Field(1, ge=1, le=MOST_TIMES)
    Path: str | None = Field(None, pattern=f"^{FAULTY}[^?]+$")  # whole, without a query; None: any

    @property
    def error(self) -> ErrorCode | None:
        """Return the error that is answered, if one is."""
        return next((one for one in ErrorCode if str(one.code) == self.Next), None)


class Faults:
    """The faults of a stage, which answers use up in order."""

    def __init__(self) -> None:
        self._waiting: list[Fault] = []
        self._lock = threading.Lock()

    def page(self, method: str, body: bytes) -> tuple[HTTPStatus, dict[str, Any]]:
        """Answer GET and POST with the faults that wait."""
        try:
            if method == "POST":
                fault = Fault.model_validate_json(body)
                with self._lock:
                    self._waiting.append(fault)
            elif method != "GET":
                return HTTPStatus.METHOD_NOT_ALLOWED, {"Error": f"{method} is not GET or POST."}
        except ValidationError as refusal:
            first = refusal.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "The body"
            return HTTPStatus.BAD_REQUEST, {"Error": f"{place}: {first['msg']}."}
        return HTTPStatus.OK, {"Faults": [one.model_dump(mode="json") for one in self._waiting]}

    def next_for(self, path: str) -> Fault | None:
        """Return what goes wrong with an answer, and use it up."""
        path = path.partition("?")[0]
        with self._lock:
            if not path.startswith(FAULTY) or path == NEVER_FAULTY:
                return None
            found = next((one for one in self._waiting if one.Path in {None, path}), None)
            if found:
                found.Times -= 1
                self._waiting = [one for one in self._waiting if one.Times]
            return found

    def clear(self) -> None:
        """Forget all faults."""
        with self._lock:
            self._waiting.clear()
