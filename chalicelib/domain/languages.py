"""The languages of receipts and pages."""

ENGLISH = "en"
LANGUAGES = (ENGLISH, "af")  # each has a file in `receipts/languages`, and its names in `kinds`


def language_of(tag: str | None) -> str:
    """Return the language of a tag such as af-ZA, or English if the language has no file."""
    primary = (tag or "").replace("_", "-").partition("-")[0].strip().lower()
    return primary if primary in LANGUAGES else ENGLISH
