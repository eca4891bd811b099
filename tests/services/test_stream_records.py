"""Records of a stream, without tables."""

import json

import pytest

from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.services import stream_records
from chalicelib.store.table import UnreadableError


def test_of_records_only_those_that_meet_an_outage_come_again(capsys: pytest.CaptureFixture[str]) -> None:
    errors = {"unreadable": UnreadableError("KeyError"), "outage": ServiceError(ErrorCode.STORE_UNAVAILABLE)}

    def begin(image: stream_records.Image) -> str:
        if image["is"] in errors:
            raise errors[image["is"]]
        return str(image["is"])

    records = list(enumerate(("first", "unreadable", "outage", "last")))
    begun = stream_records.begin_each([(str(number), {"is": name}) for number, name in records], begin)

    assert begun == (["first", "last"], ["2"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["event"], line["number"]) for line in lines] == [("unreadable", "1"), ("outage", "2")]
    assert lines[0]["reason"] == "KeyError"
