"""The command of `make fuzz`: schemathesis sends a local stage requests that the reference allows, and others.

SECONDS bounds it (120). All checks of schemathesis are made: every answer must be one that the reference describes,
and none a 5xx; what the schema allows must be accepted, and what it does not must be refused. Those two are made by
`checks`, which leaves out what `explained.json` explains. It is not part of `make check`: each defect it
finds becomes a test.
"""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

from app import app
from infra.demo import data as demo_data
from infra.demo import partner as demo_partner
from infra.local import engines, stage

PROGRAM = Path(__file__).parents[2] / ".engines" / "schemathesis" / "bin" / "schemathesis"
HOOKS = Path(__file__).with_name("checks.py")
REPLACED = "positive_data_acceptance,negative_data_rejection"  # by ours
LOGINS = {"till": demo_data.TILL, "owner": demo_data.OWNER, "system": demo_data.SYSTEM}


def main() -> None:
    """Fuzz as each of the demo accounts in turn, on one stage; the exit code is 0 if nothing was found."""
    seconds = max(int(os.environ.get("SECONDS") or 120) // len(LOGINS), 10)
    found = 0
    with engines.moto_engine(), demo_partner.serve():
        os.environ["AUTH_ACCOUNT_SECONDS"] = "0"  # otherwise most answers of AuthAccount would be 429
        engines.clear_caches()
        with contextlib.redirect_stdout(io.StringIO()) as log, stage.serve(app) as server:
            demo_data.seed()
            for name, login in LOGINS.items():
                sys.stderr.write(f"as {name}, {seconds} s\n")
                found |= _run(server.url, login, seconds)
    Path("build").mkdir(exist_ok=True)
    defects = [line for line in log.getvalue().splitlines() if '"event": "defect"' in line]
    Path("build/fuzz.log").write_text("\n".join(defects), encoding="utf-8")
    sys.stderr.write(f"{len(defects)} defects in the log: build/fuzz.log\n")
    sys.exit(found)


def _run(url: str, login: tuple[str, str], seconds: int) -> int:
    command = [str(PROGRAM), "run", f"{url}/api/v1/openapi.json", "--url", url, "--auth", ":".join(login)]
    command += [
        "--checks",
        "all",
        "--exclude-checks",
        REPLACED,
        "--phases",
        "examples,coverage,fuzzing",
        "--mode",
        "all",
        "--continue-on-failure",
    ]
    command += ["--max-time", str(seconds), "--max-examples", "60", "--seed", "1", "--no-color"]
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": str(HOOKS)}
    done = subprocess.run(command, check=False, stdout=sys.stderr, env=environment)  # noqa: S603  words are constants
    return done.returncode


if __name__ == "__main__":
    main()
