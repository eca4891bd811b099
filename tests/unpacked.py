"""The zip as Lambda unpacks it, with the native modules of this machine in place of those for arm64."""

import re
import sysconfig
import zipfile
from pathlib import Path

NATIVE = re.compile(r"\.(cpython-\d+|abi3)[^/]*\.so$")


def unpacked(zip_path: Path, target: Path) -> Path:
    """The folder, ready to be run here."""
    with zipfile.ZipFile(zip_path) as packed:
        packed.extractall(target)
    here = Path(sysconfig.get_path("platlib"))
    for module in [path for path in target.rglob("*.so") if NATIVE.search(path.name)]:
        name = module.relative_to(target)
        stem = name.name.split(".")[0]
        own = [path for path in (here / name.parent).glob(f"{stem}.*so") if NATIVE.search(path.name)]
        module.unlink()
        (target / name.parent / own[0].name).write_bytes(own[0].read_bytes())
    return target
