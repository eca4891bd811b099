"""The settings of the acquirer ISO8583: the address of its host, the connection, and its dialect.

Only a stage with this acquirer loads the module. It reads the settings at the start, so the first customer never meets
a fault.
"""

import ipaddress
import json
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from chalicelib.domain.iso8583_dialect import Dialect, DialectError, changed
from chalicelib.settings import SettingsError

PACKAGE = Path(__file__).parents[2]  # the deployed folder
USUAL = Path(__file__).with_name("dialect.json")
SYSTEM = "system"  # the authorities that this machine trusts
NAME = re.compile(r"(?=.{1,253}$)[A-Za-z0-9][A-Za-z0-9-]*(?:\.[A-Za-z0-9][A-Za-z0-9-]*)*")
INSTITUTION = re.compile("[0-9]{1,11}")
MAX_PORT = 65535


@dataclass(frozen=True)
class Host:
    """The host of an acquirer. Each field is the environment variable of the same name after `ISO8583_`.

    `ca` is the file of its authority; None means the system's authorities.
    """

    host: str
    port: int
    institution: str
    tls: bool
    ca: str | None
    dialect: Dialect


def host(environment: Mapping[str, str], *, is_local: bool) -> Host:
    """Return the host in the environment, or raise SettingsError with the name of the missing or wrong setting."""
    tls = _tls(environment, is_local=is_local)
    return Host(
        host=_name(_required(environment, "ISO8583_HOST")),
        port=_port(_required(environment, "ISO8583_PORT")),
        institution=_institution(_required(environment, "ISO8583_INSTITUTION")),
        tls=tls,
        ca=_ca(_required(environment, "ISO8583_CA"), is_local=is_local) if tls else None,
        dialect=_dialect(environment.get("ISO8583_DIALECT") or None),
    )


@cache
def usual() -> Dialect:
    """Return the dialect of a stage that names none."""
    return changed(Dialect(), json.loads(USUAL.read_text(encoding="utf-8")))


def _required(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name)
    if not value:
        message = f"The setting {name} is missing from the environment: the acquirer ISO8583 needs it."
        raise SettingsError(message)
    return value


def _name(text: str) -> str:
    if not NAME.fullmatch(text) and not _is_address(text):
        message = "ISO8583_HOST is a name or an IP address."
        raise SettingsError(message)
    return text


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= MAX_PORT):
        message = f"ISO8583_PORT is {text}; it is a number from 1 to {MAX_PORT}."
        raise SettingsError(message)
    return int(text)


def _institution(text: str) -> str:
    if not INSTITUTION.fullmatch(text):
        message = f"ISO8583_INSTITUTION is {text}; it has 1 to 11 digits."
        raise SettingsError(message)
    return text


def _tls(environment: Mapping[str, str], *, is_local: bool) -> bool:
    chosen = environment.get("ISO8583_TLS") or "on"
    if chosen not in ("on", "off"):
        message = f"ISO8583_TLS is {chosen}; it is on or off."
        raise SettingsError(message)
    if chosen == "off" and not is_local:
        message = "ISO8583_TLS is off: only the local stage takes that."
        raise SettingsError(message)
    return chosen == "on"


def _ca(named: str, *, is_local: bool) -> str | None:
    if named == SYSTEM:
        return None
    path = _file("ISO8583_CA", named, may_be_absolute=is_local)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except (ssl.SSLError, OSError):
        message = f"ISO8583_CA is {named}, which holds no certificate in PEM."
        raise SettingsError(message) from None
    return str(path)


def _dialect(named: str | None) -> Dialect:
    if named is None:
        return usual()
    path = _file("ISO8583_DIALECT", named)
    try:
        return changed(usual(), json.loads(path.read_text(encoding="utf-8")))
    except DialectError as fault:
        message = f"ISO8583_DIALECT is {named}, in which {fault}."
    except (ValueError, RecursionError):
        message = f"ISO8583_DIALECT is {named}, which is not JSON."
    raise SettingsError(message)


def _file(setting: str, named: str, *, may_be_absolute: bool = False) -> Path:
    """Return a file of the package. With `may_be_absolute`, an absolute path elsewhere on this machine is allowed."""
    path = (PACKAGE / named).resolve()
    if not (path.is_relative_to(PACKAGE.resolve()) or (may_be_absolute and Path(named).is_absolute())):
        message = f"{setting} is {named}; it is a path inside the package."
        raise SettingsError(message)
    if not path.is_file():
        message = f"{setting} is {named}, which is no file."
        raise SettingsError(message)
    return path
