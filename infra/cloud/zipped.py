"""The zip of the functions: with compiled bytecode, the same bytes for the same sources, and only what they need."""

import compileall
import re
import shutil
import tempfile
import zipfile
from pathlib import Path
from py_compile import PycInvalidationMode

EPOCH = (1980, 1, 1, 0, 0, 0)  # of every entry: an unchanged zip has the same hash, and is not deployed again
MAX_ZIP_BYTES = 10 * 1024 * 1024  # a cold start has to fetch the zip
# Tests, type stubs, the metadata of packages; cffi and pycparser (argon2 is compiled: it needs only the backend),
# pydantic's version 1. A test takes a payment with the functions of the zip, which shows that they need none of it.
UNNEEDED = re.compile(
    r"(^|/)(tests?|__pycache__)(/|$)|\.dist-info/(?!METADATA$)|\.(pyi|typed|c|h|cfg)$|^(cffi|pycparser)[-/]|^pydantic/v1/"
)
FOREIGN = {"boto3", "botocore", "moto", "hypothesis", "pytest", "mypy", "infra", "tests", "docs"}
NEEDED = {"app.py", "chalicelib/authorizer.py", "chalice/app.py", "iso4217/table.xml", "pydantic/main.py"}


def repack(zip_path: Path) -> None:
    """Unpack Chalice's zip, remove what no function needs, compile the rest, and pack it again."""
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
    mode = PycInvalidationMode.UNCHECKED_HASH
    if not compileall.compile_dir(root, quiet=2, stripdir=str(root), prependdir="/var/task", invalidation_mode=mode):
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
