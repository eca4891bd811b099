import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from chalicelib import exact_json
from chalicelib.schemas import shown_size
from chalicelib.schemas.base import fields_of
from chalicelib.schemas.terminals import CreateTerminal, UpdateTerminal
from chalicelib.store import audit, merchants, terminals, unique_names
from chalicelib.store.table import commit, put_new
from tests.support import builders, http
from tests.support.builders import (
    PASSWORD,
    Shop,
    a_shop,
    a_terminal,
    agent_body,
    an_agent,
    merchant_update,
    terminal_body,
)
from tests.support.cards import a_card_body
from tests.support.stored import stored_record
from tests.support.transactions import a_body

CREATE, SUBMIT = "/api/v1/terminal/create", "/api/v1/payment/submit"


def test_a_terminal_is_answered_as_it_was_sent(shop: Shop) -> None:
    sent = terminal_body(shop.id)
    terminal = shop.post(CREATE, sent).body["Terminal"]

    same = set(sent) & set(terminal) - {"Latitude", "Longitude"}
    assert {name: terminal[name] for name in same} == {name: sent[name] for name in same}
    assert (terminal["SelfService"], terminal["ClientID"], terminal["FinstID"]) == ("0", shop.id, 4)
    assert (str(terminal["Latitude"]), str(terminal["Longitude"])) == ("-33.92", "18.42")
    assert terminal["BranchName"] == "Corner Store"


def test_a_terminal_belongs_to_default_unless_a_group_is_named(shop: Shop) -> None:
    default = shop.terminal(TerminalGroupCode=None)["GroupID"]
    softpos = shop.terminal(TerminalGroupCode="SOFTPOS")["GroupID"]

    assert softpos == default + 1
    assert shop.terminal(TerminalGroupCode=None, TerminalGroupID=softpos)["GroupID"] == softpos


def test_a_group_that_the_merchant_does_not_have_is_refused(shop: Shop) -> None:
    foreign = a_shop(shop.stage).terminal()["GroupID"]
    for group in ({"TerminalGroupCode": "NONE"}, {"TerminalGroupID": 10**9}, {"TerminalGroupID": foreign}):
        reply = shop.post(CREATE, terminal_body(shop.id, **{"TerminalGroupCode": None, **group}))

        assert (reply.error, reply.findings) == ((404, 569), [(next(iter(group)), 569)])


def test_two_groups_that_differ_are_a_contradiction(shop: Shop) -> None:
    default = shop.terminal(TerminalGroupCode=None)["GroupID"]
    reply = shop.post(CREATE, terminal_body(shop.id, TerminalGroupID=default))

    assert (reply.error, reply.findings) == ((400, 202), [("TerminalGroupCode", 12)])


@pytest.mark.parametrize(("requested", "accounts"), [(True, []), (False, None), (None, None)])
def test_a_new_terminal_answers_its_accounts_when_they_are_requested(
    shop: Shop, *, requested: bool | None, accounts: list[Any] | None
) -> None:
    assert shop.terminal(WithAccounts=requested)["Accounts"] == accounts


def test_a_name_is_taken_once_by_a_merchant_and_is_the_alias_that_is_missing(shop: Shop) -> None:
    terminal = shop.terminal(Alias=None, Location="Rue de l'Église 7, Łódź")
    name = terminal["Name"]

    assert (terminal["Alias"], terminal["Location"]) == (name, "Rue de l'Église 7, Łódź")
    assert shop.post(CREATE, terminal_body(shop.id, Name=name)).error == (409, 308)
    assert a_shop(shop.stage).terminal(Name=name)["Name"] == name


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("SIC", "541", 3),
        ("SIC", "٥٤١١", 3),
        ("Currency", "ZAR", 3),
        ("Currency", "999", 6),
        ("Currency", "000", 6),
        ("Country", "ZA", 3),
        ("Country", "999", 6),
        ("CountryCode", "??", 6),
        ("RegionCode", "XX", 6),
        ("RegionCode", "ABCD", 3),
        ("EntryCaps", "11", 6),
        ("EntryCaps", "", 6),
        ("Location", "Длинная улица", 3),
        ("Location", "", 5),
        ("Phone", "12", 3),
        ("Latitude", 91, 5),
        ("Name", "", 5),
        ("Name", "x" * 257, 4),
        ("State", 2, 5),
        ("Sbp", "text", 2),
    ],
)
def test_a_field_out_of_its_range_is_refused_by_name(shop: Shop, field: str, value: Any, code: int) -> None:
    reply = shop.post(CREATE, terminal_body(shop.id, **{field: value}))

    assert reply.error == (400, 202)
    assert (field, code) in reply.findings


