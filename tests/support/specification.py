"""The specification's tables and lists of fields, parsed from its text.

A table is name: (kind, required). A kind is a word of the tables, a table of its own, a list of a kind, or None where
the text gives no type. Whether a field is required is None where the text does not say it.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

I, N, D, S, B = "Integer", "Number", "Decimal", "String", "Boolean"  # noqa: E741  the tables' own words
A, O = "Array", "Object"  # noqa: E741  of what the specification does not describe further
Table = dict[str, tuple[Any, bool | None]]

TEXT = (Path(__file__).parents[1] / "specification.txt").read_text(encoding="utf-8")
WORDS: dict[str, Any] = {word: word for word in (I, N, D, S, B, A, O)} | {
    "object": O, "objects": O, "JsonObject": O, "array": A, "numbers": N, "Booleans": B,
    "Object array": [O], "Array of Integer": [I],
}  # fmt: skip
TYPE = "|".join(sorted(WORDS, key=len, reverse=True))
# A name with its type behind it, in brackets or before the next name: ID, ID Integer, ID (Integer), Location (X, Y).
FIELD = re.compile(r"(?<![\w-])([A-Z]\w*)(?: (Integer|String)\b)?(?: \(([^()]*)\))?(?=[,.;:]| and | as |$)")
COMMON = "common request context"


def _types_in_brackets() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, word in re.findall(rf"\b([A-Z]\w*) \(({I}|{S}|{B}|{D}|{N})\b", TEXT):
        found.setdefault(name, word)
    return found


KNOWN = _types_in_brackets()  # the kind of each name that was read so far: a list may leave out the type


def fields(text: str, known: Mapping[str, Any], *, required: bool | None = None) -> Table:
    """Return the fields that a list in prose names. `known` has the kinds of names that stand without a type."""
    found: Table = {}
    untyped: list[str] = []
    for name, behind, inside in FIELD.findall(text):
        if name in WORDS or name in found:
            continue
        kind = WORDS[behind] if behind else kind_of(inside, known)
        found[name] = (kind or known.get(name), required)
        if kind is None:
            untyped.append(name)
        if not isinstance(kind, str):
            continue
        whole = re.match(r"all |objects", inside) is not None  # the type of all names before it
        for other in untyped:
            found[other] = (kind if whole or other not in known else known[other], required)
        untyped = []
    if ending := re.search(rf"(?: as |, all |, both |, )({TYPE})(?:, format [\w-]+)?\.?$", text):
        found |= dict.fromkeys(untyped, (WORDS[ending[1]], required))
    _learn(found)
    return found


def _learn(found: Table) -> None:
    """Remember the kinds of these names, the first of each, and a table of its own rather than a word."""
    for name, (kind, _) in found.items():
        if kind and (name not in KNOWN or (KNOWN[name] in (A, O) and not isinstance(kind, str))):
            KNOWN[name] = kind


def kind_of(text: str, known: Mapping[str, Any]) -> Any:
    """Return the kind that words in brackets say, None where they say something else."""
    words = re.sub(r"^(all|both|object|the sample adds) ", "", text)
    if items := re.match(rf"array of ({TYPE})\b", words):
        return [WORDS[items[1]]]
    if "required" in words:
        return {name: (kind, True) for name, (kind, _) in CONTEXT["DeviceInfo"][0].items()}
    if re.match(r"array of [A-Z]", words):
        return [fields(words, known)]
    if word := re.match(rf"(?:{TYPE})\b", words):
        return WORDS[word[0]]
    return (fields(words, known) or None) if re.match(r"[A-Z]", words) else None


def rows(text: str) -> Iterator[list[str]]:
    """Return the rows of the tables of fields in a text, without their heads."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| Field | Value"):  # values of a field
            return
        if line.startswith("|") and len(cells) > 2 and cells[0] != "Field" and not cells[0].startswith("---"):
            yield cells


def table(text: str) -> Table:
    """Return the fields of the first tables of a text: a resource's, or a request's with its third column."""
    found: Table = {}
    for names, word, *more in rows(text):
        kind: Any = WORDS.get(word)
        required = {"yes": True, "no": False}.get(more[0])
        inner: Table = (
            fields(more[-1].partition(". ")[0].replace(" and in responses", ""), KNOWN) if kind in (A, O) else {}
        )
        if inner:
            kind = [inner] if kind == A else inner
        found |= dict.fromkeys(names.split(", "), (kind, required))
        if inside := re.match(r"Also repeated inside (\w+), which adds (.*)", more[-1]):
            found[inside[1]] = (dict.fromkeys(names.split(", "), (kind, None)) | fields(inside[2], KNOWN), None)
    _learn(found)
    return found


