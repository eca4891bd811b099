from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from datetime import timedelta
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.domain.agent import Agent, Login
from chalicelib.domain.sign_in import canonical
from chalicelib.store import agents
from chalicelib.store.table import update as store_update
from chalicelib.store.table import write_one
from tests.support import builders, http
from tests.support.builders import PASSWORD, Shop, a_shop, agent_update, an_email
from tests.support.intercepted_calls import hooked
from tests.support.stored import changes_of, stored_record
from tests.support.transactions import a_body

NEW_PASSWORD = PASSWORD[::-1]


@pytest.fixture
def agent(shop: Shop) -> dict[str, Any]:
    return shop.agent(SecretKey="the key of the agent")


def update(shop: Shop, agent: dict[str, Any], **body: Any) -> http.Reply:
    return shop.post(f"{shop.path}/pos/{agent['ID']}/update", body)


def stored_agent(agent: dict[str, Any]) -> Agent:
    return stored_record(agents.key(agent["ID"]))


def sign_in_error(shop: Shop, agent: dict[str, Any], secret: str, email: str | None = None) -> tuple[int, int]:
    return http.get(shop.stage, f"{shop.path}/pos/{agent['ID']}", (email or agent["Email"], secret)).error


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ({"Name": "Über-Kasse 🧾"}, {"name": "Über-Kasse 🧾"}),
        ({"Phone": "+27 82 987 6544"}, {"phone": "+27 82 987 6544"}),
        ({"Phone": "082 987 6544", "CountryCode": "ZA"}, {"phone": "+27 82 987 6544"}),
        ({"AddressDeFacto": "2 Long Street"}, {"address_de_facto": "2 Long Street"}),
        ({"CountryID": "BWA"}, {"country_id": "BW"}),
        ({"CurrencyID": "USD"}, {"currency_id": "USD"}),
        ({"CurrencyID": "840"}, {"currency_id": "USD"}),
        ({"LanguageID": "af"}, {"language_id": "af"}),
        ({"TaxID": "9"}, {"tax_id": "9"}),
        ({"UserKindID": 3}, {"user_kind_id": 3}),
        ({"ServerFiscalization": {"On": True}}, {"server_fiscalization": '{"On":true}'}),
        ({"AcquirersSettings": {}}, {"acquirers_settings": "{}"}),
        ({"PrinterSettings": {"W": 0.10}}, {"printer_settings": '{"W":0.1}'}),
    ],
)
def test_an_update_changes_what_it_sends_and_nothing_else(
    shop: Shop, agent: dict[str, Any], sent: dict[str, Any], stored: dict[str, Any]
) -> None:
    before = stored_agent(agent)

    assert update(shop, agent, **sent).status == 200
    after = stored_agent(agent)
    changed = {name: value for name, value in vars(after).items() if getattr(before, name) != value}
    assert changed == stored | {"version": before.version + 1}


@pytest.mark.parametrize("stored", ["840", "USD"])
def test_a_currency_is_shown_alpha_3_whichever_form_is_stored(shop: Shop, agent: dict[str, Any], stored: str) -> None:
    write_one(store_update(agents.key(agent["ID"]), {"currency_id": stored}))
    [listed] = shop.post(f"{shop.path}/pos/list", {"Email": agent["Email"]}).body["PosList"]

    assert (shop.shown(agent["ID"])["CurrencyID"], listed["CurrencyID"]) == ("USD", "USD")


@pytest.mark.parametrize(("sent", "code"), [("ZZZ", 6), ("000", 6), ("usd", 6), ("US DOLLAR", 4)])
def test_a_currency_that_is_none_is_refused(shop: Shop, agent: dict[str, Any], sent: str, code: int) -> None:
    before = stored_agent(agent)

    assert update(shop, agent, CurrencyID=sent).findings == [("CurrencyID", code)]
    assert stored_agent(agent) == before


