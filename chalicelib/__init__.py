"""The payment service."""

import gc

# A cold start makes objects that stay: at 50,000 of them a collection, 17 ms, would fall into the first payment.
gc.set_threshold(200_000, 20, 20)
