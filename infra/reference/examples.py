"""The examples of the OpenAPI document: the first request of the guides to each endpoint. A test sends the requests."""

import json
import re
from decimal import Decimal
from functools import cache
from typing import Any

from chalicelib.endpoints import ENDPOINTS
from chalicelib.web import Endpoint
from infra.local.stage import URL
from infra.reference import ROOT

GUIDES = ("requests", "first-payment", "goods", "webhooks")
REQUEST = re.compile(rf"^ *curl [^|]*?{re.escape(URL)}(/api/v1/[^\s\"?]+)[^|]*? -d '(\{{[^']*\}})'", re.MULTILINE)


@cache
def examples() -> dict[str, Any]:
    """Return the bodies of the requests by the paths of their endpoints: "/api/v1/merchant/{merchantId}/update"."""
    found: dict[str, Any] = {}
    for guide in GUIDES:
        for path, body in REQUEST.findall((ROOT / "docs" / f"{guide}.md").read_text(encoding="utf-8")):
            found.setdefault(endpoint_of("POST", path).path, json.loads(body, parse_float=Decimal))
    return found


def endpoint_of(method: str, path: str) -> Endpoint:
    """Return the endpoint of a request."""
    forms = ((one, re.sub(r"\{\w+\}", "[^/]+", one.path)) for one in ENDPOINTS if one.method == method)
    return min((one for one, form in forms if re.fullmatch(form, path)), key=lambda one: one.path.count("{"))
