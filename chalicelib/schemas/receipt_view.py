"""The view of a receipt: what the customer gets of a transaction."""

from chalicelib.schemas.base import Answer, View


class ReceiptView(View):
    """The Receipt object: the subject and both parts of the e-mail, and the SMS."""

    language: str
    subject: str
    html: str
    text: str
    short_text: str


class ReceiptAnswer(Answer):
    """The answer of payment/receipt/{tranId}; the receipt is null when no money moved."""

    receipt: ReceiptView | None = None
