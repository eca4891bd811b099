"""Three codecs that nobody wrote together write the same bytes and read the same messages."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.domain.acquirer import UnusableAnswerError
from chalicelib.gateways.acquirers.iso8583 import answers
from chalicelib.gateways.acquirers.iso8583.codec import Content
from infra.codecs import (
    ADAPTER,
    KINDS,
    LETTERS,
    READERS,
    TABLE,
    WRITERS,
    Form,
    Kind,
    a_message,
    at_odds,
    damaged,
    unlike,
)
from tests.gateways.iso8583.requests import ADVICE, APPROVAL, CODEC, PURCHASE


def values(form: Form) -> st.SearchStrategy[str]:
    if form.kind == "b":
        return st.binary(min_size=form.least, max_size=form.most).map(lambda value: value.hex().upper())
    if form.kind == "z":
        digits = LETTERS["n"]
        return st.builds(
            "{}={}".format, st.text(digits, min_size=12, max_size=19), st.text(digits, min_size=4, max_size=17)
        )
    return st.text(LETTERS[form.kind], min_size=form.least, max_size=form.most)


def contents(kind: Kind) -> st.SearchStrategy[Content]:
    required = {str(number): values(TABLE[number]) for number in kind.required}
    optional = {str(number): values(TABLE[number]) for number in kind.optional}
    return st.builds(Content, st.just(kind.mti), st.fixed_dictionaries(required, optional=optional))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@settings(max_examples=50)
@given(data=st.data())
def test_every_kind_of_message_is_written_and_read_alike(kind: Kind, data: st.DataObject) -> None:
    assert unlike(data.draw(contents(kind))) == []


@settings(max_examples=100)
@given(data=st.data(), random=st.randoms(use_true_random=False))
def test_damaged_messages_are_refused_by_all_or_read_alike(data: st.DataObject, random: Random) -> None:
    message = data.draw(st.sampled_from(list(KINDS.values())).flatmap(contents))

    assert at_odds(damaged(CODEC.encode(message), random)) == []


def test_random_messages_of_the_bench_are_of_the_table() -> None:
    random = Random(8583)  # noqa: S311  the messages must be many, not secret
    for kind in list(KINDS.values()) * 5:
        message = a_message(kind, random)

        assert {int(number) for number in message.fields} >= set(kind.required)
        assert all(TABLE[int(number)].fits(value) for number, value in message.fields.items())
        assert unlike(message) == []


@pytest.mark.parametrize("message", [PURCHASE, APPROVAL, ADVICE], ids=["0200", "0210", "0420"])
def test_the_messages_of_the_interface_are_the_same_to_all(message: bytes) -> None:
    content = CODEC.decode(message)

    assert {name: read(message) for name, read in READERS.items()} == dict.fromkeys(READERS, content)
    assert {name: write(content) for name, write in WRITERS.items()} == dict.fromkeys(WRITERS, message)


@pytest.mark.parametrize("sign", [b"+", b"-", b" ", b"_"])
@pytest.mark.parametrize("told", [b"06123456", b"016\x8a\x02", b"016HOST"], ids=["32", "55", "63"])
def test_a_length_with_a_sign_is_refused_by_all(told: bytes, sign: bytes) -> None:
    """What is damaged at random has hardly ever one, and int() reads it."""
    message = APPROVAL.replace(told, sign + told[1:])

    assert message != APPROVAL
    assert [read(message) for read in READERS.values()] == [None, None, None]


def test_a_codec_that_reads_otherwise_would_be_found() -> None:
    """The comparison itself: without it the others could not fail."""
    message = CODEC.decode(APPROVAL)
    short = Content(message.mti, {**message.fields, "63": "H" * 33})

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(READERS, "the bank's", lambda _: short)
        patch.setitem(WRITERS, "the bank's", lambda _: ADVICE)

        assert unlike(message) == ["the bank's writing", "the bank's reading"]
        assert at_odds(APPROVAL) == ["the bank's"]
        assert at_odds(b"no message") == ["the adapter's", "cardutil's"]


@pytest.mark.parametrize(
    ("number", "value"),
    [("2", "41111111111"), ("35", "4111111111111111"), ("56", "402")],
    ids=["a short number", "a track without =", "a short reason"],
)
def test_what_the_adapter_alone_reads_is_in_no_answer(number: str, value: str) -> None:
    message = CODEC.encode(Content("0210", {**CODEC.decode(APPROVAL).fields, number: value}))

    assert [name for name, read in READERS.items() if read(message) is not None] == [ADAPTER]
    assert at_odds(message) == []
    with pytest.raises(UnusableAnswerError):
        answers.read(message, CODEC.decode(PURCHASE), CODEC)
