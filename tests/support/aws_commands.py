"""The commands of the AWS CLI in a document, carried out by boto3: their names and options are those of botocore."""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from operator import getitem
from typing import Any

import boto3
from botocore import xform_name
from botocore.exceptions import ClientError
from botocore.model import Shape

from infra.stack.resources import REGION

ASSIGNED = re.compile(r"(?P<name>[A-Z]+)=\$\((?P<command>aws .*)\)", re.DOTALL)
OPTION = re.compile(r"^--([\w-]+)(?:\n(?!--)(.*(?:\n(?!--).*)*))?", re.MULTILINE)  # a switch has no value
SERVICES = {"s3api": "s3"}  # the names that boto3 has for services of the CLI
UNKNOWN = "eu-central-1"  # the value of a variable that is not known; it has the form of a region and of a name
NOT_SIMULATED = "Not yet implemented"
OF_THE_CLI = {"region", "query", "output"}  # options of every command


def carry_out(commands: Iterable[str], variables: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Carry out the commands of `aws`, one after the other; yield each operation with its answer.

    The answer is None for an operation that moto does not have; boto3 has checked its options all the same.

    `NAME=$(aws ...)` assigns the answer to a variable, for later commands.
    """
    known = dict(variables)
    for command in commands:
        assigned = ASSIGNED.fullmatch(command)
        client, operation, options, query = parsed(assigned["command"] if assigned else command, known)
        try:
            answer = getattr(client, xform_name(operation))(**options)
        except NotImplementedError:  # of a service that moto has
            answer = None
        except ClientError as refusal:
            if refusal.response["Error"]["Message"] != NOT_SIMULATED:
                raise
            answer = None
        if assigned:
            known[assigned["name"]] = reduce(getitem, query.split("."), answer)
        yield operation, answer


def parsed(command: str, variables: Mapping[str, str]) -> tuple[Any, str, dict[str, Any], str]:
    """Return the client, the operation, its options and the query of a command.

    Raise KeyError for an unknown operation or option. An unknown variable gets some value.
    """
    words = shlex.split(command.replace("\\\n", " "), comments=True)
    filled = [re.sub(r"\$([A-Z]+)", lambda found: variables.get(found[1], UNKNOWN), word) for word in words]
    _, service, name, *rest = filled
    given = dict(OPTION.findall("\n".join(rest)))
    client = boto3.client(SERVICES.get(service, service), region_name=given.get("region", REGION))  # type: ignore[call-overload]
    operation = {xform_name(one, "-"): one for one in client.meta.service_model.operation_names}[name]
    shape = client.meta.service_model.operation_model(operation).input_shape
    members = {xform_name(one, "-"): one for one in shape.members}
    switched_off = {f"no-{option}": name for option, name in members.items() if _is_switch(shape.members[name])}
    options = {
        members[option]: _value(shape.members[members[option]], value)
        for option, value in given.items()
        if option not in {*OF_THE_CLI, *switched_off}
    } | {switched_off[option]: False for option in given.keys() & switched_off.keys()}
    assert set(shape.required_members) <= set(options), command
    return client, operation, options, given.get("query", "")


def _is_switch(shape: Shape) -> bool:
    return shape.type_name == "boolean"


def _value(shape: Shape, text: str) -> Any:
    if _is_switch(shape):
        return text == ""
    return json.loads(text) if shape.type_name in {"structure", "list", "map"} else text
