"""SMS through Amazon SNS."""

from typing import TYPE_CHECKING

from chalicelib import outside
from chalicelib.domain.outbox import NotSentError, Outbox
from chalicelib.settings import settings

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient


def send(message: Outbox, to: str) -> str:
    """Send one SMS to one E.164 number and return its SNS ID; raise NotSentError within three seconds."""
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  only needed for a message

    attributes = {"AWS.SNS.SMS.SMSType": "Transactional", "AWS.SNS.SMS.SenderID": settings().sms_sender or ""}
    try:
        response = _client().publish(
            PhoneNumber=to,
            Message=message.text or "",
            MessageAttributes={
                name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()
            },
        )
    except ClientError as error:
        raise NotSentError(error.response["Error"]["Code"]) from error
    except BotoCoreError as error:
        raise NotSentError(type(error).__name__) from error
    return response["MessageId"]


@outside.made_once
def _client() -> "SNSClient":
    client: SNSClient = outside.current.boto3_client("sns", attempts=1, read_seconds=2)
    return client
