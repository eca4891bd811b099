"""Merchants, agents and terminals in the tables, on both engines; races on DynamoDB Local alone."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from chalicelib.domain.agent import Agent, BranchActions, MobileSettings
from chalicelib.domain.kinds import Features
from chalicelib.domain.outbox import held_for_stream
from chalicelib.domain.terminal import Terminal
from chalicelib.domain.welcome import welcome_agent
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store import (
    agent_changes,
    agents,
    audit,
    merchant_changes,
    merchants,
    outbox,
    sequences,
    terminals,
    unique_names,
)
from chalicelib.store.agent_changes import LoginChange
from chalicelib.store.audit import Act, audit_entry, changed_fields, filled_fields
from chalicelib.store.retries import ChangedMeanwhileError, retry_on_change
from chalicelib.store.table import VERSION, commit, read, read_item
from tests.support.builders import NOW, a_login, a_merchant, a_terminal, an_agent, an_email
from tests.support.stored import stored_record

ACT = Act("create", 3, NOW)
HASH = "$argon2id$..."
UPDATE = Act("update", 3, NOW + timedelta(seconds=1))


def stored(**changes: object) -> Agent:
    """Store an agent and return it."""
    agent = an_agent(**changes)
    agent_changes.create(agent, a_login(agent), ACT)
    return agent


def create_terminal(terminal: Terminal) -> None:
    """Store a terminal as a merchant's administrator does."""
    mid = terminal.back_retailer_id
    names = [unique_names.register_tid(terminal.client_id, terminal.tid, terminal.id)]
    merchant_changes.create_terminal(
        terminal, ACT, *names, *([unique_names.register_mid(mid, terminal.client_id)] if mid else [])
    )


def in_parallel(work: Callable[[int], object], times: int) -> list[object]:
    """Return the result of each call, or the code of the ServiceError it raised."""

    def attempt(number: int) -> object:
        try:
            return work(number)
        except ServiceError as refusal:
            return refusal.error

    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(attempt, range(times)))


