"""The acquirer's test cases, run against a host: `make certify HOST=... PORT=...`.

The cases are those of section 9 of the interface. They drive the service over HTTP, on a local stage that is pointed at
the host, and look at nothing else, so that any host can be tried.
"""
