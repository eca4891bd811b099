"""A bulk load leaves the tables as the service would."""

from datetime import timedelta

from chalicelib.store import transactions
from infra.bench.shop import write_in_bulk
from infra.operator.rebuild import differing_counters
from tests.support.ledger import TAXES, a_merchant_with_agents, ids, local, paid, taxed
from tests.support.tills import a_till
from tests.support.transactions import NOW, a_body, a_guid, altered


def test_what_is_written_in_bulk_is_in_the_history_beside_what_the_service_writes(engine: str) -> None:
    del engine
    books = a_merchant_with_agents()
    for number in range(40):
        at = NOW - number // 2 * timedelta(hours=7)
        taxes = taxed(1230, *TAXES[number % 3])
        ext_id = "order-1" if number % 3 else None
        books.kept.append(paid(books, books.agents[0], at, ext_id=ext_id, tax_amounts=taxes))

    write_in_bulk(books.kept[:15])
    write_in_bulk(books.kept[15:30])
    for one in books.kept[30:]:
        transactions.record(one)

    named = [one for one in books.kept if one.particulars.ext_id]
    model = sorted(books.kept, key=lambda one: (local(one), one.id), reverse=True)
    assert ids(books.ask(NOW, {}).transactions) == ids(model)
    assert books.ask(NOW, {"ExtID": "order-1"}).total == len(named)
    months = {f"{books.merchant.id}#{local(one):%Y-%m}" for one in books.kept}
    assert [differing_counters(month) for month in months] == [[]] * len(months)


def test_a_bulk_load_continues_the_receipt_numbers_of_each_day(engine: str) -> None:
    del engine
    till = a_till()
    by_request = till.pay(a_body())
    loaded = [
        altered(by_request, id=a_guid(), invoice="", created_at=at) for at in (NOW, NOW, NOW - timedelta(days=40))
    ]
    write_in_bulk(loaded)
    after = till.pay(a_body())

    stored = [transactions.get(one.id) for one in (by_request, *loaded, after)]
    assert [one.invoice.replace(f".{till.agent.id}.", " ") for one in stored if one] == [
        *("260314 1", "260314 2", "260314 3", "260202 1", "260314 4")
    ]
