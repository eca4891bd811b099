// The rules of the shop's views, each with the answers of the service that it depends on.
import assert from "node:assert/strict";
import { ErrorCode } from "../../chalicelib/pages/kit/error_codes.js";
import {
  CASHIER,
  CLOSED,
  DRAWER,
  ITEM,
  MERCHANT,
  OWNER,
  OWNERS_TILL,
  PAYMENT,
  SUPPORT,
  TERMINAL,
  TILL,
  WEBHOOK,
  aShop,
  aTill,
  kindOf,
  listed,
} from "./pages.mjs";
import { test } from "./runner.mjs";

const sentOf = (tab, kind) => tab.sent.filter((one) => kindOf(one.path) === kind).map((one) => one.body);
const refused = (code, ...findings) => ({
  status: 400,
  ErrorCode: code,
  ErrorMessage: "No.",
  Validations: findings.map(([Property, Code]) => ({ Property, Code, Type: 1 })),
});
const submit = (tab) =>
  tab.click(
    [...tab.all("form button"), ...tab.all("dialog form button")].filter((one) => one.type === "submit").at(-1),
  );
const row = (fields) => ({
  Day: "2026-11-23",
  AgentID: 3,
  AgentName: "Till 1",
  InputType: 10,
  CurrencyID: "ZAR",
  Payments: 1,
  Reversals: 0,
  AmountReversed: "0.00",
  Discounts: "0.00",
  LeftToPay: "0.00",
  Amount: fields.Net,
  ...fields,
});
const takings = (now, before) => ({
  "report/takings": ({ body }) => ({
    Takings: body.Period.From === "2026-11-16" ? before : now,
    Taxes: [],
    Late: [],
    ReceiptNumbers: [],
  }),
});

// The hours of takings today and a week ago, and the comparison at 14:00.
const COMPARED = [
  [
    { 9: "10.00" },
    { 9: "4.00", 14: "100.00" },
    "R 6.00 (150%) more than last Monday by 2:00 PM. Last Monday's total was R 104.00.",
  ], // this hour is not over
  [{ 9: "1.00", 14: "50.00" }, { 9: "4.00", 15: "1.00" }, "R 3.00 (75%) less than last Monday by 2:00 PM."],
  [
    { 9: "1.00", 14: "50.00" },
    { 9: "4.00", 13: "1.00" },
    "R 46.00 more than last Monday. Last Monday's total was R 5.00.",
  ], // they were closed by now
  [{ 9: "1.00" }, { 14: "4.00" }, "Last Monday's total was R 4.00."], // they had not opened yet
  [{ 9: "1.00" }, {}, "Nothing was taken last Monday."],
];

for (const [now, before, words] of COMPARED) {
  test(`Today is compared by whole hours: ${words}`, async () => {
    const [ours, theirs] = [now, before].map((hours) =>
      Object.entries(hours).map(([hour, Net]) => row({ Hour: Number(hour), Net })),
    );
    const tab = await aShop({ answers: takings(ours, theirs) });
    const shown = tab.all(".compared")[0].textContent.replace(/\s+/g, " ").trim();
    assert.ok(shown.startsWith(words), shown);
    const bars = tab.all(".chart")[0].querySelectorAll(".ground").length;
    const hours = [...Object.keys(now), ...Object.keys(before)].map(Number);
    assert.equal(bars, Math.max(6, Math.max(...hours) - Math.min(...hours) + 1));
  });
}

test("Today shows what is unknown first, and then the five latest payments", async () => {
  const all = Array.from({ length: 8 }, (_, number) => ({
    ...PAYMENT,
    ID: `P${number}`,
    Date: `2026-11-23T13:0${number}:00.000`,
  }));
  Object.assign(all[7], { OperationID: 3, Substate: 502, Description: null });
  const unknown = { ...PAYMENT, ID: "P9", Substate: 201, IsNotFinished: true, Date: "2026-11-23T08:00:00.000" };
  const tab = await aShop({ answers: { "payment/listHistoryEx": { ...listed(...all), InProcess: [unknown] } } });

  assert.deepEqual(
    tab.all("[data-id]").map((one) => one.getAttribute("data-id")),
    ["P9", "P7", "P6", "P5", "P4", "P3"],
  );
  assert.ok(tab.text.includes("One has no known outcome yet."));
  assert.deepEqual(
    tab
      .all("[data-id] .what")
      .slice(0, 3)
      .map((one) => one.label),
    ["Tea", "Return", "Tea"],
  );
});

test("Today asks each minute while somebody uses the page, and again when she returns", async () => {
  const tab = await aShop();
  const asked = () => sentOf(tab, "payment/listHistoryEx").length;
  const start = asked();
  await tab.pass(600);
  assert.equal(asked() - start, 10);
  tab.document.visibilityState = "hidden";
  await tab.pass(300);
  assert.equal(asked() - start, 10);
  tab.document.visibilityState = "visible";
  await tab.pass(3600);
  const idle = asked();
  await tab.pass(600);
  assert.equal(asked(), idle, "nobody uses it, so its session can end");
  tab.fire(tab.document.body, "pointermove");
  await tab.pass(61);
  assert.equal(asked() - idle, 2);
});

test("A week has the taxes of its own days, and is compared with the week before", async () => {
  const tax = (Day, Tax, Rate = "15") => ({
    Day,
    Code: "VAT",
    Name: "VAT",
    Rate,
    CurrencyID: "ZAR",
    Gross: "10.00",
    Tax,
  });
  const tab = await aShop({
    hash: "#/week",
    answers: {
      "report/takings": {
        Takings: [
          row({ Day: "2026-11-16", Net: "8.00" }),
          row({ Day: "2026-11-17", Net: "3.00" }),
          row({ Net: "1.00" }),
        ],
        Taxes: [
          tax("2026-11-16", "9.00"),
          tax("2026-11-17", "1.00"),
          tax("2026-11-23", "2.50"),
          tax("2026-11-23", "0.50", "5"),
        ],
        Late: [],
        ReceiptNumbers: [],
      },
    },
  });

  assert.deepEqual(sentOf(tab, "report/takings")[0].Period, { From: "2026-11-10", To: "2026-11-23" });
  assert.equal(tab.all("[data-testid='net-of-week']")[0].getAttribute("data-amount"), "4.00");
  assert.ok(tab.text.includes("R 4.00 (50%) less than"));
  assert.deepEqual(
    tab.all(".tax .money").map((one) => one.getAttribute("data-amount")),
    ["10.00", "9.50", "0.50", "20.00", "16.50", "3.50", "4.00"], // 30.00 is not the net: a line has both rates
  );
});

test("The day report names the late sales of each till in one line, and says nothing without any", async () => {
  const late = [
    { AgentID: 3, AgentName: "Door", CurrencyID: "ZAR", Payments: 2, Amount: "10.50" },
    { AgentID: 4, AgentName: null, CurrencyID: "JPY", Payments: 1, Amount: "500" },
  ];
  for (const Late of [late, []]) {
    const report = { Takings: [row({ Net: "8.00" })], Taxes: [], Late, ReceiptNumbers: [] };
    const tab = await aShop({ hash: "#/day-report", answers: { "report/takings": report } });
    const said = tab.all("article p").filter((one) => one.textContent.includes("arrived on this day"));
    assert.equal(said.length, Late.length ? 1 : 0);
    if (Late.length) assert.match(said[0].textContent, /Door R.10\.50 \(2\), 4 .*500 \(1\)/);
  }
});

test("Days without a beginning are thirty days before their end, and days that go backwards are not asked for", async () => {
  for (const [query, period] of [
    ["", { From: "2026-10-24", To: "2026-11-23" }],
    ["?to=2026-11-01", { From: "2026-10-02", To: "2026-11-01" }],
    ["?from=2026-11-02&to=x", { From: "2026-11-02", To: "2026-11-23" }],
    ["?from=2026-11-02&to=2026-11-01", undefined],
  ]) {
    const tab = await aShop({ hash: `#/days${query}` });
    assert.deepEqual(sentOf(tab, "report/takings")[0]?.Period, period);
  }
});

// The fields of a payment, the look of its state, and whether the page says why the bank refused.
const LOOKS = [
  [{}, "good", false],
  [{ AmountRvs: "2.00" }, "", false],
  [{ Substate: 502, AmountRvs: "12.30" }, "", false],
  [{ Substate: 412, StateDisplay: "x" }, "bad", true],
  [{ Substate: 201, IsNotFinished: true }, "warn", false],
  [{ Substate: 401, IsNotFinished: true }, "warn", false],
  [{ OperationID: 3, Substate: 502, ReverseID: "P0" }, "", false],
  [{ OperationID: 3, Substate: 412, ReverseID: "P0" }, "bad", true],
  [{ OperationID: 3, Substate: 505, IsNotFinished: true, ReverseID: "P0" }, "warn", false],
];

