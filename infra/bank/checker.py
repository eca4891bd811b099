"""The checks of the service against the page: each violation of the interface in a line, without values of a card."""

from infra.bank.codec import Message
from infra.bank.entries import Entry, Key

# Answers that a right service never provokes: it knows its own books, and sends nothing that would be refused so.
REFUSED = {
    "12": "it cannot be done with that purchase",
    "13": "the amount is above what is left",
    "14": "the card is not that of the purchase",
    "25": "it names a purchase that is unknown",
    "30": "it is not the message of its original, or of the one it repeats",
    "94": "it was used before",
}


class Checker:
    """The messages that came, whether they were carried out or dropped. Not for several threads at once."""

    def __init__(self) -> None:
        self._by_stan: dict[Key, Entry] = {}
        self._requests: dict[str, Entry] = {}  # 0200s by RRN
        self._by_key: dict[Key, Entry] = {}  # 0200s by what an advice names them by

    def observe(self, message: Message, entry: Entry) -> list[str]:
        """List what is wrong with a well-formed message in view of those before it."""
        found = []
        earlier = self._by_stan.get(entry.day_key)
        if entry.kind == "advice":
            if earlier and earlier.content == entry.content and message.mti == "0420":
                found.append("an advice is sent again as 0421, not as 0420")
            found += self._against_original(entry)
        elif entry.rrn in self._requests:
            found.append("an 0200 with this RRN was sent before")
        if earlier and (entry.kind != "advice" or earlier.content != entry.content):
            found.append("another message had this STAN on this day, or it is a repeat that differs")
        self.recall(entry)
        return found

    def recall(self, entry: Entry) -> None:
        """Remember a message."""
        self._by_stan.setdefault(entry.day_key, entry)
        if entry.kind != "advice":
            self._requests.setdefault(entry.rrn, entry)
            self._by_key.setdefault(entry.key, entry)

    def _against_original(self, advice: Entry) -> list[str]:
        original = self._by_key.get(advice.original_key)
        if original is None:  # it was never sent, or never came: the page allows both
            return []
        kept = ("rrn", "processing", "amount_minor", "currency", "local_time", "local_date", "institution")
        wrong = [name for name in kept if getattr(advice, name) != getattr(original, name)]
        return [f"its {', '.join(wrong)} is not that of its original"] if wrong else []
