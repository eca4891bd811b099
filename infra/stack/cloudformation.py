"""The template as CloudFormation resolves it, with the values of parameters and the local names of resources."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from infra.stack.resources import ACCOUNT_ID, REGION, STACK

Resources = dict[str, dict[str, Any]]

PSEUDO_PARAMETERS = {
    "AWS::AccountId": ACCOUNT_ID,
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::StackName": STACK,
    "AWS::URLSuffix": "amazonaws.com",
}
NO_VALUE = {"Ref": "AWS::NoValue"}
# The property that `Ref` returns, by the type of the resource.
NAMES = {"AWS::KMS::Alias": "AliasName", "AWS::S3::Bucket": "BucketName"} | dict.fromkeys(
    ("AWS::SecretsManager::Secret", "AWS::SES::ConfigurationSet"), "Name"
)


def deployed(sam: Mapping[str, Any], **parameters: str | int) -> Resources:
    """Return the resources of a deployment with these parameters; conditions and parameters are resolved."""
    template = _Template(sam, _values(sam, parameters))
    return {
        name: template.resolved({key: value for key, value in item.items() if key != "Condition"})
        for name, item in sam["Resources"].items()
        if "Condition" not in item or template.holds(item["Condition"])
    }


def resolved(sam: Mapping[str, Any], value: Any, **parameters: str | int) -> Any:
    """Return a value of the template with these parameters. A parameter without a default is empty."""
    return _Template(sam, _values(sam, parameters)).resolved(value)


def variables(sam: Mapping[str, Any], **parameters: str | int) -> dict[str, str]:
    """Return the environment of all functions, with the names of resources in place of references."""
    values = _values(sam, parameters)
    template = _Template(sam, values)
    names = {
        name: template.resolved(item["Properties"][NAMES[item["Type"]]])
        for name, item in sam["Resources"].items()
        if item["Type"] in NAMES
    }
    shared: dict[str, str] = _Template(sam, values | names).resolved(
        sam["Globals"]["Function"]["Environment"]["Variables"]
    )
    return shared


def _values(sam: Mapping[str, Any], parameters: dict[str, str | int]) -> dict[str, Any]:
    defaults = {name: parameter.get("Default", "") for name, parameter in sam["Parameters"].items()}
    if unknown := set(parameters) - {*defaults, *PSEUDO_PARAMETERS}:
        message = f"The template has no parameter {', '.join(sorted(unknown))}."
        raise ValueError(message)
    return PSEUDO_PARAMETERS | defaults | parameters


class _Template:
    def __init__(self, sam: Mapping[str, Any], values: dict[str, Any]) -> None:
        self._conditions = sam.get("Conditions", {})
        self._values = values
        self._functions: dict[str, Callable[[Any], Any]] = {
            "Fn::If": self._if,
            "Fn::Equals": lambda pair: (
                len({str(self.resolved(one)) for one in pair}) == 1
            ),  # CloudFormation compares text
            "Fn::Join": self._join,
            "Fn::Not": lambda argument: not self.resolved(argument[0]),
            "Fn::Select": self._select,
            "Fn::Split": lambda argument: str(self.resolved(argument[1])).split(argument[0]),
            "Fn::Sub": self._substituted,
            "Ref": lambda name: self._values.get(name, {"Ref": name}),
        }

    def holds(self, condition: str) -> bool:
        return bool(self.resolved(self._conditions[condition]))

    def resolved(self, value: Any) -> Any:
        if isinstance(value, list):
            return [item for item in map(self.resolved, value) if item != NO_VALUE]
        if not isinstance(value, dict):
            return value
        for function, argument in value.items():
            if function in self._functions:
                return self._functions[function](argument)
        items = {key: self.resolved(item) for key, item in value.items()}
        return {key: item for key, item in items.items() if item != NO_VALUE}

    def _if(self, argument: list[Any]) -> Any:
        condition, yes, no = argument
        return self.resolved(yes if self.holds(condition) else no)

    def _join(self, argument: list[Any]) -> str:
        separator, items = argument[0], self.resolved(argument[1])
        return str(separator).join(items) if isinstance(items, list) else str(items)

    def _select(self, argument: list[Any]) -> Any:
        number, items = argument[0], self.resolved(argument[1])
        known = all(isinstance(item, str) for item in items)
        return items[number] if known else {"Fn::Select": [number, items]}

    def _substituted(self, text: Any) -> Any:
        if not isinstance(text, str):
            return {"Fn::Sub": text}
        done = re.sub(r"\$\{([^}]+)\}", lambda name: str(self._values.get(name[1], name[0])), text)
        return {"Fn::Sub": done} if "${" in done else done
