"""The commands of the operator of a stage, run in a shell with the stage's environment (STAGE, TABLE_PREFIX, ...).

python -m infra.operator system-user --email ann@example.com --name "Ann Lee" [--phone "+27 82 987 6543"]
    Create a system user, who creates merchants and their first administrators. The command prompts for the password,
    or reads it from standard input when that is not a terminal. There is no default password.
python -m infra.operator rotate-signing
    Make a new secret for signing JSON web tokens; the previous one is accepted until the next rotation.
python -m infra.operator partner-secret Insurance
    Store the secret that signs the requests to the partner of this product. The command prompts for the secret agreed
    with the partner, or reads it from standard input when that is not a terminal; an empty line makes a new one.
python -m infra.operator link-card --email till@example.com [--alias "Company card"] [--acquirer SANDBOX]
    Link a card to an agent through the acquirer; its token is stored, its number is not. The command prompts for number
    and expiry (MMYY), or reads two lines of standard input.
python -m infra.operator sweep
    Run now the jobs that the stage runs every minute: finish pending payments and send the messages that are due.
python -m infra.operator rebuild-totals [--merchant 17] [--month 2026-03]
    Count the totals of the history anew from the transactions, print and correct what differs. Payments may go on.
python -m infra.operator reconcile --acquirer ISO8583 --date 2026-03-14 --file host.csv
    Compare the list of a day from an acquirer's host with our books, print each difference. The exit status is 0
    if there is none, 1 if there are some, 2 if the two cannot be compared.
python -m infra.operator echo
    Ask the host of the acquirer ISO8583 whether it answers; no money moves.
python -m infra.operator find-login 3f0c...
    Print the agent whose login a digest in the log stands for (`login` of a denied sign-in).
python -m infra.operator audit agent#17
    Print who changed which fields of an object (agent#..., merchant#..., terminal#...), oldest first, without values.
"""

import argparse
import getpass
import re
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from chalicelib import phone_numbers
from chalicelib.domain import card
from chalicelib.domain.agent import ACCOUNT_USER, NO_CLIENT, Agent, Login
from chalicelib.domain.card import CardInput
from chalicelib.domain.secret import Secret
from chalicelib.domain.sign_in import canonical
from chalicelib.domain.transaction import InputType
from chalicelib.errors import ServiceError
from chalicelib.gateways.secrets import REMEMBERED_S, keyed_digest, rotate_partner, rotate_signing, seal
from chalicelib.schemas.field_types import EMAIL
from chalicelib.services import linked_cards
from chalicelib.services.passwords import hash_password
from chalicelib.services.sign_in import new_secret_key
from chalicelib.settings import settings
from chalicelib.store import agents, audit, sequences
from chalicelib.store.audit import Act
from chalicelib.store.table import read
from infra.local import scheduler
from infra.operator import echo as operator_echo
from infra.operator import logins as operator_logins
from infra.operator import reconcile as operator_reconcile
from infra.operator import totals as operator_totals

OPERATOR = 0  # the operator's ID in the audit
MIN_PASSWORD_LENGTH = 12  # long, because a system user may do everything
MIN_PARTNER_SECRET_LENGTH = 16


