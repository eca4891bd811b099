"""Pages and files that are served as they are, without the envelope; their headers keep a page to itself."""

from chalice.app import Response

# A page loads and asks what is at its own origin only, and nobody shows it in a frame. Styles in the page are allowed,
# because the renderer of the reference makes them as it runs.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding",  # the gateway compresses it for whoever takes that, and caches keep it
    "X-Content-Type-Options": "nosniff",
}
FOR_A_YEAR = "max-age=31536000, immutable"  # a file whose name changes with its content


class Document(Response):
    """A file of the service; `cached` is its Cache-Control, `policy` its Content-Security-Policy."""

    error_code, fields = 0, ()

    def __init__(self, text: str, media_type: str, cached: str = "max-age=300", policy: str = POLICY) -> None:
        headers = {"Content-Security-Policy": policy, "Content-Type": media_type, "Cache-Control": cached}
        super().__init__(text, {**HEADERS, **headers}, 200)


class Moved(Document):
    """The way to a document from another address; `location` may be relative to the address that was asked for."""

    def __init__(self, location: str) -> None:
        super().__init__("", "text/plain")
        self.status_code = 308
        self.headers["Location"] = location
