"""The command `make deployed`: serve the stage that is packaged, measure its functions, or compare it with `make run`.

`python -m infra.deployed` serves: PORT (8000), AWS_PORT (8001), ENGINE (dynamodb-local, moto) and ALLOWED_ORIGINS come
from the environment. `measure [--rounds 15] [BUILD ...]` prints what the functions cost. A BUILD is a folder with a
package made before (`sam.json`, `deployment.zip`), such as one of another branch: they take turns in one run. `compare
[--requests 100000] [--seed 1]` sends random requests to this stage and to that of `make run`; the exit code is 1 if
answers differ.
"""

import argparse
import contextlib
import os
import signal
import sys
import threading
from pathlib import Path

from chalicelib.settings import settings as configured
from infra import demo_data, demo_partner, local
from infra.bench_table import Table
from infra.cloud import package
from infra.deployed import compare, measure, report, schedules, stage, streams
from infra.deployed.front import Front
from infra.deployed.gateway import Gateway
from infra.deployed.task import RuntimeMissingError
from infra.engines import EngineMissingError

FOLDER = package.BUILD / "deployed"
STAGE = "dev"
ENGINE = "dynamodb-local"
REQUESTS = 100_000


def main() -> None:
    """Package the stage and do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m infra.deployed")
    commands = parser.add_subparsers(dest="command")
    measured = commands.add_parser("measure", help="print what the functions cost, cold and warm")
    measured.add_argument("--rounds", type=int, default=measure.ROUNDS)
    measured.add_argument("builds", nargs="*", type=Path, metavar="BUILD")
    compared = commands.add_parser("compare", help="compare the answers with those of `make run`")
    compared.add_argument("--requests", type=int, default=REQUESTS)
    compared.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, local.stop)
    try:
        package.package(STAGE, package.BUILD)
        if arguments.command == "measure":
            _measure(arguments.builds, arguments.rounds)
        elif arguments.command == "compare":
            sys.exit(_compare(arguments.requests, arguments.seed))
        else:
            _serve(local.port_setting("PORT", local.PORT), local.port_setting("AWS_PORT", local.AWS_PORT))
    except (package.PackageError, RuntimeMissingError, EngineMissingError) as problem:
        sys.exit(str(problem))


def _serve(port: int, aws_port: int) -> None:
    """Serve the stage until Ctrl-C, and print what its functions cost."""
    with contextlib.ExitStack() as stack:
        try:
            url = stack.enter_context(stage.local_aws(os.environ.get("ENGINE") or ENGINE, aws_port))
            settings = stage.settings_of_this_aws(url)
            deployed = stack.enter_context(
                stage.deployed(package.BUILD, FOLDER, settings, parameters=_parameters(), freezes=True)
            )
            front = Front(Gateway(deployed.resources["RestAPI"], deployed.functions), port)
        except OSError as problem:
            sys.exit(f"PORT={port} or AWS_PORT={aws_port} is in use: {problem.strerror}.")
        demo_data.seed()
        stack.enter_context(front)
        stack.enter_context(schedules.kept(deployed))
        stack.enter_context(streams.fed(deployed))
        stack.callback(report.print_report, deployed)
        demo_data.print_welcome(front.url, url, None, is_first_start=True)
        print("These are the functions of build/deployment.zip behind build/sam.json. Ctrl-C prints what they cost.\n")
        threading.Event().wait()


def _parameters() -> dict[str, str]:
    """Return the parameters of the template that the environment decides, under the names of `make run`."""
    return {"AllowedOrigins": ",".join(configured().allowed_origins)}


def _compare(requests: int, seed: int) -> int:
    """Compare this stage with that of `make run`; return 1 if they answer differently."""
    comparison = compare.Comparison()
    with contextlib.ExitStack() as stack:
        local_url = stack.enter_context(compare.make_run(ENGINE))
        url = stack.enter_context(stage.local_aws(ENGINE))
        demo_data.seed()
        stack.enter_context(demo_partner.serve())
        log = stack.enter_context(Path(os.devnull).open("wb"))
        settings = {**stage.settings_of_this_aws(url), **compare.settings_as_local(), **compare.COMPARED_SETTINGS}
        deployed = stack.enter_context(stage.deployed(package.BUILD, FOLDER, settings, log=log))
        front = stack.enter_context(Front(Gateway(deployed.resources["RestAPI"], deployed.functions)))
        stack.enter_context(schedules.kept(deployed))
        stack.enter_context(streams.fed(deployed))
        stack.callback(compare.print_comparison, comparison)  # also of what was compared until Ctrl-C
        compare.compare(comparison, (local_url, front.url), requests, seed)
    return 1 if comparison.differences else 0


def cold_start_table() -> Table:
    """Package the stage, and return what its functions cost."""
    package.package(STAGE, package.BUILD)
    return _measure([], measure.ROUNDS)


def _measure(builds: list[Path], rounds: int) -> Table:
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(stage.local_aws(ENGINE))
        demo_data.seed()
        settings = stage.settings_of_this_aws(url)
        log = stack.enter_context(Path(os.devnull).open("wb"))
        packages = {"": package.BUILD, **{f"{build}: ": build for build in builds}}
        stages = {
            name: stack.enter_context(stage.deployed(build, FOLDER / str(number), settings, log=log))
            for number, (name, build) in enumerate(packages.items())
        }
        return measure.print_costs(stages, FOLDER, rounds)


if __name__ == "__main__":
    main()