def test_an_empty_update_changes_nothing_at_all(shop: Shop, agent: dict[str, Any]) -> None:
    before = stored_agent(agent)

    assert update(shop, agent).status == 200
    assert stored_agent(agent) == before
    assert len(changes_of(agent["ID"])) == 1


@pytest.mark.parametrize(
    ("field", "old", "new"),
    [("Password", PASSWORD, NEW_PASSWORD), ("SecretKey", "the key of the agent", "a new key of the agent")],
)
def test_a_new_secret_takes_the_old_ones_place_at_once(
    shop: Shop, agent: dict[str, Any], field: str, old: str, new: str
) -> None:
    [other] = {PASSWORD, "the key of the agent"} - {old}
    assert sign_in_error(shop, agent, old) == (200, 0)
    update(shop, agent, **{field: new})

    assert [sign_in_error(shop, agent, secret) for secret in (old, new, other)] == [(401, 102), (200, 0), (200, 0)]
    assert shop.shown(agent["ID"])["SecretKey"] == (new if field == "SecretKey" else other)


def test_unlock_resets_the_attempts_and_unblocks(shop: Shop, agent: dict[str, Any]) -> None:
    for _ in range(10):
        sign_in_error(shop, agent, "a wrong password")
    update(shop, agent, State=0)
    assert shop.shown(agent["ID"])["Logon"]["LockedUntil"] is not None

    pos = update(shop, agent, Unlock=True).body["Pos"]

    assert (pos["State"], pos["Logon"]["FailedAttempts"], pos["Logon"]["LockedUntil"]) == (1, 0, None)
    assert sign_in_error(shop, agent, PASSWORD) == (200, 0)


def test_a_new_password_by_an_administrator_lifts_the_lock(shop: Shop, agent: dict[str, Any]) -> None:
    for _ in range(10):
        sign_in_error(shop, agent, "a wrong password")
    assert sign_in_error(shop, agent, PASSWORD) == (401, 104)
    assert update(shop, agent, Name="Till 2", SecretKey="a new key of the agent").body["Pos"]["Logon"]["LockedUntil"]

    logon = update(shop, agent, Password=NEW_PASSWORD).body["Pos"]["Logon"]

    assert (logon["FailedAttempts"], logon["LockedUntil"]) == (0, None)
    assert sign_in_error(shop, agent, NEW_PASSWORD) == (200, 0)


@pytest.mark.parametrize("name", ["SecretKey", "secretkey"])
def test_an_empty_key_is_refused_where_a_new_one_would_be_expected(
    shop: Shop, agent: dict[str, Any], name: str
) -> None:
    before = stored_agent(agent)
    item = {"Email": agent["Email"], "State": 0, name: ""}

    assert update(shop, agent, Name="Till 2", **{name: ""}).findings == [(name, 5 if name == "SecretKey" else 13)]
    assert shop.post(f"{shop.path}/pos/updatebulk", {"PosBulk": [item]}).findings == [(f"PosBulk[0].{name}", 13)]
    assert stored_agent(agent) == before
    assert update(shop, agent, Name="Till 2", Password="", **{name: None}).error == (200, 0)


def test_unlock_and_block_together_are_a_contradiction(shop: Shop, agent: dict[str, Any]) -> None:
    reply = update(shop, agent, Unlock=True, State=0)

    assert reply.error == (400, 202)
    assert [code for _, code in reply.findings] == [12]