@pytest.mark.usefixtures("engine")
class TestOnBothEngines:
    def test_a_merchant_reads_back_as_it_was_stored(self) -> None:
        merchant = a_merchant(name="متجر 🛒", sbp='{"a":1}')
        merchant_changes.create(merchant, ACT)

        assert read(merchants.key(merchant.id)) == merchant

    def test_an_agent_reads_back_as_it_was_stored_and_so_does_its_login(self) -> None:
        agent = stored(terminal_id=4, secret_key_sealed=b"sealed")

        assert read(agents.key(agent.id)) == agent
        assert read(agents.login_key(agent.email)) == a_login(agent)

    def test_an_e_mail_belongs_to_one_agent_whatever_its_case(self) -> None:
        agent = stored()
        second = an_agent(email=agent.email.upper())

        with pytest.raises(ServiceError) as refusal:
            agent_changes.create(second, a_login(second), ACT)

        assert refusal.value.error is ErrorCode.EMAIL_TAKEN
        assert read(agents.key(second.id)) is None
        assert audit.of(f"agent#{second.id}") == []

    def test_a_name_belongs_to_one_terminal_of_a_merchant(self) -> None:
        first = a_terminal(client_id=an_agent().id)
        create_terminal(first)
        second, elsewhere = a_terminal(client_id=first.client_id), a_terminal(client_id=first.client_id + 10**6)

        with pytest.raises(ServiceError) as refusal:
            create_terminal(second)
        create_terminal(elsewhere)

        assert refusal.value.error is ErrorCode.TID_TAKEN
        assert read(terminals.key(second.id)) is None
        name = stored_record(unique_names.tid_key(first.client_id, first.tid))
        assert name.holder == first.id

    def test_terminals_and_agents_are_listed_by_their_merchant(self) -> None:
        client_id = an_agent().id
        for tid in ("B", "A"):
            create_terminal(a_terminal(client_id=client_id, tid=tid))
        first, second = stored(client_id=client_id), stored(client_id=client_id)

        assert [terminal.tid for terminal in terminals.of_merchant(client_id)] == ["A", "B"]
        assert agents.of_merchant(client_id) == [first, second]

    def test_a_list_continues_after_a_page_of_the_store(self) -> None:
        client_id = an_agent().id
        numbers = [stored(client_id=client_id, printer_settings="x" * 350_000).id for _ in range(4)]  # a page is 1 MB

        assert [agent.id for agent in agents.of_merchant(client_id)] == numbers

    def test_a_change_reaches_the_agent_its_login_and_the_audit(self) -> None:
        before = stored()
        after = replace(before, credential_version=2, state=0, terminal_id=5)

        agent_changes.change(before, after, LoginChange(password_hash=HASH, key_digest="digest"), UPDATE)

        login = read(agents.login_key(before.email))
        assert read(agents.key(before.id)) == replace(after, version=2)
        versions = {"version": 2, "agent_version": 1, "credential_version": 2}
        assert login == a_login(before, **versions, state=0, terminal_id=5, password_hash=HASH, key_digest="digest")
        entry = audit.of(f"agent#{before.id}")[-1]
        assert (entry.kind, entry.by, entry.fields) == ("update", 3, ("password", "state", "terminal_id"))

    def test_a_change_of_an_older_version_changes_nothing(self) -> None:
        before = stored()
        agent_changes.change(before, replace(before, name="Theirs"), LoginChange(), UPDATE)
        with pytest.raises(ChangedMeanwhileError):
            agent_changes.change(before, replace(before, state=0), LoginChange(password_hash=HASH), UPDATE)

        assert read(agents.key(before.id)) == replace(before, version=2, name="Theirs")
        assert read(agents.login_key(before.email)) == a_login(before, version=2, agent_version=1)

    def test_unlocking_removes_the_lock_and_the_count(self) -> None:
        before = an_agent()
        agent_changes.create(before, a_login(before, failed_attempts=10, locked_until=NOW), ACT)
        agent_changes.change(before, before, LoginChange(unlock=True), UPDATE)

        assert read(agents.login_key(before.email)) == a_login(before, version=2, agent_version=1)

    def test_an_e_mail_moves_with_everything_in_its_login(self) -> None:
        before = an_agent()
        login = a_login(before, password_hash=HASH, last_logon=NOW, failed_attempts=3)
        agent_changes.create(before, login, ACT)
        after = replace(before, email=an_email().upper())

        agent_changes.change(before, after, LoginChange(moved=login), UPDATE)

        assert read(agents.login_key(before.email)) is None
        assert read(agents.login_key(after.email)) == replace(login, email=after.email.lower(), agent_version=1)

    def test_an_e_mail_that_is_taken_moves_nothing(self) -> None:
        before, other = stored(), stored()

        after = replace(before, email=other.email)

        with pytest.raises(ServiceError) as refusal:
            agent_changes.change(before, after, LoginChange(moved=a_login(before)), UPDATE)

        assert refusal.value.error is ErrorCode.EMAIL_TAKEN
        assert read(agents.key(before.id)) == before
        assert read(agents.login_key(before.email)) == a_login(before)
        assert read(agents.login_key(other.email)) == a_login(other)

    def test_a_merchants_change_is_refused_when_it_changed_meanwhile(self) -> None:
        before = a_merchant()
        merchant_changes.create(before, ACT)
        merchant_changes.change(before, replace(before, web="theirs"), UPDATE)

        with pytest.raises(ChangedMeanwhileError):
            merchant_changes.change(before, replace(before, web="ours"), UPDATE)

        assert read(merchants.key(before.id)) == replace(before, version=2, web="theirs")
        assert [entry.fields for entry in audit.of(f"merchant#{before.id}")][1:] == [("web",)]

    def test_ids_are_never_given_twice(self) -> None:
        first = sequences.next_id("test")
        assert list(sequences.next_ids("test", 3)) == [first + 1, first + 2, first + 3]
        assert sequences.next_id("test") == first + 4

    def test_the_numbers_of_a_terminal_begin_anywhere_and_go_on_from_there(self) -> None:
        mid, tid = an_email(), "T1"

        assert list(sequences.next_stans(mid, tid, 2, start=999_000)) == [999_001, 999_002]
        assert list(sequences.next_stans(mid, tid, 2, start=5)) == [999_003, 999_004]

    def test_names_that_differ_in_the_spaces_a_host_fills_them_with_have_one_sequence(self) -> None:
        mid = an_email()

        assert list(sequences.next_stans(mid, "T1", 2, start=7)) == [8, 9]
        assert list(sequences.next_stans(f"{mid} ", "T1  ", 2, start=7)) == [10, 11]

    def test_a_message_is_stored_once(self) -> None:
        message = welcome_agent(an_email(), 7, "Thandi", "thandi@shop.example", NOW)
        commit(outbox.put(message))

        assert read(outbox.key(message.id)) == held_for_stream(message)
        with pytest.raises(outbox.AlreadyStoredError):
            commit(outbox.put(message))


@pytest.mark.usefixtures("dynamodb_local")
class TestRaces:
    def test_of_many_agents_with_one_e_mail_one_is_created(self) -> None:
        email = an_email()

        def create(_: int) -> str:
            agent = an_agent(email=email)
            agent_changes.create(agent, a_login(agent), ACT)
            return "created"

        outcomes = in_parallel(create, 16)

        assert sorted(map(str, outcomes)) == ["ErrorCode.EMAIL_TAKEN"] * 15 + ["created"]

    def test_of_many_terminals_with_one_name_one_is_created(self) -> None:
        client_id = an_agent().id
        outcomes = in_parallel(lambda _: create_terminal(a_terminal(client_id=client_id)), 16)

        assert outcomes.count(None) == 1
        assert outcomes.count(ErrorCode.TID_TAKEN) == 15

    def test_of_many_merchants_with_one_number_at_the_bank_one_gets_it(self) -> None:
        def create(_: int) -> None:
            create_terminal(a_terminal(back_retailer_id="RACE 1"))

        outcomes = in_parallel(create, 16)

        assert outcomes.count(None) == 1
        assert outcomes.count(ErrorCode.TID_TAKEN) == 15

    def test_ids_stay_unique_under_many_requests_at_once(self) -> None:
        assert len(set(in_parallel(lambda _: sequences.next_id("race"), 32))) == 32

    def test_changes_of_different_fields_at_the_same_time_are_all_stored(self) -> None:
        agent = stored()
        names = [
            "name",
            "tax_id",
            "language_id",
            "country_id",
            "currency_id",
            "address_de_facto",
            "phone",
            "avatar_key",
        ]

        def change(number: int) -> None:
            def attempt() -> None:
                before = stored_record(agents.key(agent.id))
                after = replace(before, **{names[number]: str(number)})  # type: ignore[arg-type]
                agent_changes.change(before, after, LoginChange(), UPDATE)

            retry_on_change(attempt)

        in_parallel(change, len(names))

        after = read(agents.key(agent.id))
        assert [getattr(after, name) for name in names] == [str(number) for number in range(len(names))]


