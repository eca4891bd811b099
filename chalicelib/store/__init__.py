"""The tables of the stage: their keys, their conditional writes and their queries."""