def test_a_login_agrees_with_its_agent_after_each_way_to_change_it(shop: Shop) -> None:
    names = {field.name for field in fields(Login)} & {field.name for field in fields(Agent)} - {"email", "version"}
    first, second = (shop.terminal() for _ in range(2))
    agent = shop.agent(State=0, TerminalID=first["ID"])

    def agreed() -> tuple[int, int | None]:
        stored = stored_agent(agent)
        login = stored_record(agents.login_key(canonical(stored.email)))
        assert {one: getattr(login, one) for one in names} == {one: getattr(stored, one) for one in names}
        assert login.agent_id == stored.id
        return login.state, login.terminal_id

    seen = [agreed()]
    single, bulk = f"{shop.path}/pos/{agent['ID']}/update", f"{shop.path}/pos/updatebulk"
    for path, body in (
        (single, {"Unlock": True}),
        (single, {"Password": NEW_PASSWORD}),
        (single, {"TID": second["Name"]}),
        (bulk, {"PosBulk": [{"Email": agent["Email"], "State": 0}]}),
        (single, {"State": 1}),
        (single, {"TIDNull": True, "Email": f"New.{agent['Email']}"}),
    ):
        assert shop.post(path, body).status == 200
        seen.append(agreed())

    one, two = first["ID"], second["ID"]
    assert seen == [(0, one), (1, one), (1, one), (1, two), (0, two), (1, two), (1, None)]


def test_a_new_e_mail_is_the_login_from_then_on_and_the_history_stays(shop: Shop, agent: dict[str, Any]) -> None:
    email = f"New.{an_email()}"

    assert update(shop, agent, Email=email).body["Pos"]["Email"] == email
    assert sign_in_error(shop, agent, PASSWORD) == (401, 102)
    assert sign_in_error(shop, agent, PASSWORD, email.lower()) == (200, 0)
    assert [entry.kind for entry in changes_of(agent["ID"])] == ["create", "update"]
    assert shop.agent(Email=agent["Email"])["Email"] == agent["Email"]  # the old one is free again


def test_a_new_e_mail_and_new_credentials_in_one_request_are_the_only_ones_from_then_on(
    shop: Shop, agent: dict[str, Any]
) -> None:
    email, key = an_email(), "another-key-of-32-characters-or-so"
    assert update(shop, agent, Email=email, Password=NEW_PASSWORD, SecretKey=key).status == 200

    for secret in (PASSWORD, "the key of the agent"):
        assert sign_in_error(shop, agent, secret, email) == (401, 102)
    for secret in (NEW_PASSWORD, key):
        assert sign_in_error(shop, agent, secret, email) == (200, 0)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"Unlock": True},
        {"State": 0},
        {"EndSessions": True},
        {"Password": NEW_PASSWORD},
        {"SecretKey": "another-key-of-32-characters-or-so"},
        {"TIDNull": True},
        {"Password": NEW_PASSWORD, "Unlock": True, "EndSessions": True},
    ],
    ids=str,
)
def test_a_change_has_the_same_effects_with_a_new_e_mail_and_without(shop: Shop, change: dict[str, Any]) -> None:
    """With a new e-mail the login is stored anew, without one its fields are changed one by one."""
    found = []
    for moved in ({}, {"Email": an_email()}):
        agent = shop.agent(SecretKey="the key of the agent", TerminalID=shop.terminal()["ID"])
        who = {"Email": agent["Email"], "Password": PASSWORD}
        session = http.post(shop.stage, "/api/v1/user/login/session", who, None).body["Data"]["SessionID"]
        lock = {"failed_attempts": 10, "locked_until": outside.now() + timedelta(minutes=20)}
        write_one(store_update(agents.login_key(agent["Email"]), lock))

        assert update(shop, agent, **change, **moved).error == (200, 0)

        email, mine = moved.get("Email", agent["Email"]), f"{shop.path}/pos/{agent['ID']}"
        login: Login = stored_record(agents.login_key(email))
        secrets = PASSWORD, NEW_PASSWORD, "the key of the agent", "another-key-of-32-characters-or-so"
        answers = [sign_in_error(shop, agent, secret, email) for secret in secrets]
        answers.append(http.call(shop.stage, "GET", mine, None, None, {"Authorization": f"Session {session}"}).error)
        terminal = login.terminal_id == agent["TerminalID"], stored_agent(agent).terminal_id == agent["TerminalID"]
        found.append((answers, login.state, login.failed_attempts, login.locked_until is None, terminal))

    assert found[0] == found[1]


