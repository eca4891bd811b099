"""The price list and the taxes that owners replace, and the drawers of tills: what clients want and ask."""

import uuid
from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from chalicelib.domain.taxes import Tax
from tests.simulation.goods import CHANGED, TAXES, coffee
from tests.simulation.scenario_script import OWNER, TILLS, Script, soon

if TYPE_CHECKING:
    from tests.simulation.actors import Person
    from tests.simulation.clients import Clients, Seen
    from tests.simulation.scenario_script import Act

SHARE_OF_PRICES, SHARE_OF_DRAWERS = 0.07, 0.1
SHARE_OF_TAXES = 0.25  # of the scenarios that sell goods
PRICES = "/api/v1/merchant/{merchantId}/pricelist"
DRAWER = "/api/v1/report/drawer"
ACTIONS = {"open": "Float", "in": "Amount", "out": "Amount", "close": "Counted"}  # and what their amounts are called


def add_shops(script: Script, chance: Random) -> None:
    """Let the owner replace the price list from several devices, and tills open and count their drawers."""
    is_closed = any(act.kind == "close" for act in script.every())
    if chance.random() < SHARE_OF_PRICES and not is_closed:
        at = chance.uniform(0, 300)
        for _ in range(chance.choice((2, 3, 4))):
            script.add(chance, at, OWNER, "prices", facts={"signs": "key", "is_stale": chance.random() < 0.2})
            at += chance.choice((0.0, chance.uniform(0, 0.1), soon(chance)))
    if chance.random() < SHARE_OF_DRAWERS:
        for till in chance.sample(TILLS, chance.choice((1, 2))):
            _add_drawers(script, chance, till)


def _add_drawers(script: Script, chance: Random, till: str) -> None:
    """Let a till open its drawer, count it and open it again, sometimes from two devices at once."""
    at = chance.choice((0.0, chance.uniform(0, 60)))
    for _ in range(chance.choice((1, 2, 3))):
        for action in ("open", *chance.choices(("in", "out", "note"), k=chance.choice((0, 1, 2))), "close"):
            for _ in range(chance.choice((1, 1, 2))):
                facts = {"action": action, "amount": chance.randrange(1, 900) * 100, "signs": "key"}
                facts["has_key"] = chance.random() < 0.8
                script.add(chance, at, till, "drawer", facts=facts)
            at += chance.choice((soon(chance), chance.uniform(0, 400)))


def add_taxes(script: Script, chance: Random) -> None:
    """Let the owner change the taxes while tills sell, and a till give a coffee of an earlier sale back."""
    acts = script.every()
    sold = [act for act in acts if act.kind == "pay" and act.facts.get("goods") and act.client in TILLS]
    is_closed = any(act.kind == "close" for act in acts)
    if not sold or is_closed or chance.random() >= SHARE_OF_TAXES:
        return
    at = 0.0
    for _ in range(chance.choice((1, 2, 3))):
        sale = chance.choice(sold)
        at = max(sale.at + chance.choice((-soon(chance), chance.uniform(-0.3, 0.3), soon(chance))), 0)
        facts = {"signs": "key", "is_stale": False, "taxes": chance.choice((TAXES, *CHANGED))}
        script.add(chance, at, OWNER, "prices", facts=facts)
    sale = chance.choice(sold)
    if len({coffee(one.facts["amount"]) for one in sold if one.label == sale.label}) > 1:
        return  # another sale has the same label
    facts = {
        "way": sale.facts["way"],
        "mode": "return",
        "amount": coffee(sale.facts["amount"]),
        "coffee": True,
        "named": "id",
        "id": str(uuid.UUID(bytes=chance.randbytes(16), version=4)).upper(),
    }
    script.add(chance, max(at, sale.at) + soon(chance), chance.choice(TILLS), "reverse", sale.label, facts)


def replace_prices(clients: "Clients", act: "Act", person: "Person") -> None:
    """Replace the price list that one knows: the present one, unless one looked long ago."""
    known = 0
    if not act.facts["is_stale"]:
        seen = show_prices(clients, act, person)
        if seen is None or seen.status != 200:
            return
        known = seen.answer["PriceList"]["Version"]
    taxes = [{"Code": one.code, "Name": one.name, "Rate": str(one.rate)} for one in taxes_of(act)]
    body = {"Version": known, "Taxes": taxes, "Items": [item_of(act)]}
    clients.repeatedly(act, person, "POST", f"{PRICES}/update", body, merchantId=person.merchant_id)


def taxes_of(act: "Act") -> tuple[Tax, ...]:
    """Return the taxes of an act's price list."""
    taxes: tuple[Tax, ...] = act.facts.get("taxes", TAXES)
    return taxes


def item_of(act: "Act") -> dict[str, Any]:
    """Return the item of an act's price list, which no other act has."""
    codes = [{"TaxCode": one.code} for one in taxes_of(act)]
    return {"Code": f"item {act.number}", "Title": "Coffee", "Price": f"{act.number}.00", **(codes or [{}])[0]}


def show_prices(clients: "Clients", act: "Act", person: "Person") -> "Seen | None":
    """Read the price list."""
    return clients.repeatedly(act, person, "GET", PRICES, None, merchantId=person.merchant_id)


def use_drawer(clients: "Clients", act: "Act", person: "Person") -> None:
    """Act on one's drawer. The note says which act it is."""
    action = act.facts["action"]
    body = {"Action": action, "Note": note_of(act)}
    if action == "note":
        seen = clients.repeatedly(act, person, "POST", DRAWER, {})
        if seen is None or seen.status != 200 or not seen.answer["Drawer"]:
            return
        body["DrawerID"] = seen.answer["Drawer"]["DrawerID"]
    else:
        body[ACTIONS[action]] = f"{act.facts['amount'] / 100:.2f}"
    key = {"key": f"drawer {act.number}"} if act.facts["has_key"] else {}
    clients.repeatedly(act, person, "POST", DRAWER, body, **key)


def note_of(act: "Act") -> str:
    """Return the note of an act on a drawer, which no other act has."""
    return f"act {act.number}"


def list_drawers(clients: "Clients", act: "Act", person: "Person") -> None:
    """List the drawers of all days of the scenario."""
    clients.repeatedly(act, person, "POST", f"{DRAWER}/list", {"Period": {"From": act.facts["day"]}})


KINDS: Mapping[str, Callable[["Clients", "Act", "Person"], Any]] = {
    "prices": replace_prices,
    "last prices": show_prices,
    "drawer": use_drawer,
    "drawers": list_drawers,
}
