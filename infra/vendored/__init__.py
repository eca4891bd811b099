"""The commands that write the libraries of other projects which are committed here."""