def test_an_e_mail_may_change_its_case_alone(shop: Shop, agent: dict[str, Any]) -> None:
    assert update(shop, agent, Email=agent["Email"].upper()).body["Pos"]["Email"] == agent["Email"].upper()
    assert sign_in_error(shop, agent, PASSWORD) == (200, 0)


def test_an_e_mail_that_is_taken_changes_nothing(shop: Shop, agent: dict[str, Any]) -> None:
    before, other = stored_agent(agent), shop.agent()

    assert update(shop, agent, Email=other["Email"].upper(), Name="Other").error == (409, 307)
    assert stored_agent(agent) == before


def test_an_e_mail_that_somebody_else_moves_at_the_same_time_is_read_again(shop: Shop, agent: dict[str, Any]) -> None:
    email, meanwhile = an_email(), iter([an_email()])

    def move(*call: str) -> None:
        if call == ("after", "BatchGetItem") and (moved := next(meanwhile, None)):
            assert update(shop, agent, Email=moved).status == 200

    with hooked(move):
        assert update(shop, agent, Email=email).body["Pos"]["Email"] == email
    assert sign_in_error(shop, agent, PASSWORD, email) == (200, 0)


def test_an_agent_is_moved_to_another_terminal_of_its_merchant_alone(shop: Shop, agent: dict[str, Any]) -> None:
    first, second, foreign = shop.terminal(), shop.terminal(), a_shop(shop.stage).terminal()

    assert update(shop, agent, TerminalID=first["ID"]).status == 200
    assert update(shop, agent, TID=second["Name"]).status == 200
    login = stored_record(agents.login_key(agent["Email"]))
    assert stored_agent(agent).terminal_id == login.terminal_id == second["ID"]

    assert update(shop, agent, TerminalID=foreign["ID"], Name="Other").error == (404, 562)
    assert update(shop, agent, TID=foreign["Name"]).error == (404, 562)
    assert update(shop, agent, TerminalID=first["ID"], TID=second["Name"]).findings == [("TID", 12)]
    assert (stored_agent(agent).terminal_id, stored_agent(agent).name) == (second["ID"], "Till 1")


def test_settings_are_set_one_by_one_and_reset_one_by_one(shop: Shop, agent: dict[str, Any]) -> None:
    def settings(**sent: Any) -> dict[str, Any]:
        shown: dict[str, Any] = update(shop, agent, MobileSettings=sent).body["Pos"]["MobileSettings"]
        return shown

    assert settings(MobHomeURL="https://till.example")["MobHomeURLEffective"] == "https://till.example"
    assert settings(Features={"AcceptCash": False})["MobHomeURL"] == "https://till.example"
    assert settings(Features={"AcceptCards": False})["Features"]["AcceptCash"] is False
    assert settings(MobQRUrl="https://till.example/qr")["MobHomeURL"] == "https://till.example"
    back = settings(MobQRUrlNull=True)
    assert (back["MobHomeURL"], back["MobQRUrl"]) == ("https://till.example", None)
    back = settings(MobHomeURLNull=True, BarcodeScannerNull=True, ServicePayDashboardNull=True, MobQRUrlNull=True)
    assert (back["MobHomeURL"], back["MobHomeURLNull"], back["MobHomeURLEffective"]) == (
        None,
        True,
        "https://shop.example",
    )
    assert settings(Features={"Inherited": True})["Features"]["AcceptCash"] is True


def test_the_bar_code_scanner_is_one_setting_in_both_places(shop: Shop, agent: dict[str, Any]) -> None:
    def scanner(**sent: Any) -> list[Any]:
        shown = update(shop, agent, MobileSettings=sent).body["Pos"]["MobileSettings"]
        own, in_force = shown["BarcodeScanner"], shown["BarcodeScannerEffective"]
        return [own, shown["BarcodeScannerNull"], in_force, shown["Features"]["BarcodeScanner"]]

    assert scanner(BarcodeScanner=False) == [False, False, False, False]
    assert scanner(Features={"BarcodeScanner": True}) == [True, False, True, True]
    assert scanner(Features={"Inherited": True}) == [True, False, True, True]
    assert scanner(BarcodeScanner=False, Features={"BarcodeScanner": False}) == [False, False, False, False]
    assert scanner(BarcodeScannerNull=True) == [None, True, True, True]  # the merchant's
    for field in ("BarcodeScanner", "BarcodeScannerNull"):
        settings = {field: True, "Features": {"BarcodeScanner": False}}
        assert update(shop, agent, MobileSettings=settings).findings == [(f"MobileSettings.{field}", 12)]


