"""The command `python -m infra.operator`."""

from infra.operator.commands import main

main()
