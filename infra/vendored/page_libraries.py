"""`python -m infra.vendored.page_libraries` writes the libraries of the pages into `chalicelib/pages/libraries`.

They are files of npm packages, with their licences. Browsers load them one by one, so a file names another one by its
path. They are committed, so the local stage needs no npm.
"""

from chalicelib.pages import FOLDER
from infra.vendored.npm_package import Package

PREACT = Package(
    "preact@11.2.0", "sha512-/HfHI/7N84e6GrWBJ3J280z3mLaRJiDcSvj/A+y/4AbLnND/1UlGHe1sR6oYuTGwId0nP7dqDU9OnLxMPZ7xBg=="
)
HTM = Package(
    "htm@3.1.1", "sha512-983Vyg8NwUE7JkZ6NmOqpCZ+sh1bKv2iYTlUkzlWmA5JD2acKoxd4KVxbMmxX/85mtfdnDmTFoNKcg5DGAvxNQ=="
)
UQR = Package(
    "uqr@0.1.3", "sha512-0rjE8iEJe4YmT9TOhwsZtqCMRLc5DXZUI2UEYUUg63ikBkqqE5EYWaI0etFe/5KUcmcYwLih2RND1kq+hrUJXA=="
)
LIBRARIES = FOLDER / "libraries"
NAMED, HERE = b'from"preact"', b'from"./preact.mjs"'
FILES = {  # by its name here: the package and the name there
    "preact.mjs": (PREACT, "dist/preact.mjs"),
    "hooks.mjs": (PREACT, "hooks/dist/hooks.mjs"),
    "preact.LICENSE": (PREACT, "LICENSE"),
    "htm.mjs": (HTM, "dist/htm.mjs"),
    "htm.LICENSE": (HTM, "LICENSE"),
    "../shop/uqr.mjs": (UQR, "dist/index.mjs"),  # only the shop's page draws QR codes
    "../shop/uqr.LICENSE": (UQR, "LICENSE"),
}
SHA256 = {
    "preact.mjs": "bdcbd9abdf2c77c5c45326eab42191e949222d479d0d5f69467387a77040cb55",
    "hooks.mjs": "e862ab2973aa6455eaa0f77c5d832d2157d6be59a17c8ba546550a575b58c6b4",
    "preact.LICENSE": "1fe6958409c8c257a70c587a18b6f7f412b179b456630790d30b2ec9a8e4b7d4",
    "htm.mjs": "ab33dd3f38059b9be4d5f5350128eefb2356639c4e0bbe9d9e8b3ba75847e9e4",
    "htm.LICENSE": "740725f7252e750af735d0028cc534970772f513331e9f68150fede8fb3ce00f",
    "../shop/uqr.mjs": "7f0e61c2f13bb3724edee7bfb876e13c54ac9ee4fcfa283c9fa93cfb1241c325",
    "../shop/uqr.LICENSE": "b39d50e24727f341a0ebdb2ab040c57efaf4076a8ad5b1d0c8c45beb975b4571",
}


def main() -> None:
    """Fetch the packages, check them, and write the files."""
    for name, (package, member) in FILES.items():
        (content,) = package.files(member)
        (LIBRARIES / name).write_bytes(content.replace(NAMED, HERE))
        print(f"{len(content):>9} {name}  {package.name}")


if __name__ == "__main__":
    main()
