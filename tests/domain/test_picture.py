import base64
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.picture import MAX_BYTES, NotAPictureError, TooLargeError, picture_of
from tests.support.builders import JPEG, PNG


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


@pytest.mark.parametrize(("content", "media_type"), [(PNG, "image/png"), (JPEG, "image/jpeg")])
def test_a_picture_is_known_by_its_content(content: bytes, media_type: str) -> None:
    picture = picture_of(encoded(content))

    assert (picture.content, picture.media_type) == (content, media_type)


WRITTEN = base64.b64encode(PNG + b"\xfb\xef\xff\xff")


@pytest.mark.parametrize(
    "text",
    [
        base64.encodebytes(PNG + b"\xfb\xef\xff\xff").decode(),
        WRITTEN.decode().replace("=", ""),
        WRITTEN.decode().translate(str.maketrans("+/", "-_")),
        "data:image/png;base64," + WRITTEN.decode(),
        " DATA:image/jpeg;name=a.jpg;charset=utf-8;base64, " + WRITTEN.decode().replace("A", "A \t\r\n\u00a0") + "\n",
    ],
)
def test_base64_is_read_as_tills_write_it(text: str) -> None:
    assert picture_of(text).content == PNG + b"\xfb\xef\xff\xff"


@pytest.mark.parametrize("text", [WRITTEN.decode() + "===", WRITTEN.decode()[:-3] + "=A==", "data:image/png," + "QUJD"])
def test_padding_stands_at_the_end(text: str) -> None:
    with pytest.raises(NotAPictureError):
        picture_of(text)


@pytest.mark.parametrize(
    "text",
    ["", "no base64!", "éé", "\ud800", encoded(b"GIF89a" + bytes(60)), encoded(b"<svg/>"), encoded(PNG[:8]), "QUJD\n"],
)
def test_anything_else_is_not_a_picture(text: str) -> None:
    with pytest.raises(NotAPictureError):
        picture_of(text)


def test_a_picture_is_at_most_one_megabyte() -> None:
    largest = PNG + bytes(MAX_BYTES - len(PNG))

    assert picture_of(encoded(largest)).content == largest
    with pytest.raises(TooLargeError):
        picture_of(encoded(largest + b"\0"))
    with pytest.raises(TooLargeError):
        picture_of(encoded(largest) + "*")  # too long a text is not decoded


def test_another_picture_has_another_name() -> None:
    one, other = picture_of(encoded(PNG)), picture_of(encoded(PNG + b"\0"))

    assert one.name("agents/7") == picture_of(encoded(PNG)).name("agents/7")
    assert one.name("agents/7") != other.name("agents/7")
    assert one.name("agents/7").endswith(".png")


def test_a_picture_is_not_printed() -> None:
    assert "IHDR" not in repr(picture_of(encoded(PNG)))


@given(st.text() | st.binary().map(encoded))
def test_whatever_text_comes_is_a_picture_or_refused(text: str) -> None:
    with suppress(NotAPictureError, TooLargeError):
        assert picture_of(text).content