def section(title: str) -> str:
    return TEXT.split(f"\n### {title}\n")[1].split("\n##")[0]


def part(text: str, pattern: str) -> str:
    """Return the group of a pattern that the text must have."""
    found = re.search(pattern, text, re.DOTALL)
    assert found, pattern
    return found[1]


CONTEXT = table(section("Common request context").split("\nDeviceInfo fields")[0])
CONTEXT["DeviceInfo"] = (fields(part(TEXT, r"DeviceInfo fields \(all String\): (.*?)\n"), {}), None)
CONTEXT["DeviceInfo"] = (dict.fromkeys(CONTEXT["DeviceInfo"][0], (S, None)), None)
KNOWN |= {name: kind for name, (kind, _) in CONTEXT.items()}


def _mobile_settings() -> tuple[Table, Table]:
    """Return the fields of requests, and those that answers add."""
    features, *others, answered = re.findall(r"^- (.*)$", section("MobileSettings"), re.MULTILINE)
    names = fields(features.partition("Booleans ")[2], {})
    sent = {"Features": (dict.fromkeys(names, (B, None)), None)} | fields(" , ".join(others), {})
    return sent, sent | fields(answered.removeprefix("Responses add "), {})


MOBILE_SETTINGS, MOBILE_SETTINGS_ANSWER = _mobile_settings()
KNOWN["MobileSettings"] = MOBILE_SETTINGS
RESOURCES = {
    name: table(section(title).partition("\nTransaction list wrapper")[0])
    for name, title in {
        "Envelope": "Response envelope",
        "Pos": "Agent (POS user)",
        "Merchant": "Merchant (client)",
        "Terminal": "Terminal",
        "Transaction": "Transaction",
        "LinkedCard": "Linked card",
    }.items()
}
RESOURCES["Terminal"] |= fields(part(TEXT, r"The sample response also carries: (.*?)\n"), {})
RESOURCES["TransactionList"] = table(section("Transaction").partition("\nTransaction list wrapper")[2])
RESOURCES["Finding"] = fields(part(TEXT, r"Validation item: (.*?)\n"), {})
RESOURCES["PaymentOption"] = fields(section("Payment option (account configuration)").partition(". ")[0], {})
RESOURCES["MobileSettings"] = MOBILE_SETTINGS_ANSWER


def endpoint(method_and_path: str) -> str:
    """Return what the specification says about an endpoint."""
    return TEXT.split(f"**{method_and_path}**")[1].split("\n**")[0].split("\n###")[0]


def context(text: str) -> Table:
    """Return the fields of the common context, where the text says that a request has them."""
    return {name: (kind, False) for name, (kind, _) in CONTEXT.items()} if COMMON in text else {}


def required_and_optional(text: str, resource: str) -> Table:
    known = KNOWN | {name: kind for name, (kind, _) in RESOURCES[resource].items()}
    required, optional = (part(text, rf"\n{word}: (.*?)\n") for word in ("Required", "Optional"))
    return fields(required, known, required=True) | fields(optional, known, required=False)


def merged(one: Table, other: Table) -> Table:
    """Return both tables, and of what both have the parts of both."""
    both = one | other
    for name in set(one) & set(other):
        kinds = one[name][0], other[name][0]
        if all(isinstance(kind, dict) for kind in kinds):
            both[name] = (merged(*kinds), both[name][1])
    return both


def submit() -> Table:
    """Return the fields of payment/submit: a list with a bullet for each object."""
    text = endpoint("POST /api/v1/payment/submit")
    found = context(text)
    for line in re.findall(r"^- (.*?)\.?$", text, re.MULTILINE):
        path, colon, rest = line.partition(": ")
        if not colon or " " in path:  # without an object
            found |= fields(line.partition(", and the common")[0] if not colon else rest, KNOWN)
            continue
        inner = fields(re.sub(r"^array of items with|^array with", "", rest), KNOWN)
        *outer, last = path.split(".")
        of_path: Table = {last: ([inner] if rest.startswith("array") else inner, None)}
        _learn(of_path)
        for name in reversed(outer):
            of_path = {name: (of_path, None)}
        found = merged(found, of_path)
    return found


