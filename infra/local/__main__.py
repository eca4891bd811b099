"""The command `python -m infra.local`."""

import sys
from importlib import import_module

from chalicelib.settings import SettingsError

try:
    import_module("infra.local.stage").main()
except SettingsError as wrong:
    sys.exit(str(wrong))