def test_what_is_sent_is_what_is_in_force_for_payments(shop: Shop, agent: dict[str, Any]) -> None:
    terminal = shop.terminal()
    cash = {"BasicTran": {"InputType": 10, "Amount": 1}, "AcqTran": {"AcquirerCode": "CASH"}}
    login = (agent["Email"], PASSWORD)
    update(shop, agent, TID=terminal["Name"], MobileSettings={"Features": {"AcceptCash": False}})

    assert shop.post("/api/v1/payment/submit", cash, login).error == (403, 311)
    update(shop, agent, MobileSettings={"Features": {"AcceptCash": True}})
    assert shop.post("/api/v1/payment/submit", cash, login).error == (200, 0)


@pytest.mark.parametrize(
    ("sent", "error", "findings"),
    [
        ({"PrinterID": 2}, (200, 0), []),
        ({"PrinterCode": "ESCPOS80"}, (200, 0), []),
        ({"PrinterID": 1, "PrinterCode": "ESCPOS80"}, (400, 202), [("PrinterAndTaxSettings.PrinterCode", 12)]),
        ({"PrinterCode": "LASER"}, (404, 564), [("PrinterAndTaxSettings.PrinterCode", 564)]),
    ],
)
def test_a_printer_comes_from_the_catalogue(
    shop: Shop, agent: dict[str, Any], sent: dict[str, Any], error: tuple[int, int], findings: list[Any]
) -> None:
    reply = update(shop, agent, PrinterAndTaxSettings=sent)

    assert (reply.error, reply.findings) == (error, findings)
    if not findings:
        printer = reply.body["Pos"]["PrinterAndTaxSettings"]
        assert (printer["PrinterID"], printer["PrinterCode"]) == (2, "ESCPOS80")


def test_what_a_body_may_not_say_it_does_not(shop: Shop, agent: dict[str, Any]) -> None:
    before = stored_agent(agent)

    assert update(shop, agent, IsSystemUser=True, IsAdministrator=True, ClientID=1, Deleted=True).status == 200
    assert stored_agent(agent) == before


def test_rights_are_replaced_and_taken_away_by_whoever_makes_agents(shop: Shop, agent: dict[str, Any]) -> None:
    def rights(*actions: int) -> list[dict[str, Any]]:
        return [{"BranchID": shop.id, "Actions": list(actions)}]

    login = (agent["Email"], PASSWORD)
    shown = [
        update(shop, agent, BranchesActions=given).body["Pos"]["IsAdministrator"]
        for given in (rights(220, 201), None, rights(301), rights(220), [])
    ]

    assert shown == [True, True, False, True, False]
    assert stored_agent(agent).branches_actions == ()
    assert shop.post(f"{shop.path}/pos/list", {}, login).error == (403, 151)
    foreign = update(shop, agent, BranchesActions=[{"BranchID": 1, "Actions": [220]}])
    assert (foreign.error, foreign.findings) == ((404, 565), [("BranchesActions[0].BranchID", 565)])


