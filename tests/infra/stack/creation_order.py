"""What CloudFormation creates first."""

import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from typing import Any

from infra.stack.cloudformation import Resources

STAGE = "RestAPI.Stage"
# SAM makes two resources of the API: these properties go to its stage, the others to the API itself.
OF_THE_STAGE = {"AccessLogSetting", "MethodSettings", "StageName", "TracingEnabled"}


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
