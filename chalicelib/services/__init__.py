"""What is decided: load, decide, store."""
