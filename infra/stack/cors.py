"""CORS in the template: the answers of API Gateway itself to pages of the origins in AllowedOrigins.

Without that parameter the API is unchanged.
"""

import copy
import json
from typing import Any

from chalicelib import web
from infra.stack import resources

Template = dict[str, Any]

LIST = {"Fn::Split": [",", {"Ref": "AllowedOrigins"}]}
OVERRIDE = "$context.responseOverride"


def of_the_gateway(quote: str = "") -> Template:
    """Return the headers of answers without a function, by name, with the values in these quotes.

    Such a header is a constant or a copy from the request: it cannot depend on a list of several origins.
    """
    one_or_any = {
        "Fn::If": ["HasOneAllowedOrigin", {"Fn::Sub": f"{quote}${{AllowedOrigins}}{quote}"}, f"{quote}*{quote}"]
    }
    headers = {name: f"{quote}{value}{quote}" for name, value in web.readable_by("").items()}
    return headers | {"Access-Control-Allow-Origin": one_or_any}


def gateway_responses() -> Template:
    """Return the answers of API Gateway itself, readable for pages of the allowed origins."""
    responses = copy.deepcopy(resources.gateway_responses())
    readable = {name: if_any(value) for name, value in of_the_gateway(quote="'").items()}
    for response in responses.values():
        response.setdefault("ResponseParameters", {}).setdefault("Headers", {}).update(readable)
    return responses


def if_any(value: Any) -> Template:
    """Return the value, only for a stage that allows origins."""
    return {"Fn::If": ["HasAllowedOrigins", value, {"Ref": "AWS::NoValue"}]}


def or_a_preflight(body: str, methods: str) -> Template:
    """Return the template (VTL) of a mock's answer: `body`, or 204 to the preflight of an allowed origin.

    `methods` are those of the path. Over HTTP/2 the header arrives as `origin`.
    """
    granted = "#set($preflight=true)" + _set("status", 204) + _headers(web.preflight_headers(methods))
    matches = '$sent.get("Origin")==$origin||$sent.get("origin")==$origin'
    listed = ['"', {"Fn::Join": ['","', LIST]}, '"']
    template = [
        "#set($sent=$input.params().header)#set($preflight=false)",
        _headers({"Vary": "Origin"}),
        *("#foreach($origin in [", *listed, "])"),
        f"#if({matches}){_headers(web.readable_by('$origin'))}",
        f'#if($context.httpMethod=="OPTIONS"){granted}#end#end#end',
        f"#if(!$preflight){body}#end",
    ]
    return {"Fn::If": ["HasAllowedOrigins", {"Fn::Join": ["", template]}, body]}


def _headers(headers: dict[str, str]) -> str:
    return "".join(_set(f"header.{name}", value) for name, value in headers.items())


def _set(what: str, value: str | int) -> str:
    return f"#set({OVERRIDE}.{what}={json.dumps(value)})"
