"""A stage with missing, wrong, unknown or contradictory settings is refused, with a line for each of them."""

import ast
import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from chalicelib import settings
from infra.stack import config, package, resources

SOUND = {"STAGE": "prod", "ACQUIRERS": "", "MAIL_FROM": ""}


def prod(**changes: Any) -> dict[str, Any]:
    """Return a file with the stage `prod`, with these settings; None leaves one out."""
    variables = {name: value for name, value in {**SOUND, **changes}.items() if value is not None}
    return {"stages": {"prod": {"environment_variables": variables}, "dev": {}}}


def lines(file: dict[str, Any], stage: str = "prod") -> list[str]:
    """Return the lines that refuse the stage, without the beginning that all of them share."""
    with pytest.raises(config.ConfigError) as refused:
        config.check(file, stage)
    found = str(refused.value).splitlines()
    start = f"{config.FILE}, stage {stage}"
    assert [line for line in found if not line.startswith(start)] == []
    return [line.removeprefix(start).removeprefix(": ") for line in found]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(config.ConfigError, match=r"^\.chalice/config\.json cannot be read: No such file"):
        config.read(tmp_path)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{\n  "stages": {\n}', "is not JSON: line 3, column 2: "),
        (b"", "is not JSON: line 1, column 1: "),
        (b"[]", "this is not a JSON object."),
        (b'{"stages": "\xff"}', "is not UTF-8: byte 12."),
    ],
)
def test_a_broken_file_is_named_with_the_place(content: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / ".chalice").mkdir()
    (tmp_path / config.FILE).write_bytes(content)

    with pytest.raises(config.ConfigError) as refused:
        config.read(tmp_path)

    assert config.FILE in str(refused.value)
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("file", "place"),
    [
        ({}, "stages"),
        ({"stages": []}, "stages"),
        ({"stages": {"prod": "dev"}}, "stages.prod"),
        ({"stages": {"prod": {"environment_variables": [SOUND]}}}, "stages.prod.environment_variables"),
        ({"stages": {"prod": {"lambda_functions": {"authorizer": 5}}}}, "stages.prod.lambda_functions.authorizer"),
    ],
)
def test_a_part_in_another_form_is_named(file: dict[str, Any], place: str) -> None:
    with pytest.raises(config.ConfigError, match=rf"^\.chalice/config\.json, {place}: this is not a JSON object\.$"):
        config.check(file, "prod")


@pytest.mark.parametrize(
    ("stage", "named"), [("prod", "dev"), ("prod", "local"), ("prod", "PROD"), ("dev", "prod"), ("live", "prod")]
)
def test_a_stage_that_calls_itself_another_stage_is_refused(stage: str, named: str) -> None:
    file = {"stages": {stage: {"environment_variables": {**SOUND, "STAGE": named}}}}

    assert lines(file, stage) == [f"STAGE is {named}, but this is the stage {stage}."]


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({"ACQUIRERS": None}, ['ACQUIRERS is missing; write "ACQUIRERS": "" if it takes no cards.']),
        ({"MAIL_FROM": None}, ['MAIL_FROM is missing; write "MAIL_FROM": "" if it sends no e-mail, so no receipt.']),
    ],
)
def test_prod_is_not_packaged_before_it_says_whether_it_takes_cards_and_sends_receipts(
    changes: dict[str, None], missing: list[str]
) -> None:
    assert lines(prod(**changes)) == missing


def test_a_setting_may_be_empty_on_purpose_or_stand_above_the_stages() -> None:
    config.check(prod(), "prod")
    config.check(prod(MAIL_FROM=None) | {"environment_variables": {"MAIL_FROM": "a@b.example"}}, "prod")
    config.check({"stages": {"dev": {"environment_variables": {"STAGE": "dev"}}}}, "dev")
    config.check(prod() | {"environment_variables": {"STAGE": "dev"}}, "prod")  # the stage's own value counts


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("MAILFROM", "MAIL_FROM"),
        ("DEFAULT_AQUIRER", "DEFAULT_ACQUIRER"),
        ("SMSSENDER", "SMS_SENDER"),
        ("sweep_concurrency", "SWEEP_CONCURRENCY"),
        ("ISO8583_DIALCT", "ISO8583_DIALECT"),
        ("ALLOW_SANBOX", "ALLOW_SANDBOX"),
    ],
)
def test_a_mistyped_setting_is_refused_with_the_one_that_is_meant(typed: str, meant: str) -> None:
    assert lines(prod(**{typed: "1"})) == [f"there is no setting {typed}; there is {meant}."]


def test_an_unknown_setting_is_refused_and_one_of_the_libraries_of_aws_is_not() -> None:
    assert lines(prod(COLOUR="red")) == ["there is no setting COLOUR."]
    config.check(prod(AWS_MAX_ATTEMPTS="2"), "prod")


