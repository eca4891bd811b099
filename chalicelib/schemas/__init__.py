"""What callers send and see: the specification's names, types and limits."""
