"""A shop's program, written against the client of openapi-python-client: what pay.py does, with a session."""

import json
import sys
import uuid

from payments_client import AuthenticatedClient, Client, models
from payments_client.api.accounts import sign_in
from payments_client.api.history import list_history
from payments_client.api.payments import get_payment, reverse_payment, submit_payment


def main(url: str) -> None:
    """Do it, as the demo's till."""
    login = {"Email": "till@demo.example", "Password": "till-demo-password"}
    session = sign_in.sync(client=Client(base_url=url), body=models.SignIn.from_dict(login))
    assert isinstance(session, models.SessionAnswer), session
    client = AuthenticatedClient(base_url=url, token=session.data.session_id, prefix="Session")
    payment_id = str(uuid.uuid4()).upper()
    cash = models.BasicTranInputType.CASH

    sale = models.BasicTran(id=payment_id, input_type=cash, CurrencyID="ZAR", amount="1234567.89")
    paid = submit_payment.sync(client=client, body=models.SubmitPayment(basic_tran=sale))
    assert isinstance(paid, models.PaymentAnswer), paid
    part = models.BasicReverseTran(
        transaction_id=payment_id,
        reverse_mode=models.BasicReverseTranReverseMode.RETURN,
        amount=1234566.78,
        partial_reverse=True,
    )
    body = models.ReversePayment(basic_reverse_tran=part)
    back = reverse_payment.sync(client=client, body=body, idempotency_key=f"back-{payment_id}")
    assert isinstance(back, models.ReversalAnswer), back
    found = get_payment.sync(payment_id, client=client)
    assert isinstance(found, models.TransactionList), found
    page = models.ListBasicModel(page=1)
    listed = list_history.sync(client=client, body=models.ListHistory(list_basic_model=page))
    assert isinstance(listed, models.TransactionList), listed
    wrong = models.BasicTran(input_type=cash, CurrencyID="ZAR", amount=10.999)
    refused = submit_payment.sync_detailed(client=client, body=models.SubmitPayment(basic_tran=wrong))
    assert isinstance(refused.parsed, models.Refusal), refused
    ids = (paid.transaction_id, back.transaction_reverse_id)
    sys.stdout.write(
        json.dumps(
            {
                "paid": [paid.error_code, paid.transaction.amount, paid.transaction.substate],
                "back": [back.error_code, back.transaction.amount, back.transaction.operation],
                "remains": found.transactions[0].amount_eff,
                "listed": sorted(one.operation for one in listed.transactions if one.id in ids),
                "refused": [
                    refused.status_code.value,
                    refused.parsed.error_code,
                    refused.parsed.validations[0].property_,
                ],
            }
        )
    )


main(sys.argv[1])
