"""The names in a request's body that have no effect where they stand.

Unknown names are ignored. But to ignore an ID, an amount or a key at a wrong place would charge a card twice, give all
back, or change no key. So these deciding names are refused there, and other known names have a warning.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Any

from chalicelib.domain.masking import mask_foreign
from chalicelib.errors import MAX_VALIDATIONS, WARNING, Check, Validation
from chalicelib.exact_json import LONGEST_NAME
from chalicelib.schemas.base import Request, fields_of
from chalicelib.schemas.bodies import inner_model, is_nothing, spelling_of

DECIDING = frozenset(
    {"ID", "Amount", "TransactionID", "PartialReverse", "CurrencyID", "ExtID", "InputType", "OfflineTran", "Purchases"}
    | {"Card", "Receipt", "AcqTran", "Period", "ListBasicModel", "SecretKey", "Password", "State", "Features"}
    | {"EndSessions"}
)
# Objects whose fields the interface does not describe.
FREE = frozenset(
    {"Sbp", "ServerFiscalization", "PrinterSettings", "AcquirersSettings", "Fiscal", "OfflineRequestModel"}
    | {"Tags", "Image", "ImageAvatar"}
)
NEVER_EMPTY = frozenset({"secretkey"})  # an empty text is no placeholder: it would replace nothing
MAX_WARNINGS = 20
SHORTEST = 4  # letters of a name that is compared letter by letter


@dataclass(frozen=True)
class Place:
    """A field that a request's model knows. `above` is the path of its object, such as "BasicTran." or "PosBulk[]."."""

    above: str
    model: type[Request]
    name: str

    @property
    def path(self) -> str:
        """Return the path of the field."""
        return self.above + self.name

    def value_in(self, sent: Any) -> Any:
        """Return the first value of a request at this place; None when there are only placeholders or nothing."""
        objects = [sent]
        for part in self.above.split(".")[:-1]:
            name = part.removesuffix("[]")
            inner = [one[name] for one in objects if isinstance(one, dict) and name in one]
            objects = [item for one in inner if isinstance(one, list) for item in one] if name != part else inner
        for one in objects:
            value = one.get(spelling_of(self.name, self.model, one)) if isinstance(one, dict) else None
            if value is not None and not is_nothing(value, self.name, self.model):
                return value
        return None


@cache
def places_of(model: type[Request]) -> Mapping[str, tuple[Place, ...]]:
    """Return the places of each name that a request's model knows, also under its other spellings."""
    places: dict[str, list[Place]] = {}
    objects: list[tuple[str, type[Request]]] = [("", model)]
    for above, one in objects:
        for name in sorted(fields_of(one).names):
            for spelling in (name, *(other for other, known in one.SPELLINGS.items() if known == name)):
                places.setdefault(spelling, []).append(Place(above, one, name))
            inner, is_list = inner_model(one, name)
            if inner and name not in FREE:
                objects.append((f"{above}{name}{'[]' if is_list else ''}.", inner))
    return {name: tuple(found) for name, found in places.items()}


def refused_names(model: type[Request], sent: Mapping[str, Any]) -> tuple[Validation, ...]:
    """Return an error for each deciding name without effect, but not for those in items of a batch."""
    errors = (one for one in _Walk(model, sent, only_errors=True).findings() if one.type != WARNING)
    return tuple(islice(errors, MAX_VALIDATIONS))


def refused_in_item(item: type[Request], sent: Any, path: str) -> list[Validation]:
    """Return an error for each deciding name without effect in an item of a batch. `path` is the item's."""
    walk = _Walk(item, sent, f"{path}.", only_errors=True) if isinstance(sent, dict) else None
    return list(islice((one for one in walk.findings() if one.type != WARNING), MAX_VALIDATIONS)) if walk else []


def ignored_names(model: type[Request], sent: Mapping[str, Any]) -> list[Validation]:
    """Return a warning for each other known name without effect, at most MAX_WARNINGS."""
    walks = [_Walk(model, sent)]
    for name, item in model.ITEMS.items():
        items = sent.get(name)
        walks += [
            _Walk(item, one, f"{name}[{number}].", model)
            for number, one in enumerate(items if isinstance(items, list) else ())
            if isinstance(one, dict)
        ]
    warnings = (one for walk in walks for one in walk.findings() if one.type == WARNING)
    return list(islice(warnings, MAX_WARNINGS))


