"""The zip of the functions: bytecode compiled in, the same bytes for the same sources, nothing that is not needed."""

import compileall
import re
import shutil
import tempfile
import zipfile
from pathlib import Path
from py_compile import PycInvalidationMode

EPOCH = (1980, 1, 1, 0, 0, 0)  # of every entry: what did not change has the same hash, and is not deployed again
LIMIT = 10 * 1024 * 1024  # bytes of the zip: what a cold start has to fetch
# Tests, type stubs, what packages say about their installation; cffi and pycparser (argon2 is compiled: it needs the
# backend alone), pydantic's version 1. The test that takes a payment out of the zip says whether that is so.
UNNEEDED = re.compile(
    r"(^|/)(tests?|__pycache__)(/|$)|\.dist-info/(?!METADATA$)|\.(pyi|typed|c|h|cfg|xml)$|^(cffi|pycparser)[-/]|^pydantic/v1/"
)
FOREIGN = {"boto3", "botocore", "moto", "hypothesis", "pytest", "mypy", "infra", "tests", "docs"}
NEEDED = {"app.py", "chalicelib/authorizer.py", "chalice/app.py", "pydantic/main.py"}


def repack(zip_path: Path) -> None:
    """Compile what Chalice packed, leave out what no function needs, and pack it again."""
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
    """Bytecode that is believed without a look at its source: the zip holds both, and its times mean nothing."""
    mode = PycInvalidationMode.UNCHECKED_HASH
    if not compileall.compile_dir(root, quiet=2, stripdir=str(root), prependdir="/var/task", invalidation_mode=mode):
        message = "Some of the code cannot be compiled."
        raise SystemExit(message)


def problems(zip_path: Path) -> list[str]:
    """What is wrong with the zip: what it lacks, what it should not hold, its size."""
    with zipfile.ZipFile(zip_path) as packed:
        names = set(packed.namelist())
    found = [f"the zip lacks {name}" for name in sorted(NEEDED - names)]
    found += [f"the zip holds {name}" for name in sorted({name.split("/")[0] for name in names} & FOREIGN)]
    found += [f"the zip holds {name}, built for x86" for name in sorted(names) if "x86_64" in name]
    if zip_path.stat().st_size > LIMIT:
        found.append(f"the zip has {zip_path.stat().st_size} bytes, more than {LIMIT}")
    return found
