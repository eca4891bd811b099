"""The acquirer's test cases, run against a host: `make certify HOST=... PORT=...`.

The cases are those of the interface's test host. They use the service over HTTP, on a local stage that calls the
host. They look at nothing inside the host, so they work with any.
"""
