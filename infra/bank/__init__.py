"""A bank of the local stage and of the tests: a host that answers ISO 8583:1987 and keeps books.

It is written from the page of the interface alone, with a codec of its own: it shares no code with the service's
adapter, so that a mistake in reading the page shows as a disagreement of the two.
"""
