// Each request of the pages: whether it is repeated, with which key, and when the next one begins.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { ErrorCode } from "../../chalicelib/pages/kit/error_codes.js";
import { LIST, OWNERS_TILL, PAYMENT, TILL, aSale, aShop, aTill, kindOf, listed } from "./pages.mjs";
import { test } from "./runner.mjs";

// The calls of each module. A new one that changes something needs its line in SENT.
const CALLS = {
  "kit/drawer_forms.js": 1,
  "kit/giving_back.js": 2,
  "kit/payments.js": 2,
  "kit/send_receipt.js": 1,
  "shop/choose_merchant.js": 1,
  "shop/drawers.js": 3,
  "shop/forgotten.js": 2,
  "shop/frame.js": 1,
  "shop/history.js": 3,
  "shop/merchants.js": 3,
  "shop/price_draft.js": 2,
  "shop/receipt.js": 1,
  "shop/second_factor.js": 1,
  "shop/shop_form.js": 2,
  "shop/sign_in.js": 4,
  "shop/takings.js": 2,
  "shop/terminals.js": 2,
  "shop/till_form.js": 1,
  "shop/till_list.js": 6,
  "shop/webhook_list.js": 8,
  "till/account.js": 5,
  "till/my_day.js": 2,
  "till/payment.js": 1,
  "till/receipt.js": 1,
  "till/sale.js": 1,
  "till/sales.js": 2,
  "till/till.js": 10,
};

