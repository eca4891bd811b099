"""The service: one Chalice app with the endpoints of the interface and the middleware."""

from contextlib import suppress

from chalice.app import Chalice

from chalicelib import authorizer, web
from chalicelib.endpoints import DOCUMENTS, ENDPOINTS
from chalicelib.routes import jobs
from chalicelib.settings import check, is_handler
from chalicelib.store.aws_client import CallError
from chalicelib.store.table import client

check()

app = Chalice(app_name="payments")
app.api.binary_types = []  # no binary answers, so Chalice need not check each request
app.register_middleware(web.edge, "http")
app.register_blueprint(authorizer.blueprint)
app.register_blueprint(jobs.jobs)
web.mount(app, (*ENDPOINTS, *DOCUMENTS))

if is_handler(__name__):
    with suppress(CallError):  # the first request meets the failure again and reports it
        client()  # before the first request of a new instance, which so waits less