test("The state of a payment has its look, and a refusal its reason", async () => {
  for (const [fields, look, isRefused] of LOOKS) {
    const tab = await aShop({
      hash: "#/payments/P1",
      answers: {
        "payment/ID": { Transactions: [{ ...PAYMENT, ...fields, Result: { Code: "05", Message: "Do not honour" } }] },
      },
    });
    assert.equal(tab.all(".headline .badge")[0].getAttribute("class"), `badge ${look}`, JSON.stringify(fields));
    assert.equal(
      tab.all("dt").some((one) => one.label === "Reason"),
      isRefused,
    );
  }
});

test("The pages of a merchant's tills and terminals are all read, and people stand apart", async () => {
  const paged =
    (all, name, counters) =>
    ({ body }) => ({ [name]: [all[body.Page - 1]], [counters]: { PageCount: all.length } });
  const takingsOf = [row({ Day: "2026-11-20", Net: "1.00" }), row({ Day: "2026-11-18", Net: "1.00" })];
  const answers = {
    "merchant/pos/list": paged([TILL, OWNERS_TILL, { ...TILL, ID: 4, Name: "Till 2" }], "PosList", "PosCounters"),
    "merchant/terminal/list": paged(
      [TERMINAL, { ...TERMINAL, ID: 9, Name: "TILL-9" }],
      "Terminals",
      "TerminalsCounters",
    ),
    ...takings(takingsOf, takingsOf),
  };
  const tab = await aShop({ hash: "#/tills", answers });
  assert.deepEqual(
    tab.all("[data-id]").map((one) => one.getAttribute("data-id")),
    ["3", "4", "1"],
  );
  assert.ok(tab.all("[data-id='3']")[0].label.includes("Nov 20, 2026"), "the last of its days with payments");
  await tab.press("New till");
  assert.ok(tab.text.includes("TILL-9"));
});

test("An answer to an earlier choice is not shown", async () => {
  let late;
  const found = (name) => listed({ ...PAYMENT, Description: name });
  const tab = await aShop({
    hash: "#/payments",
    answers: {
      "payment/listHistoryEx": ({ body }) =>
        body.ListBasicModel.Search === "slow"
          ? new Promise((come) => {
              late = come;
            })
          : found("Quick"),
    },
  });
  for (const word of ["slow", "quick"]) {
    tab.go(`#/payments?search=${word}`);
    await tab.settle();
  }
  late(found("Slow"));
  await tab.settle();

  assert.ok(tab.text.includes("Quick") && !tab.text.includes("Slow"));
});

// The filters of the address, and the fields of the request.
const FILTERED = {
  "search=R+1%2C234.50&till=3&kind=10&page=2": [
    {},
    { Search: "1234.50", AccountID: 3, InputType: 10, Page: 2, Sort: "Date desc" },
  ],
  "from=2026-11-01&to=2026-11-31&rrn=7&sort=asc": [{ From: "2026-11-01" }, { RRN: "7", Page: 1, Sort: "Date asc" }],
  "from=2026-13-01&to=2026-11-02&rrn=7": [{ To: "2026-11-02" }, { RRN: "7", Page: 1, Sort: "Date desc" }],
  "extid=a&acquirer=b&invoice=c&till=x": [
    {},
    { ExtID: "a", AcquirerCode: "b", Invoice: "c", AccountID: "x", Page: 1, Sort: "Date desc" },
  ],
};

for (const [query, [period, model]] of Object.entries(FILTERED)) {
  test(`Payments are asked for with the filters of the address: ${query}`, async () => {
    const tab = await aShop({ hash: `#/payments?${query}` });
    assert.deepEqual(sentOf(tab, "payment/listHistoryEx"), [{ Period: period, ListBasicModel: model }]);
  });
}

test("Days that go backwards are said in words, and no rows of an earlier search stand there", async () => {
  const tab = await aShop({ hash: "#/payments", answers: { "payment/listHistoryEx": listed(PAYMENT) } });
  assert.equal(tab.all("[data-id]").length, 1);
  await tab.fill({ from: "2026-11-03", to: "2026-11-02" });
  await tab.press("Search");
  assert.deepEqual(
    [tab.all("main [role=alert]")[0].label, tab.all("[data-id]").length],
    ["The last day is before the first.Try again", 0],
  );
  await tab.press("Export", "Export");
  assert.equal(tab.all("dialog [role=alert]")[0].label, "The last day is before the first.");
  assert.deepEqual(
    ["payment/listHistoryEx", "report/export"].map((path) => sentOf(tab, path).length),
    [1, 0],
  );
});

test("Owners choose the periods of their returns, and the tab is named by its step", async () => {
  const me = { ...OWNER, CurrencyID: "EUR" };
  for (const [person, year, before] of [
    [OWNER, ["Since Mar 2026", "2026-03-01", "2026-11-23"], ["Mar 2025 – Feb 2026", "2025-03-01", "2026-02-28"]],
    [me, ["Since Jan 2026", "2026-01-01", "2026-11-23"], ["Jan 2025 – Dec 2025", "2025-01-01", "2025-12-31"]],
  ]) {
    const tab = await aShop({ hash: "#/week", me: person });
    assert.deepEqual(
      tab
        .all(".presets a")
        .slice(3)
        .map((one) => [one.label, ...one.getAttribute("href").match(/\d{4}-\d\d-\d\d/g)]),
      [
        ["This month", "2026-11-01", "2026-11-23"],
        ["Last month", "2026-10-01", "2026-10-31"],
        ["Sep 2026 – Oct 2026", "2026-09-01", "2026-10-31"],
        ["Aug 2026 – Sep 2026", "2026-08-01", "2026-09-30"],
        year,
        before,
      ],
    );
    assert.equal(tab.document.title, "A week · Coffee");
    tab.go("#/payments/P1");
    await tab.settle();
    assert.equal(tab.document.title, "Payment · Coffee");
  }
  const till = await aTill();
  const titles = [till.document.title];
  for (const hash of ["#/amount", "#/pay/cash", "#/sales", "#/day"]) {
    if (hash === "#/pay/cash") await till.press("1", "00");
    till.go(hash);
    await till.pass(0.3);
    titles.push(till.document.title);
  }
  assert.deepEqual(titles, ["Sell · Till", "Sell · Till", "Cash · Till", "Sales · Till", "My day · Till"]);
  assert.deepEqual(
    till
      .all("[data-testid=waiting], [data-testid=parked]")
      .map((one) => one.closest("span").getAttribute("aria-hidden")),
    ["true", "true"],
  );
});

test("A search finds an amount as it is shown", async () => {
  for (const typed of ["159,50", "R 159,50", "R\u00a0159.50", "-R 159.50", "159.50", "ZAR 159.50"]) {
    const tab = await aShop({ hash: "#/payments" });
    await tab.fill({ search: typed });
    await tab.press("Search");
    assert.equal(sentOf(tab, "payment/listHistoryEx").at(-1).ListBasicModel.Search, "159.50", typed);
  }
});

test("An address that somebody mistyped is answered", async () => {
  for (const hash of [
    "#/nothing",
    "#/payments/x",
    "#/days?from=2026-13-99&to=x",
    "#/day-report?day=x",
    "#/%",
    "#/constructor",
    "#/day-report?day=2026-02-30",
  ]) {
    const tab = await aShop({ hash });
    assert.deepEqual([tab.all("h1").length, /undefined/.test(tab.document.title)], [1, false], hash);
  }
});

test("The button of a return names the amount that is typed, in coins", async () => {
  const tab = await aShop({
    hash: "#/payments/P1",
    answers: { "payment/ID": { Transactions: [{ ...PAYMENT, AmountEff: "2500.00" }] } },
  });
  await tab.press("Return…");
  assert.equal(tab.document.querySelector("[name=amount]").value, "2,500.00");
  for (const [amount, named] of [
    ["12", " R 12.00"],
    ["1 163,58", " R 1,163.60"],
    ["1,163.58", " R 1,163.60"],
    ["1,163", " R 1,163.00"],
    ["R 0,5", " R 0.50"],
    ["2501", ""],
  ]) {
    await tab.fill({ amount });
    assert.equal(tab.all("dialog button").find((one) => one.type === "submit").label, `Return${named}`);
  }
});

