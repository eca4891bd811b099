"""The authorizer of the API: it identifies the caller before the API's function starts.

It is deployed as its own function, so it imports neither pydantic nor the routes.
"""

from typing import Any

from chalice.app import AuthRequest, AuthResponse, Blueprint, ChaliceAuthorizer

from chalicelib import outside
from chalicelib.domain.agent import Caller
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.log import log_defect
from chalicelib.services import authentication
from chalicelib.settings import is_handler

REQUEST = "REQUEST"  # the type of the events of API Gateway
NOBODY = "nobody"  # the principal of a denial
# Refusals that may end at any moment. The API's function decides them, because API Gateway would repeat a denial.
PASSING = frozenset({ErrorCode.AGENT_BLOCKED, ErrorCode.LOGIN_LOCKED, ErrorCode.STORE_UNAVAILABLE})


class SignIn(AuthRequest):
    """A request to authorize: the Authorization header and the caller's address."""

    def __init__(self, event: dict[str, Any]) -> None:
        headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
        # Chalice's test client, and API Gateway while it updates a stage, send an event of type TOKEN.
        token = event.get("authorizationToken") or headers.get("authorization") or ""
        super().__init__(event["type"], token, event["methodArn"])
        self.source: str = event.get("requestContext", {}).get("identity", {}).get("sourceIp") or ""


class RequestAuthorizer(ChaliceAuthorizer):
    """Chalice's authorizer, called with the whole request (type REQUEST): a token has no source address."""

    def _transform_event(self, event: dict[str, Any]) -> SignIn:
        return SignIn(event)


class RequestBlueprint(Blueprint):
    """A blueprint whose authorizers are called with the whole request."""

    def _wrap_handler(self, handler_type: str, handler_name: str, user_handler: Any) -> RequestAuthorizer:
        del handler_type
        return RequestAuthorizer(handler_name, user_handler)


blueprint = RequestBlueprint(__name__)


@blueprint.authorizer(ttl_seconds=60)
def authorizer(request: SignIn) -> AuthResponse | None:
    """Return a policy for the whole API: the caller in its context, or a denial with a reason for ACCESS_DENIED.

    API Gateway may reuse the policy for a minute. State and credentials may change in that minute, so the handler
    checks them again (services.caller_check), against the credential version in the context. It also refuses a blocked
    or locked agent. Failures are not reused. API Gateway answers an exception with AUTHORIZER_FAILURE (503). None is no
    policy: it answers AUTHORIZER_CONFIGURATION_ERROR (500).
    """
    try:
        return _allow(authentication.authenticate(request.token, request.source, outside.now()))
    except ServiceError as refusal:
        is_outage = refusal.error is ErrorCode.STORE_UNAVAILABLE
        if is_outage and request.auth_type == REQUEST:
            raise  # Chalice's own gateway, which sends another type, would answer nothing
        if refusal.error.is_denial or is_outage:
            return _deny(refusal)
        log_defect(refusal)
    except Exception as defect:  # noqa: BLE001  a failing authorizer must let nobody in
        log_defect(defect)  # without its message, which may quote the credential
    return None


def verified_now(authorization: str) -> Caller:
    """Return the caller that the header proves now, or raise the reason for the refusal, for the API's function."""
    return authentication.caller_of(authorization, outside.now())


def _allow(caller: Caller) -> AuthResponse:
    context = {
        "agent": str(caller.agent_id),
        "client": str(caller.client_id),
        "version": str(caller.credential_version),
        "terminal": "" if caller.terminal_id is None else str(caller.terminal_id),
        "ends": "" if caller.ends_at is None else str(int(caller.ends_at.timestamp())),
    }
    if caller.session is not None:
        context["session"] = caller.session
    if caller.by is not None:
        context["by"] = caller.by
    return AuthResponse(routes=["*"], principal_id=str(caller.agent_id), context=context)


def _deny(refusal: ServiceError) -> AuthResponse:
    context = {"code": str(refusal.error.code), "message": refusal.message}
    return AuthResponse(routes=["*"] if refusal.error in PASSING else [], principal_id=NOBODY, context=context)


if is_handler(__name__):  # only in the authorizer's own function
    authentication.prepare()
