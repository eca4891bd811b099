"""Random requests to a stage with its demo data: valid, invalid and replayed, the same ones for the same seed.

They are made of the examples of the reference, which are sent in order, so that there is always something to pay back,
to list or to change; between them come variations of what was sent before.
"""

import copy
import random
import string
import uuid
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import simplejson

from infra.reference import read_json
from infra.reference.examples import Example, authorization_header, examples, fill_placeholders

REMEMBERED = 200
PAYMENTS = ("cash", "card", "card_declined", "linked_card")
# What takes the place of a value; the cents of a card payment decide what the sandbox does, and some let it be late.
ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        0,
        -1,
        1,
        7,
        10**9,
        10**18,
        0.001,
        12.5,
        "",
        " ",
        "x",
        "12.30",
        "0",
        "-1",
        "ZAR",
        "XXX",
        "é\u0301",
        "\u0000",
    ),
    *(
        "x" * 300,
        "<b>",
        "{{",
        "'\"\\",
        "2026-02-30T00:00:00",
        "not-a-guid",
        "+27829876543",
        "a@b.example",
        [],
        {},
        [1],
        {"a": 1},
    ),
)
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")
PATHS = (
    "/",
    "/docs",
    "/api/v1",
    "/api/v1/openapi.json",
    "/api/v1/payment",
    "/api/v1/payment/submit/",
    "/api/v2/payment/submit",
)
BODIES = (
    b"",
    b"{",
    b"[]",
    b"null",
    b'"text"',
    b"[" * 5000,
    b'{"a": NaN}',
    b'{"a": 1, "a": 2}',
    b"\x00",
    b'{"Amount": 1e400}',
)
MEDIA_TYPES = ("text/xml", "application/json; charset=utf-8", "APPLICATION/JSON", "json", "")
CREDENTIALS = ("", "Basic", "Basic x", "Basic Og==", "Bearer a.b.c", "Basic é", "Digest username=x", "Session 1")


@dataclass(frozen=True)
class Sending:
    """A request before its placeholders are filled. `fresh` are values that all stages get alike."""

    name: str
    method: str
    path: str
    login: str | None
    body: Any
    fresh: Mapping[str, str]
    headers: Mapping[str, str] = field(default_factory=dict)
    capture: Example | None = None

    def filled(self, captured: Mapping[str, Any]) -> tuple[str, str, dict[str, str], bytes | None]:
        """Return method, path, headers and body, with what was captured from the answers of one stage."""
        values = {**captured, **self.fresh}
        headers = {"Content-Type": "application/json"} if self.body is not None else {}
        if self.login:
            headers["Authorization"] = authorization_header(self.login, values)
        path = str(fill_placeholders(self.path, values))
        body = self.body
        if body is not None and not isinstance(body, bytes):
            body = simplejson.dumps(fill_placeholders(body, values), use_decimal=True).encode()
        return self.method, path, {**headers, **self.headers}, body


class Traffic:
    """One stream of requests."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  the same requests for the same seed, nothing secret
        self._examples = examples()
        self._variables: dict[str, dict[str, str]] = read_json("examples.json")["variables"]
        self._waiting: list[Sending] = []
        self._sent: deque[Sending] = deque(maxlen=REMEMBERED)
        self._kinds = {
            self._next_example: 30,
            self._payment: 20,
            self._mutation: 25,
            self._replay: 13,
            self._odd_request: 12,
        }

    def next(self) -> Sending:
        """Return the next request."""
        kind = self._random.choices(list(self._kinds), list(self._kinds.values()))[0]
        sending = kind() if len(self._sent) > len(self._examples) else self._next_example()
        self._sent.append(sending)
        return sending

    def _next_example(self) -> Sending:
        if not self._waiting:
            fresh = {name: self._value(one["fresh"]) for name, one in self._variables.items()}
            self._waiting = [_sending(example, fresh) for example in self._examples]
        return self._waiting.pop(0)

    def _value(self, kind: str) -> str:
        token = f"{self._random.getrandbits(48):012x}"
        texts = {"text": f"order-{token}", "email": f"agent-{token}@example.com"}
        return texts.get(kind) or str(uuid.UUID(int=self._random.getrandbits(128), version=4)).upper()

    def _payment(self) -> Sending:
        """Return a payment of another amount, under an ID of its own or none."""
        name = self._random.choice(PAYMENTS)
        sending = _sending(next(one for one in self._examples if one.name == name), {})
        body = copy.deepcopy(sending.body)
        transaction = body["BasicTran"]
        transaction["Amount"] = self._random.randrange(1, 5000)
        transaction["ID"] = self._value("guid")
        if self._random.random() < 0.3:  # noqa: PLR2004  a share
            transaction["Description"] = "".join(self._random.choices(string.printable[:95] + "éßЖ漢", k=20))
        fresh = {name: self._value(one["fresh"]) for name, one in self._variables.items()}
        return Sending("payment", sending.method, sending.path, sending.login, body, fresh)

    def _mutation(self) -> Sending:
        """Return an earlier request with another value in one to three places, under another ID half of the time."""
        earlier = self._random.choice([one for one in self._sent if isinstance(one.body, dict)])
        body = copy.deepcopy(earlier.body)
        for _ in range(self._random.randint(1, 3)):
            self._mutate(body)
        fresh = dict(earlier.fresh)
        if self._random.random() < 0.5:  # noqa: PLR2004  a share
            fresh |= {name: self._value(one["fresh"]) for name, one in self._variables.items()}
        return Sending(
            f"mutated {earlier.name}", earlier.method, earlier.path, earlier.login, body, fresh, earlier.headers
        )

    def _mutate(self, body: dict[str, Any]) -> None:
        place: Any = body
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                return
            key = self._random.choice(keys)
            if isinstance(place[key], dict | list) and place[key] and self._random.random() < 0.8:  # noqa: PLR2004
                place = place[key]
                continue
            break
        kind = self._random.random()
        if kind < 0.2:  # noqa: PLR2004  a share
            del place[key]
        elif kind < 0.3 and isinstance(place, dict):  # noqa: PLR2004
            place[self._random.choice(["Unknown", "", "amount", "ID"])] = self._random.choice(ODD)
        else:
            place[key] = copy.deepcopy(self._random.choice(ODD))

    def _replay(self) -> Sending:
        return self._random.choice(self._sent)

    def _odd_request(self) -> Sending:
        """Return an earlier request with something else around its body, or no body of JSON in it."""
        it = self._random.choice(self._sent)
        kind = self._random.randrange(5)
        method, path, login, body, headers = it.method, it.path, it.login, it.body, dict(it.headers)
        if kind == 0:
            method = self._random.choice(METHODS)
        elif kind == 1:
            path = self._random.choice((*PATHS, path + "/x", path + "?Page=1&Lang=en&x=%00", path + "%20"))
        elif kind == 2:  # noqa: PLR2004  one of five
            login, headers["Authorization"] = None, self._random.choice(CREDENTIALS)
        elif kind == 3:  # noqa: PLR2004
            body = self._random.choice(BODIES)
        else:
            headers["Content-Type"] = self._random.choice(MEDIA_TYPES)
        return Sending(f"odd {it.name.removeprefix('odd ')}", method, path, login, body, it.fresh, headers)


def _sending(example: Example, fresh: Mapping[str, str]) -> Sending:
    method, path = example.request_line()
    return Sending(
        example.name, method, path, example.login, example.body, fresh, capture=example if example.capture else None
    )
