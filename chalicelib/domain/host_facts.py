"""Facts by which a host that cannot be inquired recognises a message. They are stored with the transaction."""

from datetime import datetime

from chalicelib.record import Record


class TerminalSnapshot(Record):
    """The terminal of a payment as its host knows it: reversals name it even when the terminal has changed since."""

    mid: str  # BackRetailerID
    title: str
    city: str
    country_code: str  # alpha-2
    sic: str
    entry_caps: str


class MessageTrace(Record):
    """The number (STAN, 1 to 999,999, unique for a terminal and day) and the time of a message to a host."""

    stan: int
    made_at: datetime


class HostFacts(Record):
    """The facts by which a host that cannot be inquired recognises a message, stored before its first byte is sent."""

    trace: MessageTrace
    institution: str
    terminal: TerminalSnapshot
    advice_stan: int  # the number of its automatic reversal, should it come to that
    original: MessageTrace | None = None  # of a reversal: the message of its payment
    answer_unusable: bool = False  # the outcome is unknown because of an answer, not for want of one
    advice: MessageTrace | None = None  # of its automatic reversal, from the moment that is decided
