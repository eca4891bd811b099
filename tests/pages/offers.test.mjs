// What each view offers to press, in each state of what it shows.
import assert from "node:assert/strict";
import { START } from "./device.mjs";
import {
  CASHIER,
  FEATURES,
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

const DAY_MS = 86_400_000;
const ALWAYS = new Set([
  "Sign out",
  "English",
  "Afrikaans",
  "Understood",
  "Refresh",
  "Print",
  "Items",
  "Amount",
  "Tea R 25.00",
  "Settings",
]);
const inView = (tab, place) => tab.offered(place).filter((one) => !ALWAYS.has(one));

// The states of a sale on a device: its fields, the buttons of its row with and without connection, and those of its result.
const SALES = {
  "waits, and was shown as paid": [
    { state: "waiting", queued: 1, isShownPaid: true },
    ["Receipt"],
    ["Receipt"],
    ["New sale", "Receipt"],
  ],
  "waits, and was not shown as paid": [{ state: "waiting", queued: 1 }, [], [], ["New sale"]],
  "is unknown": [{ state: "unknown", queued: 1 }, [], [], ["New sale"]],
  "is parked": [
    { state: "parked", queued: 1, isShownPaid: true, reason: { code: 202 } },
    ["Send again", "Export", "Receipt"],
    ["Send again", "Export", "Receipt"],
    ["New sale", "Receipt"],
  ],
  "is declined": [{ state: "declined" }, [], [], ["Pay another way", "New sale"]],
  "is paid and can be returned": [
    { state: "paid", isShownPaid: true, canReturn: true },
    ["Return…", "Receipt"],
    ["Receipt"],
    ["New sale", "Send receipt", "Correct", "Receipt"],
  ],
  "is paid and cannot be returned": [
    { state: "paid", isShownPaid: true },
    ["Receipt"],
    ["Receipt"],
    ["New sale", "Send receipt", "Receipt"],
  ],
  "was paid yesterday": [
    { state: "paid", takenAt: START - DAY_MS - 60_000 },
    ["Return…", "Receipt"],
    ["Receipt"],
    null,
  ],
  "was returned": [
    { state: "paid", canReturn: true, isReturned: true },
    ["Receipt"],
    ["Receipt"],
    ["New sale", "Send receipt", "Receipt"],
  ],
  "owes a signature": [
    { state: "paid", owesSignature: true },
    ["Receipt"],
    ["Receipt"],
    ["Sign", "New sale", "Send receipt", "Receipt"],
  ],
};

for (const [name, [fields, online, offline, result]] of Object.entries(SALES)) {
  test(`The till offers for a sale that ${name} only what it allows`, async () => {
    const answers = {
      "payment/listHistoryEx": { status: 500, ErrorCode: 901 },
      "payment/submit": { status: 500, ErrorCode: 901 },
    };
    const sales = [aSale(fields)];
    const day = fields.takenAt ? "?day=2026-11-22" : "";
    for (const [isOnline, expected] of [
      [true, online],
      [false, offline],
    ]) {
      const tab = await aTill({ sales, answers, isOnline, hash: `#/sales${day}` });
      await tab.pass(1);
      assert.deepEqual(inView(tab, tab.all("[data-sale-id]")[0]), expected, `online: ${isOnline}`);
    }
    if (!result) return;
    const tab = await aTill({ sales, answers, isTold: true });
    await tab.pass(1);
    assert.deepEqual(inView(tab, tab.all("main")[0]), result);
  });
}

test("A receipt can be sent only when the service has the sale and there is a connection", async () => {
  for (const [state, isOnline, expected] of [
    ["paid", true, true],
    ["paid", false, false],
    ["waiting", true, false],
    ["parked", true, false],
  ]) {
    const sales = [aSale({ state, isShownPaid: true, queued: state === "paid" ? undefined : 1 })];
    const tab = await aTill({
      sales,
      isTold: true,
      isOnline,
      answers: { "payment/submit": { status: 500, ErrorCode: 901 } },
    });
    await tab.pass(1);
    assert.deepEqual(
      ["Send receipt", "Print"].map((name) => tab.offered().includes(name)),
      [expected, true],
      `${state} ${isOnline}`,
    );
  }
});

const RETURN = { OperationID: 3, ReverseID: "P0", ReverseInvoice: "1", CanReturn: false, Substate: 502 };
const UNKNOWN = { Substate: 201, IsNotFinished: true, CanReturn: false };
const DECLINED = { Substate: 412, CanReturn: false };
const BACK = { Substate: 502, CanReturn: true, AmountEff: "0.00", AmountRvs: "12.30", CountRvs: 1, ReverseID: "R1" };
// The states of a payment: its fields, the buttons of the till's row, and those of the shop's page.
const PAYMENTS = {
  "is paid": [{}, ["Return…", "Receipt"], ["Return…", "Show the receipt", "Send receipt"]],
  "may not be returned": [{ CanReturn: false }, ["Receipt"], ["Show the receipt", "Send receipt"]],
  "is of a card that was not present": [
    { CanReturn: false, CanReturnCNP: true },
    ["Return…", "Receipt"],
    ["Return…", "Show the receipt", "Send receipt"],
  ],
  "was given back": [BACK, ["Receipt", "Receipt of the return"], ["Show the receipt", "Send receipt"]],
  "is declined": [DECLINED, [], ["Show the receipt"]],
  "is not known": [UNKNOWN, [], ["Ask again", "Show the receipt"]],
  "owes a signature": [
    { Substate: 401, IsNotFinished: true, CanReturn: false },
    ["Receipt"],
    ["Show the receipt", "Send receipt"],
  ],
  "is a return": [RETURN, ["Receipt"], ["Show the receipt", "Send receipt"]],
  "is a return, and not known": [
    { ...RETURN, Substate: 505, IsNotFinished: true },
    [],
    ["Ask again", "Show the receipt"],
  ],
  "is a return, and declined": [{ ...RETURN, Substate: 412 }, [], ["Show the receipt"]],
};

for (const [name, [fields, atTheTill, inTheShop]] of Object.entries(PAYMENTS)) {
  test(`A payment that ${name} offers at the till and in the shop only what it allows`, async () => {
    const payment = { ...PAYMENT, ...fields };
    const answers = { "payment/listHistoryEx": listed(payment), "payment/ID": { Transactions: [payment] } };
    const till = await aTill({ answers, hash: "#/sales" });
    await till.pass(1);
    assert.deepEqual(inView(till, till.all("[data-sale-id], [data-return-id]")[0]), atTheTill);
    till.isOffline = true;
    till.fire(till.document.root, "offline");
    await till.pass(1);
    assert.ok(!till.offered().includes("Return…"));
    const shop = await aShop({ answers, hash: "#/payments/P1" });
    assert.deepEqual(inView(shop, shop.all("main")[0]), inTheShop);
  });
}

test("Without the feature Returns neither page offers a return", async () => {
  const answers = { "payment/listHistoryEx": listed(PAYMENT), "payment/ID": { Transactions: [PAYMENT] } };
  const sales = [aSale({ state: "paid", canReturn: true })];
  const features = { AcceptCash: true, Returns: false };
  const till = await aTill({ answers, hash: "#/sales", sales, isTold: true, features });
  await till.pass(1);
  assert.deepEqual(inView(till, till.all("[data-sale-id]")[0]), ["Receipt"]);
  till.go("#/sell");
  await till.pass(1);
  assert.ok(till.offered().includes("Send receipt") && !till.offered().includes("Correct"));
  const me = { ...OWNER, Features: { Returns: false } };
  const shop = await aShop({ me, answers, hash: "#/payments/P1" });
  assert.deepEqual(inView(shop, shop.all("main")[0]), ["Show the receipt", "Send receipt"]);
});

test("A kind of payment that the shop switches on is offered within a minute, though AuthAccount was asked before it", async () => {
  const features = { AcceptCash: true, Offline: true };
  const account = { agent: 3, features, options: [10], askedAt: START, currency: "ZAR", digits: 2, country: "ZA" };
  const tab = await aTill({ features, facts: { account } });
  const offers = () => ["Cash", "On account"].filter((name) => tab.offered().some((one) => one.startsWith(name)));
  const asked = () => tab.sent.filter(({ path }) => path === "payment/AuthAccount").length;
  await tab.pass(1);
  await tab.press("Tea R 25.00");
  assert.deepEqual(offers(), ["Cash"]);
  tab.shop.features = { ...features, AcceptCredit: true };
  await tab.pass(61);
  assert.deepEqual([offers(), asked()], [["Cash", "On account"], 0]);
  tab.open();
  await tab.pass(1);
  assert.deepEqual([offers(), asked()], [["Cash", "On account"], 0]);
  tab.shop.answers["payment/AuthAccount"] = { PaymentOptions: [{ Id: 9 }] };
  await tab.pass(660);
  assert.deepEqual([offers(), asked()], [["On account"], 1]);
});

test("Without the feature Discounts the till offers none", async () => {
  for (const isOn of [true, false]) {
    const tab = await aTill({ features: { AcceptCash: true, Discounts: isOn } });
    await tab.press("Tea R 25.00", "1 × R 25.00");
    assert.deepEqual(
      ["10 %", "Discount on all"].map((name) => tab.offered().includes(name)),
      [isOn, isOn],
    );
  }
});

test("The items that a device sells most are first, once, and a search ranks titles before groups", async () => {
  const Items = Array.from({ length: 14 }, (_, n) => ({
    ...ITEM,
    Code: `${n}`,
    Title: n ? `Thing ${n}` : "Odd one",
    Group: n % 2 ? "Odd" : "Even",
  }));
  const sales = [1, 2, 3].map((counter) =>
    aSale({
      id: `00000000-0000-4000-8000-00000000000${counter}`,
      counter,
      state: "paid",
      draft: { ...aSale().draft, basket: { lines: [{ code: "9" }] } },
    }),
  );
  const tab = await aTill({
    sales,
    answers: { "merchant/pricelist": { PriceList: { Version: 4, Items, Taxes: [] } } },
  });
  await tab.pass(1);
  const titles = () => tab.all(".item span").map((one) => one.textContent);

  assert.deepEqual(
    tab.all(".items h2").map((one) => one.textContent),
    ["Favourites", "Even", "Odd"],
  );
  assert.equal(titles()[0], "Thing 9");
  assert.equal(new Set(titles()).size, 14);
  await tab.fill({ search: "odd" });
  assert.deepEqual(titles().slice(0, 2), ["Odd one", "Thing 1"]);
});

test("The till's own receipt has each discount under its line, and the sum of several once", async () => {
  const lines = [5000, 1000].map((price, place) => ({
    title: `Thing of ${price}`,
    price,
    quantity: "1",
    taxes: [],
    minor: price * 0.9 - place,
    discount: price / 10 + place,
  }));
  for (const [sold, expected] of [
    [lines, ["Discount 10 % -5.00", "Discount -1.01", "All discounts -6.01"]],
    [lines.slice(1), ["Discount -1.01"]],
  ]) {
    const draft = { ...aSale().draft, lines: sold, minor: sold.reduce((sum, { minor }) => sum + minor, 0) };
    const sale = aSale({ state: "waiting", queued: 1, isShownPaid: true, draft });
    const tab = await aTill({ sales: [sale], isTold: true, isOnline: false });
    await tab.press("Receipt");
    const [{ textContent: text }] = tab.all("pre");
    assert.deepEqual(
      text
        .split("\n")
        .filter((one) => one.includes("iscount"))
        .map((one) => one.trim().replace(/ +/g, " ")),
      expected,
    );
    assert.doesNotMatch(text, /Rounding/);
  }
});

for (const [begun, fields, shown, printed] of [
  ["online", { isShownPaid: true }, "Its number follows.", "follows"],
  ["online", { state: "unknown" }, "Its number follows.", null],
  ["online", { state: "paid", invoice: "1234" }, "Number 1234", "1234"],
  ["offline", { isOffline: true, isShownPaid: true }, "Number TEST2-000001", "TEST2-000001"],
])
  test(`A ${fields.state ?? "waiting"} sale that was begun ${begun} shows: ${shown}`, async () => {
    const sales = [aSale({ state: "waiting", queued: 1, ...fields })];
    const tab = await aTill({ sales, isTold: true, isOnline: false });
    assert.match(tab.all("[data-testid=result]")[0].textContent, new RegExp(`${shown}$|· ${shown}`));
    if (printed) {
      await tab.press("Receipt");
      assert.match(tab.all("pre")[0].textContent, new RegExp(`Number +${printed}\n`));
    }
    const list = await aTill({ sales, isOnline: false, hash: "#/sales" });
    await list.pass(1);
    assert.equal(list.all("[data-sale-id] .dim span")[0].textContent, shown);
  });

test("A payment step says when its login cannot sell without connection, and nothing begins there", async () => {
  for (const [Offline, isSaid] of [
    [false, true],
    [true, false],
  ]) {
    const tab = await aTill({ features: { ...FEATURES, Offline }, isOnline: false });
    await tab.press("5", "Cash");
    assert.equal(tab.all("main")[0].textContent.includes("this login cannot sell"), isSaid);
    await tab.press("Take payment");
    assert.equal((await tab.store.queue()).length, isSaid ? 0 : 1);
  }
});

test("A return without a known outcome is asked again, and no other one begins", async () => {
  const attempt = { key: "k", endpoint: "payment/reverse", amount: "12.30", body: { BasicReverseTran: {} } };
  const tab = await aShop({
    hash: "#/payments/P1",
    session: { others: { "payments.return.P1": JSON.stringify(attempt) } },
  });

  assert.deepEqual(inView(tab, tab.all("main")[0]), ["Send again", "Show the receipt", "Send receipt"]);
});

test("A sale whose address is refused is offered without the receipt, and one that is refused another way", async () => {
  for (const [property, expected] of [
    ["Receipt.Email", ["Take it without the receipt", "Pay another way", "New sale"]],
    ["BasicTran.Amount", ["Pay another way", "New sale"]],
  ]) {
    const tab = await aTill({
      answers: {
        "payment/submit": {
          status: 400,
          ErrorCode: 202,
          Validations: [{ Type: 1, Property: property, Message: "No." }],
        },
      },
    });
    await tab.press("Tea R 25.00", "Cash", "Take payment");
    await tab.pass(1);
    assert.deepEqual(inView(tab, tab.all("main")[0]), expected);
  }
});

test("The till offers the tenders of the features and the account, and nothing without an amount", async () => {
  const all = { cash: "AcceptCash", prepaid: "AcceptPrepaid", onAccount: "AcceptCredit", outerCard: "AcceptOuterCard" };
  for (const features of [all, { a: "AcceptCash" }, {}].map((some) =>
    Object.fromEntries(Object.values(some).map((one) => [one, true])),
  )) {
    const tab = await aTill({ features });
    const offered = () =>
      ["Cash", "Prepaid", "On account", "Card on another terminal", "Linked card"].filter((name) =>
        tab.offered().includes(name),
      );
    assert.deepEqual(offered(), []);
    await tab.press("Tea R 25.00");
    assert.equal(offered().length, Object.keys(features).length);
  }
});

const OWN = ["History", "Sign out everywhere", "New password", "New secret key", "Block"];
const without = (all, ...names) => all.filter((one) => !names.includes(one));
const LOCKED = { Logon: { LockedUntil: "2026-11-23T15:00:00.000" } };
// A till or a person: who looks, its fields, and the buttons of its page.
const TILLS = [
  [OWNER, {}, OWN],
  [OWNER, { State: 0 }, [...without(OWN, "Block"), "Unblock"]],
  [OWNER, LOCKED, [...OWN.slice(0, 2), "Unlock", ...OWN.slice(2)]],
  [CASHIER, LOCKED, ["History"]],
  [SUPPORT, {}, OWN],
  [SUPPORT, { IsAdministrator: true }, without(OWN, "History")],
  [SUPPORT, { Rights: [201] }, without(OWN, "History")],
];

test("A till in the list offers what its state and the person allow", async () => {
  for (const [me, fields, expected] of TILLS) {
    const shown = { ...TILL, ...fields };
    const merchant =
      me === SUPPORT ? { fields: { merchant: { ClientID: 7, AccountID: 1, Name: "Coffee", CurrencyID: "ZAR" } } } : {};
    const tab = await aShop({
      me,
      session: merchant,
      hash: "#/tills",
      answers: {
        "merchant/pos/list": { PosList: [shown], PosCounters: { PageCount: 1 } },
        "merchant/pos/ID": { Pos: shown },
      },
    });
    const isManager = me !== CASHIER;
    const change = [...expected.filter((one) => one === "History"), ...(isManager ? ["Change"] : [])];
    assert.deepEqual(inView(tab, tab.all("[data-id]")[0]), change, `${me.Name} ${JSON.stringify(fields)}`);
    assert.equal(tab.offered().includes("New till"), isManager);
    tab.go("#/tills/3");
    await tab.settle();
    assert.deepEqual(inView(tab, tab.all("[data-id]")[0]), expected, `${me.Name} ${JSON.stringify(fields)}`);
  }
});

test("Nobody changes her own rights, and the last active administrator does not block herself", async () => {
  const tab = await aShop({
    hash: "#/tills/1",
    answers: {
      "merchant/pos/list": {
        PosList: [OWNERS_TILL, { ...OWNERS_TILL, ID: 2, State: 0 }],
        PosCounters: { PageCount: 1 },
      },
      "merchant/pos/ID": { Pos: OWNERS_TILL },
    },
  });
  const pressOwn = async (label) => {
    tab.click(tab.all("[data-id='1'] button").find((one) => one.label === label));
    await tab.settle();
  };
  const isOff = (name) => tab.all("input").find((one) => one.name === name).isDisabled;
  assert.deepEqual(["Administrator", "SeeAll", "ReturnOthers", "AcceptCash"].map(isOff), [true, true, true, false]);
  await pressOwn("Block");

  assert.deepEqual(inView(tab, tab.all("dialog")[0]), ["Cancel"]);
});

test("A webhook that is off offers to switch it on, and no event is sent to it", async () => {
  const event = {
    ID: "E1",
    Type: "payment.approved",
    Timestamp: "2026-11-23T11:00:00.000Z",
    TransactionID: "P1",
    Substate: 411,
    Deliveries: [],
  };
  for (const [State, expected] of [
    [1, "Switch off"],
    [0, "Switch on"],
  ]) {
    const answers = {
      "merchant/webhook/list": { Webhooks: [{ ...WEBHOOK, State }] },
      "merchant/event/list": {
        Events: [event, { ...event, ID: "E2", TransactionID: null }],
        EventsCounters: { ItemCountPage: 2, Pagesize: 20 },
      },
    };
    const tab = await aShop({ hash: "#/webhooks", answers });
    assert.deepEqual(inView(tab, tab.all("[data-id]")[0]), ["Send a test", "Change", "New secret", expected, "Delete"]);
    const events = tab.all(".event");
    for (const one of events) tab.click(one.querySelector("button"));
    await tab.settle();
    assert.deepEqual(
      events.map((one) => one.querySelectorAll(".opened h3, .opened .actions").length),
      State ? [2, 0] : [0, 0],
    ); // a test is of one webhook
  }
});

test("Only a manager changes the price list, and saves only changes", async () => {
  assert.deepEqual(inView(await aShop({ me: CASHIER, hash: "#/price-list" })), ["Export"]);
  const tab = await aShop({ hash: "#/price-list" });
  assert.deepEqual(inView(tab), ["New item", "New tax", "Export", "Change VAT", "Change Tea"]);
  await tab.press("New item");
  assert.deepEqual(
    inView(tab).filter((one) => ["Save", "Discard changes"].includes(one)),
    ["Save", "Discard changes"],
  );
});

test("The navigation shows webhooks to managers, and views of a merchant only after its choice", async () => {
  const links = (tab) => tab.all("nav a").map((one) => one.label);
  assert.ok(links(await aShop()).includes("Webhooks"));
  assert.ok(!links(await aShop({ me: CASHIER })).includes("Webhooks"));
  const tab = await aShop({ me: SUPPORT, hash: "#/webhooks" });
  assert.deepEqual(inView(tab), ["Choose", "Find", "Set up a second factor"]);
});

test("A report offers the next day only of a day before today", async () => {
  for (const [view, before, after] of [
    ["day-report", "Day before", "Day after"],
    ["week", "7 days earlier", "7 days later"],
  ]) {
    for (const [day, isLast] of [
      ["2026-11-22", false],
      ["2026-11-23", true],
      ["2026-11-24", true],
    ]) {
      const tab = await aShop({ hash: `#/${view}?day=${day}` });
      assert.deepEqual(inView(tab), isLast ? [before] : [before, after], `${view} ${day}`);
      assert.equal(tab.document.getElementById("day").value, day > "2026-11-23" ? "2026-11-23" : day);
    }
  }
});

test("Neither a cashier nor an administrator of another merchant exports or deletes sales that wait", async () => {
  const shop = new Shop();
  shop.people.eve = { ...CASHIER, AgentID: 4, Email: "eve@example.com" };
  shop.people.zoe = { ...OWNER, AgentID: 9, ClientID: 8, Email: "zoe@example.com" };
  for (const { Email } of [shop.people.eve, shop.people.zoe]) {
    const tab = await aTill({ shop, sales: [aSale(SALES["is parked"][0])] });
    await tab.press("Sign out", "For an administrator");
    await tab.fill({ email: Email, password: "x" });
    tab.fire(tab.all("dialog form")[0], "submit");
    await tab.pass(1);
    assert.deepEqual(
      [tab.offered().filter((one) => /Export|Delete/.test(one)), (await tab.store.queue()).length],
      [[], 1],
    );
  }
});

test("The sales of an agent that has left are deleted after they are exported, by an administrator", async () => {
  const tab = await aTill({ sales: [aSale(SALES["is parked"][0])] });
  await tab.press("Sign out", "For an administrator");
  await tab.fill({ email: OWNER.Email, password: "x" });
  tab.fire(tab.all("dialog form")[0], "submit");
  await tab.pass(1);
  const offered = () => inView(tab, tab.all("dialog")[0]);
  assert.deepEqual(offered(), ["Export", "Cancel"]);
  await tab.press("Export");
  assert.deepEqual(offered(), ["Export", "Delete the sale", "Cancel"]);
  await tab.press("Delete the sale");
  assert.deepEqual([offered(), (await tab.store.queue()).length], [["Export", "Cancel", "Delete for good"], 1]);
  await tab.press("Delete for good");
  await tab.pass(1);
  assert.deepEqual([await tab.store.queue(), tab.offered().includes("Sign in")], [[], true]);
});

test("A day that is not loaded is not printed", async () => {
  for (const isOnline of [true, false]) {
    const tab = await aTill({ hash: "#/day", isOnline });
    await tab.pass(1);
    assert.equal(tab.offered().includes("Print"), isOnline);
  }
});

test("Without connection, the till shows a hundred of the device's sales, and the others when somebody asks for them", async () => {
  const kept = Array.from({ length: 205 }, (_, number) =>
    aSale({
      id: `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`,
      counter: number + 1,
      number: `TEST2-${number}`,
      state: "paid",
    }),
  );
  const tab = await aTill({ hash: "#/sales", sales: kept, isOnline: false });
  for (const count of [100, 200, 205]) {
    for (let turn = 0; turn < count; turn += 5) await tab.settle(); // the storage takes a turn for each
    assert.equal(tab.all("[data-sale-id]").length, count);
    assert.equal(tab.offered().includes("Show more"), count < 205);
    if (count < 205) tab.click(tab.button("Show more"));
  }
});

test("A basket that nobody paid comes back after New sale, and signing out says that it is lost", async () => {
  for (const answer of [
    { status: 403, ErrorCode: 152, ErrorMessage: "Blocked." },
    ({ body }) => ({ ErrorCode: 1005, ErrorMessage: "No", TransactionID: body.BasicTran.ID }),
    undefined,
  ]) {
    const tab = await aTill({ answers: { "payment/submit": answer } });
    await tab.press("Tea R 25.00", "Prepaid", "Take payment", "New sale");
    const isPaid = !answer;
    assert.equal(tab.offered().includes("Undo"), !isPaid);
    if (isPaid) continue;
    await tab.press("Undo");
    assert.equal(tab.all("[data-testid='line']").length, 1);
    await tab.press("Sign out");
    assert.ok(tab.text.includes("What is in the basket will be lost."));
    await tab.press("Cancel", "Remove", "Sign out");
    assert.ok(!tab.text.includes("will be lost"));
  }
});

// Each typed number, as a price of rand, of dinars with three decimals, and as a quantity; null where it is refused.
test("A typed number means one thing in all fields, and what could be thousands or a fraction is refused in words", async () => {
  const ambiguous = "The mark before the last three figures can mean thousands or a fraction. Type 1500, or 1.5.";
  for (const [languages, table] of [
    [
      ["en"],
      {
        "1,500": ["1500", null, null],
        "1.500": ["1.500", "1.500", "1.500"],
        "0,350": ["0.350", "0.350", "0.350"],
        "12,5": ["12.5", "12.5", "12.5"],
        "R 1,500.00": ["1500.00", "1500.00", null],
        "1.500,25": ["1500.25", "1500.25", "1500.25"],
        "1,500,000": ["1500000", "1500000", null],
        "1,50,000": [null, null, null],
        "1 500": ["1500", "1500", "1500"],
        "-2": ["-2", "-2", null],
        x: [null, null, null],
      },
    ],
    [
      ["af"],
      {
        "1,500": ["1.500", "1.500", "1.500"],
        "1.500": ["1.500", "1.500", "1.500"],
        "1 500,5": ["1500.5", "1500.5", "1500.5"],
      },
    ],
  ]) {
    const tab = await aTill({ globals: { navigator: { languages } } });
    const { typedAmount, typedQuantity, wrongNumber, wrongQuantity } = tab.load("kit/money.js");
    for (const [typed, expected] of Object.entries(table))
      assert.deepEqual(
        [typedAmount(typed, "ZAR"), typedAmount(typed, "ZAR", 3), typedQuantity(typed)],
        expected,
        `${typed} in ${languages}`,
      );
    if (languages[0] === "en")
      assert.deepEqual(
        [wrongQuantity("1,500", "no"), wrongNumber("1,500", "no", "KWD", 3), wrongQuantity("x", "no")],
        [ambiguous, ambiguous, "no"],
      );
  }
});

test("A sale that waits says at its result and in the list that it needs another sign-in, and no longer when that came", async () => {
  const sale = aSale({ state: "waiting", queued: 1, isShownPaid: true, request: { BasicTran: { ID: aSale().id } } });
  for (const hash of ["#/sell", "#/sales"]) {
    const tab = await aTill({ sales: [sale], isTold: true, isOnline: false, hash });
    const says = () =>
      tab.all("[data-testid=result], [data-sale-id]")[0].textContent.includes("when you have signed in");
    await tab.pass(1);
    assert.ok(!says());
    tab.shop.tokens.clear();
    tab.isOffline = false;
    tab.fire(tab.document.root, "online");
    await tab.pass(1);
    assert.ok(says());
    tab.shop.answers["payment/submit"] = { status: 503, ErrorCode: 903 };
    await tab.load("till/till.js").signIn("ann@example.com", "x");
    await tab.pass(1);
    assert.ok(!says());
  }
});
