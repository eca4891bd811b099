"""The authorizer in front of the API: it identifies the caller before the API's function is started.

It is deployed as a function of its own, so it imports neither pydantic nor the routes.
"""

from datetime import UTC, datetime
from http import HTTPStatus

from chalice.app import AuthRequest, AuthResponse, Blueprint

from chalicelib.domain.agent import Caller
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.log import log_defect
from chalicelib.services import authentication

blueprint = Blueprint(__name__)

NOBODY = "nobody"  # the principal of a denial


@blueprint.authorizer(ttl_seconds=60)
def authorizer(request: AuthRequest) -> AuthResponse:
    """Return a policy for the whole API: the caller in its context, or a denial with the reason ACCESS_DENIED prints.

    API Gateway may reuse the policy for a minute. State and credentials may change in this minute, so the handler
    checks them again, against the credential version in the context.
    """
    try:
        return _allow(authentication.caller_of(request.token, datetime.now(UTC)))
    except ServiceError as refusal:
        if refusal.error.status == HTTPStatus.UNAUTHORIZED:
            return _deny(refusal)
        raise  # an outage is not a denial: API Gateway answers AUTHORIZER_FAILURE and stores nothing
    except Exception as defect:  # noqa: BLE001  an authorizer that fails lets nobody in
        log_defect(defect)
        raise ServiceError(ErrorCode.INTERNAL) from None  # its own message may quote the credential


def _allow(caller: Caller) -> AuthResponse:
    context = {
        "agent": str(caller.agent_id),
        "client": str(caller.client_id),
        "version": str(caller.credential_version),
        "terminal": "" if caller.terminal_id is None else str(caller.terminal_id),
    }
    return AuthResponse(routes=["*"], principal_id=str(caller.agent_id), context=context)


def _deny(refusal: ServiceError) -> AuthResponse:
    context = {"code": str(refusal.error.code), "message": refusal.message}
    return AuthResponse(routes=[], principal_id=NOBODY, context=context)
