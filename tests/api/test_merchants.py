import json
import re
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.domain.merchant import Merchant
from chalicelib.schemas.base import fields_of
from chalicelib.schemas.merchants import UpdateMerchant
from chalicelib.schemas.request_context import Context
from chalicelib.settings import settings
from chalicelib.store import audit, merchants, table
from chalicelib.store.table import read, update, write_one
from tests.support import builders, http
from tests.support.builders import Shop, a_shop, image, merchant_body, merchant_update
from tests.support.giving import environment
from tests.support.stored import stored_record

CREATE = "/api/v1/merchant/create"
ALWAYS = {field.alias or name for name, field in UpdateMerchant.model_fields.items() if field.is_required()}


def create(stage: str, login: tuple[str, str] = http.SYSTEM, **changes: Any) -> http.Reply:
    return http.post(stage, CREATE, merchant_body(**changes), login)


def test_an_object_with_a_long_number_is_refused_and_creates_nothing(stage: str) -> None:
    before = create(stage).body["Merchant"]["ID"]
    text = json.dumps(merchant_body()).replace('"Sbp":', f'"Sbp": {{"a": [{"9" * 5000}]}}, "Ignored":')
    reply = http.post(stage, CREATE, text.encode(), http.SYSTEM)

    assert (reply.error, reply.findings) == ((400, 202), [("Sbp", 5)])
    assert create(stage).body["Merchant"]["ID"] == before + 1


def test_a_merchant_is_answered_as_it_was_sent(stage: str) -> None:
    merchant = create(stage).body["Merchant"]

    assert merchant["ID"] == merchant["ClientID"] == merchant["BranchID"]
    assert (merchant["Name"], merchant["State"], merchant["Phone"]) == ("Corner Store", 1, "+27 82 987 6543")
    assert (merchant["CountryID"], merchant["CurrencyID"], merchant["LanguageID"]) == ("ZA", "ZAR", "en")
    assert merchant["Sbp"] == {"Merchant": {"Rate": Decimal("0.7")}}
    assert merchant["HasAvatar"] is True
    assert merchant["AvatarUrl"].startswith("https://")
    assert "Signature=" in merchant["AvatarUrl"]


# Fields that are stored under their own name.
SAME_NAMED = (
    *("AddressDeJure", "Description", "Web", "State", "ClientSource", "TaxSystemID", "SupportCuratorID"),
    *("OriginCuratorID", "CashRegisterCuratorID", "ProductSolutionID", "ContractTypeID", "ClientMode"),
    "ClientImportance",
)


def same_named(merchant: Merchant) -> dict[str, Any]:
    """Return what is stored of these fields, by their names on the wire."""
    return {name: getattr(merchant, re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()) for name in SAME_NAMED}


def test_everything_that_was_sent_is_stored(stage: str) -> None:
    sent = merchant_body()
    stored = stored_record(merchants.key(create(stage, **sent).body["Merchant"]["ID"]))

    assert same_named(stored) == {name: sent[name] for name in SAME_NAMED}
    assert [group.code for group in stored.groups] == ["DEFAULT", "SOFTPOS", "SBP"]
    assert (stored.financial_institution_id, stored.hunter_id, stored.client_type) == (4, 3, 2)
    assert (stored.tax_id, stored.gmt, stored.manager.name) == ("4012345678", 2, "Thandi")
    assert stored.mobile_settings
    assert stored.mobile_settings.mob_home_url == "https://shop.example"


def test_only_a_system_user_creates_a_merchant(shop: Shop) -> None:
    agent = (shop.agent()["Email"], builders.PASSWORD)
    replies = [create(shop.stage, login, Name=str(login)) for login in (shop.owner, agent)]

    assert [reply.error for reply in replies] == [(403, 151)] * 2
    assert create(shop.stage).status == 200


def test_a_minimal_merchant_has_the_defaults(stage: str) -> None:
    required = {"Name", "Phone", "FInstID", "AddressDeFacto", "ClientManager", *builders.CONTEXT}
    left_out: dict[str, Any] = dict.fromkeys(set(merchant_body()) - required)
    merchant = create(stage, http.SYSTEM, **left_out).body["Merchant"]

    assert (merchant["State"], merchant["ClientImportance"], merchant["HasAvatar"]) == (1, 10, False)
    assert (merchant["AvatarUrl"], merchant["Sbp"]) == (None, None)


