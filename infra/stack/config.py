"""The file `.chalice/config.json`: the settings of a stage, checked before the stage is packaged."""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from difflib import get_close_matches
from email.utils import parseaddr
from pathlib import Path
from typing import Any

from chalicelib.settings import LOCAL, PROD, Settings
from chalicelib.settings.iso8583 import Host
from chalicelib.settings.stripe import Account
from infra.stack.resources import FUNCTION_TYPE, definition
from infra.stack.template import FROM_PARAMETERS

FILE = ".chalice/config.json"
VARIABLES = "environment_variables"
# The settings that `prod` names, and the effect of an empty one.
PROD_SETTINGS = {"ACQUIRERS": "takes no cards", "MAIL_FROM": "sends no e-mail, so no receipt"}
OF_A_HOST = tuple(f"ISO8583_{one.name.upper()}" for one in fields(Host))
OF_STRIPE = tuple(f"STRIPE_{one.name.upper()}" for one in fields(Account))
# Groups of settings, one of the local stage alone, and one that the stack decides.
NOT_NAMED = {"iso8583", "stripe", "plain_webhook_hosts", "public_address"}
SETTINGS = {*(one.name.upper() for one in fields(Settings) if one.name not in NOT_NAMED), *OF_A_HOST, *OF_STRIPE}
OF_AWS = re.compile("AWS_[A-Za-z0-9_]+")  # names for the libraries of AWS
ENDPOINT = re.compile("AWS_ENDPOINT_URL.*")
PARAMETERS = {name: value["Ref"] for name, value in FROM_PARAMETERS["Environment"]["Variables"].items()}
OF_THE_STACK = definition()["Globals"]["Function"]["Environment"]["Variables"]  # names of its resources
# Lambda sets these itself, and refuses a function that sets one.
# https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
OF_LAMBDA = re.compile(
    "_HANDLER|_X_AMZN_TRACE_ID|LAMBDA_(TASK_ROOT|RUNTIME_DIR)|AWS_LAMBDA_(?!EXEC_WRAPPER$).*|AWS_EXECUTION_ENV"
    "|AWS_(DEFAULT_)?REGION|AWS_ACCESS_KEY(_ID)?|AWS_SECRET_(ACCESS_)?KEY|AWS_SESSION_TOKEN"
)
MAX_BYTES = 4096  # of all variables of a function
# One of these may be wrong only next to another. Each other setting is right or wrong by itself.
OF_ACQUIRERS = {"ACQUIRERS", "ALLOW_SANDBOX", "DEFAULT_ACQUIRER", *OF_A_HOST, *OF_STRIPE}


class ConfigError(Exception):
    """The reasons that prevent the package, one a line."""


def read(root: Path) -> dict[str, Any]:
    """Return the content of the file. Raises ConfigError with the place of a fault."""
    try:
        return _object(json.loads((root / FILE).read_text(encoding="utf-8")), "")
    except json.JSONDecodeError as fault:
        message = f"{FILE} is not JSON: line {fault.lineno}, column {fault.colno}: {fault.msg}."
    except UnicodeDecodeError as fault:
        message = f"{FILE} is not UTF-8: byte {fault.start}."
    except OSError as fault:
        message = f"{FILE} cannot be read: {fault.strerror}."
    raise ConfigError(message) from None


def check(config: dict[str, Any], stage: str) -> None:
    """Raise ConfigError for an unknown stage, and for unknown, missing or contradictory settings of a stage."""
    stages = _object(config.get("stages"), "stages")
    if stage not in stages or stage == LOCAL:
        message = f"STAGE is one of {', '.join(name for name in stages if name != LOCAL)}, not {stage}."
        raise ConfigError(message)
    settings = _settings(config, stage)
    found = [*_wrong_names(settings, stage), *_wrong_stage(settings.get("STAGE"), stage), *_unnamed(settings, stage)]
    _refuse(stage, [*found, *_of_one_function(config, stage)])


def senders(config: dict[str, Any], stage: str) -> list[str]:
    """Return the address that sends the e-mails of a stage, without its name; nothing if no e-mail is sent."""
    found = _settings(config, stage).get("MAIL_FROM")
    return [parseaddr(found)[1]] if found else []


def check_values(sam: dict[str, Any], project: Path, stage: str) -> None:
    """Read the settings as the functions will. Raises ConfigError for missing and wrong ones.

    The packed code reads them, so a file that they name must also be packed.
    """
    shared = sam["Globals"]["Function"]["Environment"]["Variables"]
    functions = (item["Properties"] for item in sam["Resources"].values() if item["Type"] == FUNCTION_TYPE)
    own = [function.get("Environment", {}).get("Variables", {}) for function in functions]
    variables = {name: _by_default(value, sam["Parameters"]) for one in (shared, *own) for name, value in one.items()}
    _refuse(stage, [*_too_large(variables), *_wrong_values(variables, project, {*shared, "STAGE"})])


def _refuse(stage: str, problems: Iterable[str]) -> None:
    if lines := [f"{FILE}, stage {stage}: {problem}" for problem in problems]:
        raise ConfigError("\n".join(lines))