@pytest.mark.parametrize("region", ["GP", "KZN", "wc", "GT"])
def test_a_south_african_region_is_a_province(shop: Shop, region: str) -> None:
    assert shop.terminal(RegionCode=region)["RegionCode"] == region.upper()


def test_elsewhere_a_region_is_any_short_code(shop: Shop) -> None:
    terminal = shop.terminal(Country="840", CountryCode="USA", Currency="840", RegionCode="NY", Phone=None)

    assert (terminal["RegionCode"], terminal["Currency"]) == ("NY", "840")


def test_the_country_of_a_terminal_is_apart_from_the_place_of_the_request(shop: Shop) -> None:
    terminal = shop.terminal(CountryCode="BW", Phone="71 234 567")

    assert (terminal["Country"], terminal["Phone"]) == ("710", "+267 71 234 567")
    assert stored_record(terminals.key(terminal["ID"])).country_code == "ZA"


def test_both_spellings_of_self_service_are_taken_and_a_difference_is_told(shop: Shop) -> None:
    assert shop.terminal(SelfService=None, SelfSevice="1")["SelfService"] == "1"

    reply = shop.post(CREATE, terminal_body(shop.id, SelfSevice="0", SelfService="1"))
    assert (reply.error, reply.findings) == ((400, 202), [("SelfService", 12)])


def test_the_branch_is_the_callers_merchant_and_everything_else_is_answered_alike(shop: Shop) -> None:
    other = a_shop(shop.stage)
    answers = {shop.post(CREATE, terminal_body(number)).text for number in (other.id, 0, 10**9)}

    assert len(answers) == 1
    assert '"ErrorCode":565' in answers.pop()


def test_a_system_user_creates_terminals_everywhere_there_is_a_merchant(shop: Shop) -> None:
    assert shop.post(CREATE, terminal_body(shop.id), http.SYSTEM).status == 200
    assert shop.post(CREATE, terminal_body(10**9), http.SYSTEM).error == (404, 565)


def test_an_agent_creates_no_terminal(shop: Shop) -> None:
    agent = shop.agent()

    for branch in (shop.id, 10**9):
        reply = shop.post(CREATE, terminal_body(branch), (agent["Email"], builders.PASSWORD))
        assert reply.error == (403, 151)


def test_everything_that_was_sent_is_stored_and_the_audit_knows(shop: Shop) -> None:
    terminal = shop.terminal()

    stored = stored_record(terminals.key(terminal["ID"]))
    assert (stored.with_accounts, stored.for_account, stored.sbp) == (False, False, '{"Id":"1"}')
    assert "Android" in (stored.request_context or "")
    (entry,) = audit.of(f"terminal#{stored.id}")
    assert (entry.kind, entry.by) == ("create", shop.owner_id)


@pytest.mark.parametrize("spelling", ["BANK {}", "bank {}", "  BANK {} ", " Bank {}"])
def test_the_number_at_the_bank_belongs_to_the_merchant_that_first_has_it(shop: Shop, spelling: str) -> None:
    other, mid = a_shop(shop.stage), f"BANK {shop.id}"
    shop.terminal(BackRetailerID=mid)
    shop.terminal(BackRetailerID=f"{mid}  ")
    refused = other.post(CREATE, terminal_body(other.id, BackRetailerID=spelling.format(shop.id)))

    assert (refused.error, refused.findings) == ((409, 308), [("BackRetailerID", 308)])
    assert other.terminal(BackRetailerID="  ")["BackRetailerID"] is None, "blanks are no number"


@pytest.mark.parametrize("name", ["TÉL 1", "TID\t1", "TID\u200b1", "\uff34\uff29\uff24", "TID\n1", "   "])
def test_a_terminals_name_and_number_are_printable_ascii(shop: Shop, name: str) -> None:
    body = terminal_body(shop.id, Name=name, BackRetailerID=f"{name}\x7f")
    reply = shop.post(CREATE, body)

    assert reply.error == (400, 202)
    assert {name for name, _ in reply.findings} == {"Name", "BackRetailerID"}