@pytest.mark.slow
def test_a_record_that_never_stops_changing_is_an_outage_and_not_an_endless_loop() -> None:
    def attempt() -> None:
        raise ChangedMeanwhileError

    with pytest.raises(ServiceError) as refusal:
        retry_on_change(attempt)

    assert refusal.value.error is ErrorCode.STORE_UNAVAILABLE


@pytest.mark.usefixtures("engine")
def test_each_write_raises_the_version_of_its_item_and_a_replaced_one_loses_its_old_fields() -> None:
    before = stored(terminal_id=7)
    versions = []
    for number in range(3):
        after = replace(before, terminal_id=None, name=f"Till {number}")
        agent_changes.change(before, after, LoginChange(), UPDATE)
        items = [read_item(key) for key in (agents.key(after.id), agents.login_key(after.email))]
        versions.append([item[VERSION]["N"] for item in items])
        before = stored_record(agents.key(after.id))

    assert versions == [["2", "2"], ["3", "3"], ["4", "4"]]
    assert before == replace(after, version=4)


def test_the_changed_fields_are_named_and_the_bookkeeping_is_not() -> None:
    before = an_agent()
    after = replace(before, name="Other", tax_id="1", version=2, credential_version=2)

    assert changed_fields(before, after) == ("name", "tax_id")


def test_the_fields_that_have_a_value_in_a_new_record_are_named() -> None:
    names = filled_fields(an_agent(tax_id="1"))

    assert {"name", "email", "tax_id"} <= set(names)
    assert not {"version", "country_id", "deleted"} & set(names)


def test_a_change_keeps_the_former_values_but_no_secret_and_no_text_as_sent() -> None:
    before = an_agent(name="Old", tax_id="1", secret_key_sealed=b"sealed", acquirers_settings='{"Key": "k"}')
    branches, mobile = (
        (BranchActions(7, (220, 201)),),
        MobileSettings(Features(accept_cash=False), mob_home_url="https://x.example/?key=k"),
    )
    before = replace(before, branches_actions=branches, mobile_settings=mobile)
    after = an_agent(name="New", secret_key_sealed=b"another", mobile_settings=MobileSettings(Features()))

    assert audit.former_values(replace(before, id=after.id, email=after.email), after) == {
        "name": "Old",
        "tax_id": "1",
        "secret_key_sealed": "",
        "acquirers_settings": "",
        "branches_actions": "branch_id 7, actions 201; 220",
        "mobile_settings": "features accept_cash False, mob_home_url https://x.example",
    }


@dataclass(frozen=True)
class SentTo:
    url: str = ""
    mob_home_url: str = ""
    description: str = ""


@pytest.mark.parametrize(
    ("field", "value", "former"),
    [
        ("url", "https://hooks.example/services/T0/SECRET", "https://hooks.example"),
        ("url", "https://user:SECRET@host.example/", "https://host.example"),
        ("url", " HTTPS://Host.example:8443?token=SECRET", "HTTPS://Host.example"),
        ("mob_home_url", "http://host.example#token=SECRET", "http://host.example"),
        ("url", "https://a:SE CRET@host.example", "https://host.example"),
        ("url", "https://host.example\\SECRET", "https://host.example"),
        ("url", "otpauth://totp/a?secret=SECRET", "otpauth:"),
        ("url", "host.example/?k=SECRET", ""),
        ("url", "https://4242424242424242/", "https://424242******4242"),
        ("description", "1 Long St, http://a@host.example/SECRET, left", "1 Long St, http://host.example left"),
        ("description", "card 4242 4242 4242 4242", "card 424242******4242"),
    ],
)
def test_a_former_value_has_no_card_number_and_no_part_of_an_address_that_may_be_a_secret(
    field: str, value: str, former: str
) -> None:
    before = SentTo(**{field: value})

    assert audit.former_values(before, SentTo()) == {field: former}


def test_an_entry_holds_its_names_in_order() -> None:
    record = audit_entry("agent#17", Act("update", 3, NOW), ["phone", "name"], "0f")

    assert record.object == "agent#17"
    assert record.at == "2026-03-14T09:26:53.589793+00:00#0f"
    assert (record.kind, record.by, record.fields) == ("update", 3, ("name", "phone"))
