"""The kinds of payment and the features of a till's form that the pages have, as a module."""

import json

from chalicelib.domain.kinds import FEATURES, KINDS, LANGUAGES, InputType, Names, name_in
from chalicelib.schemas.base import wire_name


def kinds_module() -> str:
    """Return the module of the pages with the kinds of payment, and the names of kinds and features."""
    lines = ["// The kinds of payment and their names, which `make reference` writes from chalicelib/domain/kinds.py."]
    lines += ["// isTender: the till sells by it. isOffline: also without connection."]
    lines += ["export const KINDS = {", *map(_row, KINDS), "};"]
    lines += _names("KIND_NAMES", {_key(input_type): kind.names for input_type, kind in KINDS.items()})
    lines += ["// The features in the form of a till."]
    lines += _names("FEATURE_NAMES", _of_features())
    return "\n".join([*lines, ""])


def _key(input_type: InputType) -> str:
    first, *others = input_type.name.lower().split("_")
    return first + "".join(map(str.capitalize, others))


def _row(input_type: InputType) -> str:
    kind = KINDS[input_type]
    is_tender, is_offline = (json.dumps(one) for one in (not kind.reads_card, not kind.needs_acquirer))
    return (
        f'  {_key(input_type)}: {{ inputType: {input_type:d}, feature: "{wire_name(kind.feature)}", '
        f"isTender: {is_tender}, isOffline: {is_offline} }},"
    )


def _of_features() -> dict[str, Names]:
    """Return the names of the features in the form: those of kinds without an acquirer, and those with own names."""
    of_kinds = {kind.feature: kind.names for kind in KINDS.values() if not kind.needs_acquirer}
    own = {name: feature["names"] for name, feature in FEATURES.items() if feature["names"]}
    return {wire_name(name): names for name, names in (of_kinds | own).items()}


def _names(constant: str, names: dict[str, Names]) -> list[str]:
    texts = {one: ", ".join(f'{key}: "{name_in(one, found)}"' for key, found in names.items()) for one in LANGUAGES}
    return [f"export const {constant} = {{", *(f"  {one}: {{ {text} }}," for one, text in texts.items()), "};"]
