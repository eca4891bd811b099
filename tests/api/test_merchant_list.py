"""The list of merchants: what finds them, its pages, and what it costs."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from chalicelib import exact_json
from chalicelib.domain.answer_size import MOST_SHOWN
from chalicelib.domain.paging import PAGE_SIZE
from chalicelib.schemas.merchants import MerchantListAnswer, MerchantProfile
from chalicelib.store import merchant_changes
from chalicelib.store.audit import Act
from tests.support import http
from tests.support.builders import NOW, Shop, a_merchant, a_shop
from tests.support.cost import store_calls
from tests.support.transactions import a_body

LIST = "/api/v1/merchant/list"


def listed(stage: str, **body: Any) -> http.Reply:
    reply = http.post(stage, LIST, body, http.SYSTEM)
    assert reply.error == (200, 0), reply.text
    return reply


def found(shop: Shop, text: str, **body: Any) -> bool:
    return shop.id in [one["ID"] for one in listed(shop.stage, Search=text, **body).body["Merchants"]]


@pytest.fixture
def known(stage: str) -> Shop:
    """A merchant whose texts and numbers nobody else has."""
    mark = uuid4().hex[:12]
    manager = {"UserName": "Ann", "UserEmail": f"ann.{mark}@Kiosk.example", "UserPhone": "+27 82 555 0143"}
    return a_shop(stage, Name=f"Kiosk {mark}", ClientManager=manager, Phone="+27 21 555 0144")


def test_each_fact_finds_its_merchant_whole_or_in_part_and_finds_no_other(known: Shop) -> None:
    mark = uuid4().hex[:12]
    known.terminal(Name=f"TID-{mark}", BackRetailerID=f"MID-{mark}")
    agent = known.agent(Email=f"Till.{mark}@shop.example", Phone="+27 83 555 0145")
    other = a_shop(known.stage)
    name = http.get(known.stage, known.path, known.owner).body["Merchant"]["Name"]
    manager = f"ann.{name[6:]}@kiosk.example"
    whole = [f" {agent['Email'].upper()} ", f"TID-{mark}", f" mid-{mark}", manager, name, known.owner[0]]
    part = [name[2:].upper(), manager[2:14], f"ill.{mark}@", f"id-{mark[:-1]}", f"MID-{mark[:-1]}"]
    phones = ["082 555 0143", "+27 21 555-0144", "5550145"]

    assert [text for text in (*whole, *part, *phones) if not found(known, text)] == []
    assert [text for text in (*whole, *part, *phones) if found(other, text)] == []
    assert [text for text in ("nobody", "0143 x", "999 999 999", "\x00", "é") if found(known, text)] == []
    assert found(known, str(known.id))
    assert found(known, name, State=1)
    assert not found(known, name, State=0)


def test_the_newest_comes_first_and_is_shown_as_by_its_id(known: Shop) -> None:
    for number in range(2):
        reply = listed(known.stage)
        first = reply.body["Merchants"][0]
        assert first == http.get(known.stage, known.path, known.owner).body["Merchant"]
        terminal = known.terminal()["ID"]
        assert listed(known.stage, Search=str(known.id)).body["Merchants"][0]["TerminalID"] == (
            None if number else terminal
        )


def test_a_page_has_a_hundred_and_the_counters_tell_of_all(known: Shop) -> None:
    mark = uuid4().hex
    for _ in range(PAGE_SIZE + 1):
        merchant_changes.create(a_merchant(name=f"Copy {mark}", created_at=NOW), Act("create", 0, NOW))

    pages = [listed(known.stage, Search=mark, Page=page).body for page in (0, 1, 2, 3)]
    numbers = [[one["ID"] for one in page["Merchants"]] for page in pages]
    assert numbers[0] == numbers[1] == sorted(numbers[0], reverse=True)
    assert [len(one) for one in numbers] == [100, 100, 1, 0]
    assert pages[2]["MerchantsCounters"] == {"Pagesize": 100, "ItemCountPage": 1, "ItemCountTtl": 101, "PageCount": 2}


def test_payments_cost_the_list_nothing_and_a_whole_e_mail_reads_no_agents(known: Shop) -> None:
    login = (known.agent(TerminalID=known.terminal()["ID"])["Email"], "a password of some length")

    def calls(**body: Any) -> list[str]:
        with store_calls() as made:
            listed(known.stage, **body)
        return made

    searches: tuple[dict[str, str], ...] = ({}, {"Search": login[0]}, {"Search": "a part"})
    before = [calls(**body) for body in searches]
    for _ in range(5):
        assert known.post("/api/v1/payment/submit", a_body(), login).error == (200, 0)

    assert [calls(**body) for body in searches] == before
    assert [one.count("Scan") for one in before] == [2, 2, 3]


def test_a_page_of_the_largest_merchants_has_at_most_5_mb() -> None:
    large = MerchantProfile(a_merchant(description="x" * 1024), "Bank", None, 0, None)
    grown = replace(large, institution="x" * (MOST_SHOWN - size_of(large) + len("Bank")))

    assert size_of(grown) == MOST_SHOWN
    page = MerchantListAnswer.of([grown] * PAGE_SIZE, PAGE_SIZE)
    assert len(exact_json.text(page.model_dump(by_alias=True))) < 5_000_000


def size_of(profile: MerchantProfile) -> int:
    return len(exact_json.text(MerchantListAnswer.of([profile], 1).merchants[0].model_dump(by_alias=True)))
