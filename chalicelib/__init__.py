"""The payment service."""

import gc

# Objects from a cold start are permanent. With a lower threshold, the first payment would pay 17 ms for a collection.
gc.set_threshold(200_000, 20, 20)
