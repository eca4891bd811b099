"""Records behave as frozen dataclasses do, and share their methods."""

from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.card import CardInput
from chalicelib.domain.secret import Secret
from chalicelib.errors import Finding, Validation
from chalicelib.record import Record


class Cup(Record):
    """A record with each kind of field."""

    size: int
    name: str = ""
    notes: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    hidden: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Twin:
    """The same fields, in a dataclass of the standard library."""

    size: int
    name: str = ""
    notes: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    hidden: str | None = field(default=None, repr=False)


VALUES = st.fixed_dictionaries(
    {"size": st.integers(0, 2)},
    optional={"name": st.text(max_size=1), "notes": st.tuples(st.text(max_size=1)), "hidden": st.sampled_from("ab")},
)


@given(one=VALUES, other=VALUES)
def test_it_is_what_a_frozen_dataclass_of_the_same_fields_is(one: dict[str, Any], other: dict[str, Any]) -> None:
    cup, twin = Cup(**one), Twin(**one)

    assert asdict(cup) == asdict(twin)
    assert repr(cup) == repr(twin).replace("Twin", "Cup")
    assert (cup == Cup(**other)) == (twin == Twin(**other))
    assert asdict(replace(cup, **other)) == asdict(replace(twin, **other))
    assert [one.name for one in fields(cup)] == [one.name for one in fields(twin)]


@pytest.mark.parametrize("make", [Cup, Twin])
@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((), {}),
        ((), {"name": "a"}),
        ((1,), {"size": 1}),
        ((1,), {"handle": True}),
        ((), {"handle": 1}),
        ((1, "", (), {}, "", 6), {}),
    ],
    ids=["nothing", "missing", "twice", "unknown", "unknown for missing", "too many"],
)
def test_a_field_that_is_missing_unknown_or_given_twice_is_refused(
    make: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]
) -> None:
    with pytest.raises(TypeError):
        make(*args, **kwargs)


def test_fields_are_taken_in_their_order_too() -> None:
    assert Cup(1, "a", ("b",)) == Cup(size=1, name="a", notes=("b",))


def test_it_cannot_be_changed() -> None:
    cup = Cup(1)

    with pytest.raises(FrozenInstanceError):
        cup.size = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del cup.size
    assert cup == Cup(1)


def test_equal_records_are_one_key() -> None:
    assert {Finding("amount", 1, "a"): 1}[Finding("amount", 1, "a")] == 1
    assert Finding("amount", 1, "a") not in {Finding("amount", 2, "a"): 1}


def test_a_record_of_another_class_is_another_even_with_equal_fields() -> None:
    assert Finding("amount", 1, "a") != Validation("amount", 1, "a")


def test_a_subclass_has_the_fields_of_its_base_first() -> None:
    assert [one.name for one in fields(Validation)] == ["field", "code", "message", "type"]
    assert Validation("amount", 1, "a").type == 1


def test_what_a_factory_makes_is_not_shared() -> None:
    assert Cup(1).labels is not Cup(1).labels


def test_neither_a_hidden_field_nor_a_secret_is_shown() -> None:
    assert repr(Cup(1, hidden="h1dden")) == "Cup(size=1, name='', notes=(), labels={})"
    assert "4111" not in repr(CardInput(pan=Secret("4111111111111111")))