def test_nobody_changes_its_own_rights(shop: Shop, agent: dict[str, Any]) -> None:
    own, item = {"ID": shop.owner_id}, {"Email": shop.owner[0], "BranchesActions": []}

    alone, batch = update(shop, own, BranchesActions=[]), shop.post(f"{shop.path}/pos/updatebulk", {"PosBulk": [item]})
    assert (alone.error, alone.findings) == ((403, 151), [("BranchesActions", 5)])
    assert (batch.error, batch.findings) == ((403, 151), [("PosBulk[0].BranchesActions", 5)])
    item["Email"] = agent["Email"]
    assert shop.post(f"{shop.path}/pos/updatebulk", {"PosBulk": [item]}).findings == []
    assert stored_agent(agent).branches_actions == ()


def test_the_id_of_the_body_is_the_one_of_the_path(shop: Shop, agent: dict[str, Any]) -> None:
    reply = update(shop, agent, ID=1)

    assert (reply.error, reply.findings) == ((400, 204), [("ID", 10)])


def test_an_agent_does_not_update_itself(shop: Shop, agent: dict[str, Any]) -> None:
    path = f"{shop.path}/pos/{agent['ID']}/update"

    assert shop.post(path, {"Name": "Me"}, (agent["Email"], PASSWORD)).error == (403, 151)
    assert shop.post(path, {"Name": "Me"}, http.OWNER).error == (404, 561)
    assert shop.post(path, {"Name": "Me"}, http.SYSTEM).status == 200


def test_an_agent_of_another_merchant_is_no_agent(shop: Shop) -> None:
    foreign = a_shop(shop.stage).agent()

    assert update(shop, foreign, Name="Mine").error == (404, 563)


def test_the_audit_names_the_fields_of_an_update_and_no_value(shop: Shop, agent: dict[str, Any]) -> None:
    update(shop, agent, **agent_update(Password=NEW_PASSWORD))

    entry = changes_of(agent["ID"])[-1]
    assert {"password", "secret_key_sealed", "name", "email", "unlock", "tax_id"} <= set(entry.fields)
    assert NEW_PASSWORD not in repr(entry)


def test_administrators_who_change_different_fields_at_once_both_win(stage_on_dynamodb_local: str) -> None:
    shop = a_shop(stage_on_dynamodb_local)
    agent = shop.agent()
    bodies: list[dict[str, Any]] = [
        {"Name": "Changed"},
        {"TaxID": "changed"},
        {"LanguageID": "af"},
        {"CountryID": "ZA"},
        {"CurrencyID": "ZAR"},
        {"UserKindID": 9},
        {"Phone": "+27 82 987 6544"},
        {"MobileSettings": {"AllowLinkedCards": 0}},
        {"MobileSettings": {"MobHomeURL": "https://changed.example"}},
        {"MobileSettings": {"Features": {"Offline": False}}},
        {"MobileSettings": {"Features": {"AutoLogin": False}}},
    ]

    with ThreadPoolExecutor(len(bodies)) as pool:
        replies = list(pool.map(lambda body: update(shop, agent, **body), bodies))

    assert [reply.status for reply in replies] == [200] * len(bodies)
    after = stored_agent(agent)
    settings = after.mobile_settings
    assert settings
    assert settings.features
    assert (after.name, after.tax_id, after.language_id, after.user_kind_id) == ("Changed", "changed", "af", 9)
    assert (after.country_id, after.currency_id, after.phone) == ("ZA", "ZAR", "+27 82 987 6544")
    assert (settings.allow_linked_cards, settings.mob_home_url) == (0, "https://changed.example")
    assert (settings.features.offline, settings.features.auto_login) == (False, False)
    assert len(changes_of(agent["ID"])) == 1 + len(bodies)


def test_of_many_agents_who_want_one_e_mail_one_gets_it(stage_on_dynamodb_local: str) -> None:
    shop = a_shop(stage_on_dynamodb_local)
    contenders, email = [shop.agent() for _ in range(8)], an_email()

    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda agent: update(shop, agent, Email=email), contenders))

    assert sorted(reply.error for reply in replies) == [(200, 0)] + [(409, 307)] * 7
    for agent, reply in zip(contenders, replies, strict=True):
        entered = sign_in_error(shop, agent, PASSWORD, email if reply.status == 200 else None)
        assert entered == (200, 0)


