"""The command `rotate-digest`: a new digest key, and the stored digests made again with it. No till is touched.

1. The new key is stored with the time at which it begins. Every process has read it before that time.
2. When it has begun, and requests from before are over, the digest of each secret key is made from the sealed key. The
   digests of card numbers cannot be made again without the numbers: they get a digest around them.
3. The rotation is marked as done.

Each write is conditional on the digest that was read. A digest names its key, so a killed run can be repeated, and two
runs at once do the work once. Earlier keys stay known, because digests inside digests, sessions and IDs need them.
"""

import argparse
import secrets as random_source
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from chalicelib import clock
from chalicelib.aws.errors import RefusedError
from chalicelib.domain.agent import Agent, Login
from chalicelib.gateways.secrets import (
    DIGEST_KEYS,
    REMEMBERED_S,
    is_digest_of,
    keyed_digest,
    number_of,
    unseal,
    wrapped,
)
from chalicelib.log import log
from chalicelib.settings import settings
from chalicelib.store import agents, transactions
from chalicelib.store.table import (
    AlreadyExistsError,
    Item,
    UnreadableError,
    decode,
    read,
    read_item,
    set_attributes,
    table_name,
    update,
    write_one,
)
from infra.operator import items, stage_secret
from infra.operator.payer import user
from infra.operator.stage_secret import DIGEST_KEY, SecretError

KNOWN_IN = timedelta(seconds=REMEMBERED_S + 30)  # every process has read the new key
ENDED_IN = timedelta(seconds=60)  # every request from before the new key has ended
BETWEEN = timedelta(days=1)  # two rotations
THREADS = 8  # most of the time is spent waiting for the store
DONE = "done"
NOT_OURS = "InvalidCiphertextException"


def rotate_digest_command(options: argparse.Namespace) -> None:
    """Rotate the digest key, or finish a rotation. Exit with 1 if a secret key keeps its earlier digest."""
    number, begins = _begin(again=options.again)
    _wait_until(begins + ENDED_IN)
    logins, cards = _digest_logins(number), _wrap_cards(number)
    _finish(number)
    left = [f"{name}: {why}" for name, why in logins.items() if why]
    done = len(logins) - len(left)
    log("digest_key_rotated", user=user(), key=number, secret_keys=done, cards=cards, left=len(left))
    print(f"{done} secret keys and {cards} card payments have digests of key {number} now.")
    if left:
        raise SecretError("\n".join(left))


def described() -> str:
    """Return a line about the digest keys, without a value."""
    content = stage_secret.current(settings().digest_secret_id).document
    keys = content.get(DIGEST_KEYS, ())
    if not keys:
        is_there = DIGEST_KEY in stage_secret.current().document
        state = "never changed by a command" if is_there else "IS MISSING: no secret key or session works"
        return f"{DIGEST_KEY:<24} {state}"
    state = "" if content.get(DONE) else "; the rotation is unfinished: run rotate-digest again"
    since = keys[-1]["since"]
    when = "changed" if datetime.fromisoformat(since) <= clock.now() else "changes at"
    return f"{DIGEST_KEY:<24} {when} {since}; key {len(keys)}, and the earlier ones stay known{state}"


def _begin(*, again: bool) -> tuple[int, datetime]:
    """Return the number of the key to use and its beginning. It is a new key unless the last rotation goes on."""
    read_now, now = stage_secret.current(settings().digest_secret_id), clock.now()
    keys = list(read_now.document.get(DIGEST_KEYS, ()))
    if keys:
        begins = datetime.fromisoformat(keys[-1]["since"])
        if not read_now.document.get(DONE) or (now - begins < BETWEEN and not again):
            when = f"{'began' if begins <= now else 'begins'} at {keys[-1]['since']}"
            goes_on = "looks for digests that are left" if read_now.document.get(DONE) else "finishes its rotation"
            print(f"Key {len(keys)} {when}. This run {goes_on}. After that, --again makes another key.")
            return len(keys), begins
    else:
        keys = [{"key": _first_key()}]
    begins = (now + KNOWN_IN).replace(microsecond=0)
    new = {"key": random_source.token_urlsafe(48), "since": f"{begins:%Y-%m-%dT%H:%M:%SZ}"}
    stage_secret.store(read_now, {DIGEST_KEYS: [*keys, new], DONE: False})
    return len(keys) + 1, begins


