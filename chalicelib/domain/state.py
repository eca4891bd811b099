"""The State of a merchant, an agent and a terminal, as the specification numbers it."""

BLOCKED, ACTIVE = 0, 1
