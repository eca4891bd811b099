"""A payment at a merchant of the operator's own, and its reversal: `python -m infra.stack.smoke URL`.

The till is in SMOKE_LOGIN (its e-mail) and SMOKE_PASSWORD (its password or secret key). It takes one unit of its
currency in cash, looks at the payment, returns it in full and looks again. After a lost answer the same request is sent
again. A run that died leaves a payment without its return: the next run finds it in the history and returns it.
"""

import base64
import json
import os
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from chalicelib.domain.kinds import InputType
from chalicelib.domain.request_time import GATEWAY_SECONDS
from chalicelib.domain.reversibility import ReverseMode
from chalicelib.domain.secret import Secret

DESCRIPTION = "Smoke payment"
AMOUNT = "1"
ATTEMPTS = 5
PAUSE_S = 2.0
ANSWER_S = GATEWAY_SECONDS + 6

Send = Callable[[str, Any], Any]  # a path, and a body or None; the answer


class SmokeError(Exception):
    """The reason why the payment or its return failed, in one line."""


def till(api: str, login: str, password: Secret, pause_s: float = PAUSE_S) -> Send:
    """Return a function that sends the requests of a till. It repeats one without an answer, or with an answer 5xx."""
    if urlsplit(api).scheme not in {"http", "https"}:
        message = f"{api} is no address of a stage."
        raise SmokeError(message)
    credential = base64.b64encode(f"{login}:{password.reveal()}".encode()).decode()
    headers = {"Authorization": f"Basic {credential}", "Content-Type": "application/json"}

    def attempt(path: str, body: Any) -> Any:
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(api.rstrip("/") + path, content, headers)  # noqa: S310  its scheme was read
        with urllib.request.urlopen(request, timeout=ANSWER_S) as response:  # noqa: S310
            return json.load(response, parse_float=Decimal)

    def send(path: str, body: Any = None) -> Any:
        problem = ""
        for number in range(ATTEMPTS):
            time.sleep(pause_s if number else 0)
            try:
                answer = attempt(path, body)
            except HTTPError as refusal:
                problem = _refusal(refusal)
                if refusal.code < 500:  # noqa: PLR2004  the same request would get the same answer
                    break
            except (URLError, OSError, ValueError) as lost:
                problem = f"no answer ({lost})"
            else:
                if answer.get("ErrorCode") == 0:
                    return answer
                problem = f"ErrorCode {answer.get('ErrorCode')}: {answer.get('ErrorMessage')}"
                break
        message = f"{path}: {problem}"
        raise SmokeError(message)

    return send


def _refusal(refusal: HTTPError) -> str:
    try:
        body = json.load(refusal)
        return f"HTTP {refusal.code}, ErrorCode {body['ErrorCode']}: {body['ErrorMessage']}"
    except (ValueError, KeyError, TypeError):
        return f"HTTP {refusal.code}"


def smoke(send: Send) -> str:
    """Take a payment, return it, and return its ID. Raises SmokeError for a wrong answer, when it is returned."""
    me = send("/api/v1/user/me", None)["Data"]
    if me["IsSystemUser"]:
        message = "SMOKE_LOGIN is a system user: a payment needs the login of a till."
        raise SmokeError(message)
    for left in _unreturned(send):
        _give_back(send, left)
    payment = str(uuid.uuid4()).upper()
    order = {"ID": payment, "InputType": InputType.CASH, "CurrencyID": me["CurrencyID"], "Amount": AMOUNT}
    send("/api/v1/payment/submit", {"BasicTran": {**order, "Description": DESCRIPTION}})
    paid = _view(send, payment)
    _give_back(send, payment)
    returned = _view(send, payment)
    if payment in _unreturned(send):
        message = f"payment {payment} is returned, and the history does not say so"
        raise SmokeError(message)
    for name, found, expected in (
        ("the amount", paid["AmountEff"], Decimal(AMOUNT)),
        ("the rest after its return", returned["AmountEff"], 0),
        ("the number of returns", returned["CountRvs"], 1),
    ):
        if found != expected:
            message = f"{name} of payment {payment} is {found}, not {expected}"
            raise SmokeError(message)
    return payment


def _unreturned(send: Send) -> list[str]:
    """Return the IDs of earlier smoke payments that still hold an amount; the list has the last 31 days."""
    found = send("/api/v1/payment/listHistoryEx", {"ListBasicModel": {"Search": DESCRIPTION}})["Transactions"]
    payments = [one for one in found if one["Description"] == DESCRIPTION and one["ReverseMode"] is None]
    return [one["ID"] for one in payments if one["AmountEff"] > 0]


def _give_back(send: Send, payment: str) -> None:
    """Return a payment in full; its reversal has an ID that follows from the payment's, so it is made once."""
    reversal = str(uuid.uuid5(uuid.NAMESPACE_OID, payment)).upper()
    basic = {"ID": reversal, "TransactionID": payment, "ReverseMode": ReverseMode.RETURN}
    send("/api/v1/payment/reverse", {"BasicReverseTran": basic})


def _view(send: Send, payment: str) -> Any:
    (view,) = send(f"/api/v1/payment/{payment}", None)["Transactions"]
    return view


def configured() -> tuple[str, Secret] | None:
    """Return the login and the password of the till in the environment; None without SMOKE_LOGIN.

    Exit with one line if the password is missing: a deployment must not begin with it.
    """
    login, password = os.environ.get("SMOKE_LOGIN", ""), os.environ.get("SMOKE_PASSWORD", "")
    if login and not password:
        sys.exit("SMOKE_PASSWORD is missing.")
    return (login, Secret(password)) if login else None


def main(arguments: Sequence[str]) -> None:
    """Run it once. Exit with one line if it fails."""
    till_of = configured()
    if till_of is None or len(arguments) != 1:
        sys.exit("usage: SMOKE_LOGIN=... SMOKE_PASSWORD=... python -m infra.stack.smoke URL")
    try:
        payment = smoke(till(arguments[0], *till_of))
    except SmokeError as problem:
        sys.exit(f"The smoke payment failed. {problem}")
    print(f"Payment {payment} was taken and returned.")


if __name__ == "__main__":
    main(sys.argv[1:])