def body(path: str, pattern: str, resource: str = "") -> Table:
    """Return the fields of a request that a pattern finds, and the common context if the endpoint names it."""
    text = endpoint(path)
    inner = {name: (fields(rest, KNOWN), None) for name, rest in re.findall(r"(\w+) fields: (.*?)\. [A-Z]", text)}
    return context(text) | answer(path, pattern, resource) | inner


def answer(path: str, pattern: str, resource: str = "") -> Table:
    """Return the fields that a pattern finds in the text of an endpoint; those without a type are of this resource."""
    known = KNOWN | {name: kind for name, (kind, _) in RESOURCES.get(resource, {}).items()}
    return fields(part(endpoint(path), pattern), known)


def _batch() -> Table:
    """Return the fields of updatebulk: an array, and a list of what its items have."""
    name, items = re.findall(r"Body: (\w+), an array of items each with (.*?); ", endpoint(f"POST {POS}/updatebulk"))[0]
    return context(COMMON) | {name: ([fields(items, KNOWN)], None)}


MERCHANT, POS = "/api/v1/merchant/{merchantId}", "/api/v1/merchant/{merchantId}/pos"
PAYMENT = "/api/v1/payment"
LISTED = r"Body: (.*?)\. "
REQUESTS: dict[str, Table] = {
    f"{POS}/create": context(endpoint(f"POST {POS}/create")) | table(endpoint(f"POST {POS}/create")),
    f"{POS}/{{posId}}/update": body(f"POST {POS}/{{posId}}/update", r"all optional: (.*?)\. ", "Pos"),
    f"{POS}/updatebulk": _batch(),
    "/api/v1/merchant/create": required_and_optional(endpoint("POST /api/v1/merchant/create"), "Merchant"),
    f"{MERCHANT}/update": required_and_optional(endpoint(f"POST {MERCHANT}/update"), "Merchant"),
    "/api/v1/terminal/create": required_and_optional(endpoint("POST /api/v1/terminal/create"), "Terminal"),
    f"{PAYMENT}/submit": submit(),
    f"{PAYMENT}/prepare": body(f"POST {PAYMENT}/prepare", r"context plus (.*?)\. "),
    f"{PAYMENT}/listHistoryEx": body(f"POST {PAYMENT}/listHistoryEx", LISTED),
    f"{PAYMENT}/listByDaysEx": body(f"POST {PAYMENT}/listHistoryEx", LISTED),
    f"{PAYMENT}/reverse": body(f"POST {PAYMENT}/reverse", LISTED),
    f"{PAYMENT}/reversecnp": body(f"POST {PAYMENT}/reversecnp", LISTED),
    f"{PAYMENT}/GetLinkedCards": body(f"POST {PAYMENT}/GetLinkedCards", r"Body: (.*?), and the common"),
    f"{PAYMENT}/AuthAccount": body(f"GET {PAYMENT}/AuthAccount", r"The inputs are (.*?); "),
    "/api/v1/user/login/session": body("POST /api/v1/user/login/session", r"takes (.*?) and returns"),
}
OF_PAYMENT = answer(f"POST {PAYMENT}/submit", r"Response: (.*?) plus the envelope")
ANSWERS: dict[str, Table] = {
    f"{PAYMENT}/submit": OF_PAYMENT,
    f"{PAYMENT}/prepare": OF_PAYMENT | answer(f"POST {PAYMENT}/prepare", r"Response: (.*?), the payment-response"),
    f"{PAYMENT}/reverse": answer(f"POST {PAYMENT}/reversecnp", r"Both reversals return: (.*?) plus the envelope"),
    f"{PAYMENT}/reversecnp": answer(f"POST {PAYMENT}/reversecnp", r"Both reversals return: (.*?) plus the envelope"),
    f"{PAYMENT}/AuthAccount": answer(f"GET {PAYMENT}/AuthAccount", r"Response: (.*?)\.\n"),
    f"{PAYMENT}/GetLinkedCards": answer(f"POST {PAYMENT}/GetLinkedCards", r"Response: (.*?) plus the envelope"),
    f"{PAYMENT}/statusPublic/{{tranId}}": {
        "Transaction": (
            answer(f"GET {PAYMENT}/statusPublic/{{tranId}}", r"Transaction with (.*?), plus", "Transaction"),
            None,
        )
    },
    "/api/v1/user/login/session": {"Data": ({"SessionID": (S, None)}, None)},
}
