"""The template as CloudFormation carries it out: with the values of its parameters, and what it creates first."""

import re
from collections.abc import Callable, Iterator
from graphlib import TopologicalSorter
from typing import Any

from infra.engines import ACCOUNT_ID, REGION, STACK

Resources = dict[str, dict[str, Any]]

STAGE = "RestAPI.Stage"
# SAM makes two resources of the API: these properties go to its stage, the others to the API itself.
OF_THE_STAGE = {"AccessLogSetting", "MethodSettings", "StageName", "TracingEnabled"}
PSEUDO_PARAMETERS = {
    "AWS::AccountId": ACCOUNT_ID,
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::StackName": STACK,
    "AWS::URLSuffix": "amazonaws.com",
}
NO_VALUE = {"Ref": "AWS::NoValue"}


def deployed(sam: dict[str, Any], **parameters: str | int) -> Resources:
    """Return the resources a deployment with these parameters has, without conditions and references to parameters."""
    defaults = {name: parameter["Default"] for name, parameter in sam["Parameters"].items()}
    assert set(parameters) <= set(defaults)
    template = _Template(sam, PSEUDO_PARAMETERS | defaults | parameters)
    return {
        name: template.resolved({key: value for key, value in item.items() if key != "Condition"})
        for name, item in sam["Resources"].items()
        if "Condition" not in item or template.holds(item["Condition"])
    }


class _Template:
    def __init__(self, sam: dict[str, Any], values: dict[str, Any]) -> None:
        self._conditions = sam["Conditions"]
        self._values = values
        self._functions: dict[str, Callable[[Any], Any]] = {
            "Fn::If": self._if,
            "Fn::Equals": self._equals,
            "Fn::Not": self._not,
            "Fn::Sub": self._substituted,
            "Ref": self._value_of,
        }

    def holds(self, condition: str) -> bool:
        return bool(self.resolved(self._conditions[condition]))

    def resolved(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.resolved(item) for item in value]
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

    def _equals(self, argument: list[Any]) -> bool:
        one, other = self.resolved(argument)
        return str(one) == str(other)  # CloudFormation compares text

    def _not(self, argument: list[Any]) -> bool:
        return not self.resolved(argument[0])

    def _value_of(self, name: str) -> Any:
        return self._values.get(name, {"Ref": name})

    def _substituted(self, text: Any) -> Any:
        if not isinstance(text, str):
            return {"Fn::Sub": text}
        done = re.sub(r"\$\{([^}]+)\}", lambda name: str(self._values.get(name[1], name[0])), text)
        return {"Fn::Sub": done} if "${" in done else done


def created_before(resources: Resources) -> dict[str, set[str]]:
    """Return, for each resource, all that is certainly created before it; an error when nothing can be the first."""
    graph = {name: set(_references(item)) for name, item in resources.items()}
    api = resources["RestAPI"]["Properties"]
    graph["RestAPI"] = set(_references({key: value for key, value in api.items() if key not in OF_THE_STAGE}))
    graph[STAGE] = {"RestAPI", *_references({key: value for key, value in api.items() if key in OF_THE_STAGE})}
    before: dict[str, set[str]] = {}
    for name in TopologicalSorter(graph).static_order():
        needed = graph.get(name)
        assert needed is not None, f"{name} is referred to, and does not exist"
        before[name] = needed.union(*(before[one] for one in needed))
    return before


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _references(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in {"Ref", "DependsOn"} and isinstance(item, str):
                yield item
            elif key == "Fn::GetAtt":
                yield item[0]
            elif key == "Fn::Sub":
                yield from _names_in(item)
            else:
                yield from _references(item)


def _names_in(substitution: Any) -> Iterator[str]:
    text, own = (substitution, {}) if isinstance(substitution, str) else substitution
    yield from _references(own)
    for name in re.findall(r"\$\{([^}!]+)\}", text):
        if name not in own and not name.startswith("AWS::"):
            yield name if name == STAGE else name.split(".")[0]
