"""The lines of returns against the lines of their payment, whatever is given back in which pieces."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.returned_lines import match
from chalicelib.domain.transaction import Purchase

GOODS = ("Coffee", Decimal(25)), ("Coffee", Decimal("24.50"))


def lines(most: int) -> st.SearchStrategy[list[Purchase]]:
    line = st.builds(
        lambda goods, quarters: Purchase(goods[0], goods[1], Decimal(quarters) / 4),
        st.sampled_from(GOODS),
        st.integers(1, most),
    )
    return st.lists(line, min_size=1, max_size=4)


def quantity_of(goods: tuple[str, Decimal], some: list[Purchase]) -> Decimal:
    return sum((one.quantity for one in some if (one.title, one.price) == goods), Decimal())


@given(sold=lines(40), returns=st.lists(lines(6), min_size=1, max_size=6))
def test_returns_in_any_pieces_give_back_what_was_sold_and_no_more(
    sold: list[Purchase], returns: list[list[Purchase]]
) -> None:
    given_back: dict[str, Decimal] = {}
    accepted: list[Purchase] = []
    goods = {(one.title, one.price) for one in sold}
    for wanted in returns:
        fits = all(
            quantity_of(kind, [*accepted, *wanted]) <= quantity_of(kind, sold)
            for kind in goods | {(one.title, one.price) for one in wanted}
        )
        matched = match(wanted, sold, given_back)

        assert bool(matched.findings) != fits
        assert all(one.line.quantity > 0 for one in matched.lines)
        if fits:
            accepted += wanted
            for name, quantity in matched.quantities.items():
                given_back[name] = given_back.get(name, Decimal()) + quantity
            assert sum(given_back.values()) == sum(one.quantity for one in accepted)
            assert matched.is_all == all(quantity_of(kind, accepted) == quantity_of(kind, sold) for kind in goods)
