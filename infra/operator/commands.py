"""The commands of the operator of a stage: `python -m infra.operator`, explained in docs/operator.md.

STAGE in the environment names the stage, or `--stage`. Its settings come from the deployed functions.
Commands that need a password, a secret or a card prompt for it, or read it from standard input if that is not a
terminal.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError
from botocore.parsers import ResponseParserError

from chalicelib import log, outside
from chalicelib.domain import card
from chalicelib.domain.card import CardInput
from chalicelib.domain.kinds import InputType
from chalicelib.domain.secret import Secret
from chalicelib.domain.sign_in import Scheme
from chalicelib.errors import ServiceError
from chalicelib.gateways.secrets import REMEMBERED_S, signing
from chalicelib.services import linked_cards
from chalicelib.settings import SettingsError, settings
from chalicelib.store import agents, audit
from chalicelib.store.aws_client import CallError, RefusedError, is_dropped
from chalicelib.store.table import read_all
from infra.local import stage_clock
from infra.operator import stage, stage_secret, terminal
from infra.operator.merchants import CARDS, SHOW, merchant_command, takings_command, who_command
from infra.operator.payer import ERASE, EXPORT, FIND, payer_command
from infra.operator.rebuild import rebuild_command
from infra.operator.reconcile import HEADER, reconcile_command
from infra.operator.restore import restore_command
from infra.operator.smoke_merchant import smoke_merchant_command
from infra.operator.status import ring_command, status_command
from infra.operator.system_users import (
    BLOCK,
    CREATE,
    DELETE,
    LIST,
    TOTP_OFF,
    UNBLOCK,
    agent_of,
    replace_credentials_command,
    system_users_command,
)

ECHO_SECONDS = 10.0
MIN_PARTNER_SECRET_LENGTH = 16
REMEMBERED_MINUTES = REMEMBERED_S // 60
ADMITTED_MINUTES = 1  # API Gateway admits the caller of an accepted header without another look
EVER = datetime.max.replace(tzinfo=UTC)
CONFIG = Path(__file__).parents[2] / ".chalice" / "config.json"
OBJECTS = "agent#17, merchant#3, terminal#9, webhook#4, card#2, drawer#<merchant>#<its ID>, stage#secret"


def _link_card_command(options: argparse.Namespace) -> None:
    agent = agent_of(options.email)
    if agent.is_system_user:
        sys.exit(f"Agent {agent.id} is a system user, who takes no payments: no card is linked to it.")
    number, expiry, code = map(_read_secret, ("Card number: ", "Expiry, MMYY: ", "CVV2, if the acquirer checks it: "))
    data, problems = card.read(InputType.MANUAL_ENTRY, CardInput(number, expiry, code if code.reveal() else None))
    now = outside.now()
    if data is None or (problems := card.expired(data, now.date())):
        sys.exit("\n".join(f"{one.field.removeprefix('card.').upper()}: {one.message}" for one in problems))
    linked = linked_cards.link(
        agent, data, options.alias or f"{data.details.brand} {data.details.last4}", now, options.acquirer
    )
    audit.store(f"card#{linked.id}", terminal.act("link"), ("agent", f"agent#{agent.id}"))
    result = "is linked" if linked.status == card.VERIFIED else "is not linked: the acquirer did not verify it"
    print(f"Card {linked.id}, {linked.details.masked}, of agent {agent.id} {result}.")


def _read_secret(prompt: str) -> Secret:
    return Secret(terminal.hidden(prompt).strip())


def _check_tokens() -> None:
    if Scheme.JWT not in settings().auth_schemes:
        sys.exit("AUTH_SCHEMES of the stage has no Jwt: nothing is signed.")


def _rotate_signing_command(options: argparse.Namespace) -> None:
    _check_tokens()
    stage_secret.rotate_signing(leaked=options.leaked)
    print(f"Sign with the new secret in {REMEMBERED_MINUTES} minutes, not before: `print-signing` prints it.")
    if options.leaked:
        minutes = REMEMBERED_MINUTES + ADMITTED_MINUTES
        print(f"Every earlier secret is refused in {minutes} minutes at the latest. Only the new one is accepted then.")
    elif len(signing()) > 1:
        print(
            "The secret before it is accepted until the next rotation. Did it leak? Then run the command with --leaked."
        )


def _print_signing_command(_: argparse.Namespace) -> None:
    _check_tokens()
    if not signing():
        sys.exit("The stage has no signing secret: `rotate-signing` makes one.")
    stage_secret.note("show", "signing")
    print(signing()[0].reveal())


def _partner_secret_command(options: argparse.Namespace) -> None:
    if options.remove:
        stage_secret.remove_partner(options.product)
        print(f"There is no secret for {options.product} any more: its requests are refused in a few minutes.")
        return
    product = options.product.strip()
    if not product:
        sys.exit("Name the product, as PARTNERS does.")
    if not _is_registered(product) and not stage_secret.has_partner(product):
        sys.exit(f"PARTNERS of the stage does not name {product}. Register it first, in .chalice/config.json.")
    typed = _read_secret("The secret agreed with the partner: ")
    if len(typed.reveal()) < MIN_PARTNER_SECRET_LENGTH:
        sys.exit(f"The secret shared with a partner has at least {MIN_PARTNER_SECRET_LENGTH} characters.")
    stage_secret.rotate_partner(product, typed)
    print(f"It signs all requests for {product} in {REMEMBERED_MINUTES} minutes at the latest.")


def _is_registered(product: str) -> bool:
    """Return whether PARTNERS names the product, in this shell or in the settings of the stage in this folder."""
    config = json.loads(CONFIG.read_text(encoding="utf-8"))
    levels = (config["stages"].get(settings().stage, {}), config)
    texts = (level.get("environment_variables", {}).get("PARTNERS") for level in levels)
    try:
        return product in settings().partners or product in json.loads(next(filter(None, texts), "{}"))
    except ValueError:
        sys.exit("PARTNERS in .chalice/config.json is not a JSON object.")


def _stripe_key_command(_: argparse.Namespace) -> None:
    stage_secret.use_stripe_key(_read_secret("The secret or restricted key of the account at Stripe: "))
    print(f"Payments at Stripe use it in {REMEMBERED_MINUTES} minutes at the latest.")


def _use_certificate_command(options: argparse.Namespace) -> None:
    expires = stage_secret.use_certificate(options.certificate, options.key)
    print(f"The host gets it in {REMEMBERED_MINUTES} minutes at the latest. It expires on {expires:%Y-%m-%d}.")


def _undo_secret_command(options: argparse.Namespace) -> None:
    step = stage_secret.step_back(accepts_leaked=options.accept_leaked)
    changes = ", ".join(f"{name} {'is removed' if name in step.removed else 'changes'}" for name in step.differs)
    about = f"The version before the latest change differs: {changes or 'nothing'}."
    terminal.confirm(f"{about} Return to it?", is_agreed=options.yes)
    stage_secret.undo(step)
    names = ", ".join(step.differs) or "nothing"
    print(f"Returned to the version before: {names} differs. The same command returns to the later one.")
    print(f"Every function uses it in {REMEMBERED_MINUTES} minutes at the latest.")


def _audit_command(options: argparse.Namespace) -> None:
    if not options.object.strip():
        options.misused(f"name an object, such as {OBJECTS}, or the e-mail of an agent.")
    name = f"agent#{agent_of(options.object).id}" if "@" in options.object else options.object
    entries = list(audit.of(name))
    if not entries:
        sys.exit(f"No change of {name} is stored. Objects are named like {OBJECTS}; an agent by its e-mail too.")
    numbers = dict.fromkeys(entry.by for entry in entries if entry.by != audit.OPERATOR)
    authors = dict(zip(numbers, read_all([agents.key(number) for number in numbers], for_list=True), strict=True))
    for entry in entries:
        at, former = entry.at.partition("#")[0], entry.former or {}
        by = f"operator {entry.name or ''}".strip()
        if entry.by != audit.OPERATOR:
            author = authors[entry.by]
            role = "system user" if author and author.is_system_user else "agent"
            by = f"{role} {entry.by}" + (f", {author.name}" if author else "")
        named = (f"{one} (was {former[one]})" if one in former else one for one in entry.fields)
        terminal.show(f"{at}  {entry.kind:<8} by {by:<14} {', '.join(named)}")


YES = {"action": "store_true", "help": "without a question"}
# Each command: its help, its function, and its arguments as argparse takes them.
COMMANDS: dict[str, tuple[str, Callable[[argparse.Namespace], None], dict[str, dict[str, Any]]]] = {
    "status": ("print the state of the stage on one screen", status_command, {}),
    "ring": ("let one alarm of each topic ring, as a trial", ring_command, {}),
    "merchant": (
        "list merchants, show one, block or unblock one, stop or take cards",
        merchant_command,
        {
            "action": {"choices": [LIST, SHOW, BLOCK, UNBLOCK, CARDS]},
            "words": {"nargs": "*", "metavar": "N on|off", "help": "its ID; of cards also on or off"},
            "--all": {"nargs": "?", "const": "", "metavar": "on|off", "help": "the cards of all merchants"},
            "--yes": YES,
        },
    ),
    "who": (
        "print the merchants, terminals and agents that a text or a payment names",
        who_command,
        {"text": {"help": "an e-mail, name, telephone, number, TID, MID, payment, or `login` of a line `denied`"}},
    ),
    "takings": (
        "print what each merchant took and gave back in a month, as CSV",
        takings_command,
        {"--month": {"required": True, "help": "such as 2026-11"}},
    ),
    "system-users": (
        "list the system users; create, block, unblock or delete one, or switch off its second factor",
        system_users_command,
        {
            "action": {"nargs": "?", "default": LIST, "choices": [LIST, CREATE, BLOCK, UNBLOCK, DELETE, TOTP_OFF]},
            "--email": {"help": "of the system user"},
            "--name": {"help": "of a new one"},
            "--phone": {"default": "", "help": "of a new one"},
            "--yes": YES,
        },
    ),
    "replace-credentials": (
        "replace the password and the secret key of an agent or system user, and end its sessions",
        replace_credentials_command,
        {"--email": {"required": True, "help": "of the agent"}},
    ),
    "smoke-merchant": (
        "create the merchant of the smoke payments, or give its till a new key",
        smoke_merchant_command,
        {
            "--email": {"required": True, "help": "of its till, which gets no message"},
            "--system-user": {"required": True, "help": "e-mail of the system user that creates it"},
            "--new-key": {"action": "store_true", "help": "give the till that exists another key"},
        },
    ),
    "rotate-signing": (
        "make a new secret for signing JSON web tokens",
        _rotate_signing_command,
        {"--leaked": {"action": "store_true", "help": "accept no earlier secret any more, because one leaked"}},
    ),
    "print-signing": ("print the secret that signs JSON web tokens", _print_signing_command, {}),
    "partner-secret": (
        "store the secret shared with a partner",
        _partner_secret_command,
        {
            "product": {"help": "its ProductDescCode in PARTNERS"},
            "--remove": {"action": "store_true", "help": "delete it"},
        },
    ),
    "use-certificate": (
        "store our certificate for the host of the acquirer ISO8583",
        _use_certificate_command,
        {
            "--certificate": {"required": True, "type": Path, "help": "PEM file"},
            "--key": {"required": True, "type": Path, "help": "PEM file, without a password"},
        },
    ),
    "stripe-key": ("store the key of our account for the acquirer STRIPE", _stripe_key_command, {}),
    "undo-secret": (
        "return to the secrets before the latest change",
        _undo_secret_command,
        {
            "--accept-leaked": {"action": "store_true", "help": "also if that accepts a signing secret that leaked"},
            "--yes": YES,
        },
    ),
    "link-card": (
        "link a card to an agent",
        _link_card_command,
        {
            "--email": {"required": True, "help": "of the agent"},
            "--alias": {"default": "", "help": "the agent's name for the card"},
            "--acquirer": {"help": "default: that of the stage"},
        },
    ),
    "reconcile": (
        "compare a host's list of a day with our books",
        reconcile_command,
        {
            "--acquirer": {"required": True, "help": "its code in ACQUIRERS"},
            "--date": {"required": True, "help": "the merchants' day, such as 2026-03-14"},
            "--file": {
                "required": True,
                "help": f"the host's list, CSV: {', '.join(HEADER)}; of STRIPE its balance report",
            },
        },
    ),
    "restore": (
        "bring the damaged items of the tables back, as they were at a time",
        restore_command,
        {
            "--at": {"required": True, "help": "a time before the damage, such as 2026-03-14T09:00:00Z"},
            "--table": {"help": "such as transactions; every table unless given"},
            "--yes": {"action": "store_true", "help": "write; without it the command only names the items"},
        },
    ),
    "rebuild": ("write counters and history entries again from the transactions", rebuild_command, {}),
    "payer": (
        "find, export or erase the data of a payer in one merchant; erase a former agent",
        payer_command,
        {
            "action": {"choices": [FIND, EXPORT, ERASE]},
            "--email": {"help": "in any case; others on the machine may see it, but not standard input"},
            "--phone": {"help": "international, or as in the merchant's country"},
            "--merchant": {"type": int, "help": "its ID"},
            "--agent": {"type": int, "help": "the ID of a blocked or deleted agent or system user, to erase"},
            "--yes": YES,
        },
    ),
    "audit": (
        "print who changed which fields of an object when, and their former values",
        _audit_command,
        {"object": {"help": f"{OBJECTS}, or the e-mail of an agent"}},
    ),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command. Its end is quiet when nobody reads its output any more, as with `| head`."""
    chosen = _chosen(arguments)
    try:
        try:
            _run(chosen)
        finally:
            sys.stdout.flush()
    except BrokenPipeError as closed:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush when Python ends
        ended = closed.__context__
        sys.exit(ended.code if isinstance(ended, SystemExit) else 1)


