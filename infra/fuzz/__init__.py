"""The command `make fuzz`."""