def create_system_user(name: str, email: str, password: Secret, phone: str = "") -> Agent:
    """Store a new system user. Raises 307 when the e-mail belongs to an agent already."""
    now = datetime.now(UTC)
    agent_id = sequences.next_id(agents.TABLE)
    secret_key = new_secret_key()
    agent = Agent(
        id=agent_id,
        client_id=NO_CLIENT,
        name=name,
        email=email,
        phone=phone,
        created_at=now,
        account_type_id=ACCOUNT_USER,
        is_system_user=True,
        secret_key_sealed=seal(secret_key, agent_id),
    )
    login = Login(
        email=canonical(email),
        agent_id=agent_id,
        client_id=NO_CLIENT,
        password_hash=hash_password(password),
        key_digest=keyed_digest(secret_key),
    )
    agents.create(agent, login, Act("create", OPERATOR, now))
    return agent


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command."""
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], None] = options.command
    try:
        command(options)
    except ServiceError as refusal:
        sys.exit(refusal.message)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m infra.operator", description="Commands of the operator of a stage."
    )
    commands = parser.add_subparsers(required=True)
    user = commands.add_parser("system-user", help="create a system user")
    user.add_argument("--email", required=True)
    user.add_argument("--name", required=True)
    user.add_argument("--phone", default="")
    user.set_defaults(command=_system_user_command)
    rotation = commands.add_parser("rotate-signing", help="make a new secret for signing JSON web tokens")
    rotation.set_defaults(command=_rotate_signing_command)
    shared = commands.add_parser("partner-secret", help="store the secret shared with a partner")
    shared.add_argument("product", help="its ProductDescCode in PARTNERS")
    shared.set_defaults(command=_partner_secret_command)
    link = commands.add_parser("link-card", help="link a card to an agent")
    link.add_argument("--email", required=True, help="of the agent")
    link.add_argument("--alias", default="", help="the agent's name for the card")
    link.add_argument("--acquirer", help="default: that of the stage")
    link.set_defaults(command=_link_card_command)
    sweep = commands.add_parser("sweep", help="finish pending payments, send due messages")
    sweep.set_defaults(command=_sweep_command)
    operator_totals.add_command(commands)
    operator_reconcile.add_command(commands)
    operator_echo.add_command(commands)
    operator_logins.add_command(commands)
    entries = commands.add_parser("audit", help="print who changed which fields of an object")
    entries.add_argument("object", help="agent#17, merchant#3, terminal#9")
    entries.set_defaults(command=_audit_command)
    return parser


def _system_user_command(options: argparse.Namespace) -> None:
    if not re.fullmatch(EMAIL, options.email):
        sys.exit("The e-mail address is not valid.")
    phone = phone_numbers.parse(options.phone, None) if options.phone else ""
    if phone is None:
        sys.exit("The telephone number is not valid: write it like +27 82 987 6543.")
    agent = create_system_user(options.name, options.email, _read_password(), phone)
    print(f"System user {agent.id} signs in as {canonical(agent.email)}.")


def _read_password() -> Secret:
    text = getpass.getpass("Password: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    if len(text) < MIN_PASSWORD_LENGTH:
        sys.exit(f"The password of a system user has at least {MIN_PASSWORD_LENGTH} characters.")
    return Secret(text)


def _link_card_command(options: argparse.Namespace) -> None:
    login = read(agents.login_key(canonical(options.email)))
    agent = read(agents.key(login.agent_id)) if login else None
    if agent is None:
        sys.exit("There is no agent with this e-mail.")
    typed = CardInput(_read_secret("Card number: "), _read_secret("Expiry, MMYY: "))
    data, problems = card.read(InputType.MANUAL_ENTRY, typed)
    now = datetime.now(UTC)
    if data is None or (problems := card.expired(data, now.date())):
        sys.exit("\n".join(f"{one.field.removeprefix('card.').upper()}: {one.message}" for one in problems))
    linked = linked_cards.link(
        agent, data, options.alias or f"{data.details.brand} {data.details.last4}", now, options.acquirer
    )
    result = "is linked" if linked.status == card.VERIFIED else "is not linked: the acquirer did not verify it"
    print(f"Card {linked.id}, {linked.details.masked}, of agent {agent.id} {result}.")


def _sweep_command(_: argparse.Namespace) -> None:
    swept, messages = scheduler.run_jobs()
    print(f"Processed {swept.done} payments and {messages.done} messages.")
    if swept.silent:
        print(f"No answer from {', '.join(swept.silent)}: one payment a run is tried until there is one.")
    if swept.is_unfinished:
        print("More is due: run the command again.")


def _read_secret(prompt: str) -> Secret:
    text = getpass.getpass(prompt) if sys.stdin.isatty() else sys.stdin.readline()
    return Secret(text.strip())


def _rotate_signing_command(_: argparse.Namespace) -> None:
    rotate_signing()
    name = settings().secret_id
    minutes = REMEMBERED_S // 60
    print(f"The first entry of `signing` in the secret {name} is new: sign with it in {minutes} minutes, not before.")


def _partner_secret_command(options: argparse.Namespace) -> None:
    typed = _read_secret("The secret agreed with the partner (empty: make one): ")
    if 0 < len(typed.reveal()) < MIN_PARTNER_SECRET_LENGTH:
        sys.exit(f"The secret shared with a partner has at least {MIN_PARTNER_SECRET_LENGTH} characters.")
    rotate_partner(options.product, typed if typed.reveal() else None)
    name, product = settings().secret_id, options.product
    print(
        f"`partners.{product}` in the secret {name} signs all requests in {REMEMBERED_S // 60} minutes at the latest."
    )


def _audit_command(options: argparse.Namespace) -> None:
    for entry in audit.of(options.object):
        at = entry.at.partition("#")[0]
        by = "operator" if entry.by == OPERATOR else f"agent {entry.by}"
        print(f"{at}  {entry.kind:<8} by {by:<14} {', '.join(entry.fields)}")
