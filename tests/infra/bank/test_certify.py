"""`make certify`: the list of cases, the table, and the stage that the cases run on."""

from collections.abc import Iterator

import pytest

from infra.certify.__main__ import BY_HAND, FAILED, PASSED, Row, main, result_of, stage_environment, table
from infra.certify.cases import CASES, Case, differs
from infra.certify.client import Service

NOBODY = Service("http://127.0.0.1:9")
BY_NUMBER = {case.number: case for case in CASES}


def broken(service: Service) -> Iterator[str]:
    service.pay("1.00")
    yield from ()


def test_every_case_of_the_page_is_there_once_and_the_outage_is_last() -> None:
    found: list[int] = []
    for case in CASES:
        first, _, last = case.number.removesuffix("b").partition("-")
        found += range(int(first), int(last or first) + 1)

    assert set(found) == set(range(1, 39))
    assert len(BY_NUMBER) == len(CASES)
    assert CASES[-1].number == "25"


def test_a_case_that_needs_the_hosts_own_configuration_says_what_to_do_by_hand() -> None:
    by_hand = {case.number for case in CASES if case.run is None}

    assert by_hand == {"22", "23", "26", "27", "28", "30", "31"}
    assert all(BY_NUMBER[number].how for number in by_hand)


def test_the_table_names_what_passed_what_failed_and_why() -> None:
    rows = [
        Row(Case("1", "a right one"), PASSED),
        Row(Case("2", "a wrong one"), FAILED, ("the state is 400/412, not 400/411",)),
        Row(Case("3", "another"), BY_HAND, ("stop the host",)),
    ]

    assert [line.rstrip() for line in table(rows).splitlines()] == [
        "nr    case                                            result",
        "-------------------------------------------------------------",
        "1     a right one                                     passed",
        "2     a wrong one                                     FAILED",
        "        the state is 400/412, not 400/411",
        "3     another                                         by hand",
        "        stop the host",
        "",
        "1 passed, 1 failed, 1 by hand",
    ]


def test_no_title_runs_into_the_result() -> None:
    assert max(len(case.title) for case in CASES) < 48


def test_a_difference_names_what_was_found_and_what_was_expected() -> None:
    assert list(differs("the state", "400/411", "400/404", "400/403")) == [
        "the state is 400/411, not 400/404 or 400/403"
    ]
    assert list(differs("the state", "400/403", "400/404", "400/403")) == []


def test_a_case_that_breaks_has_failed_and_the_others_are_run() -> None:
    row = result_of(Case("1", "no stage", broken), NOBODY)

    assert (row.result, len(row.notes)) == (FAILED, 1)
    assert row.notes[0].startswith("ConnectionRefusedError")


def test_a_case_passes_and_fails_as_the_service_answers(stage: str) -> None:
    results = {number: result_of(BY_NUMBER[number], Service(stage)) for number in ("17", "32", "7")}

    # the sandbox, which has other cents than the host of the page: 66 is none of them
    assert {number: row.result for number, row in results.items()} == {"17": PASSED, "32": PASSED, "7": FAILED}
    assert results["7"].notes[0] == "ErrorCode of 30.66 is 0, not 1070"


def test_a_stage_is_pointed_at_the_host_that_is_named() -> None:
    found = stage_environment({"HOST": "bank.example", "PORT": "8583", "ISO8583_CA": "/ca.pem", "ACQUIRER": "iso8583"})

    assert (found["ACQUIRERS"], found["ISO8583_HOST"], found["ISO8583_PORT"]) == ("ISO8583", "bank.example", "8583")
    assert found["ISO8583_CA"] == "/ca.pem"
    assert "ACQUIRER" not in found
    assert found["PORT"] != "8583"


def test_without_a_host_the_bank_of_the_local_stage_is_tried() -> None:
    found = stage_environment({"ACQUIRERS": "SANDBOX"})

    assert found["ACQUIRER"] == "iso8583"
    assert not {"ACQUIRERS", "ISO8583_HOST"} & set(found)


@pytest.mark.parametrize("environment", [{"HOST": "bank.example"}, {"PORT": "8583"}])
def test_half_an_address_is_refused(environment: dict[str, str]) -> None:
    with pytest.raises(SystemExit, match="HOST and PORT name the host"):
        stage_environment(environment)


def test_a_case_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASES", "9 99")

    with pytest.raises(SystemExit, match="CASES names 99; there are 1-4"):
        main()
