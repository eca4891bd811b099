"""The command `make package STAGE=dev`, which writes the template and the zip of a stage into build/ and checks them.

Chalice packs a copy of the deployed files, so no other file of the project gets into the zip. The wheels are those of
`requirements.lock` except the `PROVIDED` ones, for the machine that Lambda runs them on. Chalice would download them by
name and version without comparing hashes, so they are installed into the `vendor` folder, which Chalice packs as it is.
The zip holds bytecode, compiled by the Python of `infra/stack/runtime.py`, and one script for each page. The same
sources make the same bytes, whichever Python runs this command.
"""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

from chalicelib import outside
from infra.stack import config, esbuild, runtime, template
from infra.stack.parameters import quota
from infra.stack.policies import SENDER

GLIBC_MINORS = range(17, 35)  # Lambda's Python 3.13 runs on Amazon Linux 2023, which has glibc 2.34
PLATFORMS = ("manylinux2014_aarch64", *(f"manylinux_2_{minor}_aarch64" for minor in GLIBC_MINORS))
ABIS = (f"cp{runtime.RUNTIME.replace('.', '')}", "abi3", "none")


# Requirements that stay out of the zip, with the packages that only they require.
PROVIDED = {
    "boto3": "the functions use its botocore, which is packed: a damaged answer is refused by a hook of this version",
    "chalice": "`chalice package` packs the part that runs; the rest is its command",
}
BLOCK = re.compile(r"^([a-z0-9.-]+)==.*(?:\n[ ].*)*", re.MULTILINE)  # a requirement, its hashes, and why it is there
PARENT = re.compile(r"^ +# +(?:via +)?(\S.*)$", re.MULTILINE)


def packed_part(lock: str) -> str:
    """Return the lock file without the provided packages and those that only they require."""
    blocks = {match[1]: match[0] for match in BLOCK.finditer(lock) if match[1] not in PROVIDED}
    parents = {name: set(PARENT.findall(block)) for name, block in blocks.items()}
    packed = {"-r requirements.txt"}
    while more := {name for name in blocks if name not in packed and parents[name] & packed}:
        packed |= more
    return "".join(f"{block}\n" for name, block in blocks.items() if name in packed)


def install(lock: Path, folder: Path) -> None:
    """Install the locked packages into `folder`. Raises CommandError for a missing wheel or another hash."""
    options = [
        *("--target", str(folder), "--requirement", str(lock), "--require-hashes", "--no-deps", "--no-compile"),
        *("--only-binary", ":all:", "--implementation", "cp", "--python-version", runtime.RUNTIME),
        *(word for platform in PLATFORMS for word in ("--platform", platform)),
        *(word for abi in ABIS for word in ("--abi", abi)),
    ]
    esbuild.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options], ROOT)
    shutil.rmtree(folder / "bin", ignore_errors=True)  # commands: their first line names the Python that installed them


EPOCH = (1980, 1, 1, 0, 0, 0)  # time of every entry: an unchanged zip has the same hash, and is not deployed again
MAX_ZIP_BYTES = 10 * 1024 * 1024  # a cold start has to fetch the zip
# Tests, type stubs, metadata of packages, models of other services of AWS; cffi and pycparser (compiled argon2 needs
# only the backend); pydantic's version 1; dateutil's copy of the time zones; of Stripe's library all but what a call
# loads; requests, because the connections are our own. A test pays with the functions of the zip.
OF_STRIPE = (
    r"__init__|_any_iterator|_api_\w+|_app_info|_base_address|_client_options|_encode|_error(_object)?|_event"
    r"|_event_notification_handler|_http_client|_list_object|_listable_api_resource|_multipart_data_generator"
    r"|_oauth_service|_request\w*|_stripe_\w+|_telemetry_id|_util|_v[12]_services|_version|_webhook|oauth_error"
    r"|v2/(__init__|_amount|_list_object|_search_result_object|core/__init__|core/_event)"
)
UNNEEDED = re.compile(
    r"(^|/)(tests?|__pycache__)(/|$)|\.dist-info/(?!METADATA$)|\.(pyi|typed|c|h|cfg)$|^(cffi|pycparser)[-/]|^pydantic/v1/"
    rf"|-zoneinfo\.tar\.gz$|^(requests|charset[_-]normalizer|certifi|idna)[-/]|__mypyc\.|^stripe/(?!({OF_STRIPE})\.py$).*\."
    r"|^botocore/data/(?!(dynamodb|kms|s3|secretsmanager|sesv2|sns)(/|$)|[^/]+\.json$)|^botocore/data/.*(examples|2011-)"
)
FOREIGN = {"boto3", "moto", "hypothesis", "pytest", "mypy", "infra", "tests", "docs"}
MODEL = "botocore/data/dynamodb/2012-08-10/service-2.json.gz"
NEEDED = {"app.py", "chalicelib/authorizer.py", "chalice/app.py", "iso4217/table.xml", "pydantic/main.py", MODEL}