def _object(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        message = f"{FILE}{place and ', '}{place}: this is not a JSON object."
        raise ConfigError(message)
    return value


def _settings(config: dict[str, Any], stage: str) -> dict[str, Any]:
    place = f"stages.{stage}"
    own = _object(config["stages"][stage], place)
    return _object(config.get(VARIABLES, {}), VARIABLES) | _object(own.get(VARIABLES, {}), f"{place}.{VARIABLES}")


def _wrong_names(settings: Mapping[str, Any], stage: str) -> Iterator[str]:
    """Yield the problems of names and types: a mistyped name would leave its setting at the default."""
    for name, value in settings.items():
        if name in PARAMETERS:
            yield f"{name} is a parameter: pass {PARAMETERS[name]} in PARAMETERS."
        elif name in OF_THE_STACK:
            yield f"{name} is set by the stack: leave it out."
        elif name == "STRIPE_KEY":
            yield f"{name} is a secret: leave it out, and store it with `python -m infra.operator stripe-key`."
        elif OF_LAMBDA.fullmatch(name):
            yield f"{name} is set by Lambda, which refuses a function that sets it: leave it out."
        elif stage == PROD and ENDPOINT.fullmatch(name):
            yield f"{name} sends the calls of AWS elsewhere: leave it out."
        elif name not in SETTINGS and not OF_AWS.fullmatch(name):
            close = get_close_matches(name.upper(), sorted(SETTINGS - {*PARAMETERS, *OF_THE_STACK}), n=1, cutoff=0.75)
            yield f"there is no setting {name}" + (f"; there is {close[0]}." if close else ".")
        elif not isinstance(value, str):
            text = "" if value is None else json.dumps(value)
            yield f"{name} is {json.dumps(value)}, which is not a text; write {json.dumps(text)}."


def _wrong_stage(named: Any, stage: str) -> Iterator[str]:
    """Yield the problem of another stage. By the setting STAGE, the code decides whether it may move money."""
    if named not in {None, stage}:
        yield f"STAGE is {named}, but this is the stage {stage}."


def _unnamed(settings: Mapping[str, Any], stage: str) -> Iterator[str]:
    """Yield the settings that `prod` does not name. An empty one is named."""
    for name, effect in PROD_SETTINGS.items():
        if stage == PROD and name not in settings:
            yield f'{name} is missing; write "{name}": "" if it {effect}.'


def _of_one_function(config: dict[str, Any], stage: str) -> Iterator[str]:
    """Yield the functions with settings of their own: the functions of a stage share records and rules."""
    for place, level in (("", config), (f"stages.{stage}.", config["stages"][stage])):
        for name, function in _object(level.get("lambda_functions", {}), f"{place}lambda_functions").items():
            if VARIABLES in _object(function, f"{place}lambda_functions.{name}"):
                yield f"{place}lambda_functions.{name} has settings; all functions have those of the stage."


def _wrong_values(variables: Mapping[str, str], project: Path, needed: Iterable[str]) -> list[str]:
    """Return the first problem of reading all variables together, and the problem of each setting read by itself."""
    first = _refusal(variables, project)
    if first is None:
        return []
    base = {name: variables[name] for name in needed if name in variables}
    others = variables.keys() - base.keys()
    parts = [sorted(others & OF_ACQUIRERS), *([name] for name in sorted(others - OF_ACQUIRERS))]
    found = []
    for part in parts:
        problem = _refusal(base | {name: variables[name] for name in part}, project)
        if problem:
            is_named = any(name in problem for name in SETTINGS)
            found.append(problem if is_named else f"{' or '.join(part)}: {problem}")
    return list(dict.fromkeys(found)) or [first]


def _too_large(variables: Mapping[str, str]) -> Iterator[str]:
    """Yield the problem of more variables than Lambda takes, with the largest one."""
    sizes = {name: len((name + value).encode()) for name, value in variables.items()}
    if (size := sum(sizes.values())) > MAX_BYTES:
        largest = max(sizes, key=lambda name: sizes[name])
        yield f"the variables have {size} bytes, and Lambda takes {MAX_BYTES}; {largest} has {sizes[largest]}."


READ = """
import sys
from chalicelib import settings
try:
    settings.check()
except settings.SettingsError as problem:
    sys.exit(str(problem))
"""


def _refusal(variables: Mapping[str, str], project: Path) -> str | None:
    """Return the reason why the packed code does not start with these variables, or None."""
    done = subprocess.run(  # noqa: S603  every word of the command is ours
        [sys.executable, "-c", READ],
        cwd=project,
        env={**variables, "AWS_LAMBDA_FUNCTION_NAME": "any"},  # outside Lambda, what is missing is the local stage's
        capture_output=True,
        text=True,
        check=False,
    )
    if not done.returncode:
        return None
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines[0].startswith("Traceback") else " ".join(lines)


def _by_default(value: str | dict[str, Any], parameters: dict[str, Any]) -> str:
    """Return the value of a variable for this check: its text, the default of its parameter, or some text."""
    if isinstance(value, str):
        return value
    parameter = parameters.get(value.get("Ref", ""), {})
    return str(parameter.get("Default", "decided when it is deployed"))
