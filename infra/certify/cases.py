"""The cases of the interface's test host that can be tested from outside the host."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal

from infra.certify.client import (
    BY_LINK,
    CANCEL,
    CANCEL_CNP,
    CHIP,
    CHIP_TRACK,
    CONTACTLESS,
    LINKED,
    MANUAL,
    OTHER_PAN,
    RETURN,
    RETURN_CNP,
    STRIPE,
    Json,
    Service,
    Shown,
    card_of,
)

PAID, SIGNING, DECLINED, TAKEN_BACK = "400/411", "400/401", "400/412", "400/404"
OPEN, BEING_REVERSED = "200/201", "400/403"
REVERSED, RETURNING, RETURN_REJECTED = "500/502", "500/505", "200/202"
UNKNOWN, REFUSED = 310, 202
TILLS_AT_ONCE = 32

Differences = Iterator[str]


@dataclass(frozen=True)
class Case:
    """One case: its number and title on the page, and the function that runs it. Without a function, `how` to do it."""

    number: str
    title: str
    run: Callable[[Service], Differences] | None = None
    how: str = ""


def differs(what: str, found: object, *expected: object) -> Differences:
    """Yield a difference if the found value is none of the expected ones."""
    if found not in expected:
        yield f"{what} is {found}, not {' or '.join(map(str, expected))}"


def paid(service: Service, amount: str, input_type: int = MANUAL, **parts: Json) -> tuple[Shown, list[str]]:
    """Submit a payment that must be approved; return it and its differences."""
    shown = service.pay(amount, input_type, **parts)
    wrong = [*differs(f"the state of {amount}", shown.state, PAID), *differs(f"ErrorCode of {amount}", shown.code, 0)]
    wrong += [f"{name} is missing" for name in ("RRN", "ApprovalCode") if not shown.transaction.get(name)]
    return shown, wrong


def approvals(service: Service) -> Differences:
    """Pay in each of the four ways."""
    for input_type in (MANUAL, STRIPE, CHIP, CONTACTLESS):
        shown, wrong = paid(service, "30.00", input_type)
        yield from wrong
        if input_type in {CHIP, CONTACTLESS} and not shown.body.get("EMVOnlineProcessingResult"):
            yield "EMVOnlineProcessingResult is missing"


def swipes(service: Service) -> Differences:
    """Swipe a chip card where a chip could be read, and where it could not."""
    allowed: Json = {"AllowSwipeOverChip": True}
    for till in (service, service.till_without_chip_reader()):
        yield from paid(till, "30.00", STRIPE, acquirer=allowed, card=card_of(STRIPE, track=CHIP_TRACK))[1]


def declines(service: Service, codes: dict[str, int], pin: int | None = None) -> Differences:
    """Pay amounts that are declined."""
    for amount, code in codes.items():
        shown = service.pay(amount)
        yield from differs(f"ErrorCode of {amount}", shown.code, 1000 + code)
        yield from differs(f"the state of {amount}", shown.state, DECLINED)
        if pin:
            yield from differs(f"PINMode of {amount}", shown.transaction.get("PINMode"), pin)


def taken_back(service: Service, amount: str, *codes: int, meanwhile: str = "") -> Differences:
    """Pay an amount whose outcome is unknown, and wait for its automatic reversal."""
    shown = service.pay(amount)
    yield from differs(f"ErrorCode of {amount}", shown.code, *(codes or (UNKNOWN,)))
    if meanwhile:
        yield from differs("the state meanwhile", service.look(shown.id).state, OPEN, meanwhile, TAKEN_BACK)
    yield from differs(f"the state of {amount} finally", service.wait_for(shown.id, TAKEN_BACK).state, TAKEN_BACK)


def partial(service: Service) -> Differences:
    """Pay an amount of which the host approves half."""
    shown = service.pay("30.70")
    if shown.code == UNKNOWN:
        yield from differs("the state finally", service.wait_for(shown.id, TAKEN_BACK).state, TAKEN_BACK)
        return
    yield from differs("ErrorCode", shown.code, 1010)
    yield from differs("the state", shown.state, DECLINED)


def approved(service: Service, *amounts: str) -> Differences:
    """Pay amounts that are approved although the host answers oddly."""
    for amount in amounts:
        yield from paid(service, amount)[1]


def signature(service: Service) -> Differences:
    """Pay an amount that needs a signature."""
    yield from differs("the state", service.pay("30.08").state, SIGNING)


def cancels(service: Service) -> Differences:
    """Cancel a payment with the card, and one without."""
    for input_type, mode in ((CHIP, CANCEL), (MANUAL, CANCEL_CNP)):
        payment, wrong = paid(service, "40.00", input_type)
        cancel = service.reverse(payment, mode)
        yield from wrong
        yield from differs(f"the cancel by mode {mode}", service.wait_for(cancel.id, REVERSED, 60).state, REVERSED)
        yield from differs("its original", service.look(payment.id).state, REVERSED)


def returns(service: Service) -> Differences:
    """Return a payment in three parts."""
    payment, wrong = paid(service, "100.00")
    yield from wrong
    for amount in ("33.40", "26.60", "40.00"):
        back = service.reverse(payment, RETURN_CNP, amount)
        yield from differs(f"the return of {amount}", back.state, REVERSED)
    yield from differs("the original", service.look(payment.id).state, REVERSED)
    yield from remains(service, payment, "0")


def remains(service: Service, payment: Shown, amount: str) -> Differences:
    """Yield a difference if the remainder of a payment is another."""
    left = service.look(payment.id).transaction.get("AmountEff")
    yield from differs("remainder", None if left is None else Decimal(left), Decimal(amount))


def returns_with_card(service: Service) -> Differences:
    """Return a payment with the card, and one without."""
    for input_type in (STRIPE, CHIP):
        for card in (card_of(input_type), None):
            payment, wrong = paid(service, "40.00", input_type)
            yield from wrong
            back = service.reverse(payment, RETURN, card=card)
            yield from differs("the return", back.state, REVERSED)


def another_card(service: Service) -> Differences:
    """Return a payment with another card."""
    payment, wrong = paid(service, "40.00", CHIP)
    yield from wrong
    back = service.reverse(payment, RETURN, card=card_of(CHIP, OTHER_PAN))
    yield from differs("the answer", (back.status, back.code), (400, REFUSED))
    if not any(str(found["Property"]).startswith("Card") for found in back.body.get("Validations") or []):
        yield "no finding names the card"
    yield from remains(service, payment, "40.00")


def declined_return(service: Service) -> Differences:
    """Return an amount that is declined."""
    payment, wrong = paid(service, "40.00")
    yield from wrong
    yield from differs("ErrorCode", service.reverse(payment, RETURN_CNP, "20.51").code, 1051)
    yield from remains(service, payment, "40.00")


def lost_returns(service: Service) -> Differences:
    """Return amounts whose outcome is unknown."""
    for amount in ("20.67", "20.69", "20.72"):
        payment, wrong = paid(service, "40.00")
        yield from wrong
        back = service.reverse(payment, RETURN_CNP, amount)
        yield from differs(f"the return of {amount}", (back.code, back.state), (UNKNOWN, RETURNING))
        finally_ = service.wait_for(back.id, RETURN_REJECTED)
        yield from differs(f"the return of {amount} finally", finally_.state, RETURN_REJECTED)
        yield from remains(service, payment, "40.00")


def refusals(service: Service) -> Differences:
    """Submit payments that the service refuses before it calls a host."""
    for what, shown in (
        ("two steps", service.pay("30.00", acquirer={"SingleStepAuthMode": False})),
        ("a linked card", service.pay("30.00", LINKED, card={"CardInputMode": BY_LINK, "LinkedCardId": 1})),
        ("10^12 minor units", service.pay("10000000000.00")),
    ):
        yield from differs(f"the status of {what}", shown.status, 400)


def at_once(service: Service) -> Differences:
    """Pay at one terminal with many requests at once."""
    with ThreadPoolExecutor(TILLS_AT_ONCE) as threads:
        shown = list(threads.map(lambda _: service.pay("30.00"), range(TILLS_AT_ONCE)))
    for state in sorted({one.state for one in shown}):
        yield from differs("the state of one", state, PAID)
    yield from differs("the number of RRNs", len({one.transaction.get("RRN") for one in shown}), TILLS_AT_ONCE)


BY_HAND_NETWORK = "stop the host, or block its port, on its side"
CASES = (
    Case("1-4", "keyed with CVV2, stripe, chip, contactless", approvals),
    Case("5", "the stripe of a chip card, EntryCaps 8 and 7", swipes),
    Case(
        "6",
        ".05 .14 .51 .54 .82 .91 .96 are declined",
        lambda service: declines(service, {f"30.{code:02}": code for code in (5, 14, 51, 54, 82, 91, 96)}),
    ),
    Case("7", ".65 .66 need a PIN", lambda service: declines(service, {"30.65": 65, "30.66": 70}, 1)),
    Case("7b", ".81 is declined with N7", lambda service: declines(service, {"30.81": 5})),
    Case("8", ".08 needs a signature", signature),
    Case("9", ".67 is carried out, no answer", lambda service: taken_back(service, "30.67")),
    Case("10", ".68 is carried out, silence", lambda service: taken_back(service, "30.68")),
    Case("11", ".69 is not carried out", lambda service: taken_back(service, "30.69")),
    Case("12", ".70 is approved for half", partial),
    Case("13", ".71 is answered after 25 s", lambda service: taken_back(service, "30.71")),
    Case("14", ".72 is answered with bytes", lambda service: taken_back(service, "30.72", UNKNOWN, 1068)),
    Case("15", ".73 is answered with another RRN", lambda service: taken_back(service, "30.73")),
    Case("16", ".76 is answered with another STAN", lambda service: taken_back(service, "30.76")),
    Case("17", ".74 is answered in two segments", lambda service: approved(service, "30.74")),
    Case("18", ".75 is answered twice; the next payment", lambda service: approved(service, "30.75", "30.00")),
    Case("19", ".77 is half answered", lambda service: taken_back(service, "30.77", UNKNOWN, 1068)),
    Case("20", ".78 has a wrong length header", lambda service: taken_back(service, "30.78", UNKNOWN, 1068)),
    Case("21", ".79 is answered with one less", lambda service: taken_back(service, "30.79", UNKNOWN, 1068)),
    Case("22", "host not listening", how=f"{BY_HAND_NETWORK}: 503/902, 200/202, and again"),
    Case("23", "a certificate of another CA", how="start the host with another certificate: as 22"),
    Case("24", "62.00, three answers are lost", lambda service: taken_back(service, "62.00")),
    Case("26", "the host restarts between two payments", how="restart the host: the next payment is 400/411"),
    Case("27", "the service is killed after it sent", how="kill the stage during 30.68: 400/404 after its next start"),
    Case("28", "the 0200 after its 0420", how="hold the 0200 back on the way: it stays 400/404"),
    Case("29", "cancel, modes 1 and 3", cancels),
    Case("30", "cancel, answer lost, or 96", how="let the host lose the answer: 310 and 500/503, then 500/502"),
    Case("31", "cancel, host not listening", how=f"{BY_HAND_NETWORK}: 503/902, the payment stays 400/411"),
    Case("32", "returns 33.40, 26.60, 40.00 of 100.00", returns),
    Case("33", "return with the card and without", returns_with_card),
    Case("34", "return with another card", another_card),
    Case("35", "return of 20.51 is declined", declined_return),
    Case("36", "return of 20.67, 20.69, 20.72", lost_returns),
    Case("37", "two steps; a linked card; 10^12 minor units", refusals),
    Case("38", "32 payments at once at one terminal", at_once),
    # the last case, because the host drops every message in an outage
    Case("25", "63.00, an outage of 45 s", lambda service: taken_back(service, "63.00", meanwhile=BEING_REVERSED)),
)