test("A journal has the days that are over, its till, and the bookkeeper's names", async () => {
  for (const [query, period] of [
    ["", { From: "2026-10-24", To: "2026-11-22" }],
    ["?from=2026-11-05&to=2026-11-06&search=a", { From: "2026-11-05", To: "2026-11-06" }],
    ["?from=2026-11-05&till=3&extid=4", { From: "2026-11-05", To: "2026-11-22" }],
  ]) {
    const tab = await aShop({ hash: `#/payments${query}` });
    await tab.press("Export");
    await tab.fill({ format: "hledger", Cash: "Assets:Till" });
    submit(tab);
    await tab.settle();
    const [{ Period, Format, Accounts, ListBasicModel }] = sentOf(tab, "report/export");
    assert.deepEqual(
      [Period, Format, Accounts.Cash, ListBasicModel.AccountID, ListBasicModel.Search],
      [period, "hledger", "Assets:Till", query.includes("till") ? 3 : undefined, undefined],
    );
    assert.deepEqual(tab.left, ["https://files.example/x"]);
  }
});

// What a system user types over all merchants: the payment that it leads to, or the words.
const SOUGHT = [
  ["00000000-0000-4000-8000-00000000AAAA", {}, "#/payments/P1"],
  [" 261123.42.7 ", { "payment/listHistoryEx": { ...listed(), InProcess: [PAYMENT] } }, "#/payments/P1"],
  ["261123.42.7", {}, "No merchant has"],
  ["261123.42.7", { "payment/listHistoryEx": refused(202) }, "No merchant has"],
  [
    "00000000-0000-4000-8000-00000000AAAA",
    { "payment/ID": { status: 404, ErrorCode: ErrorCode.TRANSACTION_NOT_FOUND } },
    "No merchant has",
  ],
  ["Tea", {}, "Over all merchants, only receipt numbers"],
  ["261123.42.7", { "payment/listHistoryEx": { status: 500, ErrorCode: 901 } }, "Something went wrong"],
];

test("A system user finds a payment of any merchant by its number or ID, and its merchant is shown", async () => {
  for (const [typed, answers, end] of SOUGHT) {
    const tab = await aShop({ me: SUPPORT, answers });
    await tab.fill({ payment: typed });
    await tab.press("Find");
    await tab.settle();
    const isFound = end.startsWith("#");
    assert.ok(isFound ? tab.entries.at(-1).hash === end : tab.text.includes(end), `${typed}: ${tab.text}`);
    if (isFound) assert.equal(JSON.parse(tab.session.get("payments.session")).merchant.ClientID, PAYMENT.ClientID);
    if (typed.includes(".42.") && isFound)
      assert.deepEqual(sentOf(tab, "payment/listHistoryEx")[0], {
        Period: { From: "2026-11-23", To: "2026-11-23" },
        ListBasicModel: { AccountID: 42, Invoice: "261123.42.7" },
      });
  }
});

test("A merchant is shown by its administrator's account, or only by the part that another account sees", async () => {
  for (const [tills, account, words] of [
    [[TILL, OWNERS_TILL], 1, "Shop of 1"],
    [[TILL], 3, "Shop of 3, only Till 1"],
    [[], null, "This merchant has no till yet."],
  ]) {
    const tab = await aShop({
      me: SUPPORT,
      answers: { "merchant/pos/list": { PosList: tills, PosCounters: { PageCount: 1 } } },
    });
    await tab.fill({ merchant: "8" });
    await tab.press("Choose");
    await tab.settle();
    assert.ok(tab.text.includes(words), words);
    if (account) assert.equal(sentOf(tab, "report/takings")[0].AccountID, account);
    tab.go("#/payments");
    await tab.settle();
    if (account)
      assert.deepEqual(
        tab
          .all("#filter-till option")
          .map((one) => one.value)
          .filter(Boolean),
        ["3"],
        "an account that sees all is no till of a list",
      );
  }
});

test("The returns of a payment are listed as far as the person sees them", async () => {
  const payment = { ...PAYMENT, Substate: 502, AmountEff: "0.00", AmountRvs: "12.30", CountRvs: 2 };
  const back = (ID, ReverseID, Description) => ({
    ...PAYMENT,
    ID,
    OperationID: 3,
    Substate: 502,
    ReverseID,
    Description,
  });
  for (const [answer, ids, isMore] of [
    [
      { ...listed(back("R1", "P1", "Tea"), back("R2", "P2", "x")), InProcess: [back("R3", "P1", "Cold")] },
      ["R1", "R3"],
      false,
    ],
    [{ status: 403, ErrorCode: 151 }, [], true],
  ]) {
    const tab = await aShop({
      hash: "#/payments/P1",
      answers: { "payment/ID": { Transactions: [payment] }, "payment/listHistoryEx": answer },
    });
    assert.deepEqual(
      tab.all(".returns [data-id]").map((one) => one.getAttribute("data-id")),
      ids,
    );
    assert.equal(tab.text.includes("You cannot see every return"), isMore);
    if (ids.length)
      assert.deepEqual(
        tab.all(".returns .what").map((one) => one.label),
        ["No reason given", "Cold"],
      ); // the payment's own is none
  }
});

const ROASTS = ["Light", "Dark"].map((Title, number) => ({
  ...ITEM,
  Code: `c${number}`,
  Title,
  TaxCode: "VAT",
  Barcode: number ? "6001240100011" : null,
}));
const PRICES = {
  "merchant/pricelist": {
    PriceList: { Version: 4, Items: [ITEM, ...ROASTS], Taxes: [{ Code: "VAT", Name: "VAT", Rate: "15" }] },
  },
};
const atPrices = (answers, me) => aShop({ me, hash: "#/price-list", answers: { ...PRICES, ...answers } });

test("A search finds items by what they have, and keeps the one that is being changed", async () => {
  const tab = await atPrices();
  const rows = () =>
    tab
      .all("[data-code]")
      .slice(1)
      .map((one) => one.getAttribute("data-code"));
  await tab.fill({ "price-search": "60012" });
  assert.deepEqual(rows(), ["c1"]);
  await tab.press("Change Dark");
  await tab.fill({ "price-search": "light" });
  assert.deepEqual([rows(), tab.document.getElementById("price-Title").value], [["c0"], "Dark"]);
  assert.ok(tab.text.includes("2 of 3 items."));
});

test("What is typed into a price list is stored as numbers and nothing, or not sent", async () => {
  for (const [typed, price] of [
    ["26", "26"],
    ["R 1,026.50", "1026.50"],
    ["", null],
    ["abc", undefined],
    ["1.234", undefined],
  ]) {
    const tab = await atPrices();
    await tab.press("Change Tea");
    await tab.fill({ "price-Price": typed });
    await tab.press("Save");
    const [sent] = sentOf(tab, "merchant/pricelist/update").filter(Boolean);
    assert.equal(sent?.Items[0].Price, price, typed);
    if (sent) assert.deepEqual([sent.Version, "key" in sent.Items[0], tab.text.includes("Saved.")], [4, false, true]);
    else assert.ok(tab.all("[aria-invalid]").length === 1);
  }
});

test("A price has the decimals that the service gives the merchant's currency, whatever a browser or a terminal has", async () => {
  const IRAQ = { CurrencyID: "IQD", CurrencyDigits: 3 };
  const tab = await atPrices(
    {
      "user/me": ({ path }) => ({
        Data: { ...OWNER, Today: "2026-11-23", ...(path.endsWith("?AccountID=1") ? IRAQ : { CurrencyDigits: 0 }) },
      }),
    },
    { ...OWNER, ...IRAQ },
  );
  await tab.press("Change Tea");
  await tab.fill({ "price-Price": "26.250" });
  await tab.press("Save");

  assert.equal(sentOf(tab, "merchant/pricelist/update")[0].Items[0].Price, "26.250");
});

test("A change that is taken back leaves no draft on the device, and a new item has the usual tax", async () => {
  const tab = await atPrices();
  await tab.press("Change Tea");
  await tab.fill({ "price-Price": "26" });
  await tab.pass(1);
  assert.equal(tab.local.size, 1);
  await tab.fill({ "price-Price": "25" });
  await tab.pass(1);
  assert.equal(tab.local.size, 0);
  await tab.press("New item");
  assert.equal(tab.document.getElementById("price-TaxCode").value, "VAT");
});

