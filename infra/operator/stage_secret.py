"""Changes of the stage's secret: signing secrets, secrets of partners, the key of STRIPE, the certificate of ISO8583.

The secret is one JSON document (`chalicelib.gateways.secrets`). A change stores a new version of the whole document,
and makes it current only if the version that was read still is. The version before it stays, so that `undo` returns to
it. `changed` in the document has the time of each change, `leaked` the SHA-256 digests of signing secrets that leaked.
No command changes the digest key.
"""

import hashlib
import json
import re
import secrets
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from chalicelib import outside
from chalicelib.domain.secret import Secret
from chalicelib.gateways.secrets import ACCEPTED, remembered
from chalicelib.settings import settings
from chalicelib.store import audit
from infra.operator import terminal

Document = Mapping[str, Any]

CURRENT, PREVIOUS = "AWSCURRENT", "AWSPREVIOUS"
PROPOSED = "PROPOSED"  # the label of a version before it is current: a version without a label may be deleted
DIGEST_KEY = "digest_key"
CERTIFICATE = "iso8583"
STRIPE_KEY = "stripe"
STRIPE_KEYS = re.compile("(?:sk|rk)_(test|live)_[A-Za-z0-9_]{1,240}")
LEAKED = "leaked"
NEEDED = {"signing", DIGEST_KEY}  # without them, credentials of all merchants are refused
NO_SECRETS = {"partners", "changed", LEAKED}  # parts of the document that are not one secret
A_WEEK = timedelta(days=7)  # a certificate that ends sooner is no help
BETWEEN = timedelta(days=1)  # two rotations of the signing secret
OVERTAKEN = "Another change came between. Nothing was changed: look at the secret, and run the command again."


class SecretError(Exception):
    """The reason why the secret was not changed, in one line."""


def rotate_signing(new: Secret | None = None, *, again: bool = False, leaked: bool = False) -> Secret:
    """Make a new signing secret current (random unless given). The previous one is accepted until the next rotation.

    If the secrets before it `leaked`, none of them is accepted any more. Every process knows the new secret within
    `REMEMBERED_S`. Sign with it only after that. Raises SecretError for another rotation within a day of the last one,
    unless it is wanted `again`: it refuses tokens that are still in use.
    """
    new = new or Secret(secrets.token_urlsafe(48))

    def rotated(before: Document) -> Document:
        accepted, at = before.get("signing", ()), before.get("changed", {}).get("signing")
        if leaked:
            return {"signing": [new.reveal()], LEAKED: sorted({*before.get(LEAKED, ()), *_digests(accepted)})}
        if not again and at and len(accepted) >= ACCEPTED and outside.now() - datetime.fromisoformat(at) < BETWEEN:
            message = (
                f"The secret was rotated at {at}, and tokens of the one before are still accepted. Another rotation"
                " refuses them. If a secret leaked, use --leaked."
            )
            raise SecretError(message)
        return {"signing": [new.reveal(), *accepted][:ACCEPTED]}

    _change("signing", rotated)
    return new


def _digests(texts: Iterable[str]) -> set[str]:
    return {hashlib.sha256(text.encode()).hexdigest() for text in texts}


def rotate_partner(product: str, new: Secret) -> None:
    """Sign requests to the partner of a product with a new secret.

    Processes change to it within `REMEMBERED_S`. Until then the partner must also accept the previous secret.
    """
    _change(f"partners.{product}", lambda before: {"partners": {**before.get("partners", {}), product: new.reveal()}})


def has_partner(product: str) -> bool:
    """Return whether a secret of the product's partner is stored."""
    return product in current().document.get("partners", {})


def remove_partner(product: str) -> None:
    """Delete the secret of a partner. Raises SecretError if there is none."""

    def without(before: Document) -> Document:
        partners = dict(before.get("partners", {}))
        if partners.pop(product, None) is None:
            message = f"There is no secret of a partner for {product}."
            raise SecretError(message)
        return {"partners": partners}

    _change(f"partners.{product}", without)


def use_stripe_key(key: Secret) -> None:
    """Use this key of our account at Stripe. Every process changes to it within `REMEMBERED_S`.

    Raises SecretError for another text, and for a key that moves real money where STRIPE_URL is set.
    """
    found = STRIPE_KEYS.fullmatch(key.reveal())
    if not found:
        message = "This is no secret key of Stripe: it begins with sk_test_, sk_live_, rk_test_ or rk_live_."
        raise SecretError(message)
    account = settings().stripe
    if found[1] == "live" and account and account.url:
        message = "This key moves real money, and STRIPE_URL is set: the stage takes only a test key."
        raise SecretError(message)
    _change(STRIPE_KEY, lambda _: {STRIPE_KEY: key.reveal()})


def use_certificate(certificate: Path, key: Path) -> datetime:
    """Use a certificate and its key, in PEM without a password, for the host of ISO8583. Return when it expires."""
    expires = expiry_of(certificate, key)
    pair = {"certificate": certificate.read_text(encoding="utf-8"), "key": key.read_text(encoding="utf-8")}
    _change(CERTIFICATE, lambda _: {CERTIFICATE: pair})
    return expires


