"""The settings of the stage that a command works on, for any command of the operator.

The operator names the stage and nothing else. Its settings are those of its functions, as Lambda has them: those
of the deployed release, not those in this folder. The local stage answers with its own (`infra.local.stage_settings`).

The settings of a shell never mix with them: a command that finds one in its environment refuses, unless the environment
is that of the whole stage, as in a process of the local stage.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from difflib import get_close_matches

import boto3
from botocore.exceptions import ClientError

from chalicelib.settings import LOCAL
from infra.local import stage_settings
from infra.stack import config, resources

FUNCTION = "APIHandler"  # the function of the stack with the most settings
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")  # Lambda sets both; boto3 reads the second
# Variables that every deployed stage has.
OF_EVERY_STAGE = {*resources.definition()["Globals"]["Function"]["Environment"]["Variables"], *config.PARAMETERS}


def settings_of(name: str | None, stack: str | None) -> AbstractContextManager[None]:
    """Return the context of a command that works on this stage.

    Without a name, STAGE of the environment names the stage; STACK names a stack unless it is `payments-<stage>`. Exit
    with one line without a name, or if this shell has only some of the settings.
    """
    given = _given()
    name = name or os.environ.get("STAGE")
    if not name:
        if given:
            _refuse(given)
        sys.exit("Name the stage: STAGE=prod in the environment, or --stage prod.")
    known = [*config.read(stage_settings.ROOT)["stages"], LOCAL]
    if name not in known and (meant := get_close_matches(name.lower(), known, n=1)):
        sys.exit(f"{config.FILE} has no stage {name}; it has {meant[0]}.")
    if name == LOCAL:
        if _is_of_the_local_stage():
            return nullcontext()
        if given:
            _refuse(given)
        return stage_settings.replaced(stage_settings.read(), "AWS_")
    if given and not all(one in os.environ for one in OF_EVERY_STAGE):
        _refuse(given)
    stack = stack or os.environ.get("STACK") or f"payments-{name}"
    return _of_function(name, stack, given)


def _is_of_the_local_stage() -> bool:
    """Return whether this is a process of the local stage, or one that it started and told where its AWS is."""
    is_whole = os.environ.get("STAGE") == LOCAL and stage_settings.ENVIRONMENT.keys() <= os.environ.keys()
    return is_whole and bool("moto" in sys.modules or os.environ.get("AWS_ENDPOINT_URL"))


def _given() -> dict[str, str]:
    return {name: os.environ[name] for name in sorted(config.SETTINGS - {"STAGE"}) if os.environ.get(name)}


def _refuse(given: Mapping[str, str]) -> None:
    names = " ".join(given)
    sys.exit(f"This shell has settings of its own, perhaps of another stage: `unset {names}`, and name STAGE only.")


@contextmanager
def _of_function(name: str, stack: str, given: Mapping[str, str]) -> Iterator[None]:
    """Give the process the settings of the stage in the block. Exit with one line if they are another stage's."""
    named = {value for one in REGIONS if (value := os.environ.get(one))}
    if len(named) > 1:
        sys.exit(f"{' and '.join(REGIONS)} name two regions: {', '.join(sorted(named))}.")
    variables = _variables(stack)
    if variables.get("STAGE") != name:
        sys.exit(f"The stack {stack} is the stage {variables.get('STAGE')}, not {name}.")
    deployed = {one: value for one, value in variables.items() if one in config.SETTINGS}
    if given and {**given, "STAGE": name} != {one: value for one, value in deployed.items() if value}:
        _refuse(given)
    with stage_settings.replaced({**deployed, **dict.fromkeys(REGIONS, _region())}):
        yield


def _region() -> str:
    return (
        os.environ.get("AWS_REGION")
        or boto3.Session().region_name
        or sys.exit("No region is configured: set AWS_REGION.")
    )


def _variables(stack: str) -> dict[str, str]:
    """Return the environment of the API's function. Exit with one line if there is none."""
    try:
        stacks = boto3.client("cloudformation", region_name=_region())
        found = stacks.describe_stack_resource(StackName=stack, LogicalResourceId=FUNCTION)["StackResourceDetail"]
    except ClientError as refusal:
        if refusal.response["Error"]["Code"] != "ValidationError":
            raise
        reason = refusal.response["Error"]["Message"].rstrip(".")
        sys.exit(f"{reason}, in {_region()}. STACK names another stack, AWS_REGION another region.")
    if not (name := found.get("PhysicalResourceId")):
        sys.exit(f"The stack {stack} has no {FUNCTION}: it is {found['ResourceStatus']}.")
    functions = boto3.client("lambda", region_name=_region())
    shown = functions.get_function_configuration(FunctionName=name).get("Environment", {})
    if "Variables" not in shown:
        sys.exit(
            f"Lambda does not show the settings of {name}: {shown.get('Error', {}).get('Message', 'it has none')}."
        )
    return dict(shown["Variables"])
