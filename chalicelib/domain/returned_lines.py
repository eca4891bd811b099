"""The lines that a reversal gives back, and the money of each line of its payment that it takes. Pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction

from chalicelib.domain.kinds import InputType
from chalicelib.domain.money import from_minor, smallest_coin
from chalicelib.domain.paid_lines import paid_money, spread
from chalicelib.domain.taxes import TaxAmount, TaxedLine, half_up
from chalicelib.domain.transaction import PRECISION, Purchase, Transaction
from chalicelib.errors import Check, Finding

LINES = "basic_reverse_tran.aux_data_input.aux_data.purchases"  # in a finding: the path in the request


@dataclass(frozen=True)
class Remaining:
    """What remains of a payment's line: its quantity, and the money that was paid for it."""

    line: Purchase
    quantity: Decimal
    money_minor: int


def remaining_lines(payment: Transaction) -> list[Remaining]:
    """Return what remains of each line. A payment without lines is one line, with the taxes of the whole payment."""
    sold, given_back = payment.receipt.purchases, payment.reversals.given_back or {}
    if not sold:
        codes = payment.receipt.taxes.codes if payment.receipt.taxes else ()
        return [Remaining(Purchase("", Decimal(), Decimal(), codes), Decimal(), payment.remaining_minor)]
    paid = paid_money(sold, payment.amount_minor, payment.currency)
    with localcontext(prec=PRECISION):
        return [
            Remaining(
                line,
                line.quantity - given_back.get(f"line{number}", 0),
                money - int(given_back.get(f"money{number}", 0)),
            )
            for number, (line, money) in enumerate(zip(sold, paid, strict=True))
        ]


@dataclass(frozen=True)
class ReturnedLines:
    """What a reversal gives back of each line of its payment, and the findings about its lines and amount.

    `lines` are the lines of the request with the taxes of the sold ones. Their discount is what they are worth less
    than their price.
    """

    quantities: Sequence[Decimal] = ()
    money: Sequence[int] = ()
    lines: tuple[Purchase, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def amount_minor(self) -> int:
        """Return the money of all lines."""
        return sum(self.money)


def by_amount(amount_minor: int, remaining: Sequence[Remaining]) -> ReturnedLines:
    """Return the reversal of an amount: it takes the remaining money of all lines in proportion, and no quantity."""
    money = spread(amount_minor, [one.money_minor for one in remaining])
    return ReturnedLines([Decimal()] * len(money), money)


def by_lines(
    wanted: Sequence[Purchase], amount_minor: int | None, remaining: Sequence[Remaining], payment: Transaction
) -> ReturnedLines:
    """Return the reversal of lines, which name sold ones by Title and Price: the first with something left counts.

    They come to their remaining money by quantity. Another amount is taken for all remaining lines, and when cash is
    rounded to a coin.
    """
    returned = _matched(wanted, remaining, payment)
    worth_minor = returned.amount_minor
    if returned.findings or amount_minor is None or amount_minor == worth_minor:
        return returned
    left = [one.money_minor for one in remaining]
    is_all = all(
        one.line.price < 0 or one.quantity == back for one, back in zip(remaining, returned.quantities, strict=True)
    )
    if is_all:
        return replace(returned, money=spread(min(amount_minor, sum(left)), left))
    coin = smallest_coin(payment.currency) if payment.input_type is InputType.CASH else 1
    if abs(amount_minor - worth_minor) < coin:
        named = spread(amount_minor, returned.money if worth_minor else _of(returned, left), left)
        others = [before - part for before, part in zip(left, named, strict=True)]
        more = spread(amount_minor - sum(named), others)
        return replace(returned, money=[one + other for one, other in zip(named, more, strict=True)])
    message = f"The lines come to {from_minor(worth_minor, payment.currency):f}."
    return replace(returned, findings=(Finding("amount", Check.CONTRADICTION, message),))


def _of(returned: ReturnedLines, left: Sequence[int]) -> list[int]:
    """Return the money that is left of the returned lines only."""
    return [money if quantity else 0 for money, quantity in zip(left, returned.quantities, strict=True)]


def _matched(wanted: Sequence[Purchase], remaining: Sequence[Remaining], payment: Transaction) -> ReturnedLines:
    left, back = list(remaining), [Decimal()] * len(remaining)
    lines: list[Purchase] = []
    findings: list[Finding] = []
    with localcontext(prec=PRECISION):
        for place, line in enumerate(wanted):
            missing, worth_minor, codes = line.quantity, 0, line.tax_codes
            for number, one in enumerate(left):
                taken = min(missing, one.quantity)
                if (one.line.title, one.line.price) == (line.title, line.price) and taken > 0:
                    part_minor = half_up(one.money_minor * Fraction(taken) / Fraction(one.quantity))
                    left[number] = replace(one, quantity=one.quantity - taken, money_minor=one.money_minor - part_minor)
                    back[number] += taken
                    missing -= taken
                    worth_minor += part_minor
                    codes = one.line.tax_codes
            if missing:
                findings.append(_too_much(place, line.quantity - missing))
            sum_minor = replace(line, discount=None).sum_in(payment.currency)
            less = from_minor(sum_minor - worth_minor, payment.currency)
            lines.append(replace(line, tax_codes=codes, discount=less if less > 0 else None))
    money = [before.money_minor - after.money_minor for before, after in zip(remaining, left, strict=True)]
    return ReturnedLines(back, money, tuple(lines), tuple(findings))


def _too_much(place: int, left: Decimal) -> Finding:
    message = f"Of this Title and Price only {left.normalize():f} can be given back."
    return Finding(f"{LINES}[{place}].quantity", Check.CONTRADICTION, message)


def taxes_given_back(
    payment: Transaction, remaining: Sequence[Remaining], money: Sequence[int]
) -> tuple[TaxAmount, ...]:
    """Return the taxes in the money that a reversal takes from each line."""
    given_back = payment.reversals.given_back or {}
    left = [tax.tax_minor - int(given_back.get(f"tax{k}", 0)) for k, tax in enumerate(payment.tax_amounts)]
    before = [TaxedLine(one.money_minor, one.line.tax_codes) for one in remaining]
    return taxes_back(payment.tax_amounts, before, with_codes(remaining, money), left)


def with_codes(remaining: Sequence[Remaining], money: Sequence[int]) -> list[TaxedLine]:
    """Return the money of each line with the codes of its taxes."""
    return [TaxedLine(part, one.line.tax_codes) for one, part in zip(remaining, money, strict=True)]


def taxes_back(
    whole: Sequence[TaxAmount], remaining: Sequence[TaxedLine], returned: Sequence[TaxedLine], left: Sequence[int]
) -> tuple[TaxAmount, ...]:
    """Return the taxes that a reversal gives back: of the tax that is `left` the share of the money of its lines.

    `whole` are the taxes of the payment. `remaining` and `returned` have the money of each of its lines before the
    reversal, and of the reversal. So the last reversal takes all that is left. Taxes of nothing are left out.
    """
    rows = []
    for tax, left_minor in zip(whole, left, strict=True):
        of_code = [tax.code.lower() in line.counted((tax,)) for line in remaining]
        gross, back = (
            sum(line.money_minor for line, counts in zip(lines, of_code, strict=True) if counts)
            for lines in (remaining, returned)
        )
        if back:
            rows.append(TaxAmount(tax.code, tax.name, tax.rate, back, half_up(Fraction(left_minor * back, gross))))
    return tuple(rows)