def test_blanks_around_a_terminals_name_do_not_count(shop: Shop) -> None:
    terminal = shop.terminal(Name=" TILL 7 ")
    again = shop.post(CREATE, terminal_body(shop.id, Name="TILL 7"))

    assert terminal["Name"] == "TILL 7"
    assert (again.error, again.findings) == ((409, 308), [("Name", 308)])
    assert shop.agent(TID="  TILL 7")["TerminalID"] == terminal["ID"]


def test_a_number_that_moves_takes_the_card_payments_of_its_former_merchant_but_not_their_returns(shop: Shop) -> None:
    other, mid = a_shop(shop.stage), f"BANK {shop.id}"
    till, other_till = a_card_till(shop, mid), a_card_till(other, "OTHER")
    paid = shop.post(SUBMIT, a_card_body("12.30"), till)
    spelt = f" {mid.lower()} "
    moved = http.post(shop.stage, CREATE, terminal_body(other.id, BackRetailerID=spelt), http.SYSTEM)

    assert (moved.error, moved.findings) == ((200, 0), [("BackRetailerID", 308)])
    (item,) = moved.body["Validations"]
    assert item["Type"] == 2
    assert f"Corner Store's, merchant {shop.id}:" in item["Message"]
    assert shop.post(CREATE, terminal_body(shop.id, BackRetailerID=mid)).error == (409, 308)
    assert shop.post(SUBMIT, a_card_body("12.30"), till).error == (409, 315)
    assert shop.post(SUBMIT, a_body(), till).error == (200, 0), "cash needs no number"
    assert shop.post(SUBMIT, a_card_body("12.30"), a_card_till(shop, "NEW")).error == (200, 0)
    assert other.post(SUBMIT, a_card_body("12.30"), other_till).error == (200, 0)
    assert other.terminal(BackRetailerID=mid)["BackRetailerID"] == mid
    back = {"TransactionID": paid.body["TransactionID"], "ReverseMode": 5}
    assert shop.post("/api/v1/payment/reversecnp", {"BasicReverseTran": back}, till).error == (200, 0)


def test_a_number_that_comes_back_takes_card_payments_again(shop: Shop) -> None:
    other, mid = a_shop(shop.stage), f"BANK {shop.id}"
    till = a_card_till(shop, mid)
    other_till = (other.agent(TerminalID=moved(other, mid, shop)["ID"])["Email"], PASSWORD)
    assert other.post(SUBMIT, a_card_body("12.30"), other_till).error == (200, 0)
    moved(shop, mid, other)

    assert shop.post(SUBMIT, a_card_body("12.30"), till).error == (200, 0)
    assert other.post(SUBMIT, a_card_body("12.30"), other_till).error == (409, 315)
    assert [one.fields for one in audit.of(f"merchant#{shop.id}")][1:] == [("lost_mids",)] * 2


