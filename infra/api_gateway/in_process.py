"""The gateway of the local stage: built from the app as the template is, in front of functions in this process."""

import json
import threading
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chalice.app import Chalice

from chalicelib.settings import settings
from infra.api_gateway.gateway import AUTHORIZER, Function, Gateway, Kind, Refusal
from infra.stack import cloudformation, resources, template

CONFIG = Path(__file__).parents[2] / ".chalice" / "config.json"
_own = threading.local()  # the request and context of each thread


@dataclass(frozen=True)
class Context:
    """The part of Lambda's context that the app reads."""

    aws_request_id: str


def gateway(app: Chalice) -> Gateway:
    """Return the gateway of an app, with the allowed origins of the settings. Make the app safe for threads."""
    sam = resources.definition() | {"Resources": {"RestAPI": definition(app)}}
    deployed = cloudformation.deployed(sam, AllowedOrigins=",".join(settings().allowed_origins))
    guards = [entry.authorizer for entries in app.routes.values() for entry in entries.values() if entry.authorizer]
    functions = {template.logical_id(guard.name): _function(guard) for guard in guards}
    functions[template.API] = _function(_thread_safe(app))
    return Gateway(deployed["RestAPI"], functions, in_process=True)


def definition(app: Chalice) -> dict[str, Any]:
    """Return the API of the template, with the routes that Chalice adds when it packages."""
    properties = template.api_properties(app)
    config = json.loads(CONFIG.read_text(encoding="utf-8"))
    properties["MinimumCompressionSize"] = config["minimum_compression_size"]
    body = properties["DefinitionBody"]
    for name, scheme in body["securityDefinitions"].items():
        scheme[AUTHORIZER]["authorizerUri"] = template.integration(template.logical_id(name))["uri"]
    for path, entries in app.routes.items():
        for method, entry in entries.items():
            body["paths"][path][method.lower()] = {
                **({"security": [{entry.authorizer.name: []}]} if entry.authorizer else {}),
                template.INTEGRATION: template.integration(template.API),
            }
    return {"Type": "AWS::Serverless::Api", "Properties": properties}


def _function(handler: Any) -> Function:
    """Return a function without a time limit. A crash is printed, and the gateway answers it."""

    def invoke(event: dict[str, Any], seconds: float) -> Any:
        del seconds
        try:
            return handler(event, Context(event["requestContext"]["requestId"]))
        except Exception:  # noqa: BLE001  the gateway answers a crash of the function
            traceback.print_exc()
            raise Refusal(Kind.INTEGRATION_FAILURE) from None

    return invoke


def _thread_safe(app: Chalice) -> Chalice:
    """Give each thread its own request and context of Lambda, and return the app; a second time changes nothing."""
    own = {"current_request": _of_the_thread("current_request"), "lambda_context": _of_the_thread("lambda_context")}
    if not own.keys() & vars(type(app)).keys():
        app.__class__ = type("ThreadSafeChalice", (type(app),), own)
    return app


def _of_the_thread(name: str) -> property:
    return property(lambda _: getattr(_own, name), lambda _, value: setattr(_own, name, value))
