"""A GUID: the form of sessions' IDs, and of the IDs that callers choose for transactions."""

import re
from datetime import datetime

GUID_PATTERN = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
GUID = re.compile(GUID_PATTERN)


# A GUID of only zeros, or only Fs, is the default of a till that sets none: all tills would share it.
DEFAULT_GUID = re.compile("[0-]+|[fF-]+")


def is_guid(text: str) -> bool:
    """Return whether a text is a GUID with hyphens, in upper or lower case."""
    return GUID.fullmatch(text) is not None


def time_part(at: datetime) -> str:
    """Return the beginning of a GUID of this time, in upper case: GUIDs of version 7 sort by time."""
    milliseconds = f"{int(at.timestamp() * 1000):012X}"
    return f"{milliseconds[:8]}-{milliseconds[8:]}"
