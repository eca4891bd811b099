"""A shop's program, written against the generated client: `PYTHONPATH=<client> python pay.py <url>`.

It takes a payment, gives half of it back, looks at a page of history and is refused once; it prints what it learned.
"""

import json
import sys
import uuid

import openapi_client as payments
from openapi_client.exceptions import ApiException


def main(url: str) -> None:
    """Do it, as the demo's till."""
    login = {"username": "till@demo.example", "password": "till-demo-password"}
    client = payments.ApiClient(payments.Configuration(host=url, **login))
    api, history = payments.PaymentsApi(client), payments.HistoryApi(client)
    payment_id, order = str(uuid.uuid4()).upper(), f"python-{uuid.uuid4()}"

    paid = api.submit_payment(
        payments.SubmitPayment(
            BasicTran=payments.BasicTran(
                ID=payment_id, InputType=1, CurrencyID="ZAR", Amount=1234567.89, Description="Espresso", ExtID=order
            ),
            Card=payments.Card(
                CardInputMode=1,
                CardDataInput=payments.CardDataInput(PAN="4242424242424242", EXP="1235", CVV2="123"),
            ),
        )
    )
    back = api.reverse_cnp_payment(
        payments.ReversePayment(
            BasicReverseTran=payments.BasicReverseTran(
                TransactionID=payment_id, ReverseMode=5, Amount=1234566.78, PartialReverse=True
            )
        ),
        idempotency_key=f"back-{order}",
    )
    ids = (paid.transaction_id, back.transaction_reverse_id)
    found = api.get_payment(payment_id)
    listed = history.list_history(payments.ListHistory(ListBasicModel=payments.ListBasicModel(Page=1)))
    try:
        api.submit_payment(
            payments.SubmitPayment(BasicTran=payments.BasicTran(InputType=10, CurrencyID="ZAR", Amount=10.999))
        )
    except ApiException as refusal:
        refused = json.loads(refusal.body)
        status = refusal.status
    sys.stdout.write(
        json.dumps(
            {
                "paid": [paid.error_code, float(paid.transaction.amount), paid.transaction.substate],
                "back": [back.error_code, float(back.transaction.amount), back.transaction.operation],
                "remains": float(found.transactions[0].amount_eff),
                "listed": sorted(one.operation for one in listed.transactions if one.id in ids),
                "refused": [status, refused["ErrorCode"], refused["Validations"][0]["Property"]],
            }
        )
    )


main(sys.argv[1])
