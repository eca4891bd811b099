"""The endpoints: the whole interface at a glance.

The first request for a module's function imports the module of `chalicelib.routes`, so a cold start imports none.
Editors and mypy see plain imports.
"""

from typing import TYPE_CHECKING

from chalicelib.web import MEGABYTE, Deferred, Endpoint

if TYPE_CHECKING:
    from chalicelib.routes import (
        accounts,
        drawers,
        history,
        management,
        pages,
        payments,
        prepare,
        receipts,
        reversals,
        terminals,
        webhooks,
    )
else:
    NOUNS = (
        *("accounts", "drawers", "history", "management", "pages", "payments", "prepare", "receipts", "reversals"),
        *("terminals", "webhooks"),
    )
    accounts, drawers, history, management, pages, payments, prepare, receipts, reversals, terminals, webhooks = (
        Deferred(f"chalicelib.routes.{noun}") for noun in NOUNS
    )

WITH_PICTURE = 2 * MEGABYTE  # a picture of 1 MB has 1.4 MB as base64
WITH_FILES = 5 * MEGABYTE
PRICE_LIST = MEGABYTE // 4

ENDPOINTS = (
    Endpoint("POST", "/api/v1/user/login/session", accounts.session, public=True),
    Endpoint("POST", "/api/v1/user/logout/session", accounts.end_session),
    Endpoint("POST", "/api/v1/user/totp", accounts.totp),
    Endpoint("POST", "/api/v1/user/password/forgot", accounts.forget_password, public=True),
    Endpoint("POST", "/api/v1/user/password/reset", accounts.reset_password, public=True),
    Endpoint("GET", "/api/v1/user/me", accounts.me),
    Endpoint("GET", "/api/v1/payment/AuthAccount", accounts.configuration),
    Endpoint("POST", "/api/v1/merchant/create", management.create_merchant, max_bytes=WITH_PICTURE),
    Endpoint("POST", "/api/v1/merchant/list", management.list_merchants),
    Endpoint("GET", "/api/v1/merchant/{merchantId}", management.get_merchant),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/update", management.update_merchant, max_bytes=WITH_PICTURE),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/pos/create", management.create_agent, max_bytes=WITH_PICTURE),
    Endpoint("GET", "/api/v1/merchant/{merchantId}/pos/{posId}", management.get_agent),
    Endpoint(
        "POST", "/api/v1/merchant/{merchantId}/pos/{posId}/update", management.update_agent, max_bytes=WITH_PICTURE
    ),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/pos/updatebulk", management.update_agents),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/pos/list", management.search_agents),
    Endpoint("GET", "/api/v1/merchant/{merchantId}/pricelist", management.get_price_list),
    Endpoint(
        "POST", "/api/v1/merchant/{merchantId}/pricelist/update", management.update_price_list, max_bytes=PRICE_LIST
    ),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/webhook/create", webhooks.create),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/webhook/list", webhooks.list_webhooks),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/webhook/{webhookId}/update", webhooks.update),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/webhook/{webhookId}/delete", webhooks.delete),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/webhook/{webhookId}/test", webhooks.test),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/event/list", webhooks.list_events),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/event/{eventId}/resend", webhooks.resend_event),
    Endpoint("POST", "/api/v1/terminal/create", terminals.create),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/terminal/list", terminals.list_page),
    Endpoint("POST", "/api/v1/merchant/{merchantId}/terminal/{terminalId}/update", terminals.update),
    Endpoint("POST", "/api/v1/payment/submit", payments.submit, max_bytes=WITH_FILES),
    Endpoint("POST", "/api/v1/payment/prepare", prepare.prepare),
    Endpoint("GET", "/api/v1/payment/{tranId}", payments.get),
    Endpoint("GET", "/api/v1/payment/receipt/{tranId}", receipts.get),
    Endpoint("POST", "/api/v1/payment/receipt/{tranId}", receipts.send),
    Endpoint("GET", "/api/v1/payment/statusPublic/{tranId}", payments.status_public, public=True),
    Endpoint("POST", "/api/v1/payment/listHistoryEx", history.list_history),
    Endpoint("POST", "/api/v1/payment/listByDaysEx", history.list_by_days),
    Endpoint("POST", "/api/v1/report/export", history.export),
    Endpoint("POST", "/api/v1/payment/reverse", reversals.reverse),
    Endpoint("POST", "/api/v1/payment/reversecnp", reversals.reverse_cnp),
    Endpoint("POST", "/api/v1/payment/GetLinkedCards", accounts.list_cards),
    Endpoint("POST", "/api/v1/report/takings", history.takings),
    Endpoint("POST", "/api/v1/report/drawer", drawers.report),
    Endpoint("POST", "/api/v1/report/drawer/list", drawers.list_opened),
    Endpoint("GET", "/api/v1/health", pages.health, public=True),
)
DOCUMENTS = (
    Endpoint("GET", "/", pages.home, public=True),
    Endpoint("GET", "/app", pages.shop_page, public=True),
    Endpoint("GET", "/app/{version}/{folder}/{name}", pages.shop_file, public=True),
    Endpoint("GET", "/till", pages.till_page, public=True),
    Endpoint("GET", "/till/worker.js", pages.till_worker, public=True),
    Endpoint("GET", "/till/{version}/{folder}/{name}", pages.till_file, public=True),
    Endpoint("GET", "/api/v1/openapi.json", pages.document, public=True),
    Endpoint("GET", "/docs", pages.page, public=True),
    Endpoint("GET", "/docs/{name}", pages.part, public=True),
)
