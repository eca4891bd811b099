"""The command `python -m infra.local`."""

from infra.local.stage import main

main()
