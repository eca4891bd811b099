"""The lines that a reversal gives back, matched with the lines of its payment. Pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext

from chalicelib.domain.transaction import PRECISION, Purchase
from chalicelib.errors import Check, Finding

LINES = "basic_reverse_tran.aux_data_input.aux_data.purchases"  # in a finding: the path in the request


@dataclass(frozen=True)
class ReturnedLine:
    """A quantity that is given back of a payment's line, which has this number."""

    number: int
    line: Purchase


@dataclass(frozen=True)
class ReturnedLines:
    """The sold lines that a reversal gives back, and a finding for each of its lines that has less left.

    `is_all`: nothing is left of the payment's lines.
    """

    lines: tuple[ReturnedLine, ...] = ()
    findings: tuple[Finding, ...] = ()
    is_all: bool = False

    @property
    def quantities(self) -> dict[str, Decimal]:
        """Return the quantity of each sold line, under line0, line1 and so on."""
        added: dict[str, Decimal] = {}
        with localcontext(prec=PRECISION):
            for one in self.lines:
                name = f"line{one.number}"
                added[name] = added.get(name, Decimal()) + one.line.quantity
        return added


def match(wanted: Sequence[Purchase], sold: Sequence[Purchase], given_back: Mapping[str, Decimal]) -> ReturnedLines:
    """Match the lines of a reversal with the sold ones by Title and Price; the first with something left comes first.

    `given_back` has the `quantities` that earlier reversals gave back.
    """
    returned: list[ReturnedLine] = []
    findings: list[Finding] = []
    with localcontext(prec=PRECISION):
        left = [line.quantity - given_back.get(f"line{number}", 0) for number, line in enumerate(sold)]
        for place, line in enumerate(wanted):
            missing = line.quantity
            for number, one in enumerate(sold):
                taken = min(missing, left[number])
                if (one.title, one.price) == (line.title, line.price) and taken > 0:
                    left[number] -= taken
                    missing -= taken
                    returned.append(ReturnedLine(number, replace(one, quantity=taken)))
            if missing:
                findings.append(_too_much(place, line.quantity - missing))
    return ReturnedLines(tuple(returned), tuple(findings), not any(left))


def _too_much(place: int, left: Decimal) -> Finding:
    message = f"Of this Title and Price only {left.normalize():f} can be given back."
    return Finding(f"{LINES}[{place}].quantity", Check.CONTRADICTION, message)