@pytest.mark.parametrize("name", ["K", "x" * 256, "متجر الزاوية", "חנות פינתית", "Corner 🛒 Store 👩‍👩‍👧"])
def test_a_name_is_stored_exactly(stage: str, name: str) -> None:
    assert create(stage, Name=name).body["Merchant"]["Name"] == name


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("Name", "", 5),
        ("Name", "x" * 10_000, 4),
        ("Name", "\ud800", 3),
        ("Phone", "12", 3),
        ("Phone", "not a phone", 3),
        ("CountryCode", "ZZ", 6),
        ("ClientType", 3, 6),
        ("ClientMode", 3, 6),
        ("ClientImportance", 11, 6),
        ("State", 2, 5),
        ("GMT", 15, 5),
        ("FInstID", -1, 5),
        ("FInstID", True, 2),
        ("Sbp", {"a": "x" * 9000}, 4),
        ("Sbp", {"a": "\ud800"}, 3),
        ("Sbp", {"\ud800": 1}, 3),
        ("ClientManager.UserEmail", "nobody", 3),
        ("ClientManager.UserEmail", "a@b.c\r\nBcc: x@y.z", 3),
        ("Location.Latitude", 90.1, 5),
        ("Location.Longitude", -180.1, 5),
        ("ImageAvatar.Data", "no base64", 3),
        ("ImageAvatar.Data", "PHN2Zy8+", 3),
        ("MobileSettings.Features.AcceptCash", 1, 2),
    ],
)
def test_a_field_out_of_its_range_is_refused_by_name(stage: str, field: str, value: Any, code: int) -> None:
    body = merchant_body()
    *outer, name = field.split(".")
    inner = body
    for part in outer:
        inner[part] = dict(inner[part])
        inner = inner[part]
    inner[name] = value

    reply = http.post(stage, CREATE, body, http.SYSTEM)

    assert reply.error == (400, 202)
    assert (field, code) in reply.findings


@pytest.mark.parametrize("depth", [32, 33, 300, *range(700, 1000, 23), 5000])
def test_an_object_is_stored_to_a_depth_and_refused_below_it(stage: str, depth: int) -> None:
    deep = '{"a":' * depth + "1" + "}" * depth

    reply = http.post(
        stage, CREATE, json.dumps(merchant_body()).replace('{"Merchant": {"Rate": 0.7}}', deep), http.SYSTEM
    )

    if depth <= 32:
        assert reply.status == 200
    else:
        assert reply.error in {(400, 201), (400, 202)}


def test_all_problems_are_told_at_once(stage: str) -> None:
    reply = create(stage, Name="", Phone="?", State=5, ClientType=3)

    assert {name for name, _ in reply.findings} == {"Name", "Phone", "State", "ClientType"}


def test_a_picture_over_a_megabyte_is_refused_and_one_below_is_stored(stage: str) -> None:
    fits = builders.PNG + bytes(1024 * 1024 - len(builders.PNG))

    assert create(stage, ImageAvatar=image(fits)).status == 200
    assert create(stage, ImageAvatar=image(fits + b"\0")).findings == [("ImageAvatar.Data", 4)]


def test_nobody_speaks_for_another_account(stage: str) -> None:
    assert create(stage, CurrentAccountID=10**9).error == (403, 152)


def test_an_update_changes_what_it_sends_and_nothing_else(shop: Shop) -> None:
    before = stored_record(merchants.key(shop.id))
    required = {name: value for name, value in merchant_update().items() if name in builders.CONTEXT}
    sent = required | {"Name": "New Name", "Phone": "+27 82 987 6544", "AddressDeFacto": "9 Long Street", "GMT": -3}

    reply = shop.post(f"{shop.path}/update", sent)

    after = stored_record(merchants.key(shop.id))
    assert reply.body["Merchant"]["Name"] == "New Name"
    assert (after.name, after.phone, after.address_de_facto) == ("New Name", "+27 82 987 6544", "9 Long Street")
    changed = {name for name, value in vars(before).items() if getattr(after, name) != value}
    assert changed == {"name", "phone", "address_de_facto", "version"}


