"""The shop's page as a person uses it, by the names that are on it; and a store to look at with it."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from playwright.sync_api import Locator, expect

from chalicelib.domain.merchant import Merchant
from chalicelib.domain.permissions import Right
from tests.browser.conftest import Visit
from tests.support.accounts import PASSWORD, Account, a_stored_merchant, a_stored_terminal, an_account
from tests.support.cards import EXP, PAN
from tests.support.http import OWNER, Reply, get, post
from tests.support.transactions import a_body

VIEWS = ("Today", "Days", "A week", "Day report", "Drawer", "Payments", "Tills", "Price list", "Shop", "Webhooks")
Login = tuple[str, str]


class Shop:
    """The page in a browser, at a stage."""

    def __init__(self, visit: Visit, stage: str) -> None:
        self.visit, self.stage, self.page = visit, stage, visit.page

    def open(self, address: str = "") -> None:
        """Go to an address of the page, such as #/payments, as by typing it."""
        self.page.goto(f"{self.stage}/app{address}")

    def sign_in(self, login: Login = OWNER, address: str = "") -> None:
        self.open(address)
        self.fill_in(login)
        expect(self.page.get_by_role("navigation", name="Main")).to_be_visible()

    def fill_in(self, login: Login) -> None:
        self.page.get_by_label("E-mail").fill(login[0])
        self.page.get_by_label("Password").fill(login[1])
        self.page.get_by_role("button", name="Sign in").click()

    def look_at(self, view: str) -> None:
        """Follow the link to a view, and wait until it has what it shows."""
        self.page.get_by_role("link", name=view, exact=True).click()
        self.wait_for(view)

    def wait_for(self, heading: str) -> None:
        expect(self.page.get_by_role("heading", level=1, name=heading, exact=True)).to_be_visible()
        self.wait_until_loaded()

    def wait_until_loaded(self) -> None:
        expect(self.page.locator(".loading")).to_have_count(0)
        expect(self.page.locator("[aria-busy=true]")).to_have_count(0)

    def row(self, payment: str) -> Locator:
        """Return the row of a payment in the list."""
        return self.page.locator(f'[data-id="{payment}"]')

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def give_back(self) -> Locator:
        """Return the button of the dialog that gives back, which names the amount."""
        return self.page.get_by_role("dialog").get_by_role("button", name=re.compile("^Return"))

    @property
    def net(self) -> Decimal:
        """Return the net figure of Today, exactly."""
        figure = self.page.get_by_test_id("net")
        expect(figure).to_be_visible()
        return Decimal(figure.get_attribute("data-amount") or "")

    def amount_of(self, name: str) -> Decimal:
        """Return the amount beside a name, exactly."""
        figure = self.page.locator("div:has(> dt)", has=self.page.locator(f"dt:text-matches('^{name}')")).first
        expect(figure.locator(".money")).to_be_visible()
        return Decimal(figure.locator(".money").get_attribute("data-amount") or "")


@dataclass(frozen=True)
class Store:
    """A merchant with an owner and two tills, at a stage."""

    stage: str
    merchant: Merchant
    owner: Login
    till: Login
    colleague: Login
    till_key: str

    @property
    def client_id(self) -> int:
        return self.merchant.id

    def pay(self, amount: str = "12.30", by: Login | None = None, **basic: Any) -> str:
        """Take cash, and return the ID of the payment."""
        return self._submit(a_body(Amount=amount, **basic), by)

    def pay_by_card(self, amount: str) -> str:
        """Take a payment by a card that is typed in; its cents decide what the sandbox answers."""
        basic = a_body(Amount=amount, InputType=1)["BasicTran"]
        return self._submit(
            {"BasicTran": basic, "Card": {"CardDataInput": {"PAN": PAN, "EXP": EXP, "CVV2": "123"}}}, None
        )

    def _submit(self, body: dict[str, Any], by: Login | None) -> str:
        paid: str = post(self.stage, "/api/v1/payment/submit", body, by or self.till).body["TransactionID"]
        return paid

    def give_back(self, payment: str, amount: str) -> Reply:
        basic = {"TransactionID": payment, "ReverseMode": 2, "Amount": amount, "PartialReverse": True}
        return post(self.stage, "/api/v1/payment/reverse", {"BasicReverseTran": basic}, self.till)

    def given_back(self, payment: str) -> tuple[Decimal, int]:
        """Return how much of a payment was given back, and in how many reversals."""
        found = get(self.stage, f"/api/v1/payment/{payment}", self.owner).body["Transactions"][0]
        return Decimal(found["AmountRvs"]), found["CountRvs"]

    def takings_of_today(self, login: Login | None = None) -> list[dict[str, Any]]:
        """Return what the interface says was taken."""
        day = get(self.stage, "/api/v1/user/me", login or self.owner).body["Data"]["Today"]
        body = {"Period": {"From": day, "To": day}}
        rows: list[dict[str, Any]] = post(self.stage, "/api/v1/report/takings", body, login or self.owner).body[
            "Takings"
        ]
        return rows

    def subscribe(self, url: str, **fields: Any) -> dict[str, Any]:
        """Give the merchant a webhook, and return it with its secret."""
        path = f"/api/v1/merchant/{self.client_id}/webhook/create"
        made: dict[str, Any] = post(self.stage, path, {"Url": url, **fields}, self.owner).body["Webhook"]
        return made

    def webhooks(self) -> list[dict[str, Any]]:
        """Return the webhooks of the merchant, as the interface lists them."""
        path = f"/api/v1/merchant/{self.client_id}/webhook/list"
        found: list[dict[str, Any]] = post(self.stage, path, {}, self.owner).body["Webhooks"]
        return found


def a_store(stage: str) -> Store:
    merchant = a_stored_merchant(currency_id="ZAR")

    def till(name: str) -> Account:
        return an_account(merchant=merchant, terminal_id=a_stored_terminal(merchant), name=name)

    def login(account: Account) -> Login:
        return account.email, PASSWORD

    owner = an_account(Right.ADMINISTRATOR, merchant=merchant, name="Owner")
    front, back = till("Front till"), till("Back till")
    return Store(stage, merchant, login(owner), login(front), login(back), front.key)


def total(rows: list[dict[str, Any]], name: str) -> Decimal:
    return sum((Decimal(row[name]) for row in rows), Decimal(0))