def _first_key() -> str:
    found = stage_secret.current().document.get(DIGEST_KEY)
    if not found:
        message = f"The secret of the stage has no {DIGEST_KEY}."
        raise SecretError(message)
    return str(found)


def _finish(number: int) -> None:
    found = stage_secret.current(settings().digest_secret_id)
    if len(found.document[DIGEST_KEYS]) == number and not found.document.get(DONE):
        stage_secret.store(found, {**found.document, DONE: True})


def _wait_until(begins: datetime) -> None:
    if clock.now() < begins:
        print(f"Every process uses the new key at {begins:%H:%M:%SZ}. Until then nothing is digested: wait, or stop")
        print("this command and run it again later.", flush=True)
    while (seconds := (begins - clock.now()).total_seconds()) > 0:
        time.sleep(min(seconds, 1))


# The secret keys of agents


def _digest_logins(number: int) -> dict[str, str]:
    """Digest the secret key of each login. Return the logins by name, with the reason if one keeps its digest.

    A login that moves to another e-mail meanwhile takes its earlier digest along, so all are read until none is left.
    """
    outcomes: dict[str, str] = {}
    while True:
        with ThreadPoolExecutor(THREADS) as pool:
            found = dict(pool.map(_digest_login, _logins(number)))
        if not found.keys() - outcomes.keys():
            return outcomes | found
        outcomes |= found


def _logins(number: int) -> Iterator[Item]:
    for page in items.pages(table_name(agents.LOGINS)):
        for item in page:
            if "agent_id" in item and number_of(item.get("key_digest", {}).get("S", f"{number}.")) < number:
                yield item


def _digest_login(item: Item) -> tuple[str, str]:
    """Digest the secret key of a login, unless it has another one meanwhile."""
    name = f"login {item['email']['S']}"
    try:
        login = decode(Login, item)
        agent = read(agents.key(login.agent_id))
        if not agent or not agent.secret_key_sealed or not login.key_digest:
            return name, "its agent has no secret key: give it a new one."
        digest = _digest_of(login, agent)
    except UnreadableError:
        return name, "it or its agent is unreadable: correct it, then run this command again."
    if digest is None:
        return name, "its digest is not that of the agent's secret key: give the agent a new one."
    values = {"new": digest, "old": login.key_digest, "agent_id": login.agent_id}
    condition = "#key_digest = :old AND #agent_id = :agent_id"
    with suppress(AlreadyExistsError):  # it has another secret key or e-mail, or another run was first
        write_one(update(agents.login_key(login.email), "SET #key_digest = :new", values, condition=condition))
    return name, ""


def _digest_of(login: Login, agent: Agent) -> str | None:
    """Return the new digest of the sealed key; None if the login has another key's digest."""
    try:
        key = unseal(agent.secret_key_sealed or b"", agent.id)
    except RefusedError as refusal:
        if refusal.code != NOT_OURS:
            raise
        return None
    if is_digest_of(login.key_digest or "", key):
        return keyed_digest(key)
    now = read(agents.login_key(login.email))
    return login.key_digest if now is None or now.key_digest != login.key_digest else None


# The card numbers of payments


def _wrap_cards(number: int) -> int:
    """Put a digest of this key around the card digests and fingerprints of payments. Return the number of payments."""
    with ThreadPoolExecutor(THREADS) as pool:
        pages = items.pages(table_name(transactions.TABLE))
        return sum(sum(pool.map(partial(_wrap, number), page)) for page in pages)


def _wrap(number: int, item: Item) -> bool:
    """Wrap the digests of a payment; return False if it has none of a card's number, or newer ones."""
    has_number = "card_entry_digest" in item or ("card" in item and "card_entry_linked_id" not in item)
    if not has_number or "original_id" in item:
        return False
    found = {name: item[name]["S"] for name in ("fingerprint", "card_entry_digest") if "S" in item.get(name, {})}
    earlier = {name: text for name, text in found.items() if number_of(text) < number}
    if not earlier:
        return False
    new = {name: wrapped(text, number) for name, text in earlier.items()}
    values = {**new, **{f"old_{name}": text for name, text in earlier.items()}}
    condition = " AND ".join(f"#{name} = :old_{name}" for name in earlier)
    key = transactions.key(item["id"]["S"])
    try:
        write_one(update(key, set_attributes(new), values, condition=condition))
    except AlreadyExistsError:  # another run was first, perhaps one that a later rotation has overtaken
        return _wrap(number, read_item(key))
    return True