def test_the_answer_never_shows_the_key_or_the_password(shop: Shop, agent: dict[str, Any]) -> None:
    body = agent_update()
    text = update(shop, agent, **body).text

    assert body["Password"] not in text
    assert body["SecretKey"] not in text
    assert builders.PASSWORD not in text


def test_the_last_active_administrator_cannot_block_itself(shop: Shop) -> None:
    rights = [{"BranchID": shop.id, "Actions": [220]}]
    second = shop.agent(BranchesActions=rights)
    owner = {"ID": shop.owner_id}
    blocked = {"Email": shop.owner[0], "State": 0}, {"Email": second["Email"], "State": 0}

    assert shop.post(f"{shop.path}/pos/updatebulk", {"PosBulk": blocked}).findings == [(shop.owner[0], 12)]
    assert update(shop, owner, State=0).findings == [("State", 12)]
    named = {"PosBulk": [{"Email": shop.owner[0], "State": 1}]}
    assert (update(shop, owner, Name="Still there").status, shop.post(f"{shop.path}/pos/updatebulk", named).status) == (
        200,
        200,
    )
    assert (stored_agent(owner).state, stored_agent(second).state) == (1, 0)

    update(shop, second, State=1)
    assert update(shop, owner, State=0).status == 200
    assert http.post(shop.stage, f"{shop.path}/pos/{second['ID']}/update", {"State": 0}, http.SYSTEM).status == 200


@pytest.mark.parametrize("bulk", [False, True], ids=["one by one", "in bulk"])
@pytest.mark.parametrize("whom", ["itself", "the other"])
def test_administrators_who_block_at_once_leave_one(stage_on_dynamodb_local: str, whom: str, *, bulk: bool) -> None:
    shop = a_shop(stage_on_dynamodb_local)
    rights = [{"BranchID": shop.id, "Actions": [220]}]
    other = shop.agent(BranchesActions=rights, SecretKey="the key of the other")
    both = [(shop.owner, shop.shown(shop.owner_id)), ((other["Email"], "the key of the other"), other)]

    def block(number: int) -> http.Reply:
        login, own = both[number]
        target = own if whom == "itself" else both[1 - number][1]
        if bulk:
            return shop.post(
                f"{shop.path}/pos/updatebulk", {"PosBulk": [{"Email": target["Email"], "State": 0}]}, login
            )
        return shop.post(f"{shop.path}/pos/{target['ID']}/update", {"State": 0}, login)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(block, range(2)))

    assert [stored_agent(agent).state for _, agent in both].count(1) == 1


def test_null_fields_clear_the_telephone_and_the_terminal(shop: Shop) -> None:
    till = shop.agent(TerminalID=shop.terminal()["ID"], SecretKey="the key of the till")
    login = till["Email"], "the key of the till"
    cleared = update(shop, till, PhoneNull=True, TIDNull=True).body["Pos"]

    assert (cleared["Phone"], cleared["TerminalID"], cleared["TID"]) == ("", None, None)
    assert shop.shown(till["ID"])["Phone"] == ""
    assert http.post(shop.stage, "/api/v1/payment/submit", a_body(), login).error == (409, 315)
    again = update(shop, till, Phone="+27 82 987 6543", TerminalID=shop.terminal()["ID"])
    assert again.body["Pos"]["Phone"] == "+27 82 987 6543"
    assert http.post(shop.stage, "/api/v1/payment/submit", a_body(), login).error == (200, 0)


@pytest.mark.parametrize(
    ("body", "path"),
    [({"PhoneNull": True, "Phone": "+27829876543"}, "PhoneNull"), ({"TIDNull": True, "TID": "SHOP"}, "TIDNull")],
)
def test_a_field_is_not_given_and_cleared_at_once(shop: Shop, body: dict[str, Any], path: str) -> None:
    shop.terminal(Name="SHOP")

    assert update(shop, shop.agent(), **body).findings == [(path, 12)]
