"""The service: one Chalice app, made of the interface's endpoints and the middleware at its edge."""

from chalice.app import Chalice

from chalicelib import authorizer, web
from chalicelib.routes import DOCUMENTS, ENDPOINTS, jobs

app = Chalice(app_name="payments")
app.api.binary_types = []  # nothing binary is served: saves a look at each request
app.register_middleware(web.edge, "http")
app.register_blueprint(authorizer.blueprint)
app.register_blueprint(jobs.jobs)
web.mount(app, (*ENDPOINTS, *DOCUMENTS))