def test_prod_calls_no_other_aws() -> None:
    name = "AWS_ENDPOINT_URL_DYNAMODB"

    assert lines(prod(**{name: "http://127.0.0.1:5000"})) == [f"{name} sends the calls of AWS elsewhere: leave it out."]


def test_a_parameter_among_the_settings_is_refused() -> None:
    assert lines(prod(SMS_COUNTRIES="ZA")) == ["SMS_COUNTRIES is a parameter: pass SmsCountries in PARAMETERS."]


@pytest.mark.parametrize("name", resources.definition()["Globals"]["Function"]["Environment"]["Variables"])
def test_a_setting_that_the_stack_sets_is_refused(name: str) -> None:
    assert lines(prod(**{name: "x"})) == [f"{name} is set by the stack: leave it out."]


@pytest.mark.parametrize(
    "name", ["_HANDLER", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_LAMBDA_FUNCTION_NAME", "LAMBDA_TASK_ROOT"]
)
def test_a_setting_that_lambda_reserves_is_refused_wherever_it_stands(name: str) -> None:
    said = f"{name} is set by Lambda, which refuses a function that sets it: leave it out."

    assert lines(prod(**{name: "x"})) == [said]
    assert lines(prod() | {"environment_variables": {name: "x"}}) == [said]


@pytest.mark.parametrize("name", ["AWS_MAX_ATTEMPTS", "AWS_LAMBDA_EXEC_WRAPPER", "AWS_XRAY_CONTEXT_MISSING"])
def test_a_setting_of_the_libraries_of_aws_is_taken(name: str) -> None:
    config.check(prod(**{name: "x"}), "prod")


def test_settings_of_one_function_are_refused_because_all_functions_have_those_of_the_stage() -> None:
    own = {"lambda_functions": {"authorizer": {"environment_variables": {"STAGE": "dev"}}}}
    file = prod() | own
    file["stages"]["prod"] |= own

    assert lines(file) == [
        "lambda_functions.authorizer has settings; all functions have those of the stage.",
        "stages.prod.lambda_functions.authorizer has settings; all functions have those of the stage.",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(5, '"5"'), (True, '"true"'), (None, '""'), ({"1": "ESCPOS58"}, json.dumps(json.dumps({"1": "ESCPOS58"})))],
)
def test_a_setting_that_is_not_a_text_is_refused_with_the_text_to_write(value: Any, text: str) -> None:
    file = prod()
    file["stages"]["prod"]["environment_variables"]["PRINTERS"] = value

    assert lines(file) == [f"PRINTERS is {json.dumps(value)}, which is not a text; write {text}."]


def test_all_wrong_names_are_shown_at_once() -> None:
    wrong = prod(MAIL_FROM=None, MAILFROM="a@b.example", STAGE="dev", ACQUIRERS=5)

    assert [line.partition(" ")[0] for line in lines(wrong)] == ["ACQUIRERS", "there", "STAGE", "MAIL_FROM"]


def test_the_known_settings_are_those_that_the_code_reads() -> None:
    folder = Path(settings.__file__).parent
    calls = [
        node
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    ]
    read = {
        argument.value
        for call in calls
        if re.search(r"(_required|_number|_flag|(variables|environment)\.get)$", ast.unparse(call.func))
        for argument in call.args
        if isinstance(argument, ast.Constant) and re.fullmatch("[A-Z][A-Z0-9_]+", str(argument.value))
    }

    assert read == config.SETTINGS | {"PUBLIC_ADDRESS", "WEBHOOK_HOSTS"}  # the stack sets one, the local stage has one


def test_the_guide_lists_the_settings_that_an_operator_chooses() -> None:
    guide = (package.ROOT / "docs" / "operator.md").read_text(encoding="utf-8")
    table = guide.partition("\n### Settings\n")[2].partition("\n### ")[0]
    decided = {*resources.definition()["Globals"]["Function"]["Environment"]["Variables"], *config.PARAMETERS}

    listed = set(re.findall(r"^\| `([A-Z_]+)` \|", table, re.MULTILINE))
    assert listed == config.SETTINGS - decided - {*config.OF_A_HOST}


HOST = {
    "ACQUIRERS": "ISO8583",
    "ISO8583_HOST": "host.example",
    "ISO8583_PORT": "5000",
    "ISO8583_INSTITUTION": "123456",
    "ISO8583_CA": "system",
}


def with_settings(sam: dict[str, Any], changes: dict[str, str]) -> dict[str, Any]:
    """Return the template of a stage with other settings in each of its functions."""
    changed = copy.deepcopy(sam)
    for resource in changed["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"].setdefault("Environment", {}).setdefault("Variables", {}).update(changes)
    return changed


