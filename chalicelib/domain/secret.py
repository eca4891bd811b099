"""A text that must never be shown: a password, key, token or card number."""

from hmac import compare_digest
from typing import NoReturn

MASK = "******"


def masked_number(first6: str, last4: str) -> str:
    """Return a card number without its middle: 411111******1111."""
    return f"{first6}{MASK}{last4}"


class Secret:
    """A text that is masked when printed, formatted, logged or dumped. Only `reveal` returns it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text, for the one place that needs it."""
        return self._text

    def __repr__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return compare_digest(self._text.encode(errors="surrogatepass"), other._text.encode(errors="surrogatepass"))

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied: a copy on disk would show the text."""
        message = "a secret is not written anywhere"
        raise TypeError(message)
