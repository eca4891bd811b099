"""The command `python -m infra.operator find-login`: the login that a digest in the log stands for."""

import argparse
import sys

import boto3

from chalicelib.domain.agent import Login
from chalicelib.gateways import secrets
from chalicelib.services import sign_in
from chalicelib.store import agents
from chalicelib.store.table import decode, table_name


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `find-login` to the operator's commands."""
    found = commands.add_parser("find-login", help="print the login that a digest in the log stands for")
    found.add_argument("digest", help="`login` of a line `denied` or `login_from_many_places`")
    found.set_defaults(command=_find_login_command)


def _find_login_command(options: argparse.Namespace) -> None:
    pages = boto3.client("dynamodb").get_paginator("scan").paginate(TableName=table_name(agents.LOGINS))
    for page in pages:
        for item in page["Items"]:
            if secrets.pseudonym(sign_in.LOGIN, item["email"]["S"]) == options.digest and "agent_id" in item:
                login = decode(Login, item)  # type: ignore[arg-type]  # it has numbers and texts alone
                print(f"{login.email}, agent {login.agent_id} of merchant {login.client_id}.")
                return
    sys.exit("No agent has this login.")
