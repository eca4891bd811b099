"""The commands of `make bench`: the cost of requests in store calls, capacity units and processor time."""
