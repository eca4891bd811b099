"""Where it is asked: one blueprint a noun."""
