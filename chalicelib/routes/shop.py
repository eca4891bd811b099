"""The shop's page: `/app`, and what it loads."""

from chalicelib import shop
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.shop import policy
from chalicelib.web import FOR_A_YEAR, Document, Moved, RequestPath

MEDIA_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}


def page(path: RequestPath) -> Document:
    """Return the page. Its addresses are relative, so its own must not end with a slash: then the answer leads there.

    It is asked for at each visit, because it names the files of this version.
    """
    if path.endswith("/"):
        return Moved("../app")
    return Document(shop.page(), "text/html; charset=utf-8", cached="no-cache", policy=policy())


def part(name: str) -> Document:
    """Return a file that the page loads."""
    text = shop.files().get(name)
    if text is None:
        raise ServiceError(ErrorCode.UNKNOWN_PATH)
    return Document(text, MEDIA_TYPES[name.rpartition(".")[2]], cached=FOR_A_YEAR)
