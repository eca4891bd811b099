"""The command `make reference`: write every generated file, such as the OpenAPI document."""

from infra.reference import ROOT, to_lines
from infra.reference.currencies import coins_module, iso_numbers_module
from infra.reference.document import openapi_document
from infra.reference.guides import alarms_guide, error_codes_module, errors_guide, parameters_guide
from infra.reference.kinds import kinds_module
from infra.stack.package import version
from infra.stack.policies import policy_files


def generated_files() -> dict[str, str]:
    """Return the content of each generated file, by its path in the project."""
    return {
        "chalicelib/reference/openapi.json": to_lines(openapi_document(), levels=3) + "\n",
        "chalicelib/reference/version.txt": version(),
        "docs/errors.md": errors_guide(),
        "docs/alarms.md": alarms_guide(),
        "docs/parameters.md": parameters_guide(),
        "chalicelib/pages/kit/coins.js": coins_module(),
        "chalicelib/pages/shop/iso_numbers.js": iso_numbers_module(),
        "chalicelib/pages/kit/error_codes.js": error_codes_module(),
        "chalicelib/pages/kit/kinds.js": kinds_module(),
        **policy_files(),
    }


def main() -> None:
    """Write every file."""
    for name, content in generated_files().items():
        path = ROOT / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
        print(f"{len(content):>9} {name}")


if __name__ == "__main__":
    main()
