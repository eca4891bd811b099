import copy
import json
import pickle
import traceback
from dataclasses import asdict, dataclass

import pytest

from chalicelib.domain.secret import Secret

TEXT = "till-password"


@dataclass(frozen=True)
class _Holder:
    secret: Secret


@pytest.mark.parametrize(
    "printed",
    [
        str(Secret(TEXT)),
        repr(Secret(TEXT)),
        f"{Secret(TEXT)}",
        f"{Secret(TEXT)!r:>20}",
        "%s" % Secret(TEXT),  # noqa: UP031  this way of printing must not show it either
        repr([Secret(TEXT)]),
        repr(_Holder(Secret(TEXT))),
        json.dumps({"secret": Secret(TEXT)}, default=str),
    ],
)
def test_however_a_secret_is_printed_a_mask_is_shown(printed: str) -> None:
    assert "******" in printed
    assert TEXT not in printed


@pytest.mark.parametrize("write", [pickle.dumps, copy.copy, copy.deepcopy, json.dumps, vars])
def test_a_secret_is_not_written_anywhere(write: object) -> None:
    with pytest.raises(TypeError) as refusal:
        write(Secret(TEXT))  # type: ignore[operator]

    assert TEXT not in "".join(traceback.format_exception(refusal.value))


def test_a_record_with_a_secret_cannot_be_turned_into_a_dictionary() -> None:
    with pytest.raises(TypeError):
        asdict(_Holder(Secret(TEXT)))


def test_reveal_gives_the_text_and_secrets_are_equal_when_their_texts_are() -> None:
    assert Secret(TEXT).reveal() == TEXT
    assert Secret(TEXT) == Secret(TEXT)
    assert len({Secret(TEXT), Secret(TEXT)}) == 1
    assert Secret(TEXT) != Secret(TEXT + " ")
    assert Secret(TEXT) != TEXT
