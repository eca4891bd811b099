"""The till as a person uses it, by the names that are on it; and a shop whose till it is."""

import re
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Locator, Page, Route, expect

from chalicelib import iso_codes
from chalicelib.domain.agent import MobileSettings
from chalicelib.domain.kinds import Features
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.permissions import Right
from tests.browser.shop import Login
from tests.support.accounts import PASSWORD, Account, a_stored_merchant, a_stored_terminal, an_account
from tests.support.http import get, post
from tests.support.transactions import a_body

ENDS = {"Enter": 13, "Tab": 9}  # the keys that end a scan
SUBMIT = "**/api/v1/payment/submit"
NOTHING_WAITS = """() => new Promise((resolve) => {
  const opened = indexedDB.open("payments.till");
  opened.onsuccess = () => {
    const asked = opened.result.transaction("sales").objectStore("sales").getAll();
    opened.result.close();
    asked.onsuccess = () => resolve(!asked.result.some(({ state }) => state === "waiting"));
  };
})"""
EVERY_TENDER = Features(
    accept_cash=True, accept_prepaid=True, accept_credit=True, accept_outer_card=True, offline=True, auto_login=True
)


@dataclass(frozen=True)
class Seller:
    """An agent with a till, at a stage."""

    stage: str
    account: Account
    merchant: Merchant

    @property
    def login(self) -> Login:
        return self.account.email, PASSWORD

    def payments(self) -> list[dict[str, Any]]:
        """Return the agent's payments, newest first."""
        found = post(self.stage, "/api/v1/payment/listHistoryEx", {"ListBasicModel": {}}, self.login).body
        payments: list[dict[str, Any]] = found["Transactions"]
        return payments

    def lists(self, *items: dict[str, Any], version: int = 0) -> None:
        """Store a price list of the shop, after one with this version."""
        owner = an_account(Right.ADMINISTRATOR, merchant=self.merchant)
        path = f"/api/v1/merchant/{self.merchant.id}/pricelist/update"
        taxes = [{"Code": "VAT15", "Name": "VAT", "Rate": 15}, {"Code": "VAT0", "Name": "None", "Rate": 0}]
        body = {"Version": version, "Taxes": taxes, "Items": items}
        assert post(self.stage, path, body, (owner.email, PASSWORD)).status == 200

    def pay(self, **basic: Any) -> str:
        """Take a payment in cash on another device, and return its ID."""
        reply = post(self.stage, "/api/v1/payment/submit", a_body(**basic), self.login)
        assert reply.error == (200, 0), reply.text
        payment: str = reply.body["TransactionID"]
        return payment

    def payment(self, payment: str) -> dict[str, Any]:
        found: dict[str, Any] = get(self.stage, f"/api/v1/payment/{payment}", self.login).body["Transactions"][0]
        return found


def a_seller(
    stage: str, features: Features = EVERY_TENDER, currency: str = "ZAR", *, rights: Sequence[int] = (), **changes: Any
) -> Seller:
    """Store an agent whose terminal takes a currency, at a merchant of South Africa."""
    merchant = a_stored_merchant(currency_id="ZAR")
    settings = MobileSettings(features=features)
    terminal = a_stored_terminal(merchant, currency=iso_codes.currency(currency))
    account = an_account(*rights, merchant=merchant, terminal_id=terminal, mobile_settings=settings, **changes)
    return Seller(stage, account, merchant)


class Till:
    """The page in a browser."""

    def __init__(self, page: Page, seller: Seller) -> None:
        self.page, self.seller = page, seller

    def open(self) -> None:
        self.page.goto(f"{self.seller.stage}/till")

    def sign_in(self, login: Login | None = None) -> None:
        email, password = login or self.seller.login
        self.page.get_by_label("E-mail").fill(email)
        self.page.get_by_label("Password").fill(password)
        self.button("Sign in").click()

    def begin(self) -> None:
        """Open the page and sign in."""
        self.open()
        self.sign_in()
        expect(self.button("Cash")).to_be_visible()

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def shown(self, name: str) -> Locator:
        return self.page.get_by_test_id(name)

    def sell(self, figures: str = "1234", tender: str = "Cash") -> None:
        """Take a payment, and wait for its result."""
        for key in figures:
            self.button(key).click()
        self.button(tender).click()
        self.button("Take payment").click()
        expect(self.shown("result")).to_be_visible()

    def sell_and_see(self, state: str, **sale: str) -> None:
        """Take a payment, see its result, and be ready for the next one."""
        self.sell(**sale)
        expect(self.shown("result")).to_have_attribute("data-state", state)
        self.button("New sale").click()

    def scan(self, code: str, *ends: str) -> None:
        """Type a code as a scanner does: its keys and Enter come at one moment, however busy the machine is."""
        at = time.time()
        keyboard = self.page.context.new_cdp_session(self.page)
        for key in (*code, *(ends or ["Enter"])):
            name = {"code": key, "windowsVirtualKeyCode": ENDS[key]} if key in ENDS else {"text": key}
            text = {"text": "\r"} if key == "Enter" else {}
            keyboard.send("Input.dispatchKeyEvent", {"type": "keyDown", "key": key, "timestamp": at, **name, **text})
            keyboard.send("Input.dispatchKeyEvent", {"type": "keyUp", "key": key, "timestamp": at, **name})
        keyboard.detach()

    def item(self, title: str) -> Locator:
        return self.page.get_by_role("button", name=re.compile(f"^{title}"))

    def note(self, amount: str) -> Locator:
        return self.page.locator(f'[data-testid=note][data-amount="{amount}"]')

    def sales(self) -> Locator:
        """Return the sales in the list, newest first."""
        self.page.get_by_role("link", name="Sales").click()
        return self.page.locator("[data-sale-id]")

    def wait_until_sent(self) -> None:
        self.page.wait_for_function(NOTHING_WAITS)  # the number on the page may be that of a moment ago
        expect(self.shown("waiting")).to_have_text("0")


def never_arrives(route: Route) -> None:
    route.abort()


def carried_out_without_an_answer(route: Route) -> None:
    route.fetch()
    route.abort()


class Line:
    """A TCP connection to the stage at an address of its own, which can be cut and mended."""

    def __init__(self, stage: str) -> None:
        self._stage = urlsplit(stage)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._open: list[socket.socket] = []
        self._begin()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _begin(self) -> None:
        Thread(target=self._serve, args=(self._server,), daemon=True).start()

    def _serve(self, server: socket.socket) -> None:
        with suppress(OSError):  # it was cut
            while True:
                client, _ = server.accept()
                stage = socket.create_connection((self._stage.hostname or "", self._stage.port or 0))
                self._open += [client, stage]
                for one, other in ((client, stage), (stage, client)):
                    Thread(target=_copy, args=(one, other), daemon=True).start()

    def cut(self) -> None:
        """Refuse connections, and end those that are open."""
        for one in (self._server, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._open = []

    def mend(self) -> None:
        self._server = socket.create_server(("127.0.0.1", self.port))
        self._begin()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for one in (source, target):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