test("A refusal of a price list stands at its item, and only a list of somebody else is compared", async () => {
  const tab = await atPrices({ "merchant/pricelist/update": refused(202, ["Items[1].Barcode", 12]) });
  await tab.press("Change Tea");
  await tab.fill({ "price-Price": "26" });
  await tab.press("Save");
  assert.ok(tab.text.includes("Another item has this barcode."));
  assert.deepEqual([tab.all("dialog").length, tab.document.getElementById("price-Title").value], [0, "Light"]);
  await tab.fill({ "price-Barcode": "036000291452" });
  assert.ok(!tab.text.includes("Another item has this barcode."), "it is mended");
  tab.shop.answers["merchant/pricelist/update"] = { status: 409, ErrorCode: ErrorCode.PRICE_LIST_CHANGED };
  tab.shop.answers["merchant/pricelist"] = {
    PriceList: { Version: 9, Items: [{ ...ITEM, Title: "Green tea" }], Taxes: [] },
  };
  await tab.press("Save");
  assert.ok(tab.text.includes("Title: Tea → Green tea"));
  await tab.press("Put my changes into it");
  delete tab.shop.answers["merchant/pricelist/update"];
  await tab.press("Save");
  const { Version, Items } = sentOf(tab, "merchant/pricelist/update").at(-1);
  assert.deepEqual(
    [Version, Items.map((one) => [one.Title, one.Price])],
    [
      9,
      [
        ["Green tea", "26"],
        ["Light", "25.00"],
      ],
    ],
  );
});

test("A refused field of a price list has its own words", async () => {
  for (const [Property, code, words] of [
    ["Items[1].Code", 3, "This is not in the right form."],
    ["Taxes[0].Code", 3, "1 to 16 letters"],
    ["Taxes[0].Code", 12, "Another one has this code."],
    ["Items[1].TaxCode", 99, "The list has no such tax."],
    ["Items[1].Price", 5, "A price cannot be below zero"],
  ]) {
    const tab = await atPrices({ "merchant/pricelist/update": refused(202, [Property, code]) });
    await tab.press("Change Tea");
    await tab.fill({ "price-Price": "26" });
    await tab.press("Save");
    assert.ok(
      tab.all(".bad").some((one) => one.label.includes(words)),
      `${Property} ${code}: ${tab.all(".bad").map((one) => one.label)}`,
    );
  }
});

test("A file of items that is no text or too large is not read", async () => {
  for (const [bytes, words] of [
    [new Uint8Array([255, 254, 255]), "The file is not UTF-8."],
    [new Uint8Array(256 * 1024 + 1), "The file is larger than 256 KB."],
  ]) {
    const tab = await atPrices();
    const [input] = tab.all("[type=file]");
    input.files = [{ size: bytes.length, arrayBuffer: async () => bytes }];
    tab.fire(input, "change");
    await tab.settle();
    assert.ok(tab.all("dialog")[0].label.includes(words), tab.all("dialog")[0].label);
  }
});

const attempt = (time, Status = 500, fields = {}) => ({
  Timestamp: `2026-11-23T${time}:00.000Z`,
  Status,
  Milliseconds: 5,
  ...fields,
});
const event = (...attempts) => ({
  ID: "E1",
  Type: "payment.approved",
  Timestamp: "2026-11-23T10:00:00.000Z",
  TransactionID: "P1",
  Substate: 411,
  Deliveries: [{ WebhookID: 8, State: "pending", Attempts: attempts.length, NextAttempt: null, AttemptList: attempts }],
});
const events = (...all) => ({ Events: all, EventsCounters: { ItemCountPage: all.length, Pagesize: 20 } });

test("An event that is sent again shows its new attempt, and not the one before", async () => {
  const tab = await aShop({ hash: "#/webhooks", answers: { "merchant/event/list": events(event(attempt("10:01"))) } });
  tab.click(tab.all(".event button")[0]);
  await tab.settle();
  await tab.press("Send again");
  await tab.pass(2.5);
  assert.ok(!tab.text.includes("It was delivered") && !tab.text.includes("refused it"));
  tab.shop.answers["merchant/event/list"] = events(event(attempt("10:02", 204), attempt("10:01")));
  await tab.pass(3);
  assert.ok(tab.text.includes("It was delivered: 204"));
  await tab.press("Send again");
  tab.go("#/tills");
  const before = tab.sent.length;
  await tab.pass(30);
  assert.equal(sentOf({ sent: tab.sent.slice(before) }, "merchant/event/list").length, 0, "nobody waits for it");
});

test("A webhook fails by its last attempt since its change, in the merchant's time", async () => {
  for (const [Updated, time, status, badge] of [
    ["2026-11-23T12:30:00.000", "10:29", 500, "On"],
    ["2026-11-23T12:30:00.000", "10:31", 500, "Failing"],
    ["2026-11-23T12:30:00.000", "10:31", 204, "On"],
    ["2026-11-23T12:30:00.000", "10:31", null, "Failing"],
  ]) {
    const tab = await aShop({
      hash: "#/webhooks",
      answers: {
        "merchant/webhook/list": { Webhooks: [{ ...WEBHOOK, Updated }] },
        "merchant/event/list": events(
          event(attempt(time, status, { Reason: "no answer in time" }), attempt("09:00", 204)),
        ),
      },
    });
    assert.equal(tab.all(".webhook .badge")[0].label, badge, `${time} ${status}`);
    assert.equal(tab.text.includes("ten seconds"), status === null);
  }
});

test("An event has the state of its worst delivery, and fails only after an attempt", async () => {
  const delivery = (State, ...attempts) => ({
    WebhookID: 8,
    State,
    Attempts: attempts.length,
    NextAttempt: null,
    AttemptList: attempts,
  });
  for (const [deliveries, words] of [
    [[delivery("pending")], "On its way"],
    [[delivery("pending", attempt("10:01")), delivery("delivered", attempt("10:01", 204))], "Failing"],
    [[delivery("given up"), delivery("pending", attempt("10:01"))], "Given up"],
    [[], "Not sent"],
  ]) {
    const tab = await aShop({
      hash: "#/webhooks",
      answers: { "merchant/event/list": events({ ...event(), Deliveries: deliveries }) },
    });
    assert.equal(tab.all(".event .badge")[0].label, words);
  }
});

test("A day report has the taxes of each currency with it, and tills stand by what they took", async () => {
  const rows = [
    row({ Net: "1.00", AgentID: 4, AgentName: "Till 2" }),
    row({ Net: "9.00" }),
    row({ Net: "5.00", CurrencyID: "EUR" }),
  ];
  const tax = (CurrencyID, Tax) => ({
    Day: "2026-11-23",
    Code: "VAT",
    Name: "VAT",
    Rate: "15",
    CurrencyID,
    Gross: "10.00",
    Tax,
  });
  const tab = await aShop({
    hash: "#/day-report",
    answers: {
      "report/takings": {
        Takings: rows,
        Taxes: [tax("ZAR", "1.00"), tax("EUR", "2.00")],
        Late: [],
        ReceiptNumbers: [],
      },
    },
  });
  assert.deepEqual(
    tab.all(".taxes").map((one) => [...one.querySelectorAll(".money")].at(-1).getAttribute("data-amount")),
    ["1.00", "2.00"],
  );
  assert.deepEqual(
    tab
      .all("tbody .sum th")
      .map((one) => one.label)
      .filter((name) => /^Till \d$/.test(name)),
    ["Till 1", "Till 2", "Till 1"],
  );
});

test("An address beyond its limit is told at its field, and the other one was sent", async () => {
  const tab = await aShop({
    hash: "#/payments/P1",
    answers: {
      "payment/receipt/ID": ({ body }) =>
        body ? { Validations: [{ Property: "Email", Code: 5, Type: 2 }] } : undefined,
    },
  });
  await tab.press("Send receipt");
  await tab.fill({ Email: "a@example.com", Phone: "+27829876543" });
  submit(tab);
  await tab.settle();

  assert.ok(tab.text.includes("The receipt was sent to +27829876543.") && tab.text.includes("Nothing was sent there"));
  assert.equal(tab.all("[aria-invalid]")[0].name, "Email");
});

test("A scan whose keys reach a slow page late is an item all the same, and the till takes no less cash than is due", async () => {
  const tab = await aTill({
    answers: {
      "merchant/pricelist": { PriceList: { Version: 4, Items: [{ ...ITEM, Barcode: "6001240100011" }], Taxes: [] } },
    },
  });
  for (const [number, code] of ["tea", "6001240100011"].entries())
    for (const key of [...code, "Enter"]) {
      tab.fire(tab.document.body, "keydown", { key, timeStamp: 5 + 100 * number });
      await tab.pass(0.1);
    }
  assert.equal(tab.document.activeElement.id, "main");
  const inField = { getModifierState: () => false, target: tab.document.getElementById("search") };
  const keys = [..."]C10106001240100011", "F8", ..."10A", "]", ..."21tea", "Enter", "Tab"];
  for (const [place, key] of keys.entries()) {
    const ctrlKey = place > 0 && key === "]";
    tab.fire(tab.document.body, "keydown", { ...inField, key, ctrlKey, timeStamp: 900 });
  }
  await tab.settle();
  const [line] = tab.all("[data-testid='line']");
  assert.deepEqual([line.dataset.quantity, tab.document.getElementById("search").value], ["3", ""]);
  await tab.press("Cash");
  for (const [received, isTaken] of [
    ["74.99", false],
    ["x", false],
    [`1${"0".repeat(30)}`, false],
    ["75", true],
  ]) {
    await tab.fill({ received });
    await tab.press("Take payment");
    await tab.pass(1);
    assert.equal(sentOf(tab, "payment/submit").length, Number(isTaken), received);
  }
  assert.equal(sentOf(tab, "payment/submit")[0].BasicTran.AmountCashGot, "75.00");
});

