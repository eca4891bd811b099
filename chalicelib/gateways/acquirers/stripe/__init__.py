"""STRIPE: an acquirer over HTTPS, with Stripe's own library and its Payment Intents (contract, section 16).

`adapter` is the `Acquirer`, `api` makes the calls, `amounts` and `declines` are Stripe's tables.
"""
