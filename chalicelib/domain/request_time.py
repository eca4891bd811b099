"""How long a request lasts. Every wait in it fits into the time that API Gateway waits for its answer."""

from datetime import timedelta

GATEWAY_SECONDS = 29  # API Gateway waits no longer for an answer, and stops the function then
REQUEST_LASTS = timedelta(seconds=GATEWAY_SECONDS + 1)  # at most, after it has stored a transaction
# The same at a host without inquiries: the sweep then sends an advice. The first one must leave within 90 s, and the
# sweep runs each minute, so the whole time of a request would leave none to send it. The wait for the host is 20 s.
HOST_REQUEST_LASTS = REQUEST_LASTS - timedelta(seconds=5)
