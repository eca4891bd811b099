"""The command `payments-stage`: the local stage, wherever it is installed."""

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent


def service_folder() -> Path:
    """Return the folder of the service: in the wheel it is beside this file."""
    installed = HERE / "service"
    return installed if installed.exists() else HERE.parents[2]


def main() -> None:
    """Run the stage."""
    sys.path.insert(0, str(service_folder()))
    runpy.run_module("infra.local", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
