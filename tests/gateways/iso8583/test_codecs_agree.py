"""The adapter's codec and the bank's, which nobody wrote together, write the same bytes and read the same messages."""

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.domain.acquirer import UnusableAnswerError
from chalicelib.gateways.acquirers.iso8583 import answers
from chalicelib.gateways.acquirers.iso8583.codec import CodecError, Content
from infra.bank import codec as bank
from tests.gateways.iso8583.requests import ADVICE, APPROVAL, CODEC, PURCHASE
from tests.gateways.iso8583.test_codec import WRONG, values

IDENTITY = ("3", "4", "7", "11", "12", "13", "32", "37", "41", "42", "49")
TERMINAL = ("18", "22", "25", "43", "48")
KINDS = {  # of messages: the type, the fields it always has, and those it may have
    "purchase": ("0200", ("2", "14", *IDENTITY, *TERMINAL), ("23", "35", "55")),
    "refund": ("0200", (*IDENTITY, *TERMINAL, "90"), ("2", "14", "23", "35", "55")),
    "answer": ("0210", (*IDENTITY, "39"), ("15", "38", "44", "48", "55", "63")),
    "advice": ("0420", (*IDENTITY, "56", "90"), ("95",)),
    "repeated advice": ("0421", (*IDENTITY, "56", "90"), ("95",)),
    "acknowledgement": ("0430", (*IDENTITY, "39", "90"), ("38", "95")),
    "echo": ("0800", ("7", "11", "70"), ("32",)),
    "answer to an echo": ("0810", ("7", "11", "39", "70"), ("32",)),
}
# The forms of the interface for the fields that a dialect's document does not limit from below. No answer has them.
LOOSE = {"2": "[0-9]{12,19}", "35": "(?=.{17,37}$)[0-9]+=[0-9]+", "56": "[0-9]{4}"}
TELLING = b"0123456789 +-_=A"  # bytes that are of some forms and not of others


def contents(name: str) -> st.SearchStrategy[Content]:
    mti, required, optional = KINDS[name]
    forms = {number: values(form) for number, form in CODEC.dialect.fields.items()}
    forms |= {number: st.from_regex(form, fullmatch=True) for number, form in LOOSE.items() if number != "35"}
    always = {number: forms[number] for number in required}
    return st.builds(
        Content, st.just(mti), st.fixed_dictionaries(always, optional={number: forms[number] for number in optional})
    )


def read_by_adapter(data: bytes) -> Content | None:
    try:
        return CODEC.decode(data)
    except CodecError:
        return None


def read_by_bank(data: bytes) -> Content | None:
    try:
        message = bank.decode(data)
    except bank.NotAMessageError:
        return None
    fields = {str(number): v.hex().upper() if isinstance(v, bytes) else v for number, v in message.fields.items()}
    return None if message.problems else Content(message.mti, fields)


def written_by_bank(content: Content) -> bytes:
    return bank.encode(
        content.mti,
        {int(number): bytes.fromhex(value) if number == "55" else value for number, value in content.fields.items()},
    )


def are_at_odds(data: bytes) -> bool:
    """Return whether the two read other messages, or one of them reads what the other one has a reason to refuse."""
    readings = [read for read in (read_by_adapter(data), read_by_bank(data)) if read is not None]
    if len(readings) != 1:
        return readings[:1] != readings[1:]
    fields = readings[0].fields
    return all(re.fullmatch(form, fields[number]) for number, form in LOOSE.items() if number in fields)


def damaged(data: bytes, random: Random) -> bytes:
    """Return a message with one to three of its bytes changed, lost or added, or without its end."""
    changed = bytearray(data)
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(changed))
        match random.randrange(5):
            case 0:
                changed[at] = random.getrandbits(8)
            case 1:
                changed[at] = random.choice(TELLING)
            case 2:
                del changed[at]
            case 3:
                changed.insert(at, random.choice(TELLING))
            case _:
                changed[4 + at % 8] ^= 1 << random.randrange(8)  # the bitmap
    return bytes(changed[: random.randrange(len(changed))] if random.randrange(16) == 0 else changed)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=50)
@given(data=st.data())
def test_every_kind_of_message_is_written_and_read_alike(name: str, data: st.DataObject) -> None:
    content = data.draw(contents(name))
    encoded = CODEC.encode(content)

    assert written_by_bank(content) == encoded
    assert (read_by_adapter(encoded), read_by_bank(encoded)) == (content, content)


@pytest.mark.slow
@settings(max_examples=200)
@given(data=st.data(), random=st.randoms(use_true_random=False))
def test_damaged_messages_are_refused_by_both_or_read_alike(data: st.DataObject, random: Random) -> None:
    message = CODEC.encode(data.draw(st.sampled_from(list(KINDS)).flatmap(contents)))

    assert not are_at_odds(damaged(message, random))


@pytest.mark.parametrize("message", [PURCHASE, APPROVAL, ADVICE], ids=["0200", "0210", "0420"])
def test_the_messages_of_the_interface_are_the_same_to_both(message: bytes) -> None:
    content = read_by_adapter(message)

    assert content is not None
    assert read_by_bank(message) == content
    assert written_by_bank(content) == message


@pytest.mark.parametrize("message", WRONG.values(), ids=WRONG)
def test_what_is_not_of_the_form_is_a_message_to_neither(message: bytes) -> None:
    assert (read_by_adapter(message), read_by_bank(message)) == (None, None)


@pytest.mark.parametrize("sign", [b"+", b"-", b" ", b"_"])
@pytest.mark.parametrize("length", [b"06123456", b"016\x8a\x02", b"016HOST"], ids=["32", "55", "63"])
def test_a_length_with_a_sign_is_refused_by_both(length: bytes, sign: bytes) -> None:
    """A message that is damaged at random hardly ever has one, and int() reads it."""
    message = APPROVAL.replace(length, sign + length[1:])

    assert message != APPROVAL
    assert (read_by_adapter(message), read_by_bank(message)) == (None, None)


@pytest.mark.parametrize(
    ("number", "value"), [("2", "41111111111"), ("56", "402")], ids=["a short number", "a short reason"]
)
def test_what_the_adapter_alone_reads_is_in_no_answer(number: str, value: str) -> None:
    message = CODEC.encode(Content("0210", {**CODEC.decode(APPROVAL).fields, number: value}))

    assert read_by_adapter(message) is not None
    assert read_by_bank(message) is None
    with pytest.raises(UnusableAnswerError):
        answers.read(message, CODEC.decode(PURCHASE), CODEC)
