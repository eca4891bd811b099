"""The commands of an operator, `python -m infra.operator`."""