def repack(zip_path: Path) -> None:
    """Unpack Chalice's zip, remove unneeded files, compile the rest, and pack it again."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with zipfile.ZipFile(zip_path) as packed:
            packed.extractall(root)
        for path in sorted(root.rglob("*"), reverse=True):
            if UNNEEDED.search(path.relative_to(root).as_posix()):
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        _compile(root)
        with zipfile.ZipFile(zip_path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
            for path in sorted(path for path in root.rglob("*") if path.is_file()):
                entry = zipfile.ZipInfo(path.relative_to(root).as_posix(), EPOCH)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                packed.writestr(entry, path.read_bytes())


def _compile(root: Path) -> None:
    """Compile to bytecode that Python uses without checking the source: the file times in the zip mean nothing."""
    options = ["-qq", "--invalidation-mode", "unchecked-hash", "-s", str(root), "-p", "/var/task", str(root)]
    done = subprocess.run([str(runtime.PYTHON), "-I", "-m", "compileall", *options], check=False)  # noqa: S603  ours
    if done.returncode:
        message = "Some of the code cannot be compiled."
        raise SystemExit(message)


def problems(zip_path: Path) -> list[str]:
    """Return the problems of the zip: missing files, files that should not be in it, its size."""
    with zipfile.ZipFile(zip_path) as packed:
        names = set(packed.namelist())
    found = [f"the zip lacks {name}" for name in sorted(NEEDED - names)]
    found += [f"the zip holds {name}" for name in sorted({name.split("/")[0] for name in names} & FOREIGN)]
    found += [f"the zip holds {name}, built for x86" for name in sorted(names) if "x86_64" in name]
    if zip_path.stat().st_size > MAX_ZIP_BYTES:
        found.append(f"the zip has {zip_path.stat().st_size} bytes, more than {MAX_ZIP_BYTES}")
    return found


ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build"
VERSION = "chalicelib/reference/version.txt"  # which `health` shows
SOURCES = ("app.py", "chalicelib", config.FILE)
LOCK = ROOT / "requirements.lock"


def main(arguments: Sequence[str] | None = None) -> None:
    """Package the stage that is named."""
    (stage,) = (sys.argv[1:] if arguments is None else arguments) or ("dev",)
    try:
        package(stage, BUILD)
    except (PackageError, config.ConfigError, esbuild.CommandError) as problem:
        sys.exit(str(problem))
    report(stage, BUILD)


def report(stage: str, build: Path) -> None:
    """Print the size of a package, and what the operator must know of it."""
    size = (build / "deployment.zip").stat().st_size
    print(f"{stage}: build/sam.json and build/deployment.zip, {size / 1024 / 1024:.2f} MB")
    needed = quota(json.loads((build / "sam.json").read_text(encoding="utf-8")))
    print(f"With the default parameters the account needs the Lambda quota of {needed} concurrent executions.")
    if warning := runtime.warning(outside.now().date()):
        print(warning)


class PackageError(Exception):
    """A problem that prevents the package; the message is one line."""


def package(stage: str, build: Path) -> None:
    """Write `sam.json` and `deployment.zip` of a stage into `build`. Raises ConfigError before it writes, if it can."""
    if not runtime.is_installed():
        raise PackageError(runtime.HINT)
    write_template(stage, build, with_packages=True)
    repack(build / "deployment.zip")
    if found := problems(build / "deployment.zip"):
        raise PackageError("; ".join(found))


def write_template(stage: str, build: Path, *, with_packages: bool = False) -> None:
    """Write `sam.json`, and the zip that Chalice packs next to it: of our own files only, or with the packages."""
    settings = config.read(ROOT)
    config.check(settings, stage)
    build.mkdir(parents=True, exist_ok=True)
    senders = config.senders(settings, stage)
    project = _project(build, stage, senders)
    if with_packages:
        lock = build / "requirements.lock"
        lock.write_text(packed_part(LOCK.read_text(encoding="utf-8")), encoding="utf-8")
        install(lock, project / "vendor")
        esbuild.join(project / "chalicelib" / "pages")
    merged = build / "merge.json"
    of_the_stack = template.template(importlib.import_module("app").app)
    of_the_stack["Outputs"]["Version"] = {"Value": packed_version(), "Description": "The deployed version"}
    merged_text = json.dumps(of_the_stack)
    merged.write_text(_with_senders(merged_text, senders), encoding="utf-8")
    _chalice(stage, project, merged, build)
    config.check_values(json.loads((build / "sam.json").read_text(encoding="utf-8")), project, stage)


def version() -> str:
    """Return the version in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def packed_version() -> str:
    """Return the version with the commit, if this folder knows one: "1.0.0+g1a2b3c4d5e6f.dirty"."""
    described = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=.dirty", "--abbrev=12", "--exclude=*"]
    try:
        commit = subprocess.run(described, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603  ours
    except (OSError, subprocess.CalledProcessError):
        return version()
    return f"{version()}+g{commit}"


def _project(build: Path, stage: str, senders: Sequence[str] = ()) -> Path:
    project = build / "project"
    shutil.rmtree(project, ignore_errors=True)
    for name in SOURCES:
        source, target = ROOT / name, project / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    (project / VERSION).write_text(packed_version(), encoding="utf-8")
    named = config.read(project)
    named["stages"][stage].setdefault(config.VARIABLES, {})["STAGE"] = stage
    (project / config.FILE).write_text(json.dumps(named), encoding="utf-8")
    for source in (ROOT / ".chalice").glob("policy-*.json"):
        text = _with_senders(source.read_text(encoding="utf-8"), senders)
        (project / ".chalice" / source.name).write_text(text, encoding="utf-8")
    return project


def _with_senders(policies: str, senders: Sequence[str]) -> str:
    return policies.replace(f'"{SENDER}"', json.dumps(senders or SENDER))


def _chalice(stage: str, project: Path, merged: Path, build: Path) -> None:
    environment = {
        **os.environ,
        "AWS_DEFAULT_REGION": os.environ.get("AWS_DEFAULT_REGION") or "eu-west-1",  # AWS is not called
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    chalice = Path(sys.executable).with_name("chalice")
    command = [str(chalice), "package", "--stage", stage, "--merge-template", str(merged), str(build)]
    done = subprocess.run(  # noqa: S603  every word of the command is ours
        command, cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise PackageError((done.stderr or done.stdout).strip().splitlines()[-1])


if __name__ == "__main__":
    main()