def test_a_merchant_that_was_read_may_be_sent_back_and_changes_nothing(shop: Shop) -> None:
    """By whoever may read it, whether its fields were set or not. A picture is shown by its address."""
    own = fields_of(UpdateMerchant).names - fields_of(Context).names
    bare = a_shop(shop.stage, **dict.fromkeys(own - {"Name", "Phone", "AddressDeFacto"}))
    set_by_update = merchant_update(BarcodeScanner=True, DrawerBlind=True, Image=None)
    assert shop.post(f"{shop.path}/update", set_by_update).error == (200, 0)

    for one in (shop, bare):
        read_by = [http.get(one.stage, one.path, login) for login in (one.owner, http.SYSTEM)]
        shown = read_by[0].body["Merchant"]
        assert read_by[0].text == read_by[1].text
        assert own - shown.keys() == {"Image"}
        for login in (one.owner, http.SYSTEM):
            sent = one.post(f"{one.path}/update", builders.CONTEXT | json.loads(read_by[0].text)["Merchant"], login)
            assert (sent.error, sent.findings) == ((200, 0), [])
            assert http.get(one.stage, one.path, one.owner).text == read_by[0].text

    shown = http.get(shop.stage, shop.path, shop.owner).body["Merchant"]
    fields = {name: value for name, value in set_by_update.items() if name in own}
    settings = fields.pop("MobileSettings")
    assert {name: shown[name] for name in fields} == fields
    assert {name: shown["MobileSettings"][name] for name in settings} == settings | {"BarcodeScanner": True}


def test_a_system_user_leaves_out_what_it_does_not_change_and_an_administrator_does_not(shop: Shop) -> None:
    def send(body: Any, login: tuple[str, str] = http.SYSTEM) -> http.Reply:
        return shop.post(f"{shop.path}/update", body, login)

    before = stored_record(merchants.key(shop.id))
    assert [send(body).error for body in ({}, {"Name": None, "Phone": "", "Location": None})] == [(200, 0)] * 2
    assert stored_record(merchants.key(shop.id)) == before
    assert [(name, 1) for name in sorted(ALWAYS)] == sorted(send({}, shop.owner).findings)
    refused = {"Phone": "082", "State": 7, "Web": 5, "ID": shop.id + 1, "mobileSettings": {}}
    for body, login in ((refused, http.SYSTEM), (merchant_update(**refused), shop.owner)):
        assert sorted(send(body, login).findings) == [
            *(("ID", 10), ("Phone", 3), ("State", 5), ("Web", 2), ("mobileSettings", 13)),
        ]
    assert send({"CurrentAccountID": 10**9}).error == (403, 152)
    assert send("{").error == (400, 201)
    assert send({"Stat": 0}).findings == [("Stat", 13)]
    assert stored_record(merchants.key(shop.id)) == before

    changed = send({"Phone": "082 987 6544", "MobileSettings": {"Features": {"AcceptCards": False}}})
    assert changed.body["Merchant"]["Phone"] == "+27 82 987 6544"  # read in the country of the merchant
    assert changed.body["Merchant"]["MobileSettings"]["Features"]["AcceptCards"] is False
    blocked = [send({"State": state}).error for state in (0, 1)]
    assert blocked == [(200, 0)] * 2


def test_an_update_from_elsewhere_does_not_move_the_merchant(shop: Shop) -> None:
    shop.post(f"{shop.path}/update", merchant_update())
    before = read(merchants.key(shop.id))
    elsewhere = {
        "Location": {"Latitude": 40.71, "Longitude": -74.01},
        "Country": "United States of America",
        "CountryCode": "US",
        "GMT": -5,
        "Lang": "es",
        "IP": "192.0.2.7",
        "DeviceInfo": {**builders.DEVICE, "PhoneModel": "Another"},
        "AppFramework": "Other",
    }

    reply = shop.post(f"{shop.path}/update", merchant_update(**elsewhere, Phone="(212) 555-2368"))

    merchant, after = reply.body["Merchant"], read(merchants.key(shop.id))
    assert before
    assert after
    assert (merchant["CountryID"], merchant["CurrencyID"], merchant["LanguageID"]) == ("ZA", "ZAR", "en")
    assert merchant["Phone"] == "+1 212-555-2368"  # it is read with the CountryCode of the request
    changed = {name for name, value in vars(before).items() if getattr(after, name) != value}
    assert changed == {"phone", "version"}


