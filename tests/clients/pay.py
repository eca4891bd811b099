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
                ID=payment_id, InputType=10, CurrencyID="ZAR", Amount=payments.Amount("1234567.89"), ExtID=order
            )
        )
    )
    back = api.reverse_payment(
        payments.ReversePayment(
            BasicReverseTran=payments.BasicReverseTran(
                TransactionID=payment_id, ReverseMode=2, Amount=payments.Amount(1234566.78), PartialReverse=True
            )
        ),
        idempotency_key=f"back-{order}",
    )
    ids = (paid.transaction_id, back.transaction_reverse_id)
    found = api.get_payment(payment_id)
    listed = history.list_history(payments.ListHistory(ListBasicModel=payments.ListBasicModel(Page=1)))
    try:
        wrong = payments.BasicTran(InputType=10, CurrencyID="ZAR", Amount=payments.Amount(10.999))
        api.submit_payment(payments.SubmitPayment(BasicTran=wrong))
    except ApiException as error:
        refusal, status = error.data, error.status
    sys.stdout.write(
        json.dumps(
            {
                "paid": [paid.error_code, float(paid.transaction.amount), paid.transaction.substate],
                "back": [back.error_code, float(back.transaction.amount), back.transaction.operation],
                "remains": float(found.transactions[0].amount_eff),
                "listed": sorted(one.operation for one in listed.transactions if one.id in ids),
                "refused": [status, refusal.error_code, refusal.validations[0].var_property],
            }
        )
    )


main(sys.argv[1])