@dataclass(frozen=True)
class _Walk:
    """A request, or an item of a batch, whose names are judged. `batch` is the model of the item's request."""

    root: type[Request]
    sent: Mapping[str, Any]
    prefix: str = ""  # of all paths
    batch: type[Request] | None = None
    only_errors: bool = False
    values: dict[Place, Any] = field(default_factory=dict)  # what stands at each right place

    def findings(self) -> Iterator[Validation]:
        """Yield the findings in the order in which the names stand in the request."""
        return self._of_object(self.prefix, self.root, self.sent, is_moved=False)

    def _of_object(
        self, above: str, model: type[Request] | None, names: Mapping[str, Any], *, is_moved: bool
    ) -> Iterator[Validation]:
        """Yield the findings in an object. `model` reads it, or would at its right place: `is_moved`. None: unknown."""
        for written, value in names.items():
            name = fields_of(model).known(written) if model else ""
            if written in FREE:
                continue
            if not name or (is_moved and name in DECIDING):
                yield from self._of_name(above, model, names, written)
            if model and name:
                inner, _ = inner_model(model, name)
                if inner is None:  # a free object, or no object
                    continue
            else:
                inner = next((inner_model(one.model, one.name)[0] for one in self._places(written)), None)
            if isinstance(value, dict) and not (model and written.lower() in model.REFUSED):
                yield from self._of_object(f"{above}{_shown(written)}.", inner, value, is_moved=is_moved or not name)

    def _places(self, written: str) -> tuple[Place, ...]:
        return places_of(self.root).get(written, ()) or (places_of(self.batch).get(written, ()) if self.batch else ())

    def _of_name(
        self, above: str, model: type[Request] | None, names: Mapping[str, Any], written: str
    ) -> Iterator[Validation]:
        """Yield the finding about a name that its object does not know."""
        value, path = names[written], above + _shown(written)
        if model and (message := model.REFUSED.get(written.lower())):
            if not is_nothing(value) or written.lower() in NEVER_EMPTY:
                yield Validation(path, Check.SPELLING, message)
        elif places := self._places(written):
            if not is_nothing(value, places[0].name, places[0].model):
                yield from self._of_wrong_place(path, places, value)
        elif model and (near := _near_name(written, model, names)) and not is_nothing(value):
            yield self._refused(path, near, f"The field is spelt {near}.")

    def _of_wrong_place(self, path: str, places: tuple[Place, ...], value: Any) -> Iterator[Validation]:
        name = places[0].name
        if self.only_errors and name not in DECIDING:
            return
        message = f"It has no effect here: its place is {' or '.join(self._path(one) for one in places)}."
        values = map(self._value_at, places) if name in DECIDING else ()
        held = next((one for one in values if one is not None), None)
        if held is not None:
            if held != value:
                yield Validation(path, Check.WITHOUT_EFFECT, f"{message} Another value stands there.", WARNING)
        elif name in DECIDING:
            yield self._refused(path, name, message)
        else:
            yield Validation(path, Check.WITHOUT_EFFECT, message, WARNING)

    def _path(self, place: Place) -> str:
        is_own = place in places_of(self.root).get(place.name, ())
        return self.prefix + place.path if is_own else place.path

    def _value_at(self, place: Place) -> Any:
        if place not in self.values:
            self.values[place] = place.value_in(self.sent)
        return self.values[place]

    def _refused(self, path: str, name: str, message: str) -> Validation:
        """Return the error about a deciding name; a warning where an offline sale is taken all the same."""
        kept = self.root.deciding_names(self.sent)
        if kept is None or name in kept:
            return Validation(path, Check.SPELLING, message)
        return Validation(path, Check.WITHOUT_EFFECT, message, WARNING)


def _shown(name: str) -> str:
    """Return a name for a path: its beginning, without card numbers and halves of surrogate pairs (UTF-8 has none)."""
    return mask_foreign(name[:LONGEST_NAME].encode(errors="replace").decode(), None)


@cache
def _compared(model: type[Request]) -> tuple[str, ...]:
    # A request without a required name is refused anyway.
    required = {one.alias or name for name, one in model.model_fields.items() if one.is_required()}
    long = {name for name in fields_of(model).names & DECIDING | required if len(name) >= SHORTEST}
    return tuple(sorted(long | model.DECIDING))


def _near_name(written: str, model: type[Request], names: Mapping[str, Any]) -> str | None:
    """Return the deciding or required name of an object that is absent and one letter away from an unknown name."""
    for name in _compared(model):
        if name in names and not is_nothing(names[name], name, model):
            continue
        if abs(len(written) - len(name)) <= 1 and is_one_letter_away(written.lower(), name.lower()):
            spellings = (name, *(other for other, known in model.SPELLINGS.items() if known == name))
            return None if any(not is_nothing(names.get(one, ""), name, model) for one in spellings) else name
    return None


def is_one_letter_away(one: str, other: str) -> bool:
    """Return whether two texts differ by one letter: one more, one less, another one, or two neighbours swapped."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    at = next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    rest, others = one[at:], other[at:]
    swapped = rest[:2] == others[:2][::-1] and rest[2:] == others[2:]
    return swapped or rest[1:] == others[1:] or rest == others[1:] or rest[1:] == others
