"""The command `make deployed`.

`python -m infra.deployed measure [--rounds 15] [BUILD ...]` prints what the functions cost. A BUILD is a folder with a
package made before (`sam.json`, `deployment.zip`), such as one of another branch: they take turns in one run.
"""

import argparse
import contextlib
import os
import subprocess
import sys
from pathlib import Path

from infra import demo_data
from infra.cloud import package
from infra.deployed import measure, stage
from infra.deployed.task import RuntimeMissingError
from infra.engines import EngineMissingError

FOLDER = package.BUILD / "deployed"
STAGE = "dev"


def main() -> None:
    """Package the stage and do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m infra.deployed")
    commands = parser.add_subparsers(dest="command")
    measured = commands.add_parser("measure", help="print what the functions cost, cold and warm")
    measured.add_argument("--rounds", type=int, default=measure.ROUNDS)
    measured.add_argument("builds", nargs="*", type=Path, metavar="BUILD")
    arguments = parser.parse_args()
    try:
        package.package(STAGE, package.BUILD)
        _measure(arguments.builds, arguments.rounds)
    except (package.PackageError, RuntimeMissingError, EngineMissingError, subprocess.CalledProcessError) as problem:
        sys.exit(str(problem))


def _measure(builds: list[Path], rounds: int) -> None:
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(stage.local_aws("dynamodb-local"))
        demo_data.seed()
        settings = stage.settings_of_this_aws(url)
        log = stack.enter_context(Path(os.devnull).open("wb"))
        stages = {
            name: stack.enter_context(stage.deployed(build, FOLDER / str(number), settings, log=log))
            for number, (name, build) in enumerate({"": package.BUILD, **{f"{b}: ": b for b in builds}}.items())
        }
        measure.print_costs(stages, FOLDER, rounds)


if __name__ == "__main__":
    main()
