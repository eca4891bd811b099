from typing import Any

from chalicelib.store.table import commit, put_new
from tests.support import http
from tests.support.builders import PASSWORD, Shop, a_shop, an_agent


def search(shop: Shop, login: tuple[str, str] | None = None, **body: Any) -> Any:
    return shop.post(f"{shop.path}/pos/list", body, login).body


def ids(answer: dict[str, Any]) -> list[int]:
    return [pos["ID"] for pos in answer["PosList"]]


def test_a_list_is_all_agents_of_the_merchant_by_id(shop: Shop) -> None:
    numbers = [shop.owner_id, *(shop.agent()["ID"] for _ in range(2))]
    answer = search(shop)

    assert ids(answer) == numbers
    assert answer["PosCounters"] == {"Pagesize": 100, "ItemCountPage": 3, "ItemCountTtl": 3, "PageCount": 1}
    assert [pos["SecretKey"] for pos in answer["PosList"]] == [None] * 3
    assert isinstance(answer["PosList"][0]["Logon"], dict)


def test_an_agent_is_found_by_its_login_whatever_its_case(shop: Shop) -> None:
    agent, foreign = shop.agent(), a_shop(shop.stage).agent()

    assert ids(search(shop, Email=agent["Email"].upper())) == [agent["ID"]]
    assert ids(search(shop, Email=foreign["Email"])) == []
    assert ids(search(shop, Email=" ")) == ids(search(shop))  # a placeholder, as an empty text


def test_a_list_of_one_agent_by_its_email_answers_its_secret_key_to_those_who_manage_it(shop: Shop) -> None:
    agent = shop.agent(SecretKey="a-secret-key-of-this-till")
    generated = shop.agent(SecretKey=None)

    keys = [
        [pos["SecretKey"] for pos in search(shop, login, Email=each["Email"])["PosList"]]
        for login in (shop.owner, http.SYSTEM)
        for each in (agent, generated)
    ]
    by_text = search(shop, Search=agent["Email"])["PosList"]

    shown = [["a-secret-key-of-this-till"], [shop.shown(generated["ID"])["SecretKey"]]]
    assert keys == [*shown, *shown]
    assert [pos["SecretKey"] for pos in by_text] == [None]


def test_an_agent_that_the_other_filters_exclude_shows_no_secret_key(shop: Shop) -> None:
    agent = shop.agent(State=1)

    assert search(shop, Email=agent["Email"], State=0)["PosList"] == []
    assert search(shop, (agent["Email"], PASSWORD), Email=agent["Email"])["ErrorCode"] == 151


def test_an_agent_is_found_by_name_phone_terminal_and_state(shop: Shop) -> None:
    terminal = shop.terminal()
    one = shop.agent(Name="Zebra", Phone="+27 82 111 2222", TID=terminal["Name"])
    other = shop.agent(State=0, Phone="+27 82 333 4444")

    assert ids(search(shop, Search="zEbRa")) == [one["ID"]]
    assert ids(search(shop, Search="82 111 2222")) == [one["ID"]]
    assert ids(search(shop, Search="082 111 2222")) == [one["ID"]]
    assert ids(search(shop, Search=terminal["Name"])) == [one["ID"]]
    assert ids(search(shop, State=0)) == [other["ID"]]
    assert ids(search(shop, Search="Zebra", State=0)) == []
    assert ids(search(shop, Search="\u0000")) == []


def test_pages_follow_each_other_and_after_the_last_all_are_empty(shop: Shop) -> None:
    agents = [an_agent(client_id=shop.id) for _ in range(100)]
    commit(*(put_new("agents", agent, "id") for agent in agents))
    numbers = [shop.owner_id, *(agent.id for agent in agents)]

    assert ids(search(shop, Page=0)) == ids(search(shop)) == numbers[:100]
    assert ids(search(shop, Page=2)) == numbers[100:]
    past = search(shop, Page=10**12)
    assert ids(past) == []
    assert past["PosCounters"] == {"Pagesize": 100, "ItemCountPage": 0, "ItemCountTtl": 101, "PageCount": 2}


def test_an_agent_whose_login_just_moved_is_listed_without_it(shop: Shop) -> None:
    commit(put_new("agents", an_agent(client_id=shop.id), "id"))

    assert search(shop)["PosList"][1]["Logon"] is None
