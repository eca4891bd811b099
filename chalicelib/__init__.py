"""The payment service."""

import gc

# A cold start makes objects that stay; looking through them again and again costs 25 ms of 310.
gc.set_threshold(50_000, 20, 20)
