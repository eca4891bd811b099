"""The requests and answers on the wire: the specification's names, types and limits."""
