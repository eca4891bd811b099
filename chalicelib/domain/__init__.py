"""The rules: frozen records and pure functions. The clock, IDs and settings are arguments."""
