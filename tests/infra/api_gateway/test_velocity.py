"""Mapping templates are carried out as far as the API has them, and nothing else is taken for one."""

from typing import Any

import pytest

from infra.api_gateway.velocity import rendered


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ('{"ErrorCode": 206}', '{"ErrorCode": 206}'),
        ("a#if(true)b#{end}".replace("{end}", "end") + "c", "abc"),
        ("#if(!true)a#if(true)b#end#set($x=1)#end", ""),
        ('#foreach($x in ["a", "b"])#if($x=="b"||$x=="c")yes#end.#end!', ".yes.!"),
        ("#foreach($x in [])a#end-", "-"),
        ('#if($input.params().header.get("Origin")=="o")listed#end', "listed"),
        ('#if($input.params().header.get("origin")=="o")listed#end', ""),
    ],
)
def test_a_template_is_rendered(template: str, text: str) -> None:
    parameters: Any = {"header": {"Origin": "o"}}

    assert rendered(template, {"input": {"params": lambda: parameters}}) == text


def test_what_a_template_sets_is_set() -> None:
    override: dict[str, Any] = {"header": {}}

    rendered(
        '#set($name="a b")#set($override.status=204)#set($override.header.X-Some-Name="<$name>")',
        {"override": override},
    )

    assert override == {"status": 204, "header": {"X-Some-Name": "<a b>"}}


@pytest.mark.parametrize("template", ["#if(true", "#if(1+1)a#end", "#foreach($x of [])#end", "#if($unknown)a#end"])
def test_what_is_not_known_is_an_error(template: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        rendered(template, {})
