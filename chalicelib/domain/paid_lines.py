"""The money that was paid for each line of a payment: exact minor units that add up to its amount. Pure functions."""

from collections.abc import Sequence

from chalicelib.domain.money import Currency
from chalicelib.domain.transaction import Purchase


def paid_money(purchases: Sequence[Purchase], amount_minor: int, currency: Currency) -> list[int]:
    """Return the money that was paid for each line, in minor units.

    Lines below zero lower the lines with the same tax codes, and when these are used up, or there are none, all others.
    The result is scaled to the amount: cash was rounded, or only a part was paid.
    """
    sums = [one.sum_in(currency) for one in purchases]
    codes = [frozenset(map(str.lower, one.tax_codes)) for one in purchases]
    money = [max(one, 0) for one in sums]
    for number in (number for number, one in enumerate(sums) if one < 0):
        for is_same in (True, False):
            own = [(other == codes[number]) is is_same for other in codes]
            weights = [max(one, 0) if counts else 0 for one, counts in zip(sums, own, strict=True)]
            taken = spread(-sums[number], weights, money)
            sums[number] += sum(taken)
            money = [before - part for before, part in zip(money, taken, strict=True)]
    if sum(money) == amount_minor:
        return money
    return spread(amount_minor, money) if any(money) else spread(amount_minor, [1] * len(money))


def spread(amount: int, weights: Sequence[int], most: Sequence[int] | None = None) -> list[int]:
    """Return parts of an amount in proportion to the weights, by largest remainder; of equal ones the first gains.

    No part is above its number in `most`: others take what it cannot. Without others, the parts are less than the
    amount.
    """
    parts = [0] * len(weights)
    left, taking = amount, [number for number, weight in enumerate(weights) if weight]
    while left and taking:
        whole = sum(weights[number] for number in taking)
        shares = {number: divmod(weights[number] * left, whole) for number in taking}
        gaining = left - sum(share for share, _ in shares.values())
        for number in sorted(taking, key=lambda number: -shares[number][1])[:gaining]:
            shares[number] = shares[number][0] + 1, 0
        for number, (share, _) in shares.items():
            taken = share if most is None else min(share, most[number] - parts[number])
            parts[number] += taken
            left -= taken
        taking = [number for number in taking if most is not None and parts[number] < most[number]]
    return parts