test("A scanner that writes through an input method leaves its field as it was, and a person who does so loses nothing", async () => {
  const tab = await aTill();
  const field = tab.document.getElementById("search");
  const write = (text, gap) => {
    for (const data of text) {
      const timeStamp = (tab.clock.now += gap);
      tab.fire(field, "keydown", { key: "Unidentified", keyCode: 229, timeStamp });
      tab.fire(field, "beforeinput", { inputType: "insertText", data, timeStamp });
      field.value += data;
      tab.fire(field, "input");
    }
    tab.fire(field, "keydown", { key: "Enter", timeStamp: (tab.clock.now += gap) });
  };
  write("to", 90);
  assert.equal(field.value, "to");
  await tab.pass(1);
  write("tea", 10);
  await tab.settle();
  assert.deepEqual([field.value, tab.all("[data-testid='line']").length], ["to", 1]);
});

test("A webhook has every kind of event, some of them, or is refused", async () => {
  for (const [off, types] of [
    [[], 0],
    [["payment.unknown", "payment.rejected"], 5],
    ["all", undefined],
  ]) {
    const tab = await aShop({ hash: "#/webhooks" });
    await tab.press("New webhook");
    await tab.fill({ url: " https://shop.example/b " });
    for (const one of tab.all("input").filter((input) => input.name === "kind"))
      if (off === "all" || off.includes(one.value)) tab.click(one);
    submit(tab);
    await tab.settle();
    const [sent] = sentOf(tab, "merchant/webhook/create");
    assert.deepEqual(
      sent && [sent.Url, sent.GMT, sent.Types.length],
      types === undefined ? undefined : ["https://shop.example/b", 2, types],
    );
    if (types === undefined) assert.ok(tab.text.includes("Choose at least one kind of event."));
  }
});

const PHONED = {
  ...TILL,
  Rights: [301, 999],
  MobileSettings: { Features: { AcceptCash: true, Offline: true }, AllowLinkedCardsEffective: 1 },
};
const check = (name) => (tab) => tab.click(tab.all("input").find((one) => one.name === name));
// What somebody changes at a till, and the fields that are sent.
const CHANGED = {
  nothing: [[], undefined],
  "its name": [[{ Name: " Front " }], { Name: "Front" }],
  "its e-mail": [[{ Email: "front@example.com" }], { Email: "front@example.com" }],
  "its telephone": [[{ Phone: "082 987 6543" }], { Phone: "082 987 6543", CountryCode: "ZA" }],
  "its telephone away": [[{ Phone: "" }], { PhoneNull: true }],
  "its terminal away": [[{ TID: "" }], { TIDNull: true }],
  "its terminal": [[{ TID: "9" }], { TerminalID: 9 }],
  "a kind of payment": [
    [check("AcceptCredit"), check("AcceptCash")],
    { MobileSettings: { Features: { AcceptCredit: true, AcceptCash: false } } },
  ],
  "linked cards away": [[check("AllowLinkedCards")], { MobileSettings: { AllowLinkedCards: 0 } }],
  "a right": [[check("SeeAll")], { BranchesActions: [{ BranchID: 7, Actions: [301, 999, 201] }] }],
  "a right away": [[check("ReturnOthers")], { BranchesActions: [{ BranchID: 7, Actions: [999] }] }],
};

for (const [name, [steps, expected]] of Object.entries(CHANGED)) {
  test(`Somebody changes at a till: ${name}`, async () => {
    const tab = await aShop({
      hash: "#/tills/3",
      answers: {
        "merchant/pos/list": { PosList: [PHONED], PosCounters: { PageCount: 1 } },
        "merchant/pos/ID": { Pos: PHONED },
        "merchant/terminal/list": {
          Terminals: [TERMINAL, { ...TERMINAL, ID: 9 }],
          TerminalsCounters: { PageCount: 1 },
        },
      },
    });
    for (const step of steps) await (typeof step === "function" ? step(tab) : tab.fill(step));
    submit(tab);
    await tab.settle();
    assert.deepEqual(sentOf(tab, "merchant/pos/ID/update")[0], expected);
  });
}

test("A new password and the end of all sessions offer a new key in the same step, and say what a key can do", async () => {
  for (const [dialog, act, fields] of [
    ["New password", submit, { Password: "12345678" }],
    ["Sign out everywhere", (tab) => tab.click(tab.button("Sign out everywhere")), { EndSessions: true }],
  ]) {
    for (const [id, isOwn] of [
      [3, false],
      [1, true],
    ]) {
      const tab = await aShop({ hash: `#/tills/${id}` });
      tab.click(tab.all(`[data-id="${id}"] button`).find((one) => one.label === dialog));
      await tab.settle();
      assert.match(tab.all("dialog")[0].textContent, /without the password.*take payments as/);
      if (fields.Password) await tab.fill({ password: fields.Password });
      const box = tab.document.getElementById("other-key");
      box.checked = true;
      tab.fire(box, "change");
      await tab.settle();
      act(tab);
      await tab.settle();
      const [{ SecretKey, ...sent }] = sentOf(tab, "merchant/pos/ID/update");
      assert.deepEqual(sent, fields);
      assert.equal(tab.all("code")[0].textContent, SecretKey);
      await tab.press("Done");
      assert.equal(tab.all("dialog").length, 0);
      assert.equal(tab.text.includes("Sign in"), isOwn && dialog !== "New password");
    }
  }
});

const BEN = { Name: "Ben", Email: " ben@example.com ", Phone: "082 987 6543", Password: " 12345678", TID: "new" };

test("A new terminal stands where the newest one stands, and is made once although its till is refused", async () => {
  const terminals = [
    { ...TERMINAL, ID: 2, Name: "TILL-3", State: 0, City: "Durban" },
    { ...TERMINAL, Name: "TILL-1" },
  ];
  const tab = await aShop({
    hash: "#/tills",
    answers: {
      "merchant/terminal/list": { Terminals: terminals, TerminalsCounters: { PageCount: 1 } },
      "merchant/pos/create": refused(ErrorCode.EMAIL_TAKEN),
      merchant: {
        Merchant: { ...MERCHANT, MobileSettings: { Features: { AcceptCash: true, AcceptCredit: true } } },
      },
    },
  });
  await tab.press("New till");
  const kinds = ["AcceptCash", "AcceptPrepaid", "AcceptCredit", "AllowLinkedCards"];
  assert.deepEqual(
    kinds.filter((name) => tab.all(`[name=${name}]`)[0].checked),
    ["AcceptCash", "AcceptCredit"],
  );
  check("AcceptCash")(tab);
  await tab.fill(BEN);
  submit(tab);
  await tab.settle();
  assert.ok(tab.text.includes("Another login has this e-mail already."));
  delete tab.shop.answers["merchant/pos/create"];
  submit(tab);
  await tab.settle();
  const made = sentOf(tab, "terminal/create");
  assert.deepEqual(
    [made.length, made[0].Name, made[0].Alias, made[0].City, made[0].Title, made[0].BranchID],
    [1, "TILL-4", "Ben", "Cape Town", "Coffee", 7],
  );
  const {
    Name,
    Email,
    Password,
    TerminalID,
    ClientID,
    CountryCode,
    MobileSettings: { Features, AllowLinkedCards },
  } = sentOf(tab, "merchant/pos/create").at(-1);
  assert.deepEqual(
    [Name, Email, Password, TerminalID, ClientID, CountryCode],
    ["Ben", "ben@example.com", " 12345678", 6, 7, "ZA"],
  );
  assert.deepEqual(
    [Features, AllowLinkedCards],
    [{ AcceptCash: false, Returns: true, Discounts: true, Offline: true, AutoLogin: true }, undefined],
  ); // nothing that the shop has
});

