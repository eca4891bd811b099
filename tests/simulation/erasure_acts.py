"""The erasure of a payer: who pays with which addresses, when the operator erases them, and how the command runs."""

import math
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from chalicelib.store import merchants
from chalicelib.store.table import read
from infra.operator.erasure import UnfinishedError, erase, families_to_erase
from infra.operator.payer_records import of_email, of_phone
from tests.simulation.environment import present
from tests.simulation.scenario_script import OWNER, Act, Script, soon

if TYPE_CHECKING:
    from tests.simulation.scenario import Scenario

SHARE, OFTEN = 0.07, 0.3  # of the scenarios in which somebody pays; of those with linked cards or webhooks
AT_THE_END = 95_000.0  # seconds: when everything is decided, before the last lists
SHARE_OF_EXPORTS, SHARE_AT_THE_END, MOST_TRIES, PAUSES = 0.6, 0.9, 3, (3.0, 20.0, 90.0)
EVE, BOB, CAROL = "eve@home.example", "bob@home.example", "carol@home.example"
PHONES = {EVE: "+27835550123", CAROL: "+27835550199"}
HOLDER = "EVE PAYER"  # on the cards that are linked
RECEIPTS = {  # the addresses of a request, by its name for them
    "eve": (EVE,),
    "eve in two ways": (EVE, PHONES[EVE]),
    "eve and bob": (EVE, BOB),
    "carol": (CAROL, PHONES[CAROL]),
}
NOTES = ("Two coffees", "Two coffees", f"For {EVE}, table 7")
THANKS = f"thanks to {EVE}".encode()  # the answer of a receiver of events


@dataclass
class Erasure:
    """One run of the command, with the payer's address. It is not done if it died, or gave up."""

    address: str
    begun_at: float
    done_at: float | None = None
    ended_at: float = math.inf


def add_erasures(script: Script, chance: Random) -> None:
    """Let payers give their addresses, and the operator erase one of them at any time, and at the end."""
    paid = [act for act in script.every() if act.kind == "pay"]
    if not paid or chance.random() >= (OFTEN if script.theme == "linked cards" or script.has_webhooks else SHARE):
        return
    wishes: dict[str, tuple[str | None, str]] = {}
    for act in script.every():
        if act.kind not in {"pay", "sign", "reverse"} or "id" not in act.facts:
            continue
        if act.facts["id"] not in wishes:  # one for all requests that may be for the same payment
            receipts = (*RECEIPTS, *RECEIPTS, None) if act.kind != "reverse" else ("eve", "carol", None, None)
            wishes[act.facts["id"]] = chance.choice(receipts), chance.choice(NOTES)
        receipt, note = wishes[act.facts["id"]]
        act.facts["receipt"] = receipt
        if act.kind != "reverse":
            act.facts["note"] = note
    address = chance.choice((EVE, EVE, PHONES[EVE]))
    if chance.random() < SHARE_OF_EXPORTS:
        script.add(chance, chance.uniform(0, 900), OWNER, "export")
    for _ in range(chance.choice((1, 2, 2))):
        at = chance.choice(paid).at + soon(chance)
        for _ in range(chance.choice((1, 1, 2))):  # now and then two operators
            script.add(chance, at + chance.uniform(0, 0.5), "operator", "erase", facts={"of": address})
    if chance.random() < SHARE_AT_THE_END:
        script.add(chance, AT_THE_END, "operator", "erase", facts={"of": address})


def erase_until_done(scenario: "Scenario", act: Act) -> None:
    """Run the command, and again when it ended without being done, as an operator does."""
    for number in range(MOST_TRIES):
        run = Erasure(act.facts["of"], scenario.scheduler.now)
        scenario.erasures.append(run)
        scenario.gateway.run_job(f"operator {act.number}.{number}", partial(_run, scenario, run))
        run.ended_at = scenario.scheduler.now
        if run.done_at is not None:
            return
        scenario.scheduler.pause(PAUSES[min(number, len(PAUSES) - 1)])


def _run(scenario: "Scenario", run: Erasure) -> None:
    merchant = read(merchants.key(scenario.clients.people.by_name[OWNER].merchant_id))
    address = of_email(run.address) or of_phone(run.address, None)
    assert merchant is not None
    assert address is not None
    now = present.clock()
    try:
        erase(merchant, address, families_to_erase(merchant, address, now), now)
    except UnfinishedError:
        return
    run.done_at = scenario.scheduler.now
