// Answers that come late: after the view has moved on, was asked again or was left. Each case is told twice. First every answer
// comes before the next step. Then all answers are held until the last step, and the newest comes first. Both end alike.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { START } from "./device.mjs";
import {
  CASHIER,
  CLOSED,
  DRAWER,
  ITEM,
  OWNER,
  OWNERS_TILL,
  PAYMENT,
  SUPPORT,
  Shop,
  TILL,
  WEBHOOK,
  aSale,
  aShop,
  aTill,
  listed,
} from "./pages.mjs";
import { test } from "./runner.mjs";
import { shownIn, storedIn, take } from "./stories.mjs";

const PATIENCE_S = 0.5; // until all that follows an answer or a step has happened
const COUNTED = /(?<=@example.com)-\d+|"askedAt":"\d+"|\bkey:\d+/g; // sessions, times and keys
const READS = ["sale", "queue", "newest"]; // of the till's storage

let step = 0; // the service's facts change with each step

const about = (...facts) => [...facts.filter((one) => one !== undefined), `at ${step}`].join(" ");
const row = (Day) => ({
  Day,
  AgentID: 3,
  AgentName: "Till 1",
  InputType: 10,
  CurrencyID: "ZAR",
  Hour: 9,
  Payments: step,
  Reversals: 0,
  Amount: "1.00",
  AmountReversed: "0.00",
  Discounts: "0.00",
  LeftToPay: "0.00",
  Net: `${Number(Day.slice(8))}.0${step}`,
});
const event = (page) => ({
  ID: about("E", page),
  Type: "payment.approved",
  Timestamp: "2026-11-23T10:00:00.000Z",
  TransactionID: null,
  Deliveries: [],
});
const lateSale = (From) => ({
  ...PAYMENT,
  Date: "2026-11-18T12:00:00.000",
  Received: `${From}T09:00:00.000`,
  Amount: `${step}.00`,
});
const idOf = (path) => path.split("?")[0].split("/").at(-1);

// What the service answers says what was asked, and when.
const ANSWERS = {
  "report/takings": ({ body: { Period } }) => ({ Takings: [row(Period.To)], Taxes: [], Late: [], ReceiptNumbers: [] }),
  "report/drawer": ({ body: { Action } }) => ({ Drawer: Action ? CLOSED : DRAWER }),
  "payment/listHistoryEx": ({
    body: {
      Period: { From, To },
      ListBasicModel: { AccountID, Search, Page },
    },
  }) => {
    const found = about(AccountID, From, To, Search, Page);
    return {
      ...listed({ ...PAYMENT, ID: `P ${found}`, Description: found }),
      TransactionsCounters: { ItemCountTtl: 3, PageCount: 3, AmountCvt: "0.00" },
    };
  },
  "payment/ID": ({ path }) => ({ Transactions: [{ ...PAYMENT, ID: idOf(path), Description: about(idOf(path)) }] }),
  "payment/receipt/ID": ({ path }) => ({
    Receipt: { Subject: "Receipt", Html: "<p>", Text: about(idOf(path)), Lines: [] },
  }),
  "merchant/pos/list": ({ path }) => ({
    PosList: [
      { ...OWNERS_TILL, ID: Number(path.split("/")[1]) },
      { ...TILL, Name: about("Till") },
    ],
    PosCounters: { PageCount: 1 },
  }),
  "merchant/webhook/list": () => ({ Webhooks: [{ ...WEBHOOK, Url: about("https://") }] }),
  "merchant/event/list": ({ body: { Page } }) => ({
    Events: [event(Page)],
    EventsCounters: { ItemCountPage: 20, Pagesize: 20 },
  }),
};

// The post between a page, its service and its storage: it can hold what comes back.
class Post {
  #held = [];
  isHolding = false;
  only = /./; // the paths and reads of the storage whose answers are held
  isBroken = false; // nothing can be read from the storage

