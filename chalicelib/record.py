"""The base of frozen records. Most classes of the service are records, and a cold start defines a hundred of them.

The standard library's `dataclass` writes and compiles six methods per class, which takes 0.5 to 1.5 ms. Records share
one set of methods.
"""

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field
from typing import Any, ClassVar, NoReturn, dataclass_transform


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Record:
    """A frozen dataclass: a subclass is a list of fields. `field`, `fields`, `replace` and `asdict` work with it.

    Records are equal when their class and their fields are equal. A field with `repr=False` is not shown.
    """

    __match_args__: ClassVar[tuple[str, ...]] = ()  # the names of the fields, in order
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    _defaults: ClassVar[dict[str, Any]]
    _factories: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(init=False, repr=False, eq=False)(cls)
        fields = cls.__dataclass_fields__.values()
        cls._defaults = {one.name: one.default for one in fields if one.default is not MISSING}
        cls._factories = {one.name: one.default_factory for one in fields if one.default_factory is not MISSING}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = {**dict(zip(self.__match_args__, args, strict=False)), **kwargs} if args else kwargs
        values = {**self._defaults, **given}
        for name, make in self._factories.items():
            if name not in values:
                values[name] = make()
        if values.keys() != self.__dataclass_fields__.keys() or len(given) != len(args) + len(kwargs):
            wrong = ", ".join(sorted(values.keys() ^ self.__dataclass_fields__.keys()))
            message = f"{type(self).__qualname__}: a field is missing, unknown or given twice: {wrong}"
            raise TypeError(message)
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        message = f"cannot assign to field {name!r}"
        raise FrozenInstanceError(message)

    def __delattr__(self, name: str) -> NoReturn:
        message = f"cannot delete field {name!r}"
        raise FrozenInstanceError(message)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name, one in self.__dataclass_fields__.items() if one.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def _values(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self.__match_args__])
