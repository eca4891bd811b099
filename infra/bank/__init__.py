"""A bank for the local stage and the tests: a host that answers ISO 8583:1987 messages and keeps books.

It is written from the interface's page (docs/acquirer-host.md) and shares no code with the service's adapter. If one of
the two misreads the page, they disagree and a test fails.
"""