  constructor(tab) {
    const { answer } = tab;
    tab.post = this;
    tab.answer = (request) => (this.only.test(request.path) ? this.#bring(answer(request)) : answer(request));
    if (tab.page !== "till") return;
    const { prototype } = tab.load("till/store.js").Store;
    for (const name of READS) {
      const read = prototype[name];
      prototype[name] = function brought(...given) {
        const answer = post.isBroken ? Promise.reject(new Error("broken")) : read.apply(this, given);
        answer.catch(() => {}); // it may be held
        return post.only.test(name) ? post.#bring(answer) : answer;
      };
    }
    const post = this;
  }

  #bring(answer) {
    return this.isHolding
      ? new Promise((come) => {
          this.#held.push(() => come(answer));
        })
      : answer;
  }

  // The newest comes first, and all that follows from it comes before the next one.
  async bring(tab) {
    for (; this.#held.length; await tab.pass(PATIENCE_S)) this.#held.pop()();
    this.isHolding = false;
    await tab.pass(PATIENCE_S);
  }
}

// Go the way to a view, take the steps, and return what is then shown and stored. A step that is null is not taken.
async function ended({ open, way = [], steps, seconds = PATIENCE_S, isStill, only = /./ }, isLate) {
  step = 0;
  const tab = await open();
  const post = Object.assign(new Post(tab), { only });
  for (const one of way) {
    await take(tab, one);
    await tab.pass(PATIENCE_S);
  }
  post.isHolding = isLate;
  for (const one of steps) {
    step += isStill ? 0 : 1;
    if (one) await take(tab, one);
    await (isLate ? tab.settle() : tab.pass(PATIENCE_S));
  }
  await post.bring(tab);
  await tab.pass(seconds);
  assert.equal(tab.all(".loading").length, 0, "nothing is still awaited");
  const { view, id, query } = tab.load("kit/route.js").parse(tab.entries.at(-1).hash);
  const stored = JSON.stringify(await storedIn(tab)).replace(COUNTED, "");
  return { lines: shownIn(tab.document.body), address: [view, id, query], left: tab.left, stored };
}

const at =
  (hash, { answers, ...rest } = {}) =>
  () =>
    aShop({ hash, answers: { ...ANSWERS, ...answers }, ...rest });
const till =
  (hash, { answers, ...rest } = {}) =>
  () =>
    aTill({ hash, shop: new Shop(), answers: { ...ANSWERS, ...answers }, ...rest });
const submit = (tab) =>
  tab.click(
    [...tab.all("form button"), ...tab.all("dialog form button")].filter((one) => one.type === "submit").at(-1),
  );
const among = (place, label) => (tab) =>
  tab.click(tab.all(`${place} button, ${place} a`).find((one) => one.label.startsWith(label)));
const pressEscape = (tab) => tab.fire(tab.all("dialog").at(-1), "cancel");
const offline = (tab) => {
  tab.isOffline = true;
  tab.fire(tab.document.root, "offline");
};
const online = (tab) => {
  tab.isOffline = false;
  tab.fire(tab.document.root, "online");
};
const noSession = (tab) => {
  tab.shop.tokens.clear();
  tab.shop.answers = {};
};
const signIn =
  ({ Email }) =>
  async (tab) => {
    await tab.fill({ email: Email, password: "x" });
    tab.fire(
      tab.all("form").findLast((one) => one.querySelector("[type=password]")),
      "submit",
    );
  };

const merchantOf = (id) => ({ ClientID: id, CurrencyID: "ZAR", AccountID: id, Name: `Shop of ${id}` });
const support = (hash, rest) => async () => {
  const shop = new Shop();
  shop.zones = { 13: 13, 100: -10 };
  return at(hash, {
    me: SUPPORT,
    shop,
    session: { fields: { merchant: merchantOf(13) } },
    local: new Map([
      ["merchants.90", JSON.stringify([13, 100].map((ClientID) => ({ ClientID, Name: `Shop of ${ClientID}` })))],
    ]),
    ...rest,
  })();
};
const GUID = "00000000-0000-4000-8000-00000000AAAA";
const ofAnother = { "payment/ID": { Transactions: [{ ...PAYMENT, ClientID: 100 }] } };
const reload = (tab) => {
  tab.hash = tab.entries.at(-1).hash;
  tab.open();
};

const PAID = aSale({ state: "paid", canReturn: true, invoice: "261123.3.9", isShownPaid: true, answeredAt: START });
const OLDER = aSale({
  ...PAID,
  id: GUID.replace("AAAA", "AAAB"),
  counter: 2,
  number: "TEST2-000002",
  takenAt: PAID.takenAt - 3 * 86_400_000,
  draft: { ...PAID.draft, description: "Milk" },
});
const KEPT = { sales: [PAID, OLDER], isOnline: false };
const CARDS = {
  "merchant/pos/ID": {
    Pos: {
      ...TILL,
      MobileSettings: { Features: { AcceptCash: true }, AllowLinkedCardsEffective: true },
      CurrencyID: "ZAR",
    },
  },
  "payment/GetLinkedCards": () => ({
    LinkedCards: [{ ID: "C1", AccountID: 3, Alias: about("Card"), PaymentType: "VISA", PANEnding: "1111" }],
  }),
};

const PARKED = aSale({ state: "parked", queued: 1, reason: { code: 202 } });
const WAITING = aSale({ state: "waiting", queued: 1, request: { BasicTran: { ID: aSale().id } } });
const SENT = {
  "payment/submit": async ({ body }) => {
    await new Promise(setImmediate);
    step += 1;
    return { TransactionID: body.BasicTran.ID, Transaction: { Invoice: "1" } };
  },
};
// What is stored of a sale changes, and the views hear of it.
const stored = (changes) => [
  (tab) => {
    tab.load("till/till.js").change(PAID.id, changes);
  },
  0.3,
];
const broken = (isBroken) => (tab) => {
  tab.post.isBroken = isBroken;
};
const lost = (tab) => {
  tab.shop.answers["user/me"] = null;
  tab.load("till/till.js").ask("GET", "user/me");
};
const look = (tab) => tab.fire(tab.document.root, "focus");
const refused = (tab) => {
  tab.shop.answers["user/login/session"] = ({ body }) =>
    body.Email === OWNER.Email ? { status: 401, ErrorCode: 102, ErrorMessage: "Wrong." } : undefined;
};

const EVE = { ...CASHIER, AgentID: 4, ClientID: 8, Name: "Eve", Email: "eve@example.com" };
const PRICES = {
  "merchant/pricelist": ({ path }) => ({
    PriceList: { Version: step, Items: [{ ...ITEM, Title: path.split("/")[1] }], Taxes: [] },
  }),
};

const day = (name) => ({ day: `2026-11-${name}` });

// The way to a view, and the steps. `like`: other steps that end alike, for somebody who left before the answer; the service's
// facts stand still then. `only`: the paths and reads that are held. `seconds` pass at the end.
const CASES = {
  "days of a report": {
    open: at("#/day-report"),
    steps: ["#/day-report?day=2026-11-20", "#/day-report?day=2026-11-19"],
  },
  weeks: { open: at("#/week"), steps: ["#/week?day=2026-11-20", "#/week?day=2026-11-19"] },
  periods: { open: at("#/days"), steps: ["#/days?to=2026-11-20", "#/days?to=2026-11-19"] },
  "late sales of periods": {
    open: at("#/days", {
      answers: { ...ANSWERS, "payment/listHistoryEx": ({ body: { Period } }) => listed(lateSale(Period.From)) },
    }),
    steps: ["#/days?to=2026-11-20", "#/days?to=2026-11-19"],
  },
  "searches of payments": {
    open: at("#/payments"),
    steps: ["#/payments?search=a", "#/payments?search=b", "#/payments?page=2"],
  },
  "payments, one by one": { open: at("#/payments/P1"), steps: ["#/payments/P2", "#/payments/P1", "#/payments/P3"] },
  "Today that is refreshed": { open: at("#/today"), steps: ["Refresh", "Refresh"] },
  "Today that is left": { open: at("#/today"), steps: ["Refresh", "#/days", "#/today"] },
  "a merchant that is chosen after another one": {
    open: support("#/merchant"),
    steps: [among(".recent", "Shop of 13"), "#/merchant", among(".recent", "Shop of 100")],
  },
  "a merchant that is chosen while the facts of the one before are asked for": {
    open: support("#/merchant"),
    steps: [reload, among(".recent", "Shop of 100")],
  },
  "a payment of another merchant that is left": {
    open: support("#/tills", { answers: ofAnother }),
    steps: ["#/payments/P1", "#/tills"],
    like: [null, "#/tills"],
  },
  "a payment that is sought, and somebody goes on": {
    open: support("#/merchant"),
    steps: [{ payment: GUID }, "Find", "#/tills"],
    like: [null, null, "#/tills"],
  },
  "a payment that is filtered for, and somebody goes on": {
    open: support("#/payments"),
    steps: [{ search: GUID }, "Search", "#/tills"],
    like: [null, null, "#/tills"],
  },
  "a choice of a merchant by somebody who is replaced": {
    open: support("#/merchant"),
    steps: [among(".recent", "Shop of 100"), "Sign out", signIn(OWNER)],
    like: [null, "Sign out", signIn(OWNER)],
  },
  "a test of a webhook, and another page of events": {
    open: at("#/webhooks"),
    steps: ["Send a test", "#/webhooks?page=2"],
    seconds: 20,
  },
  "a test of a webhook that is left": {
    open: at("#/webhooks?page=2"),
    steps: ["Send a test", "#/tills"],
    like: [null, "#/tills"],
    seconds: 20,
  },
  "an export that is cancelled": {
    open: at("#/payments"),
    steps: ["Export", submit, "Cancel"],
    like: ["Export", null, "Cancel"],
  },
  "a payment that is returned and left": {
    open: at("#/payments/P1"),
    way: ["Return…"],
    steps: [submit, "#/payments/P2"],
  },
  "a price that is changed while the list is saved": {
    open: at("#/price-list"),
    way: ["Change Tea", { "price-Price": "26" }],
    steps: ["Save", null, { "price-Price": "27" }],
    like: ["Save", "Change Tea", { "price-Price": "27" }],
  },
  "the facts of a person who is replaced": { open: at("#/today"), steps: [reload, "Sign out", signIn(CASHIER)] },
  "a sign-in that is given up and then refused": {
    open: at("#/today"),
    way: [noSession, refused, "Refresh"],
    steps: [signIn(OWNER), "Sign out", signIn(CASHIER)],
    like: [null, "Sign out", signIn(CASHIER)],
  },
  "a sign-in that is given up": {
    open: at("#/today"),
    way: [noSession, "Refresh"],
    steps: [signIn(OWNER), "Sign out", signIn(CASHIER)],
    like: [null, "Sign out", signIn(CASHIER)],
  },
  ...Object.fromEntries(
    [
      ["New password", [{ password: "12345678" }], submit],
      ["Block", [], among("dialog", "Block")],
      ["Sign out everywhere", [], among("dialog", "Sign out everywhere")],
    ].map(([name, typed, send]) => [
      `a dialog of a till that is closed, and the next one: ${name}`,
      {
        open: at("#/tills/3"),
        way: [among("[data-id='3']", name), ...typed],
        steps: [send, pressEscape, among("[data-id='3']", "New secret key")],
        like: [null, pressEscape, among("[data-id='3']", "New secret key")],
      },
    ]),
  ),
  ...Object.fromEntries(
    [
      ["Change", submit],
      ["Switch off", among("dialog", "Switch off")],
    ].map(([name, send]) => [
      `a dialog of a webhook that is closed, and the next one: ${name}`,
      {
        open: at("#/webhooks"),
        way: [among(".webhook", name)],
        steps: [send, pressEscape, among(".webhook", "New secret")],
        like: [null, pressEscape, among(".webhook", "New secret")],
      },
    ]),
  ),

  "the sales of two days": { open: till("#/sales"), steps: [day(20), day(19)] },
  "a further page of sales, and another day": { open: till("#/sales"), steps: ["Show more", day(20)] },
  "searches of sales": { open: till("#/sales"), steps: ["#/sales?search=a", "#/sales?search=b"] },
  "a search that is typed before another day is chosen": { open: till("#/sales"), steps: [{ search: "tea" }, day(20)] },
  "a search that is typed before the view is left": { open: till("#/sales"), steps: [{ search: "tea" }, "#/day"] },
  "a search that is typed twice": { open: till("#/sales"), steps: [{ search: "tea" }, { search: "milk" }] },
  "the sales that a device keeps": { open: till("#/sales", KEPT), steps: [day(20), "#/sales?search=milk", "#/sales"] },
  "the sales of a device whose storage was broken": {
    open: till("#/sales", KEPT),
    steps: [broken(true), day(20), broken(false), "#/sales"],
  },
  "a sale that waits, in the list": {
    open: till("", { sales: [PARKED] }),
    steps: ["#/sales", ...stored({ number: "TEST2-9" })],
  },
  "a sale that waits, in my day": {
    open: till("", { sales: [PARKED], isOnline: false }),
    steps: ["#/day", ...stored({ draft: { ...PARKED.draft, minor: 100 } })],
  },
  "the counted sales": {
    open: till("", { sales: [PARKED] }),
    steps: [...stored({ number: "TEST2-9" }), ...stored({ state: "paid", queued: undefined })],
  },
  "the result of a sale": {
    open: till("", { sales: [PAID], isTold: true }),
    way: ["#/sales"],
    steps: ["#/sell", ...stored({ hasNoReceipt: true })],
  },
  "the prices of a cashier who is replaced": {
    open: till("", { answers: PRICES }),
    way: [601],
    steps: [
      look,
      (tab) => {
        tab.shop.people.eve = EVE;
        tab.load("till/till.js").signIn(EVE.Email, "x");
      },
    ],
    only: /pricelist/,
  },
  "a request that is lost, and a later one that is answered": { open: till(""), steps: [lost, look] },
  "the sales without and with connection": { open: till("#/sales", { sales: [PAID] }), steps: [offline, online] },
  "the sales after the next sign-in": {
    open: till("#/sales"),
    steps: [
      (tab) => {
        tab.load("till/till.js").signIn(CASHIER.Email, "x");
      },
    ],
  },
  "a sale that is returned before another day is chosen": {
    open: till("#/sales"),
    way: ["Return…"],
    steps: [submit, day(20)],
  },
  "the day of a cashier and the day before": { open: till("#/day"), steps: [day(22), day(21)] },
  "a count of the drawer, and another day": {
    open: till("#/day"),
    way: [{ Counted: "5" }, "Count and close"],
    steps: ["Close the drawer", day(22)],
  },
  "the day while a sale is sent": {
    open: till("#/day", {
      sales: [WAITING],
      isOnline: false,
      answers: { ...SENT, "report/drawer": { Drawer: DRAWER } },
    }),
    steps: [online, 1],
    like: [online, 1],
    only: /report/,
  },
  "linked cards without and with connection": {
    open: till("", { answers: CARDS }),
    way: ["Tea R 25.00", "Linked card"],
    steps: [offline, online],
  },
};

for (const [name, { like, ...one }] of Object.entries(CASES)) {
  test(`Late answers change nothing: ${name}`, async () => {
    const isStill = Boolean(like);
    const expected = await ended({ ...one, isStill, steps: like ?? one.steps }, false);
    assert.deepEqual(await ended({ ...one, isStill }, true), expected);
  });
}

test("A till whose request is lost after a later one was answered is online, and asks again at once", async () => {
  let lose;
  const tab = await till("", {
    answers: {
      "user/me": () =>
        new Promise((come) => {
          lose = () => come(null);
        }),
    },
  })();
  const asked = () => tab.sent.filter((one) => one.path === "health").length;
  tab.load("till/till.js").ask("GET", "user/me");
  await tab.pass(1);
  look(tab);
  await tab.pass(1);
  const before = asked();
  lose();
  await tab.pass(2);

  assert.deepEqual([tab.text.includes("Online"), asked() - before], [true, 1]);
});

test("A tender that somebody presses while the account comes is chosen, and one that the account takes away is left", async () => {
  for (const [Id, view] of [
    [10, "pay"],
    [8, "sell"],
  ]) {
    const tab = await till("")();
    let come;
    tab.shop.answers["payment/AuthAccount"] = () =>
      new Promise((brought) => {
        come = () => brought({ PaymentOptions: [{ Id }] });
      });
    await tab.pass(601);
    look(tab);
    await tab.press("Tea R 25.00");
    tab.click(tab.all("button").find((one) => one.label === "Cash"));
    come(); // before the page hears of its new address
    await tab.pass(1);
    assert.equal(tab.load("kit/route.js").parse(tab.entries.at(-1).hash).view, view);
  }
});

test("The result of a sale is the service's answer while the storage is behind it, and then the storage's", async () => {
  for (const [answers, state] of [
    [{}, "paid"],
    [{ "payment/submit": ({ body }) => ({ ErrorCode: 1051, TransactionID: body.BasicTran.ID }) }, "declined"],
  ]) {
    const tab = await till("", { answers })();
    const { prototype } = tab.load("till/store.js").Store;
    const { change } = prototype;
    prototype.change = async () => {
      throw new Error("broken");
    };
    const shown = () => tab.all("[data-testid='result']")[0].getAttribute("data-state");
    await tab.press("Tea R 25.00", "Cash", "Take payment");
    await tab.pass(1);
    assert.deepEqual([shown(), (await tab.store.newest(3, 1))[0].state], [state, "waiting"]);
    prototype.change = change;
    await tab.pass(60);
    assert.deepEqual([shown(), (await tab.store.newest(3, 1))[0].state], [state, state]);
  }
  const tab = await till("", { answers: { "payment/submit": null } })();
  await tab.press("Tea R 25.00", "Cash", "Take payment");
  await tab.pass(10);
  assert.equal(tab.all("[data-testid='result']")[0].getAttribute("data-state"), "waiting");
  tab.shop.answers["payment/submit"] = undefined;
  await tab.pass(60);
  assert.equal(tab.all("[data-testid='result']")[0].getAttribute("data-state"), "paid");
  const [{ id }] = await tab.store.newest(3, 1);
  tab.load("till/till.js").change(id, { hasNoReceipt: true });
  await tab.pass(1);

  assert.ok(tab.text.includes("could not send the receipt"), tab.text);
});

// The places of each module that wait for an answer and show it. A new one needs its case above.
const LOADS = {
  "kit/giving_back.js": 1,
  "kit/load.js": 1,
  "shop/choose_merchant.js": 2,
  "shop/day_report.js": 1,
  "shop/days.js": 2,
  "shop/drawers.js": 2,
  "shop/events.js": 1,
  "shop/export.js": 1,
  "shop/first_steps.js": 1,
  "shop/payment.js": 2,
  "shop/payments.js": 3,
  "shop/price_list.js": 2,
  "shop/receipt.js": 1,
  "shop/second_factor.js": 1,
  "shop/shop_form.js": 1,
  "shop/sign_in.js": 1,
  "shop/terminals.js": 1,
  "shop/till_dialogs.js": 1,
  "shop/till_form.js": 1,
  "shop/till_page.js": 1,
  "shop/tills.js": 1,
  "shop/today.js": 3,
  "shop/webhooks.js": 2,
  "shop/week.js": 1,
  "till/frame.js": 1,
  "till/items.js": 1,
  "till/my_day.js": 2,
  "till/payment.js": 1,
  "till/receipt.js": 1,
  "till/result.js": 1,
  "till/sales.js": 3,
  "till/till.js": 2,
};

test("Each load of a view is known here", () => {
  const folder = new URL("../../chalicelib/pages/", import.meta.url);
  const found = {};
  for (const room of ["kit", "shop", "till"]) {
    for (const name of readdirSync(new URL(room, folder)).filter((one) => one.endsWith(".js"))) {
      const count = [
        ...readFileSync(new URL(`${room}/${name}`, folder), "utf8").matchAll(
          /(?<!function )use(?:Loaded|Read|IsLeft)\(|\.then\(/g,
        ),
      ].length;
      if (count) found[`${room}/${name}`] = count;
    }
  }
  assert.deepEqual(found, LOADS);
});
