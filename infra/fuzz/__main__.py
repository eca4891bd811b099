"""The command `make fuzz`: schemathesis sends a local stage requests that the reference allows, and others.

SECONDS is the limit (120). All checks of schemathesis run. Every answer must be in the reference, and none may be a
5xx. The service must accept valid requests and refuse invalid ones; `checks` replaces these two checks and skips the
cases that `explained.json` lists. Fuzzing is not part of `make check`: each defect that it finds becomes a test.
"""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

from app import app
from chalicelib import outside
from infra.demo import data as demo_data
from infra.demo import partner as demo_partner
from infra.local import engines
from infra.local.gateway import Server

PROGRAM = Path(__file__).parents[2] / ".engines" / "tools" / "bin" / "schemathesis"
HOOKS = Path(__file__).with_name("checks.py")
REPLACED = "positive_data_acceptance,negative_data_rejection"  # by our own checks
LOGINS = {"till": demo_data.TILL, "owner": demo_data.OWNER, "system": demo_data.SYSTEM}


def main() -> None:
    """Fuzz with each of the demo accounts in turn. The exit status is 0 if no defect was found."""
    seconds = max(int(os.environ.get("SECONDS") or 120) // len(LOGINS), 10)
    found = 0
    with engines.moto_engine(), demo_partner.serve():
        os.environ["AUTH_ACCOUNT_SECONDS"] = "0"  # otherwise most answers of AuthAccount would be 429
        outside.forget()
        with contextlib.redirect_stdout(io.StringIO()) as log, Server(app) as server:
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
    command += f"--checks all --exclude-checks {REPLACED} --phases examples,coverage,fuzzing --mode all".split()
    command += f"--continue-on-failure --max-time {seconds} --max-examples 60 --seed 1 --no-color".split()
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": str(HOOKS)}
    done = subprocess.run(command, check=False, stdout=sys.stderr, env=environment)  # noqa: S603  all words are constants
    return done.returncode


if __name__ == "__main__":
    main()