test("The first terminal of a shop asks for its place, with the numbers of its currency and country", async () => {
  const tab = await aShop({
    hash: "#/tills",
    answers: {
      "merchant/terminal/list": { Terminals: [], TerminalsCounters: { PageCount: 1 } },
      "terminal/create": refused(ErrorCode.TID_TAKEN),
    },
  });
  await tab.press("New till");
  await tab.fill({ ...BEN, City: "Paarl", Location: "1 Main Rd", RegionCode: "WC", SIC: "5814" });
  submit(tab);
  await tab.settle();
  const [{ City, Currency, Country, CountryCode, EntryCaps, SIC }] = sentOf(tab, "terminal/create");
  assert.deepEqual(
    [City, Currency, Country, CountryCode, EntryCaps, SIC],
    ["Paarl", "710", "710", "710", "10", "5814"],
  );
  assert.deepEqual(
    [tab.text.includes("Another terminal has this number already."), sentOf(tab, "merchant/pos/create").length],
    [true, 0],
  );
});

test("Devices that are called alike are counted, the oldest first, and keep their names when one is signed out", async () => {
  const device = (ID, Started) => ({ ID, Device: "Phone", Started, LastUsed: Started });
  const sessions = [
    device("b", "2026-11-22T10:00:00.000"),
    device("a", "2026-11-21T10:00:00.000"),
    { ...device("c", "2026-11-20T10:00:00.000"), Device: null },
  ];
  const tab = await aShop({
    hash: "#/tills/3",
    answers: { "merchant/pos/ID": { Pos: { ...TILL, Sessions: sessions } } },
  });
  const names = () => tab.all(".devices b").map((one) => one.label);
  assert.deepEqual(names(), ["Phone (2)", "Phone (1)", "Unknown device"]);
  tab.shop.answers["merchant/pos/ID"] = { Pos: { ...TILL, Sessions: [sessions[0], sessions[2]] } };
  tab.click(tab.all(".devices button")[1]);
  await tab.settle();
  assert.deepEqual(
    [sentOf(tab, "merchant/pos/ID/update")[0], names()],
    [{ EndSessions: ["a"] }, ["Phone (2)", "Unknown device"]],
  );
});

test("Who ends all sessions reads whether they are her own", async () => {
  for (const [id, isOwn] of [
    [1, true],
    [3, false],
  ]) {
    const tab = await aShop({ hash: `#/tills/${id}` });
    await tab.press("Sign out everywhere");
    assert.equal(tab.text.includes("This is your own login"), isOwn);
  }
});

test("A webhook shows what it is for, in the words of its owner", async () => {
  for (const Description of ["Books", null]) {
    const tab = await aShop({
      hash: "#/webhooks",
      answers: { "merchant/webhook/list": { Webhooks: [{ ...WEBHOOK, Description }] } },
    });
    const { label } = tab.all(".webhook")[0];
    assert.deepEqual(
      [label.includes("Payment approved · Books"), label.includes(" · ")],
      Array(2).fill(Boolean(Description)),
    );
  }
});

test("A cashier's day report has her own latest drawer if she opened or counted it on that day, or has not counted it", async () => {
  const OpenedAt = "2026-11-21T23:59:00.000";
  for (const [Drawer, isShown, isEarlier] of [
    [null, false, false],
    [DRAWER, true, false],
    [CLOSED, true, false],
    [{ ...CLOSED, OpenedAt }, false, true],
    [{ ...DRAWER, OpenedAt }, false, true],
    [{ ...CLOSED, OpenedAt, ClosedAt: "2026-11-22T23:59:00.000" }, false, false],
  ]) {
    const tab = await aShop({ me: CASHIER, hash: "#/day-report", answers: { "report/drawer": { Drawer } } });
    const heads = tab.all("article h2").map((one) => one.label);
    assert.deepEqual(
      [heads.includes("Drawers"), heads.includes("Drawers opened earlier")],
      [isShown, isEarlier],
      JSON.stringify(Drawer),
    );
  }
});

test("The day report says since when an earlier drawer is open, what was counted last, and who wrote which note", async () => {
  const open = {
    ...DRAWER,
    OpenedAt: "2026-09-01T08:00:00.000",
    LastCounted: "1500.00",
    Float: "400.00",
    CashGivenBack: "500.00",
    Movements: [
      ...DRAWER.Movements,
      { At: "2026-09-01T09:00:00.000", By: 3, Kind: "out", Amount: "1.00", Note: null },
      { At: "2026-09-01T09:10:00.000", By: 3, Kind: "note", Amount: null, Note: "by Olga · Counted again" },
      { At: "2026-09-01T09:20:00.000", By: 1, Kind: "note", Amount: null, Note: "Seen" },
      { At: "2026-09-01T09:30:00.000", By: 99, Kind: "note", Amount: null, Note: "Seen" },
    ],
  };
  const earlier = [open, { ...CLOSED, OpenedAt: "2026-11-22T20:00:00.000", Movements: null }];
  const tab = await aShop({
    hash: "#/day-report",
    answers: { "report/drawer/list": { Drawers: [], Earlier: earlier } },
  });
  for (const words of [
    "Drawers opened earlier",
    "Not counted yet, open since Sep 1, 2026, 8:00 AM.",
    "Opened Nov 22, 2026, 8:00 PM, counted Nov 23, 2026, 1:30 PM.",
    "Float, less the last count",
    "-R 1,100.00",
    "taken out R 1.00 · by Till 1 · no reason given",
    "note · by Till 1 · “by Olga · Counted again”",
    "note · by Olga · “Seen”",
    "note · by agent 99 · “Seen”",
    "What was done to it is too long for this list.",
  ])
    assert.ok(tab.text.includes(words), words);
});

test("The day report shows the rest when a part of it fails, and can be asked for again", async () => {
  const parts = ["report/takings", "payment/listHistoryEx", "report/drawer/list", "merchant/pos/list"];
  const usual = { "report/takings": { Takings: [row({ Net: "8.00" })], Taxes: [], Late: [], ReceiptNumbers: [] } };
  const failure = refused(404);
  for (const part of parts) {
    const tab = await aShop({ hash: "#/day-report", answers: { ...usual, [part]: failure } });
    const heads = tab.all("article h2").map((one) => one.label);
    assert.equal(heads.includes("ZAR"), part !== "report/takings", part);
    assert.equal(tab.text.includes("Payments and returns"), part !== "payment/listHistoryEx", part);
    assert.equal(tab.all("[role=alert]").length, 1, part);
    tab.shop.answers[part] = usual[part];
    await tab.press("Try again");
    assert.equal(tab.all("[role=alert]").length, 0, part);
  }
  const tab = await aShop({
    hash: "#/day-report",
    answers: Object.fromEntries(parts.map((part) => [part, failure])),
  });
  assert.equal(tab.all("article").length, 0);
});

test("The day report marks kinds that are switched off for their till, and has the discounts of each till", async () => {
  const rows = [
    row({ Net: "8.00", Discounts: "2.50", LeftToPay: "1.00" }),
    row({ Net: "9.00", InputType: 7 }),
    row({ Net: "-4.00", InputType: 8, Payments: 0, Amount: "0.00" }),
    row({ Net: "7.00", InputType: 7, AgentID: 99, AgentName: "Gone" }),
  ];
  const tab = await aShop({ hash: "#/day-report", answers: takings(rows, []) });
  const marked = tab.all(".sum th").filter((one) => one.textContent.includes("Switched off"));
  assert.deepEqual(
    marked.map((one) => one.label.replaceAll(/\s+/g, " ")),
    ["Till 1, Card on another terminal Switched off for this till now"],
  );
  for (const hash of ["#/day-report", "#/today"]) {
    tab.go(hash);
    await tab.settle();
    const names = tab.all(".sum th").map((one) => one.label.replaceAll(/\s+/g, " "));
    assert.ok(names.includes("Till 1 Discounts R 2.50 Left to pay R 1.00"), names.join());
    assert.ok(names.includes("Gone"));
  }
});

test("A payment shows what was sold, and says when less than its price was paid", async () => {
  const line = (Title, Quantity, Amount, Discount = null) => ({ Title, Quantity, Price: "1.00", Discount, Amount });
  const usual = { Subject: "Receipt", Html: "<p>", Text: "Tea" };
  const goods = [line("Tea", "2", "99.50", "0.50"), line("Cake", "1", "60.03")];
  for (const [payment, LinesTotal, Lines, words, isLeft] of [
    [{ Amount: "59.50" }, "159.53", goods, ["2 × Tea Discount R 0.50", "1 × Cake", "Total"], true],
    [{ Amount: "159.50" }, "159.50", goods, ["2 × Tea Discount R 0.50", "1 × Cake", "Total"], false],
    [{ OperationID: 3, Substate: 502 }, "60.03", goods.slice(1), ["1 × Cake", "Total"], false],
    [{}, null, [], [], false],
  ]) {
    const tab = await aShop({
      hash: "#/payments/P1",
      answers: {
        "payment/ID": { Transactions: [{ ...PAYMENT, ...payment }] },
        "payment/receipt/ID": { Receipt: { ...usual, Lines, LinesTotal } },
      },
    });
    assert.deepEqual(
      tab.all(".lines dt").map((one) => one.label.replaceAll(/\s+/g, " ")),
      words,
    );
    assert.equal(tab.text.includes("Only R 59.50 of it was paid: R 100.03 was left to pay"), isLeft);
    await tab.press("Show the receipt");
    assert.equal(sentOf(tab, "payment/receipt/ID").length, 1);
  }
});

