"""The languages that receipts are worded in."""

ENGLISH = "en"
LANGUAGES = (ENGLISH, "af")  # each has a file in `receipts/languages`


def language_of(tag: str | None) -> str:
    """Return the language that a tag such as af-ZA names, English where its words are in no file."""
    primary = (tag or "").replace("_", "-").partition("-")[0].strip().lower()
    return primary if primary in LANGUAGES else ENGLISH
