"""The guides docs/errors.md, docs/alarms.md and docs/parameters.md."""

from typing import Any

from chalicelib.domain.acquirer import MESSAGES
from chalicelib.errors import Check, ErrorCode
from chalicelib.schemas.transaction_view import DECLINED
from infra.reference import HERE, read_json
from infra.reference.dictionaries import REFERENCES
from infra.stack import resources
from infra.stack.alarms import ALARMS, TOPICS

OF_A_PILOT = 10  # parameters, which stand first


def error_codes_module() -> str:
    """Return the module of the pages with the codes of errors."""
    codes = "".join(f"  {error.name}: {error.code},\n" for error in ErrorCode)
    return (
        "// The codes of errors, which `make reference` writes from chalicelib/errors.py.\n"
        f"export const DECLINED = {DECLINED}; // the ErrorCode of a decline is this + the ISO 8583 response code\n"
        f"export const ErrorCode = {{\n{codes}}};\n"
    )


def errors_guide() -> str:
    """Return the guide of errors."""
    advice = read_json("advice.json")
    errors = [f"| {one.code} | {one.status} | {one.message} | {advice[one.name]} |" for one in ErrorCode]
    declines = [f"| {1000 + code} | {message} |" for code, message in MESSAGES.items() if code]
    checks = [f"| {check.value} | {check.name.replace('_', ' ').lower()} |" for check in Check]
    codes = ", ".join(str(error.code) for error in REFERENCES)
    checks.append(f"| {codes} | a name that is taken, or a missing object: the ErrorCode of the same number |")
    return _filled("errors.txt", errors=errors, declines=declines, checks=checks)


def alarms_guide() -> str:
    """Return the guide of alarms."""
    rows: dict[str, list[str]] = {level: [] for level in TOPICS}
    for one in ALARMS:
        rows[one.level].append(f"| `{one.name}` | {one.meaning} | {one.first} | {one.tell} | {one.then} |")
    return _filled("alarms.txt", pages=rows["page"], tickets=rows["ticket"])


def parameters_guide() -> str:
    """Return the guide of the template's parameters."""
    parameters = resources.definition()["Parameters"].items()
    rows = []
    for name, one in parameters:
        default = f"`{one['Default']}`" if one["Default"] != "" else "none"
        rows.append(f"| `{name}` | {one['Description']} | {default} | {_values(one)} |")
    return _filled("parameters.txt", pilot=rows[:OF_A_PILOT], others=rows[OF_A_PILOT:])


def _values(parameter: dict[str, Any]) -> str:
    """Return the values that CloudFormation takes, in words or one by one."""
    if "ConstraintDescription" in parameter:
        return str(parameter["ConstraintDescription"])
    if "AllowedValues" in parameter:
        return ", ".join(f"`{value}`" for value in parameter["AllowedValues"])
    if "MaxValue" in parameter:
        return f"{parameter['MinValue']} to {parameter['MaxValue']}"
    return f"from {parameter['MinValue']}" if "MinValue" in parameter else ""


def _filled(name: str, **tables: list[str]) -> str:
    """Return a Markdown file of this folder with the rows of its tables."""
    text = (HERE / name).read_text(encoding="utf-8")
    for table, rows in tables.items():
        text = text.replace(f"{{{table}}}", "\n".join(rows))
    return text
