from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis.strategies import (
    binary,
    booleans,
    builds,
    datetimes,
    decimals,
    frozensets,
    integers,
    none,
    text,
    tuples,
)

from chalicelib.domain.transaction import InputType, Phase, Purchase
from chalicelib.store.table import decode, encode, value_of
from tests.support.transactions import a_payment


@dataclass(frozen=True)
class Part:
    name: str
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Whole:
    text: str
    number: int
    exact: Decimal
    yes: bool
    at: datetime
    phase: Phase
    kind: InputType
    part: Part
    sealed: bytes = b"\0"
    parts: tuple[Part, ...] = ()
    absent: str | None = None
    names: frozenset[str] = frozenset()
    either: str | int | None = None


parts = builds(Part, name=text(), numbers=tuples(integers(-(10**15), 10**15)))
wholes = builds(
    Whole,
    text=text(),
    number=integers(-(10**18), 10**18),
    exact=decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-180, max_value=180),
    yes=booleans(),
    at=datetimes().map(lambda at: at.replace(tzinfo=UTC)),
    part=parts,
    sealed=binary(min_size=1),
    parts=tuples(parts, parts),
    absent=none() | text(min_size=1),
    names=frozensets(text(min_size=1)),
    either=none() | text() | integers(-(10**18), 10**18),
)


@given(whole=wholes)
def test_a_record_reads_back_as_it_was_written(whole: Whole) -> None:
    assert decode(Whole, encode(whole)) == whole


def test_a_payment_reads_back_as_it_was_written() -> None:
    payment = a_payment(
        latitude=Decimal("-33.9249"), ext_id="A-1", purchases=(Purchase("Tea", Decimal(2), Decimal(1)),)
    )

    assert decode(type(payment), encode(payment)) == payment


def test_stored_names_outlive_the_names_in_the_code() -> None:
    item = encode(a_payment(ext_id="A-1"))

    assert item["taker"]["M"]["id"] == {"N": "17"}
    assert item["details"] == {"S": "{}"}
    assert item["ext_id"] == {"S": "A-1"}
    assert not {"agent", "raw_request", "particulars"} & item.keys()


def test_an_absent_field_is_not_written() -> None:
    assert set(encode(Part("a"))) == {"name"}


def test_attributes_of_an_index_do_not_disturb_the_record() -> None:
    assert decode(Part, {**encode(Part("a")), "due_at": {"S": "x"}}) == Part("a")


def test_a_float_is_never_stored() -> None:
    with pytest.raises(TypeError):
        value_of(0.1)