def _chosen(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m infra.operator", description="Commands of the operator of a stage."
    )
    _add_stage(parser, None)
    commands = parser.add_subparsers(required=True, dest="command")
    for name, (about, _, accepted) in COMMANDS.items():
        command = commands.add_parser(name, help=about)
        _add_stage(command, argparse.SUPPRESS)
        command.set_defaults(misused=command.error)
        for argument, options in accepted.items():
            command.add_argument(argument, **options)
    return parser.parse_args(arguments)


def _add_stage(parser: argparse.ArgumentParser, default: str | None) -> None:
    parser.add_argument("--stage", default=default, help="its name, such as prod; STAGE of the environment otherwise")
    parser.add_argument("--stack", default=default, help="if its name is not payments-<stage>; STACK otherwise")


def _run(chosen: argparse.Namespace) -> None:
    _check_address()
    of_stage = stage.settings_of(chosen.stage, chosen.stack)
    with _log_apart(chosen), _refusals_in_a_line(), of_stage, _refusals_in_a_line():
        aws_url = os.environ.get("AWS_ENDPOINT_URL")
        with stage_clock.followed(aws_url) if settings().is_local and aws_url else nullcontext():
            COMMANDS[chosen.command][1](chosen)


@contextmanager
def _log_apart(chosen: argparse.Namespace) -> Iterator[None]:
    """Write log lines to standard error: standard output may be a document, a secret or a list.

    `payer erase` prints a report of its work, which has its log lines.
    """
    before, is_report = log.write, getattr(chosen, "action", None) == ERASE
    if is_report or before is log.write_to_standard_error:  # another command of this process changes it back
        yield
        return
    log.write = log.write_to_standard_error
    try:
        yield
    finally:
        log.write = before