def test_a_move_that_meets_a_change_of_the_merchant_is_made_again(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    other, mid = a_shop(shop.stage), f"BANK {shop.id}"
    till, move = a_card_till(shop, mid), unique_names.move_mid

    def meanwhile(*arguments: Any) -> Any:
        monkeypatch.setattr(unique_names, "move_mid", move)
        assert shop.post(f"{shop.path}/update", merchant_update(Name="Renamed", Image=None)).error == (200, 0)
        return move(*arguments)

    monkeypatch.setattr(unique_names, "move_mid", meanwhile)
    moved(other, mid, shop)

    assert shop.post(SUBMIT, a_card_body("12.30"), till).error == (409, 315)
    assert stored_record(merchants.key(shop.id)).name == "Renamed"


def a_card_till(shop: Shop, mid: str) -> tuple[str, str]:
    """Return the login of a new agent at a terminal with this number at the bank."""
    return shop.agent(TerminalID=shop.terminal(Currency="710", BackRetailerID=mid)["ID"])["Email"], PASSWORD


def moved(winner: Shop, mid: str, loser: Shop) -> dict[str, Any]:
    """Return the terminal with which a system user gives the number of `loser` to `winner`."""
    body = terminal_body(winner.id, Currency="710", BackRetailerID=mid)
    reply = http.post(winner.stage, CREATE, body, http.SYSTEM)
    assert reply.findings == [("BackRetailerID", 308)]
    assert f"merchant {loser.id}" in reply.body["Validations"][0]["Message"]
    terminal: dict[str, Any] = reply.body["Terminal"]
    return terminal


def test_an_agent_without_a_terminal_takes_no_payment(shop: Shop) -> None:
    agent = shop.agent()
    refused = shop.post(SUBMIT, a_body(), (agent["Email"], PASSWORD))

    assert refused.error == (409, 315)


def test_a_blocked_terminal_takes_no_payment(shop: Shop) -> None:
    agent = shop.agent(TerminalID=shop.terminal(Currency="710", State=0)["ID"])
    body = a_body()

    assert shop.post(SUBMIT, body, (agent["Email"], PASSWORD)).error == (409, 315)
    assert shop.post("/api/v1/payment/listHistoryEx", {}).body["TransactionsCounters"]["ItemCountTtl"] == 0


def test_terminals_are_listed_newest_first_and_found_by_text_and_state(shop: Shop) -> None:
    first, second = (
        shop.terminal(Title="Kiosk", Name="TILL-A"),
        shop.terminal(State=0, City="Paarl", BackRetailerID="MID-OF-MY-BANK"),
    )
    a_shop(shop.stage).terminal()

    def listed(**body: Any) -> list[int]:
        reply = shop.post(f"{shop.path}/terminal/list", body)
        assert reply.error == (200, 0)
        return [one["ID"] for one in reply.body["Terminals"]]

    assert listed() == [second["ID"], first["ID"]]
    assert listed(Search="KIOSK") == listed(State=1) == listed(Search="till-a") == [first["ID"]]
    assert listed(Search="of-my-bank") == listed(Search="paarl") == [second["ID"]]
    assert listed(Search="kiosk", State=0) == []
    newer = [a_terminal(client_id=shop.id, created_at=datetime.now(UTC)) for _ in range(99)]
    commit(*(put_new("terminals", one, "id") for one in newer))
    page = shop.post(f"{shop.path}/terminal/list", {"Page": 2}).body
    assert page["Terminals"] == [first]
    assert page["TerminalsCounters"] == {"Pagesize": 100, "ItemCountPage": 1, "ItemCountTtl": 101, "PageCount": 2}


LONG = ("Branch", "City", "Region", "Owner", "ZIP", "TimeOffset", "ContactlessCapable", "SelfService", "Class", "Type")


@pytest.mark.parametrize("character", ["x", "\x01", '"', "🧾"])
def test_a_terminal_is_answered_in_40_kb_or_refused(shop: Shop, character: str) -> None:
    long = {
        **dict.fromkeys(LONG, character * 512),
        "Description": character * 1024,
        "Location": '"' * 512,
        "Sbp": {"a": "日" * 2600},
    }
    each = [shop.post(CREATE, terminal_body(shop.id, **{name: value})) for name, value in long.items()]
    together = shop.post(CREATE, terminal_body(shop.id, **long))

    assert {reply.error for reply in each} == {(200, 0)}
    if character == "\x01":
        assert (together.error, together.findings) == ((400, 202), [("Sbp", 4)])
    else:
        shown = exact_json.text(together.body["Terminal"])
        assert len(shown.encode()) <= 40_000
        assert len(json.dumps(shown, ensure_ascii=False).encode()) <= 60_000
    listed = shop.post(f"{shop.path}/terminal/list", {}).body
    assert len(listed["Terminals"]) == len(long) + (character != "\x01")


def test_a_list_of_terminals_has_their_agents_of_now(shop: Shop) -> None:
    first, second = shop.terminal(Title="Kiosk"), shop.terminal()
    one, other = (shop.agent(TerminalID=first["ID"]) | {"SecretKey": None} for _ in range(2))

    def listed(**body: Any) -> dict[int, tuple[Any, ...]]:
        found = shop.post(f"{shop.path}/terminal/list", body).body["Terminals"]
        names = ("PosCount", "DirectPosCount", "Accounts")
        return {terminal["ID"]: tuple(terminal[name] for name in names) for terminal in found}

    assert listed() == {first["ID"]: (2, 2, None), second["ID"]: (0, 0, None)}
    shop.post(f"{shop.path}/pos/{other['ID']}/update", {"TerminalID": second["ID"]})
    found = listed(WithAccounts=True)
    assert [found[terminal["ID"]][0] for terminal in (first, second)] == [1, 1]
    assert [found[terminal["ID"]][2][0]["ID"] for terminal in (first, second)] == [one["ID"], other["ID"]]
    assert found[first["ID"]][2] == shop.post(f"{shop.path}/pos/list", {"Search": one["Email"]}).body["PosList"]
    shop.post(f"{shop.path}/pos/{one['ID']}/update", {"TIDNull": True})
    assert listed(WithAccounts=True, Search="kiosk") == {first["ID"]: (0, 0, [])}


def test_a_page_of_terminals_shows_a_hundred_agents_at_most(shop: Shop) -> None:
    terminal = shop.terminal()
    agents = [an_agent(client_id=shop.id, terminal_id=terminal["ID"]) for _ in range(101)]
    commit(*(put_new("agents", one, "id") for one in agents[:100]))
    commit(put_new("agents", agents[100], "id"))

    assert shop.post(f"{shop.path}/terminal/list", {}).body["Terminals"][0]["PosCount"] == 101
    assert shop.post(f"{shop.path}/terminal/list", {"WithAccounts": True}).error == (400, 404)


def test_a_page_of_terminals_with_large_agents_is_refused_and_one_without_them_is_not(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.agent(TerminalID=shop.terminal()["ID"])
    monkeypatch.setattr(shown_size, "MOST_OF_A_PAGE", 2_000)

    assert shop.post(f"{shop.path}/terminal/list", {"WithAccounts": True}).error == (400, 404)
    assert shop.post(f"{shop.path}/terminal/list", {}).error == (200, 0)


OF_CREATION_ALONE = {"BranchID", "Currency", "Country", "CountryCode"}


def change(shop: Shop, number: int, login: Any = None, **changes: Any) -> http.Reply:
    return shop.post(f"{shop.path}/terminal/{number}/update", changes, login)


def test_a_terminal_is_updated_in_every_field_that_its_creation_takes_and_sent_back_it_changes_nothing(
    shop: Shop,
) -> None:
    missing = fields_of(CreateTerminal).names - fields_of(UpdateTerminal).names
    assert missing == OF_CREATION_ALONE - {"CountryCode"}  # which tells where the request comes from
    before = shop.terminal()
    agent = shop.agent(TerminalID=before["ID"])
    body = terminal_body(shop.id, SIC="5412", City="Durban", RegionCode="nl", EntryCaps="2", Description="Other")
    body |= {"Phone": "+27 82 987 6544", "Alias": "Other", "WithAccounts": True, "TerminalGroupCode": "SBP"}
    others = {"BranchID": 5, "Currency": "840", "Country": "840", "CountryCode": "US"}  # they change nothing

    reply = change(shop, before["ID"], **body | others)
    terminal = reply.body["Terminal"]
    same = set(body) & set(terminal) - {"Latitude", "Longitude", "RegionCode", *OF_CREATION_ALONE}
    assert {name: terminal[name] for name in same} == {name: body[name] for name in same}
    assert terminal["GroupID"] == before["GroupID"] + 1  # SOFTPOS and SBP
    assert {name: terminal[name] for name in ("BranchID", "Currency", "Country", "RegionCode")} == {
        **{name: before[name] for name in ("BranchID", "Currency", "Country")},
        "RegionCode": "NL",
    }
    assert (terminal["PosCount"], [one["ID"] for one in terminal["Accounts"]]) == (1, [agent["ID"]])

    stored = stored_record(terminals.key(before["ID"]))
    again = change(shop, before["ID"], **json.loads(reply.text)["Terminal"])
    assert (again.error, again.findings) == ((200, 0), [])
    assert again.body["Terminal"] == terminal | {"Accounts": None}
    assert [change(shop, before["ID"], **sent).error for sent in ({}, {"City": "", "State": None})] == [(200, 0)] * 2
    assert stored_record(terminals.key(before["ID"])) == stored
    (_, entry) = audit.of(f"terminal#{before['ID']}")
    assert (entry.kind, entry.by) == ("update", shop.owner_id)
    assert {"tid", "sic", "group_id"} <= set(entry.fields)


def test_a_new_name_frees_the_old_one_and_a_taken_one_is_refused(shop: Shop) -> None:
    one, other = (shop.terminal(Name=name) for name in ("ONE", "OTHER"))
    taken = change(shop, one["ID"], Name=" OTHER ")
    listed = change(shop, one["ID"], Name="OTHER", City=5, ID=other["ID"], RegionCode="XX")

    assert (taken.error, taken.findings) == ((409, 308), [("Name", 308)])
    assert sorted(listed.findings) == [("City", 2), ("ID", 10), ("Name", 308), ("RegionCode", 6)]
    assert change(shop, one["ID"], Name="NEW").body["Terminal"]["Name"] == "NEW"
    assert shop.post(f"{shop.path}/pos/create", agent_body(shop.id, TID="ONE")).error == (404, 562)
    assert shop.agent(TID="NEW")["TerminalID"] == one["ID"]
    assert change(shop, other["ID"], Name="ONE").error == (200, 0)
    assert shop.terminal(Name="OTHER")["Name"] == "OTHER"


def test_a_blocked_terminal_takes_no_payments_not_even_offline_ones(shop: Shop) -> None:
    terminal = shop.terminal()
    login = (shop.agent(TerminalID=terminal["ID"])["Email"], PASSWORD)
    offline = a_body(OfflineTran={"OfflineMode": True, "Paid": datetime.now(UTC).isoformat()})
    assert change(shop, terminal["ID"], State=0).body["Terminal"]["State"] == 0

    assert [shop.post(SUBMIT, body, login).error for body in (a_body(), offline)] == [(409, 315)] * 2
    assert change(shop, terminal["ID"], State=1).error == (200, 0)
    assert [shop.post(SUBMIT, body, login).error for body in (a_body(), offline)] == [(200, 0)] * 2


def test_an_update_moves_a_number_at_the_bank_only_for_a_system_user(shop: Shop) -> None:
    other, mid = a_shop(shop.stage), f"BANK {shop.id}"
    till = a_card_till(shop, mid)
    terminal = other.terminal(BackRetailerID=f"OTHER {shop.id}")
    refused = change(other, terminal["ID"], BackRetailerID=mid.lower())
    moved = change(other, terminal["ID"], http.SYSTEM, BackRetailerID=mid)
    again = change(other, terminal["ID"], http.SYSTEM, BackRetailerID=mid)

    assert (refused.error, refused.findings) == ((409, 308), [("BackRetailerID", 308)])
    assert (moved.error, moved.findings) == ((200, 0), [("BackRetailerID", 308)])
    assert f"merchant {shop.id}:" in moved.body["Validations"][0]["Message"]
    assert (again.error, again.findings) == ((200, 0), [])
    assert shop.post(SUBMIT, a_card_body("12.30"), till).error == (409, 315)


def test_a_strangers_terminal_is_like_a_missing_one_and_a_large_one_is_refused(shop: Shop) -> None:
    foreign = a_shop(shop.stage).terminal()["ID"]
    answers = {change(shop, number, Title="Mine").text for number in (foreign, 10**9, 0)}
    long = dict.fromkeys(("Owner", "Region", "Branch", "ZIP", "TimeOffset", "Type", "Class"), "\x01" * 512)

    assert len(answers) == 1
    assert '"ErrorCode":562' in answers.pop()
    number = shop.terminal(Sbp={"a": "\x01" * 1300})["ID"]
    grown = long | {"SelfService": "\x01" * 512, "ContactlessCapable": "\x01" * 512, "Description": "\x01" * 1024}
    assert change(shop, number, **grown).findings == [("Description", 4)]
    assert change(shop, number, **long).error == (200, 0)


def test_of_terminals_that_want_one_name_at_once_one_gets_it(stage_on_dynamodb_local: str) -> None:
    shop = a_shop(stage_on_dynamodb_local)
    numbers = [shop.terminal()["ID"] for _ in range(6)]

    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(lambda number: change(shop, number, Name="WANTED"), numbers))

    assert sorted(one.error for one in replies) == [(200, 0)] + [(409, 308)] * 5
    names = [one["Name"] for one in shop.post(f"{shop.path}/terminal/list", {}).body["Terminals"]]
    assert names.count("WANTED") == 1
