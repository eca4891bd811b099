"""The service: one Chalice app with the endpoints of the interface and the middleware."""

import os
from importlib import import_module
from importlib.util import find_spec

from chalice.app import Chalice

from chalicelib import authorizer, web
from chalicelib.endpoints import DOCUMENTS, ENDPOINTS
from chalicelib.routes import jobs

if "AWS_CHALICE_CLI_MODE" in os.environ and find_spec("infra"):  # a command of Chalice here; the package has no `infra`
    import_module("infra.local.chalice_local").replace_the_server()
app = Chalice(app_name="payments")
app.api.binary_types = []  # no binary answers, so Chalice need not check each request
app.register_middleware(web.edge, "http")
app.register_blueprint(authorizer.blueprint)
app.register_blueprint(jobs.jobs)
web.mount(app, (*ENDPOINTS, *DOCUMENTS))