test("Days that are over name the late sales that arrived after them", async () => {
  const sale = (day, received, Amount, Substate = 411) => ({
    ...PAYMENT,
    ID: `${day}${Amount}`,
    Date: `2026-10-${day}T12:00:00.000`,
    Received: received,
    Amount,
    Substate,
  });
  const late = listed(sale("31", "2026-11-05T09:00:00.000", "10.00"), sale("01", "2026-11-02T09:00:00.000", "2.50"), {
    ...sale("31", "2026-11-02T09:00:00.000", "9.00"),
    Date: "2026-11-01T12:00:00.000",
  });
  const tab = await aShop({ hash: "#/days?from=2026-10-01&to=2026-10-31", answers: { "payment/listHistoryEx": late } });
  assert.deepEqual(sentOf(tab, "payment/listHistoryEx")[0], {
    Period: { From: "2026-11-01", To: "2026-11-23" },
    ListBasicModel: { Sort: "Date desc", Page: 1, Late: true },
  });
  assert.ok(tab.text.includes("2 sales of these days arrived after them, the last on Nov 5, 2026: R 12.50."), tab.text);
  tab.go("#/days");
  await tab.settle();
  assert.equal(tab.text.includes("arrived after them"), false);
});

test("The list of payments says of a return from which day its payment is, and of a late sale when it arrived", async () => {
  const back = { ...PAYMENT, ID: "R1", OperationID: 3, Substate: 502, ReverseInvoice: "261105.3.7" };
  const tab = await aShop({
    hash: "#/payments?operation=2&late=1",
    answers: {
      "payment/listHistoryEx": listed(
        back,
        { ...back, ID: "R2", Date: "2026-11-23T12:00:00.000", ReverseInvoice: "OFF-7" },
        { ...PAYMENT, Date: "2026-11-23T11:00:00.000", Received: "2026-11-25T09:00:00.000" },
        { ...PAYMENT, ID: "P3", Date: "2026-11-23T10:00:00.000", Received: "2026-11-23T19:00:00.000" },
      ),
    },
  });
  const { Operation, Late } = sentOf(tab, "payment/listHistoryEx")[0].ListBasicModel;
  assert.deepEqual([Operation, Late], [2, true]);
  const rowsOf = (selector) => tab.all(`li ${selector}`).map((one) => one.label);
  assert.deepEqual(rowsOf(".what"), ["Return: Tea", "Return: Tea", "Tea", "Tea"]);
  assert.deepEqual(rowsOf(".means"), [
    "Cash · sold Nov 5, 2026",
    "Cash",
    "Cash · Offline, arrived Nov 25, 2026",
    "Cash · Offline",
  ]);
});

test("The day report has each drawer with its movements, and cash that was in none", async () => {
  const outside = Object.fromEntries(Object.keys(DRAWER).map((name) => [name, null]));
  const rows = [CLOSED, { ...outside, AgentID: 4, AgentName: "Ben", CurrencyID: "ZAR", Cash: "7.00", Movements: [] }];
  const tab = await aShop({ hash: "#/day-report", answers: { "report/drawer/list": { Drawers: rows, Earlier: [] } } });
  assert.deepEqual(tab.sent.findLast((one) => one.path === "report/drawer/list").body, {
    Period: { From: "2026-11-23", To: "2026-11-23" },
  });
  for (const words of [
    "Taken out",
    "Difference",
    "One rand is missing",
    "by agent 4",
    "No open drawer held this cash.",
  ])
    assert.ok(tab.text.includes(words), words);
  assert.equal(tab.text.match(/Expected/g).length, 1);
});

const drawerForms = (tab) => tab.all("form.card h2").map((one) => one.label);

test("The till opens a drawer, moves cash in and out, and counts it; a text that is no amount is not sent", async () => {
  let shown = null;
  const tab = await aTill({
    hash: "#/day",
    answers: {
      "report/drawer": ({ body }) => {
        if (body.Action) shown = body.Action === "close" ? CLOSED : DRAWER;
        return { Drawer: shown };
      },
    },
  });
  await tab.pass(1);
  const saved = () => sentOf(tab, "report/drawer").filter((one) => one.Action);
  const press = (label) => tab.click(tab.all("form.card button").find((one) => one.label === label));
  const told = {
    open: "The drawer is open with R 1,000.00.",
    in: "R 2.00 was put in.",
    out: "R 3.00 was taken out.",
    close: "The drawer is closed. Counted R 1,234.50. Difference: -R 1.00.",
  };
  for (const [typed, button, expected] of [
    [{ Float: "x" }, "Open the drawer", undefined],
    [{ Float: "" }, "Open the drawer", undefined],
    [{ Float: "R 1,000.00", Note: " " }, "Open the drawer", { Action: "open", Float: "1000.00" }],
    [{ Amount: "2" }, "Put in", { Action: "in", Amount: "2" }],
    [{ Amount: "3" }, "Take out", { Action: "out", Amount: "3" }],
    [
      { Counted: "1,234.50", "drawer-close-Note": " All there " },
      "Count and close",
      { Action: "close", Counted: "1234.50", Note: "All there" },
    ],
  ]) {
    const before = saved().length;
    await tab.fill(typed);
    press(button);
    await tab.settle();
    if (expected?.Action === "close") {
      const words = "Counted R 1,234.50. Close the drawer? Expected R 100.00, difference R 1,134.50.";
      assert.ok(tab.text.includes(words));
      await tab.press("Close the drawer");
    }
    await tab.pass(1);
    assert.deepEqual(saved()[before], expected, JSON.stringify(typed));
    if (!expected) continue;
    const { activeElement: said } = tab.document;
    assert.equal(said.label, told[expected.Action]);
  }
  assert.deepEqual(drawerForms(tab), ["Open the drawer", "Add a note"]);
  assert.equal(new Set(tab.sent.filter((one) => one.body?.Action).map((one) => one.key)).size, 4);
});

test("An act on the drawer whose answer was lost is sent again with its key", async () => {
  const tab = await aTill({ hash: "#/day" });
  await tab.pass(1);
  tab.shop.answers["report/drawer"] = { status: 503, ErrorCode: 903, ErrorMessage: "Out of reach.", retryAfter: 5 };
  const acts = () => tab.sent.filter((one) => one.body?.Action);
  const close = () => tab.press("Count and close", "Close the drawer");
  await tab.fill({ Counted: "5" });
  for (let tries = 0; tries < 2; tries += 1) {
    await close();
    await tab.pass(60);
  }
  assert.ok(acts().length >= 2);
  assert.equal(new Set(acts().map((one) => one.key)).size, 1);
  await tab.fill({ Counted: "6" });
  await close();
  await tab.pass(60);
  assert.equal(new Set(acts().map((one) => one.key)).size, 2);
});

test("The shop's page opens, counts and notes the drawer of a till, with a help for notes and coins", async () => {
  for (const [me, AgentID, hash] of [
    [OWNER, 3, "#/drawer"],
    [OWNER, 3, "#/drawer?till=3"],
    [CASHIER, undefined, "#/drawer"],
  ]) {
    const tab = await aShop({ me, hash });
    const acts = () => sentOf(tab, "report/drawer").filter((one) => one.Action);
    assert.deepEqual(sentOf(tab, "report/drawer"), [AgentID ? { AgentID } : {}]);
    await tab.fill({ "piece-20000": "2", "piece-5000": "3", "piece-10": "7", "piece-20": "x" });
    assert.equal(tab.document.getElementById("drawer-close-Counted").value, "550.70");
    assert.ok(tab.all("details .total")[0].label.endsWith("R 550.70"));
    await tab.press("Count and close", "Close the drawer");
    tab.shop.answers["report/drawer"] = { Drawer: CLOSED };
    await tab.fill({ "drawer-note-Note": "Found it" });
    await tab.press("Add a note");
    assert.deepEqual(
      acts().map(({ AgentID: agent, ...one }) => ({ agent, ...one })),
      [
        { agent: AgentID, Action: "close", Counted: "550.70" },
        { agent: AgentID, Action: "note", DrawerID: "D1", Note: "Found it" },
      ],
    );
    assert.deepEqual(drawerForms(tab), ["Open the drawer", "Add a note"]);
  }
  const pieces = async (CurrencyID, CurrencyDigits, Float) => {
    const tab = await aShop({
      me: { ...CASHIER, CurrencyID, CurrencyDigits },
      hash: "#/drawer",
      answers: { "report/drawer": { Drawer: { ...DRAWER, CurrencyID, Float } } },
    });
    return tab.all(".pieces input").map((one) => Number(one.getAttribute("data-worth")));
  };
  assert.deepEqual(await pieces("ZAR", 2, "1.00"), [20000, 10000, 5000, 2000, 1000, 500, 200, 100, 50, 20, 10]);
  assert.deepEqual(await pieces("JPY", 0, 100), [10000, 5000, 2000, 1000, 500, 200, 100, 50, 20, 10, 5, 2, 1]);
  assert.deepEqual((await pieces("USD", 2, "1.00")).slice(-6), [100, 50, 25, 10, 5, 1]);
  assert.deepEqual(await pieces("XPF", 0, 100), []);
});

