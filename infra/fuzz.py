"""`make fuzz`: schemathesis reads the reference and throws at a local stage what it allows, and what it does not.

SECONDS bounds it (120). Every answer must be one the reference describes, and none a 5xx. Not part of `make check`:
what it finds becomes a test.
"""

import contextlib
import importlib
import io
import os
import subprocess
import sys
from pathlib import Path

from infra import demo_data, demo_partner, engines, local

PROGRAM = Path(__file__).parents[1] / ".engines" / "schemathesis" / "bin" / "schemathesis"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
# The once-in-ten-minutes answer would be all there is to see of it; a session is made anew with each call.
LOGINS = {"till": demo_data.TILL, "owner": demo_data.OWNER, "system": demo_data.SYSTEM}


def main() -> None:
    """Fuzz as each of the demo accounts in turn, on one stage; the exit code says whether something was found."""
    seconds = max(int(os.environ.get("SECONDS") or 120) // len(LOGINS), 10)
    found = 0
    with engines.moto_engine(), demo_partner.served():
        os.environ["AUTH_ACCOUNT_SECONDS"] = "0"
        engines.forget()
        with (
            contextlib.redirect_stdout(io.StringIO()) as log,
            local.serve(importlib.import_module("app").app) as server,
        ):
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
    command += ["--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--mode", "all", "--continue-on-failure"]
    command += ["--max-time", str(seconds), "--max-examples", "60", "--seed", "1", "--no-color"]
    return subprocess.run(command, check=False, stdout=sys.stderr).returncode  # noqa: S603  every word is ours


if __name__ == "__main__":
    main()