def test_an_update_leaves_the_currency(shop: Shop) -> None:
    """Countries get other currencies."""
    write_one(update(merchants.key(shop.id), {"currency_id": "BGN"}))

    assert shop.post(f"{shop.path}/update", merchant_update(Name="Other")).status == 200
    assert stored_record(merchants.key(shop.id)).currency_id == "BGN"


def test_every_optional_field_of_an_update_is_stored(shop: Shop) -> None:
    optional = {
        "AddressDeJure": "8 Side Street",
        "Description": "Other",
        "Web": "https://other.example",
        "State": 1,
        "ClientSource": "web",
        "TaxSystemID": 11,
        "SupportCuratorID": 12,
        "OriginCuratorID": 14,
        "CashRegisterCuratorID": 15,
        "ProductSolutionID": 16,
        "ContractTypeID": 17,
        "ClientMode": 2,
        "ClientImportance": 500,
    }
    body = merchant_update(**optional, BarcodeScanner=False)
    assert shop.post(f"{shop.path}/update", body, http.SYSTEM).status == 200

    stored = stored_record(merchants.key(shop.id))
    assert same_named(stored) == optional
    assert stored.mobile_settings
    assert stored.mobile_settings.barcode_scanner is False
    assert stored.avatar_key
    assert stored.avatar_key.endswith(".jpeg")


def test_the_place_and_the_language_of_a_caller_may_be_empty(shop: Shop) -> None:
    unknown = {"Country": "", "AppFramework": "", "IP": "", "DeviceInfo": dict.fromkeys(builders.DEVICE, "")}

    assert shop.post(f"{shop.path}/update", merchant_update(**unknown, Lang="")).error == (200, 0)
    created = shop.post(CREATE, merchant_body(**unknown, CountryCode="TR", Phone="+90 212 555 0000"), http.SYSTEM)
    assert created.error == (200, 0)
    assert created.body["Merchant"]["CurrencyID"] == "TRY"
    refused = shop.post(CREATE, merchant_body(**unknown, Lang=""), http.SYSTEM)
    assert [name for name, _ in refused.findings] == ["Lang"]


def test_what_an_update_may_not_change_it_does_not(shop: Shop) -> None:
    before = read(merchants.key(shop.id))
    forbidden = {"ClientID": 1, "Deleted": True, "IsSystemUser": True, "Groups": [], "FInstID": 99, "GMT": 5}

    first = shop.post(f"{shop.path}/update", merchant_update())
    after = stored_record(merchants.key(shop.id))
    second = shop.post(f"{shop.path}/update", merchant_update(**forbidden))

    assert (first.status, second.status) == (200, 200)
    assert after == read(merchants.key(shop.id))  # the same values again are no change: not even a version
    assert before
    assert (after.id, after.gmt, after.financial_institution_id) == (before.id, 2, 4)


def test_the_id_of_the_body_is_the_one_of_the_path(shop: Shop) -> None:
    reply = shop.post(f"{shop.path}/update", merchant_update(ID=shop.id + 1))

    assert (reply.error, reply.findings) == ((400, 204), [("ID", 10)])


def test_a_foreign_merchant_a_missing_one_and_nonsense_are_answered_alike(shop: Shop) -> None:
    numbers = (a_shop(shop.stage).id, 10**9, 0, "-1", "abc", "9" * 40, "%D9%A1")

    answers = {shop.post(f"/api/v1/merchant/{number}/update", merchant_update()).text for number in numbers}
    answers |= {http.get(shop.stage, f"/api/v1/merchant/{number}", shop.owner).text for number in numbers}

    assert len(answers) == 1
    assert '"ErrorCode":561' in answers.pop()


