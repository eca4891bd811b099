"""The commands of `make bench`: what requests cost in store calls, capacity units and processor time."""