def expiry_of(certificate: Path, key: Path) -> datetime:
    """Return when a certificate expires. Raises SecretError if that is within 7 days, or if the key is not its own."""
    from cryptography import x509  # noqa: PLC0415  the other commands need no certificates

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(certificate, key, password="")
        expires = x509.load_pem_x509_certificate(certificate.read_bytes()).not_valid_after_utc
    except (OSError, ValueError) as problem:  # ssl.SSLError is an OSError
        message = f"{certificate} and {key} are no certificate with its key, in PEM without a password: {problem}"
        raise SecretError(message) from None
    if expires <= outside.now():
        message = f"The certificate expired on {expires:%Y-%m-%d}."
        raise SecretError(message)
    if expires <= outside.now() + A_WEEK:
        message = f"The certificate ends on {expires:%Y-%m-%d}, within 7 days: ask the bank for another one."
        raise SecretError(message)
    return expires


@dataclass(frozen=True)
class StepBack:
    """The step from the current version to the one before, with the names of the parts that it changes."""

    current: str
    previous: str
    differs: tuple[str, ...]
    removed: frozenset[str]


def step_back(*, accepts_leaked: bool = False) -> StepBack:
    """Return the step to the version before the latest change of this secret.

    Raises SecretError if that version accepts a signing secret that leaked, unless `accepts_leaked`.
    """
    versions = _versions()
    if PREVIOUS not in versions:
        message = "There is no version before this one."
        raise SecretError(message)
    before = _read(versions[PREVIOUS])
    try:
        now = _read(versions[CURRENT])
    except SecretError:  # what somebody wrote by hand is undone too
        now = {}
    if not accepts_leaked and not _digests(before.get("signing", ())).isdisjoint(now.get(LEAKED, ())):
        message = (
            "The version before accepts a signing secret that leaked. Nothing was changed:"
            " --accept-leaked returns to it all the same."
        )
        raise SecretError(message)
    parts, earlier = _parts(now), _parts(before)
    differs = tuple(sorted(name for name in {*parts, *earlier} if parts.get(name) != earlier.get(name)))
    return StepBack(versions[CURRENT], versions[PREVIOUS], differs, frozenset(parts.keys() - earlier.keys()))


def undo(step: StepBack) -> None:
    """Return to the version before. The same step from there returns to the later version."""
    note("undo", *step.differs)
    _make_current(step.previous, instead_of=step.current)


def described() -> list[str]:
    """Return a line for each part of the secret: its name, its dates and its use. No line has a value."""
    content = current().document
    changed, notes = content.get("changed", {}), {}
    if accepted := content.get("signing", ())[:ACCEPTED]:
        notes["signing"] = (
            "; it and the secret before it are accepted" if len(accepted) > 1 else "; only it is accepted"
        )
    if CERTIFICATE in content:
        from cryptography import x509  # noqa: PLC0415  the other commands need no certificates

        certificate = x509.load_pem_x509_certificate(content[CERTIFICATE]["certificate"].encode())
        notes[CERTIFICATE] = f"; the certificate expires on {certificate.not_valid_after_utc:%Y-%m-%d}"
    lines = []
    if DIGEST_KEY not in content:
        lines.append(f"{DIGEST_KEY:<24} IS MISSING: no secret key or session works")
    for name in _parts(content):
        when = f"changed {changed[name]}" if name in changed else "never changed by a command"
        lines.append(f"{name:<24} {when}{notes.get(name, '')}")
    return lines


def _parts(content: Document) -> dict[str, Any]:
    """Return the parts of the document, one for each partner, by name."""
    partners = {f"partners.{product}": text for product, text in content.get("partners", {}).items()}
    return {name: value for name, value in content.items() if name not in NO_SECRETS} | partners


def _change(name: str, edit: Callable[[Document], Document]) -> None:
    """Store the document with the parts that `edit` returns. Raises SecretError if another change came between."""
    read = current()
    before = read.document
    changed = {**before.get("changed", {}), name: f"{outside.now():%Y-%m-%dT%H:%M:%SZ}"}
    content = {**before, **edit(before), "changed": changed}
    stored = _client().put_secret_value(
        SecretId=settings().secret_id, SecretString=json.dumps(content), VersionStages=[PROPOSED]
    )
    note("change", name)
    _make_current(stored["VersionId"], instead_of=read.version)


def note(kind: str, *names: str) -> None:
    """Record in the audit who changes, undoes or sees parts of the secret, before it happens."""
    audit.store("stage#secret", terminal.act(kind), names)


@dataclass(frozen=True)
class Current:
    """The current version of the secret, as it was read."""

    version: str
    document: Document = field(repr=False)


def current() -> Current:
    """Read the secret."""
    version = _versions()[CURRENT]
    return Current(version, _read(version))


def _make_current(version: str, *, instead_of: str) -> None:
    try:
        _client().update_secret_version_stage(
            SecretId=settings().secret_id,
            VersionStage=CURRENT,
            MoveToVersionId=version,
            RemoveFromVersionId=instead_of,
        )
    except ClientError as refusal:
        if refusal.response["Error"]["Code"] != "InvalidParameterException":
            raise
        raise SecretError(OVERTAKEN) from None
    remembered().forget()


def _versions() -> dict[str, str]:
    found = _client().describe_secret(SecretId=settings().secret_id)["VersionIdsToStages"]
    return {label: version for version, labels in found.items() for label in labels}


def _read(version: str) -> Document:
    answer = _client().get_secret_value(SecretId=settings().secret_id, VersionId=version)
    try:
        parsed: Document = dict(json.loads(answer["SecretString"]))
    except (ValueError, TypeError):
        message = f"The version {version} of the secret is no JSON object: undo-secret returns to the one before."
        raise SecretError(message) from None
    return parsed


def _client() -> Any:
    return outside.current.boto3_client("secretsmanager", attempts=3, read_seconds=10)
