"""All calls outside the process, except those of the store."""
