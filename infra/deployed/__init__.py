"""The package of a stage, run here: the zip under AWS's runtime client, behind a gateway that reads `build/sam.json`.

Nothing of the local stage (`infra.api_gateway`, `infra.http_server`, `chalice.local`) is between a request and the
functions: it is a second witness of what the template and the zip do.
"""