test("Who counts blind sees no sum of cash while the drawer is open", async () => {
  const both = [
    row({ InputType: 10, Amount: "77.00", Net: "77.00" }),
    row({ InputType: 8, Amount: "5.00", Net: "5.00" }),
  ];
  for (const [me, Drawer, isShown, isOnlyCash] of [
    [{ DrawerBlind: true }, { ...DRAWER, Cash: null, Expected: null }, false],
    [{ DrawerBlind: true }, { ...DRAWER, Cash: null, Expected: null }, false, "only cash"],
    [{ DrawerBlind: true, IsAdministrator: true }, DRAWER, true],
    [{ DrawerBlind: true }, CLOSED, true],
    [{ DrawerBlind: false }, DRAWER, true],
  ]) {
    const rows = isOnlyCash ? both.slice(0, 1) : both;
    const tab = await aTill({
      me: { ...CASHIER, ...me },
      hash: "#/day",
      answers: { "report/drawer": { Drawer }, "report/takings": { Takings: rows, Taxes: [], ReceiptNumbers: [] } },
    });
    await tab.pass(1);
    if (!Drawer.ClosedAt) {
      await tab.fill({ Counted: "5" });
      await tab.press("Count and close");
      assert.equal(tab.all("dialog p")[0].label.includes("difference"), isShown);
      await tab.press("Cancel");
    }
    assert.equal(/77|82|Expected/.test(tab.text), isShown, JSON.stringify(me));
    assert.equal(tab.text.includes("Cash is shown after the count."), !isShown);
    assert.ok(!tab.text.includes("Nothing was taken"));
    for (const hash of ["#/today", "#/day-report", "#/days", "#/week"]) {
      const takings = { Takings: rows, Taxes: [], Late: [], ReceiptNumbers: [] };
      const page = await aShop({
        me: { ...CASHIER, ...me },
        hash,
        answers: { "report/drawer": { Drawer }, "report/takings": takings },
      });
      assert.equal(/77|82/.test(page.text), isShown, `${hash} ${JSON.stringify(me)}`);
      assert.equal(page.text.includes("Cash is not shown before"), !isShown);
      assert.ok(isShown || isOnlyCash || page.text.includes("5.00"));
    }
    assert.ok(tab.text.includes("5.00"));
  }
});

test("The shop's page changes what the receipts say, how drawers are counted and the kinds of payment", async () => {
  for (const [shown, typed, boxes, expected] of [
    [{}, {}, [], undefined],
    [{}, { TaxID: " 4012345678 ", Phone: "082 987 6543" }, [], { TaxID: "4012345678", Phone: "082 987 6543" }],
    [
      { ReceiptNote: null },
      { ReceiptNote: "Thank you" },
      ["DrawerBlind"],
      { ReceiptNote: "Thank you", DrawerBlind: true },
    ],
    [
      {},
      {},
      ["AcceptCash", "AllowLinkedCards"],
      { MobileSettings: { Features: { AcceptCash: false }, AllowLinkedCards: 0 } },
    ],
  ]) {
    const tab = await aShop({ hash: "#/shop", answers: { merchant: { Merchant: { ...MERCHANT, ...shown } } } });
    assert.equal(tab.all("[name=ReceiptNote]").length, Number("ReceiptNote" in shown)); // the service may not know it
    await tab.fill(typed);
    for (const one of boxes) check(one)(tab);
    await tab.press("Save");
    const [sent] = sentOf(tab, "merchant/update");
    if (!expected) assert.equal(sent, undefined);
    else {
      const { Location, Country, CountryCode, DeviceInfo, GMT, AppFramework, Lang, IP, ...fields } = sent;
      const { Name, AddressDeFacto, Phone } = MERCHANT;
      assert.deepEqual(fields, { Name, AddressDeFacto, Phone, ...expected });
      assert.deepEqual([Country, CountryCode, GMT, Lang], ["ZA", "ZA", 2, "en"]);
    }
    assert.ok(tab.text.includes("Saved."));
    assert.ok(!tab.offered().includes("Block"));
  }
  const tab = await aShop({ hash: "#/shop", answers: { "merchant/update": refused(202, ["Phone", 3]) } });
  await tab.fill({ Phone: "1", Name: "Tea" });
  await tab.press("Save");
  assert.ok(tab.document.getElementById("shop-Phone-problem").label.startsWith("Type a telephone number"));
  assert.equal(tab.document.activeElement.name, "Phone");
});

test("A system user finds a shop by its name, blocks it and corrects it", async () => {
  const tea = { ...MERCHANT, ClientID: 12, Name: "Tea" };
  const tab = await aShop({
    me: SUPPORT,
    answers: {
      "merchant/list": {
        Merchants: [tea, { ...tea, ClientID: 13, Name: "Teas", State: 0 }],
        MerchantsCounters: { ItemCountTtl: 150 },
      },
    },
  });
  await tab.fill({ merchant: " tea " });
  await tab.press("Choose");
  assert.deepEqual(sentOf(tab, "merchant/list"), [{ Search: "tea" }]);
  assert.deepEqual(
    tab.all(".recent button").map((one) => one.label),
    ["Tea Merchant 12", "Teas Merchant 13 Blocked"],
  );
  assert.ok(tab.text.includes("150 merchants match."));
  await tab.press("Tea Merchant 12");
  tab.go("#/shop");
  await tab.settle();
  await tab.press("Block", "Block");
  assert.ok(tab.offered().includes("Unblock"));
  await tab.fill({ Name: "Tea Room" });
  await tab.press("Save");
  assert.deepEqual(
    sentOf(tab, "merchant/update").map(({ State, Name }) => [State, Name]),
    [
      [0, "Coffee"],
      [undefined, "Tea Room"],
    ],
  );
  assert.ok(tab.all(".who")[0].label.startsWith("Tea Room"));
});

test("An empty shop is led to its first sale in three steps, and one that has sold is not", async () => {
  for (const [me, answers, steps] of [
    [OWNER, {}, ["Look at your shop", "Make a till", "Sell"]],
    [CASHIER, {}, []],
    [OWNER, { "payment/listHistoryEx": listed(PAYMENT) }, []],
  ]) {
    const tab = await aShop({ me, hash: "#/today", answers });
    assert.deepEqual(
      tab.all(".steps a").map((one) => one.label),
      steps,
    );
    assert.equal(tab.text.includes("Done"), steps.length > 0);
  }
});

test("An administrator changes a terminal, and reads what is wrong at its field", async () => {
  const tab = await aShop({
    hash: "#/tills",
    answers: {
      "merchant/terminal/ID/update": {
        status: 409,
        ErrorCode: ErrorCode.TID_TAKEN,
        ErrorMessage: "No.",
        Validations: [{ Property: "Name", Code: ErrorCode.TID_TAKEN, Type: 1 }],
      },
    },
  });
  const [part] = tab.all("details.messages");
  part.open = true;
  tab.fire(part, "toggle");
  await tab.settle();
  tab.click(tab.all(".devices button")[0]);
  await tab.settle();
  await tab.fill({ Name: "TILL-2", City: "Paarl", SIC: "5812" });
  check("State")(tab);
  await tab.press("Save");
  assert.equal(tab.document.getElementById("terminal-Name-problem").label, "Another terminal has this number already.");
  delete tab.shop.answers["merchant/terminal/ID/update"];
  await tab.press("Save");
  assert.deepEqual(sentOf(tab, "merchant/terminal/ID/update").at(-1), {
    Name: "TILL-2",
    City: "Paarl",
    SIC: "5812",
    State: 0,
  });
  assert.equal(tab.all("dialog").length, 0);
});
