"""A GUID: the form of sessions' IDs, and of the IDs that callers choose for transactions."""

import re

GUID_PATTERN = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
GUID = re.compile(GUID_PATTERN)


# A GUID of only zeros, or only Fs, is the default of a till that sets none: all tills would share it.
DEFAULT_GUID = re.compile("[0-]+|[fF-]+")


def is_guid(text: str) -> bool:
    """Return whether a text is a GUID with hyphens, in upper or lower case."""
    return GUID.fullmatch(text) is not None