def refused_values(sam: dict[str, Any], project: Path = package.ROOT) -> list[str]:
    with pytest.raises(config.ConfigError) as refused:
        config.check_values(sam, project, "dev")
    found = str(refused.value).splitlines()
    assert [line for line in found if not line.startswith(f"{config.FILE}, stage dev")] == []
    return [line.removeprefix(f"{config.FILE}, stage dev").removeprefix(": ") for line in found]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["TABLE_PREFIX", "KEY_ID", "BUCKET", "SECRET_ID"])
def test_a_stage_without_a_setting_is_not_packaged(name: str, sam: dict[str, Any]) -> None:
    wrong = copy.deepcopy(sam)
    del wrong["Globals"]["Function"]["Environment"]["Variables"][name]

    assert refused_values(wrong) == [f"The setting {name} is missing from the environment."]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"ACQUIRERS": "SANDBOX,NOBODY"}, "ACQUIRERS names NOBODY"),
        ({**HOST, "ISO8583_PORT": ""}, "The setting ISO8583_PORT is missing"),
        ({**HOST, "ISO8583_TLS": "off"}, "ISO8583_TLS is off"),
        ({**HOST, "ISO8583_DIALECT": "pyproject.toml"}, "ISO8583_DIALECT is pyproject.toml, which is no file"),
    ],
)
def test_a_stage_with_a_wrong_acquirer_is_not_packaged(
    changes: dict[str, str], problem: str, sam: dict[str, Any], tmp_path: Path
) -> None:
    project = package._project(tmp_path, "dev")  # noqa: SLF001  pyproject.toml is not packed

    [line] = refused_values(with_settings(sam, changes), project)

    assert line.startswith(problem)


def test_a_stage_with_a_host_is_packaged(sam: dict[str, Any], tmp_path: Path) -> None:
    config.check_values(with_settings(sam, HOST), package._project(tmp_path, "dev"), "dev")  # noqa: SLF001


@pytest.mark.slow
def test_all_wrong_values_are_shown_at_once(sam: dict[str, Any]) -> None:
    wrong = {
        **HOST,
        "ISO8583_PORT": "0",
        "PRINTERS": "{1:x}",
        "AUTH_ACCOUNT_SECONDS": "-5",
        "SMS_SENDER": "A very long sender name",
        "MAIL_FROM": "a@b.example",
    }

    assert [line.partition(" ")[0] for line in refused_values(with_settings(sam, wrong))] == [
        "ISO8583_PORT",
        "AUTH_ACCOUNT_SECONDS",
        "PRINTERS",
        "SMS_SENDER",
    ]


def test_each_wrong_value_is_named_once(sam: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """As the next tests, without a process for each setting."""

    def refusal(variables: dict[str, str], _: Path) -> str | None:
        wrong = {name for name in ("MAIL_FROM", "SMS_SENDER") if variables.get(name) == "?"}
        if wrong:
            return f"{min(wrong)} is wrong." if "SMS_SENDER" in wrong else "ValueError: ?"
        return "ISO8583_PORT is missing." if variables.get("ACQUIRERS") == "ISO8583" else None

    monkeypatch.setattr(config, "_refusal", refusal)
    config.check_values(sam, package.ROOT, "dev")
    everywhere = with_settings(sam, {"SMS_SENDER": "?", "ACQUIRERS": "ISO8583"})
    changed = with_settings(everywhere, {"MAIL_FROM": "?"})

    assert sorted(refused_values(changed)) == [
        "ISO8583_PORT is missing.",
        "MAIL_FROM: ValueError: ?",
        "SMS_SENDER is wrong.",
    ]


def test_variables_have_the_bytes_that_lambda_takes(sam: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "_refusal", lambda *_: None)
    one = {"Type": "AWS::Serverless::Function", "Properties": {}}

    def a_stage(most: int) -> dict[str, Any]:
        variables = {"STAGE": "dev", "PARTNERS": "x" * (most - len("STAGEdevPARTNERS"))}
        function = {"Function": {"Environment": {"Variables": variables}}}
        return {"Globals": function, "Resources": {"APIHandler": one}, "Parameters": sam["Parameters"]}

    config.check_values(a_stage(config.MAX_BYTES), package.ROOT, "dev")
    [line] = refused_values(a_stage(config.MAX_BYTES + 1))
    assert line.startswith(
        f"the variables have {config.MAX_BYTES + 1} bytes, and Lambda takes {config.MAX_BYTES}; PARTNERS"
    )


def test_a_setting_whose_fault_the_code_does_not_name_is_named(sam: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "chalicelib").mkdir()
    reading = "import os\nSettingsError = KeyError\ndef check():\n    int(os.environ.get('MAIL_FROM', 1))\n"
    (tmp_path / "chalicelib" / "settings.py").write_text(reading, encoding="utf-8")
    (tmp_path / "chalicelib" / "__init__.py").touch()

    [line] = refused_values(with_settings(sam, {"MAIL_FROM": "text"}), tmp_path)

    assert line == "MAIL_FROM: ValueError: invalid literal for int() with base 10: 'text'"
