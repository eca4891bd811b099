"""The endpoints: the whole interface at a glance. A module for each noun holds the functions.

A module is imported at the first request for one of its functions, so that a cold start imports none of them. Editors
and mypy see plain imports.
"""

from typing import TYPE_CHECKING

from chalicelib.web import MEGABYTE, Deferred, Endpoint

if TYPE_CHECKING:
    from chalicelib.routes import (
        accounts,
        agents,
        cards,
        events,
        health,
        history,
        merchants,
        payments,
        prepare,
        reference,
        shop,
        takings,
        terminals,
        webhooks,
    )
# ruff: noqa: TC004  while the table is made, `Deferred` stands for the modules
NOUNS = (
    "accounts agents cards events health history merchants payments prepare reference shop takings terminals webhooks"
)
DEFERRED = {noun: Deferred(f"{__name__}.{noun}") for noun in NOUNS.split()}
globals().update(DEFERRED)

WITH_PICTURE = 2 * MEGABYTE  # a picture of 1 MB is 1.4 MB of base64
WITH_FILES = 5 * MEGABYTE

ENDPOINTS = (
    Endpoint("POST", "/api/v1/user/login/session", accounts.session, public=True),
    Endpoint("GET", "/api/v1/user/me", accounts.me),
    Endpoint("GET", "/api/v1/payment/AuthAccount", accounts.configuration),
    Endpoint("POST", "/api/v1/merchant/create", merchants.create, max_bytes=WITH_PICTURE),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/update", merchants.update, max_bytes=WITH_PICTURE),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/pos/create", agents.create, max_bytes=WITH_PICTURE),
    Endpoint("GET", "/api/v1/merchant/{merchantId}/pos/{posId}", agents.get),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/pos/{posId}/update", agents.update, max_bytes=WITH_PICTURE),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/pos/updatebulk", agents.update_bulk),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/pos/list", agents.search),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/webhook/create", webhooks.create),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/webhook/list", webhooks.listed),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/webhook/{webhookId}/update", webhooks.update),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/webhook/{webhookId}/test", webhooks.test),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/event/list", events.listed),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/event/{eventId}/resend", events.resend),
    Endpoint("POST", "/api/v1/terminal/create", terminals.create),
    Endpoint("POST", "/api/v1/payment/submit", payments.submit, max_bytes=WITH_FILES),
    Endpoint("POST", "/api/v1/payment/prepare", prepare.prepare),
    Endpoint("GET", "/api/v1/payment/{tranId}", payments.get),
    Endpoint("GET", "/api/v1/payment/receipt/{tranId}", payments.receipt),
    Endpoint("GET", "/api/v1/payment/statusPublic/{tranId}", payments.status_public, public=True),
    Endpoint("POST", "/api/v1/payment/listHistoryEx", history.list_history),
    Endpoint("POST", "/api/v1/payment/listByDaysEx", history.list_by_days),
    Endpoint("POST", "/api/v1/report/export", history.export),
    Endpoint("POST", "/api/v1/payment/reverse", payments.reverse),
    Endpoint("POST", "/api/v1/payment/reversecnp", payments.reverse_cnp),
    Endpoint("POST", "/api/v1/payment/GetLinkedCards", cards.linked),
    Endpoint("POST", "/api/v1/report/takings", takings.report),
    Endpoint("GET", "/api/v1/health", health.check, public=True),
)
DOCUMENTS = (
    Endpoint("GET", "/", reference.home, public=True),
    Endpoint("GET", "/app", shop.page, public=True),
    Endpoint("GET", "/app/{name}", shop.part, public=True),
    Endpoint("GET", "/api/v1/openapi.json", reference.document, public=True),
    Endpoint("GET", "/docs", reference.page, public=True),
    Endpoint("GET", "/docs/{name}", reference.part, public=True),
)

for noun in DEFERRED:
    del globals()[noun]  # each name is the module's again: `from chalicelib.routes import payments` imports it
