"""The operations: load, decide, store."""