def test_a_blocked_merchant_lets_nobody_in_until_a_system_user_opens_it(shop: Shop) -> None:
    assert shop.post(f"{shop.path}/update", {"State": 0}, http.SYSTEM).status == 200

    assert shop.post(f"{shop.path}/update", merchant_update()).error == (401, 108)
    assert shop.post(f"{shop.path}/update", {"State": 1}, http.SYSTEM).status == 200
    assert shop.post(f"{shop.path}/update", merchant_update()).status == 200


def test_a_merchant_that_no_page_could_show_is_refused(stage: str) -> None:
    text = "\x01" * 512
    at_creation: dict[str, Any] = {"Sbp": {"a": "\x01" * 1300}, "Lang": text}
    long: dict[str, Any] = dict.fromkeys(("Web", "AddressDeFacto", "AddressDeJure", "ClientSource", "TaxID"), text)
    long |= {"Description": text * 2, "MobileSettings": {"MobHomeURL": text, "MobQRUrl": text}}
    shop = a_shop(stage, **at_creation)
    before = stored_record(merchants.key(shop.id))

    assert create(stage, **at_creation, **long).findings == [("Sbp", 4)]
    assert shop.post(f"{shop.path}/update", merchant_update(**long)).findings == [("Description", 4)]
    assert stored_record(merchants.key(shop.id)) == before


@pytest.mark.parametrize("change", [{"State": 0}, {"ClientImportance": 10}])
def test_only_a_system_user_blocks_a_merchant_or_sets_its_importance(shop: Shop, change: dict[str, int]) -> None:
    before = stored_record(merchants.key(shop.id))

    reply = shop.post(f"{shop.path}/update", merchant_update(**change))
    assert (reply.error, reply.findings) == ((403, 151), [(name, 5) for name in change])
    assert stored_record(merchants.key(shop.id)) == before


def test_each_write_leaves_an_entry_in_the_audit_and_never_a_value(shop: Shop) -> None:
    shop.post(f"{shop.path}/update", merchant_update(Web="https://changed.example"))

    created, updated = audit.of(f"merchant#{shop.id}")
    assert (created.kind, created.by) == ("create", 1)
    assert (updated.kind, updated.by) == ("update", shop.owner_id)
    assert "web" in updated.fields
    assert "changed.example" not in repr(updated)


def test_a_long_list_is_bounded(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "LIMIT", 0)

    assert shop.post(f"{shop.path}/pos/list", {}).error == (400, 404)


def test_the_terminal_is_shown_while_there_is_exactly_one(shop: Shop) -> None:
    def shown() -> Any:
        return shop.post(f"{shop.path}/update", merchant_update()).body["Merchant"]["TerminalID"]

    assert shown() is None
    terminal = shop.terminal()
    assert shown() == terminal["ID"]
    shop.terminal()
    assert shown() is None


def test_the_products_are_those_that_a_partner_prepares(shop: Shop) -> None:
    def counters() -> dict[str, int]:
        merchant = shop.post(f"{shop.path}/update", merchant_update()).body["Merchant"]
        return {name: value for name, value in merchant.items() if name.startswith("ProductDesc")}

    partner = {"url": "https://partner.example/prepare"}
    with environment(PARTNERS=json.dumps({"ONE": partner, "TWO": partner})):
        with_two = counters()

    assert len(with_two) == 4
    assert set(with_two.values()) == {2}
    assert set(counters().values()) == {len(settings().partners)}


def test_a_merchant_shows_its_account_type_and_the_name_of_its_institution(stage: str) -> None:
    with environment(INSTITUTIONS='{"4": "First Bank"}'):
        named = create(stage).body["Merchant"]
        updated = http.post(stage, f"/api/v1/merchant/{named['ID']}/update", merchant_update(Image=None), http.SYSTEM)
        other = create(stage, FInstID=5).body["Merchant"]

    for merchant in (named, updated.body["Merchant"], other):
        assert (merchant["AccountTypeID"], merchant["AccountType"]) == (11, 11)
    names = [one["FInstName"] for one in (named, updated.body["Merchant"], other)]
    assert names == ["First Bank", "First Bank", "5"]