@contextmanager
def _refusals_in_a_line() -> Iterator[None]:
    """Exit with one line if AWS does not do its part in the block, or the input is wrong."""
    try:
        yield
    except ServiceError as refusal:
        reason = refusal.__cause__
        if is_dropped(reason):
            sys.exit(f"A table {settings().table_prefix}… does not exist. Is the environment that of the stage?")
        sys.exit(f"{refusal.message} The reason: {reason}." if isinstance(reason, CallError) else refusal.message)
    except (ClientError, RefusedError) as refusal:
        sys.exit(f"AWS refused: {_one_line(refusal)}. Is the environment that of the stage?")
    except ParamValidationError:
        raise  # a defect of ours
    except (BotoCoreError, CallError, ResponseParserError) as outage:
        url = os.environ.get("AWS_ENDPOINT_URL")
        hint = f"Is {url}, of AWS_ENDPOINT_URL, the stage's?" if url else "Is the environment that of the stage?"
        sys.exit(f"AWS is out of reach: {_one_line(outage)}. {hint}")
    except (stage_secret.SecretError, SettingsError) as problem:
        sys.exit(str(problem))


def _check_address() -> None:
    url = os.environ.get("AWS_ENDPOINT_URL")
    if url and not re.fullmatch(r"https?://[^/]+/?", url):
        sys.exit("AWS_ENDPOINT_URL is wrong: it is no http://host:port or https://host:port.")


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).split()).rstrip(".")
