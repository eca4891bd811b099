"""The command `make deployed`: package a stage, and serve it or measure its functions.

`python -m infra.deployed` serves: PORT (8000), AWS_PORT (8001), ENGINE (dynamodb-local, moto), ALLOWED_ORIGINS and
SMS_COUNTRIES come from the environment. `measure [BUILD ...]` prints the cost of the functions. A BUILD is a folder
with another package (`sam.json`, `deployment.zip`), such as one of another branch: the packages take turns.
"""

import argparse
import contextlib
import os
import signal
import sys
import threading
from pathlib import Path

from chalicelib.settings import settings as configured
from infra.api_gateway.http_server import Server
from infra.bench.table import Table, show
from infra.demo import data as demo_data
from infra.deployed import measure
from infra.deployed import stage as deployed_stage
from infra.deployed.functions import RuntimeMissingError
from infra.local import ports, stage
from infra.local.engines import EngineMissingError
from infra.stack import config, package

FOLDER = package.BUILD / "deployed"
STAGE = "dev"
ENGINE = "dynamodb-local"


def main() -> None:
    """Package the stage, then serve it or measure its functions."""
    parser = argparse.ArgumentParser(prog="python -m infra.deployed")
    commands = parser.add_subparsers(dest="command")
    measured = commands.add_parser("measure", help="print the costs of the functions, cold and warm")
    measured.add_argument("builds", nargs="*", type=Path, metavar="BUILD")
    arguments = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stage.stop)
    try:
        package.package(STAGE, package.BUILD)
        if arguments.command == "measure":
            _measure(arguments.builds)
        else:
            _serve(stage.port_setting("PORT", stage.PORT), stage.port_setting("AWS_PORT", stage.AWS_PORT))
    except (package.PackageError, config.ConfigError, RuntimeMissingError, EngineMissingError) as problem:
        sys.exit(str(problem))


def _serve(port: int, aws_port: int) -> None:
    """Serve the stage until Ctrl-C, then print the cost of its functions."""
    with contextlib.ExitStack() as stack:
        try:
            url = stack.enter_context(deployed_stage.local_aws(os.environ.get("ENGINE") or ENGINE, aws_port))
            settings = deployed_stage.settings_of_this_aws(url) | {"PUBLIC_ADDRESS": f"http://{ports.HOST}:{port}"}
            deployed = stack.enter_context(
                deployed_stage.deployed(package.BUILD, FOLDER, settings, parameters=_parameters(), freezes=True)
            )
            server = Server(deployed.gateway, port)
        except OSError as problem:
            sys.exit(f"PORT={port} or AWS_PORT={aws_port} is in use: {problem.strerror}.")
        demo_data.seed()
        stack.enter_context(server)
        stack.enter_context(deployed_stage.scheduled(deployed))
        stack.enter_context(deployed_stage.fed(deployed))
        stack.callback(measure.print_report, deployed)
        demo_data.print_welcome(server.url, url)
        print("These are the functions of build/deployment.zip behind build/sam.json. Ctrl-C prints their costs.\n")
        threading.Event().wait()


def _parameters() -> dict[str, str]:
    """Return the parameters of the template that the environment sets, as in `make run`."""
    return {
        "AllowedOrigins": ",".join(configured().allowed_origins),
        "SmsCountries": ",".join(sorted(configured().sms_countries)),
    }


def cold_start_table() -> Table:
    """Package the stage, print the cost of its functions, and return the table."""
    package.package(STAGE, package.BUILD)
    return _measure([])


def _measure(builds: list[Path]) -> Table:
    """Print the cost of the functions of the package, and of those in other folders; return the first table."""
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(deployed_stage.local_aws(ENGINE))
        demo_data.seed()
        settings = deployed_stage.settings_of_this_aws(url)
        log = stack.enter_context(Path(os.devnull).open("wb"))
        packages = {"": package.BUILD, **{str(build): build for build in builds}}
        stages = {
            name: stack.enter_context(deployed_stage.deployed(build, FOLDER / str(number), settings, log=log))
            for number, (name, build) in enumerate(packages.items())
        }
        tables = measure.measure_stages(stages, FOLDER)
        for table in tables:
            show(table)
        return tables[0]


if __name__ == "__main__":
    main()
