"""The service: one Chalice app, made of the interface's endpoints and the middleware at its edge."""

import os
from importlib import import_module

from chalice.app import Chalice

from chalicelib import authorizer, web
from chalicelib.endpoints import DOCUMENTS, ENDPOINTS
from chalicelib.routes import jobs

if "LOCAL_AWS" in os.environ:  # in `chalice local` alone: what is deployed has neither the variable nor the module
    import_module("infra.local.chalice_local").connect()
app = Chalice(app_name="payments")
app.api.binary_types = []  # nothing binary is served: saves a look at each request
app.register_middleware(web.edge, "http")
app.register_blueprint(authorizer.blueprint)
app.register_blueprint(jobs.jobs)
web.mount(app, (*ENDPOINTS, *DOCUMENTS))