test("Each call of the service is known here", () => {
  const folder = new URL("../../chalicelib/pages/", import.meta.url);
  const found = {};
  for (const room of ["kit", "shop", "till"]) {
    for (const file of readdirSync(new URL(room, folder)).filter((name) => name.endsWith(".js") && name !== "api.js")) {
      const text = readFileSync(new URL(`${room}/${file}`, folder), "utf8").replace(/^ *\/\/.*|function \w+/gm, "");
      const count = [
        ...text.matchAll(/(?<![.#\w])(?:call|callAs|ask|asked|exchange)\((?!\{|\)|null\)|true\)|false\)|\(now\) =>)/g),
      ].length;
      if (count) found[`${room}/${file}`] = count;
    }
  }
  assert.deepEqual(found, CALLS);
});

const at = (hash, answers) => () => aShop({ hash, answers });
const TWO_PEOPLE = { "merchant/pos/list": { PosList: [OWNERS_TILL, TILL], PosCounters: { PageCount: 1 } } };
const FAILED = { Timestamp: "2026-11-23T11:00:00.000Z", Status: 500, Milliseconds: 5 };
const EVENT = {
  ID: "E1",
  Type: "payment.approved",
  Timestamp: "2026-11-23T11:00:00.000Z",
  TransactionID: "P1",
  Substate: 411,
  Deliveries: [{ WebhookID: 8, State: "pending", Attempts: 1, NextAttempt: null, AttemptList: [FAILED] }],
};
const EVENTS = { "merchant/event/list": { Events: [EVENT], EventsCounters: { ItemCountPage: 1, Pagesize: 20 } } };
const NEW_TILL = { Name: "Ben", Email: "ben@example.com", Phone: "+27829876543", Password: "12345678" };
const submit = (tab) =>
  tab.click(
    [...tab.all("form button"), ...tab.all("dialog form button")].filter((one) => one.type === "submit").at(-1),
  );
const openDetails = (tab) => {
  const [part] = tab.all("details");
  part.open = true;
  tab.fire(part, "toggle");
};
const first = (label) => (tab) =>
  tab.click(tab.all(".till button, .webhook button").find((one) => one.label === label));

// A request that changes something: its kind, how often it is sent while the service asks for a retry, whether it has a key,
// the page, what comes before, and the press that sends it.
const SENT = {
  "a return": ["payment/reverse", 3, true, at("#/payments/P1"), ["Return…"], submit],
  "a return of a card that was not present": [
    "payment/reversecnp",
    3,
    true,
    at("#/payments/P1", { "payment/ID": { Transactions: [{ ...PAYMENT, CanReturnCNP: true }] } }),
    ["Return…"],
    submit,
  ],
  "a receipt": [
    "payment/receipt/ID",
    3,
    true,
    at("#/payments/P1"),
    ["Send receipt", { Email: "a@example.com" }],
    submit,
  ],
  "a new webhook": [
    "merchant/webhook/create",
    1,
    false,
    at("#/webhooks"),
    ["New webhook", { url: "https://shop.example/b" }],
    submit,
  ],
  "a new secret": ["merchant/webhook/ID/update", 1, false, at("#/webhooks"), ["New secret"], "Make a new secret"],
  "a change of a webhook": ["merchant/webhook/ID/update", 3, false, at("#/webhooks"), ["Change"], submit],
  "a webhook that is switched off": [
    "merchant/webhook/ID/update",
    3,
    false,
    at("#/webhooks"),
    ["Switch off"],
    "Switch off",
  ],
  "a webhook that is deleted": ["merchant/webhook/ID/delete", 3, false, at("#/webhooks"), ["Delete"], "Delete"],
  "a test of a webhook": ["merchant/webhook/ID/test", 3, false, at("#/webhooks"), [], "Send a test"],
  "an event": [
    "merchant/event/ID/resend",
    3,
    false,
    at("#/webhooks", EVENTS),
    [(tab) => tab.click(tab.all(".event button")[0])],
    "Send again",
  ],
  "a new till": ["merchant/pos/create", 1, false, at("#/tills", TWO_PEOPLE), ["New till", NEW_TILL], submit],
  "a new terminal": [
    "terminal/create",
    1,
    false,
    at("#/tills", TWO_PEOPLE),
    ["New till", { ...NEW_TILL, TID: "new" }],
    submit,
  ],
  "a change of a till": ["merchant/pos/ID/update", 3, false, at("#/tills/3"), [{ Name: "Ben" }], submit],
  "a change of the shop": ["merchant/update", 3, false, at("#/shop"), [{ Name: "Tea" }], submit],
  "a second factor": ["user/totp", 1, false, at("#/shop"), [], "Set up a second factor"],
  "a link for a forgotten password": [
    "user/password/forgot",
    1,
    false,
    () => aShop({ me: null }),
    [openDetails, { forgotten: "olga@example.com" }],
    "Send a link",
  ],
  "a password by a link": [
    "user/password/reset",
    1,
    false,
    () => aShop({ me: null, hash: "#/reset/T" }),
    [{ password: "a long password" }],
    submit,
  ],
  "a change of a terminal": [
    "merchant/terminal/ID/update",
    3,
    false,
    at("#/tills"),
    [openDetails, (tab) => tab.click(tab.all(".devices button")[0]), { City: "Paarl" }],
    submit,
  ],
  "a new key": ["merchant/pos/ID/update", 3, false, at("#/tills/3"), [first("New secret key")], "Make a new key"],
  "a new password": [
    "merchant/pos/ID/update",
    3,
    false,
    at("#/tills/3"),
    [first("New password"), { password: "12345678" }],
    submit,
  ],
  "a block": ["merchant/pos/ID/update", 3, false, at("#/tills/3"), [first("Block")], "Block"],
  "the end of all sessions": [
    "merchant/pos/ID/update",
    3,
    false,
    at("#/tills/3"),
    [first("Sign out everywhere")],
    "Sign out everywhere",
  ],
  "a price list": [
    "merchant/pricelist/update",
    3,
    false,
    at("#/price-list"),
    ["Change Tea", { "price-Price": "26" }],
    "Save",
  ],
  "an export": ["report/export", 3, false, at("#/payments"), ["Export"], submit],
  "a journal": ["report/export", 3, false, at("#/payments"), ["Export", { format: "hledger" }], submit],
  "a sign-in": [
    "user/login/session",
    1,
    false,
    () => aShop({ me: null }),
    [{ email: "olga@example.com", password: "x" }],
    submit,
  ],
  "a count of the drawer": [
    "report/drawer",
    3,
    true,
    () => aTill({ hash: "#/day" }),
    [{ Counted: "5" }, "Count and close"],
    "Close the drawer",
  ],
  "a receipt at the till": [
    "payment/receipt/ID",
    3,
    true,
    () => aTill({ hash: "#/sales", answers: { "payment/listHistoryEx": listed(PAYMENT) } }),
    ["Receipt", "Send receipt", { Email: "a@example.com" }],
    submit,
  ],
  "a return at the till": [
    "payment/reverse",
    3,
    true,
    () => aTill({ hash: "#/sales", answers: { "payment/listHistoryEx": listed(PAYMENT) } }),
    ["Return…"],
    submit,
  ],
};

// Open the page and come to the button. `press` sends; requests of other kinds and those before are not counted.
async function before([kind, , , open, steps, last]) {
  const tab = await open();
  await tab.pass(1);
  const come = async () => {
    for (const step of steps) {
      if (typeof step === "string") await tab.press(step);
      else if (typeof step === "function") step(tab);
      else await tab.fill(step);
      await tab.pass(0.1);
    }
  };
  await come();
  let start = tab.sent.length;
  return {
    tab,
    come,
    press: () => (typeof last === "string" ? tab.click(tab.button(last)) : last(tab)),
    answer: (answer) => {
      tab.shop.answers[kind] = answer;
      start = tab.sent.length;
    },
    get sent() {
      const isOf = (one) => kindOf(one.path) === kind && one.method === "POST";
      return tab.sent.slice(start).filter((one) => isOf(one) && (kind !== "report/drawer" || one.body.Action));
    },
  };
}

const RETRY = { status: 503, ErrorCode: 903, ErrorMessage: "Out of reach.", retryAfter: 5 }; // the longest that is waited for
const distinct = (all, of) => new Set(all.map(of)).size;

for (const [name, row] of Object.entries(SENT)) {
  const [kind, sends, hasKey, , steps, last] = row;
  test(`This is repeated ${sends > 1 ? "as it was" : "by nobody but the person"}: ${name}`, async () => {
    const page = await before(row);
    const { tab } = page;
    const again = async () => last === "Close the drawer" && !tab.offered().includes(last) && page.come();
    for (const [fault, count] of [
      [RETRY, sends],
      [{ ...RETRY, retryAfter: 6 }, 1],
      [{ ...RETRY, retryAfter: undefined }, 1],
      [null, 1],
    ]) {
      await again();
      page.answer(fault);
      page.press();
      page.press(); // a second click in the same moment
      await tab.pass(11);
      assert.equal(page.sent.length, count, `${kind} after ${JSON.stringify(fault)}`);
      assert.equal(
        distinct(page.sent, (one) => JSON.stringify([one.key, one.body])),
        1,
      );
      assert.ok(page.sent.every((one) => Boolean(one.key) === hasKey));
    }
    if (!hasKey) return;
    const [{ key }] = page.sent;
    await again();
    page.answer(undefined);
    if (!name.includes("return")) page.press();
    else await tab.press(tab.offered().find((one) => one.startsWith("Return R")));
    await tab.pass(1);
    assert.deepEqual(
      page.sent.map((one) => one.key),
      [key],
      "the person repeats it with its key",
    );
    if (name.includes("at the till")) return;
    for (const step of steps) await (typeof step === "string" ? tab.press(step) : tab.fill(step));
    page.answer(undefined);
    page.press();
    await tab.pass(1);
    assert.equal(page.sent.length, 1);
    assert.notEqual(page.sent[0].key, key, "the next one is another");
  });
}

test("A webhook that is gone already counts as deleted", async () => {
  const tab = await aShop({
    hash: "#/webhooks",
    answers: { "merchant/webhook/ID/delete": { status: 404, ErrorCode: ErrorCode.WEBHOOK_NOT_FOUND } },
  });
  await tab.press("Delete", "Delete");

  assert.equal(tab.all("dialog").length, 0);
});

test("A signature is sent with the request of its sale", async () => {
  const sale = aSale({ state: "paid", owesSignature: true });
  const tab = await aTill({ sales: [sale], isTold: true });
  const signing = tab.load("till/sale.js").sign(sale, "picture");
  await tab.pass(1);
  await signing;

  assert.deepEqual(tab.sent.findLast((one) => one.path === "payment/submit").body, {
    BasicTran: { ID: sale.id, InputType: 10, Amount: "25.00", CurrencyID: "ZAR" },
    Files: [{ FileType: "SIGNATURE", FileCode: "picture" }],
  });
  assert.ok(!("owesSignature" in (await tab.store.sale(sale.id))));
});

test("A typed amount is sent with the tax of typed amounts, and in cash it is rounded", async () => {
  const version = { merchant: 7, version: 4, items: LIST.Items }; // as a former page kept it: the tax comes all the same
  const tab = await aTill({
    answers: {
      "merchant/pricelist": ({ path }) => ({ PriceList: path.includes("?") ? null : { ...LIST, TypedTaxCode: "VAT" } }),
    },
    facts: { prices: version },
  });
  const sold = async (tender, ...before) => {
    for (const press of before) await press();
    for (const key of ["1", "2", "3", "4"]) await tab.press(key);
    await tab.press(tender, "Take payment");
    await tab.pass(1);
    await tab.press("New sale");
    return tab.sent.findLast((one) => one.path === "payment/submit").body;
  };
  tab.go("#/amount");
  await tab.settle();
  const cash = await sold("Cash");
  const prepaid = await sold("Prepaid");
  const tea = async () => {
    tab.go("#/items");
    await tab.settle();
    tab.click(tab.all(".item")[0]);
    tab.go("#/amount");
    await tab.settle();
  };
  const both = await sold("Prepaid", tea);

  const of = ({ BasicTran, TaxesModel }) => [BasicTran.Amount, TaxesModel];
  assert.deepEqual(of(cash), ["12.30", { Taxes: ["VAT"] }]);
  assert.deepEqual(of(prepaid), ["12.34", { Taxes: ["VAT"] }]);
  assert.deepEqual(of(both), ["37.34", undefined]);
  assert.deepEqual(
    both.BasicTran.AuxDataInput.AuxData.Purchases.map((one) => one.TaxCode),
    [undefined, ["VAT"]],
  );
});

test("A further page of the sales has no sale twice that another device's sale moved", async () => {
  const pages = { 1: ["P1", "P2"], 2: ["P2", "P3"] };
  const page = ({ body }) => ({
    ...listed(...pages[body.ListBasicModel.Page ?? 1].map((ID) => ({ ...PAYMENT, ID }))),
    TransactionsCounters: { ItemCountTtl: 103, PageCount: 2, AmountCvt: "0.00" },
  });
  const tab = await aTill({ hash: "#/sales", answers: { "payment/listHistoryEx": page } });
  await tab.press("Show more");
  await tab.pass(1);

  assert.deepEqual(
    tab
      .all("[data-sale-id]")
      .map((one) => one.getAttribute("data-sale-id"))
      .sort(),
    ["P1", "P2", "P3"],
  );
});

test("My day is read again after a sale that waited was sent", async () => {
  let isDown = true;
  const tab = await aTill({
    answers: { "payment/submit": () => (isDown ? { status: 503, ErrorCode: 903 } : undefined) },
  });
  const read = () => tab.sent.filter((one) => one.path === "report/takings").length;
  await tab.press("Tea R 25.00", "Cash", "Take payment");
  await tab.pass(30);
  tab.go("#/day");
  await tab.pass(5);
  assert.deepEqual([(await tab.store.queue()).length, read()], [1, 1]);
  isDown = false;
  await tab.pass(120);

  assert.deepEqual([(await tab.store.queue()).length, read()], [0, 2]);
});

test("A sale whose answer is the page of a proxy is sent again when the proxy asks for it", async () => {
  const tab = await aTill({ answers: { "payment/submit": { status: 503, ErrorCode: undefined, retryAfter: 40 } } });
  const sent = () => tab.sent.filter((one) => one.path === "payment/submit").length;
  await tab.press("Tea R 25.00", "Cash", "Take payment");
  await tab.pass(35);
  assert.equal(sent(), 1);
  await tab.pass(10);

  assert.equal(sent(), 2);
});
