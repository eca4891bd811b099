// Stories of both pages, next to the stored ones in stories.txt: whatever a page sends or stores otherwise than before is a
// difference, and so is another focus or address. After a wanted change run NEW_STORIES=1 .venv/bin/pytest tests/pages -k stories, and read the differences.
import { Locks } from "./browser.mjs";
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { ErrorCode } from "../../chalicelib/pages/kit/error_codes.js";
import { START } from "./device.mjs";
import {
  CASHIER,
  CLOSED,
  DRAWER,
  ITEM,
  LIST,
  OWNER,
  OWNERS_TILL,
  PAYMENT,
  SUPPORT,
  Shop,
  TERMINAL,
  TILL,
  WEBHOOK,
  aSale,
  aShop,
  aTill,
  listed,
} from "./pages.mjs";
import { test } from "./runner.mjs";
import { tell } from "./stories.mjs";

const FILE = new URL("stories.txt", import.meta.url);
const isNew = Boolean(process.env.NEW_STORIES);
const known = new Map(
  (isNew ? "" : readFileSync(FILE, "utf8"))
    .split(/^## /m)
    .slice(1)
    .map((part) => [part.slice(0, part.indexOf("\n")), part.slice(part.indexOf("\n") + 1)]),
);
const told = [];

function story(name, open, ...steps) {
  test(name, async () => {
    const text = await tell(await open(), steps);
    if (isNew) told.push(`## ${name}\n${text}`);
    else assert.equal(text, known.get(name));
  });
}

const at = (hash, answers, rest) => () => aShop({ hash, answers, ...rest });
const till = (fields) => () => aTill({ shop: new Shop(), ...fields });
const LOST = { status: 500, ErrorCode: 901, ErrorMessage: "It broke." };
const DOWN = { status: 503, ErrorCode: 903, ErrorMessage: "Out of reach." };
const refused = (code, ...findings) => ({
  status: 400,
  ErrorCode: code,
  ErrorMessage: "No.",
  Validations: findings.map(([Property, Code]) => ({ Property, Code, Type: 1, Message: `${Property} is wrong.` })),
});
const answer = (answers) => [
  `the service answers ${Object.entries(answers)
    .map(
      ([kind, one]) =>
        `${kind} with ${one === null ? "nothing" : one?.ErrorCode ? `error ${one.ErrorCode}` : one ? "other facts" : "its usual facts"}`,
    )
    .join(", ")}`,
  (tab) => Object.assign(tab.shop.answers, answers),
];
const submit = [
  "submits the form",
  (tab) =>
    tab.click(
      [...tab.all("form button"), ...tab.all("dialog form button")].filter((one) => one.type === "submit").at(-1),
    ),
];
const among = (place, label, words = `presses ${label} at ${place}`) => [
  words,
  (tab) => tab.click(tab.all(`${place} button, ${place} a`).find((one) => one.label === label)),
];
const check = (name) => [
  `changes the box ${name}`,
  (tab) => tab.click(tab.all("input").findLast((one) => one.name === name || one.value === name)),
];
const key = (...keys) => [
  `types the keys ${keys.join(" ")}`,
  async (tab) => {
    for (const one of keys) {
      tab.fire(tab.document.activeElement ?? tab.document.body, "keydown", { key: one });
      await tab.pass(0.1);
    }
  },
];
const pressEscape = ["presses Escape in the dialog", (tab) => tab.fire(tab.all("dialog").at(-1), "cancel")];
const enter = ["presses Enter in the search", (tab) => tab.submit(tab.all("[type=search]")[0].closest("form"))];
const scan = (text) => [
  `scans ${text}`,
  async (tab) => {
    for (const one of [...text, "Enter"])
      tab.fire(tab.document.body, "keydown", { key: one, timeStamp: (tab.clock.now += 10) });
    await tab.settle();
  },
];
const noSession = [
  "her session ends",
  (tab) => {
    tab.shop.tokens.clear();
  },
];
const held = new Map(); // answers that come late
const late = (kind) => [
  `the answer to ${kind} will be late`,
  (tab) => {
    tab.shop.answers[kind] = (request) =>
      new Promise((come) => {
        held.set(kind, () => {
          delete tab.shop.answers[kind];
          come(tab.shop.answer(request));
        });
      });
  },
];
const comes = (kind) => [`the late answer to ${kind} comes`, () => held.get(kind)()];
const reload = [
  "loads the page again",
  async (tab) => {
    tab.hash = tab.entries.at(-1).hash;
    tab.open();
    await tab.pass(0.5);
  },
];
const offline = [
  "the connection is lost",
  (tab) => {
    tab.isOffline = true;
    tab.fire(tab.document.root, "offline");
  },
];
const online = [
  "the connection is back",
  (tab) => {
    tab.isOffline = false;
    tab.fire(tab.document.root, "online");
  },
];
const signIn = (email, password = "secret") => [
  `signs in as ${email}`,
  async (tab) => {
    await tab.fill({ email, password });
    tab.fire(
      tab.all("form").findLast((one) => one.querySelector("[type=password]")),
      "submit",
    );
  },
];

const row = (fields) => ({
  Day: "2026-11-23",
  AgentID: 3,
  AgentName: "Till 1",
  InputType: 10,
  CurrencyID: "ZAR",
  Hour: 9,
  Payments: 3,
  Reversals: 1,
  Amount: "20.00",
  AmountReversed: "5.00",
  Discounts: "0.00",
  LeftToPay: "0.00",
  Net: "15.00",
  ...fields,
});
const ROWS = [
  row({}),
  row({ Hour: 13, InputType: 4, Reversals: 0, AmountReversed: "0.00", Amount: "7.00", Net: "7.00" }),
  row({ AgentID: 4, AgentName: null, Hour: 11, Net: "15.50", Amount: "20.50" }),
  row({ InputType: 8, Reversals: 3, AmountReversed: "20.00", Net: "0.00" }),
  row({ InputType: 9, Payments: 0, Reversals: 0, Amount: "0.00", AmountReversed: "0.00", Net: "0.00" }),
  row({ CurrencyID: "EUR", Hour: 10, Net: "2.00", Amount: "2.00", AmountReversed: "0.00", Reversals: 0, Payments: 1 }),
];
const EARLIER = [
  row({ Day: "2026-11-16", Hour: 8, Net: "40.00", Amount: "45.00" }),
  row({ Day: "2026-11-18", Net: "4.00" }),
  row({ Day: "2026-11-20", Net: "-3.00", Amount: "0.00", Payments: 0 }),
];
const TAXES = ["2026-11-16", "2026-11-23"].flatMap((Day) => [
  { Day, Code: "VAT", Name: "VAT", Rate: "15", CurrencyID: "ZAR", Gross: "10.00", Tax: "1.30" },
  { Day, Code: "TIP", Name: "Tip", Rate: "2.5", CurrencyID: "ZAR", Gross: "4.00", Tax: "0.10" },
  { Day, Code: "VAT", Name: "VAT", Rate: "19", CurrencyID: "EUR", Gross: "2.00", Tax: "0.32" },
]);
const takings = {
  "report/takings": ({ body: { Period, By } }) => ({
    Takings: [...EARLIER, ...ROWS]
      .filter(({ Day }) => Day >= Period.From && Day <= Period.To)
      .map(({ Hour, ...one }) => (By === "hour" ? { ...one, Hour } : one)),
    Taxes: TAXES.filter(({ Day }) => Day >= Period.From && Day <= Period.To),
    Late: [],
    ReceiptNumbers: [
      { AgentID: 3, First: "261123.3.1", Last: "261123.3.9", Count: 9 },
      { AgentID: 4, First: "261123.4.1", Last: "261123.4.1", Count: 1 },
    ],
  }),
};
const OUTSIDE = {
  ...Object.fromEntries(Object.keys(DRAWER).map((name) => [name, null])),
  AgentID: 4,
  CurrencyID: "ZAR",
  Cash: "-5.00",
  CashTaken: "0.00",
  CashGivenBack: "5.00",
  Movements: [],
};
const CARD = {
  ...PAYMENT,
  ID: "P2",
  InputType: 4,
  Date: "2026-11-22T23:30:00.000",
  Amount: "50.00",
  AmountEff: "30.00",
  AmountRvs: "20.00",
  CountRvs: 2,
  Invoice: "261122.3.2",
  Description: null,
  Received: "2026-11-23T08:00:00.000",
  CanReturn: false,
  CanReturnCNP: true,
  Card: { PANEnding: "1111", PANMasked: "411111******1111", IIN: "VISA" },
  Result: { Code: "00", Message: "Approved" },
  ApprovalCode: "A1",
  RRN: "R7",
  ExtID: "E9",
  AcquirerID: 2,
  TerminalName: "TILL-1",
  CardholderName: "A PAYER",
  ReceiptEmail: "payer@example.com",
  ReceiptPhone: "+27829876543",
  TaxAmounts: [{ Name: "VAT", Rate: "15", Tax: "6.52", Gross: "50.00" }],
  AmountCashGot: "60.00",
  PhotoUrl: "https://files.example/p",
  SignatureUrl: "https://files.example/s",
};
const RETURN = {
  ...PAYMENT,
  ID: "R1",
  OperationID: 3,
  Substate: 502,
  ReverseID: "P2",
  ReverseInvoice: "261122.3.2",
  Amount: "15.00",
  Invoice: "261123.3.3",
  Description: "Cold",
  CanReturn: false,
};
const UNKNOWN = {
  ...PAYMENT,
  ID: "P3",
  Substate: 201,
  IsNotFinished: true,
  CanReturn: false,
  Invoice: "261123.3.4",
  Date: "2026-11-23T09:00:00.000",
};
const DECLINED = {
  ...PAYMENT,
  ID: "P4",
  Substate: 412,
  Status: 2,
  CanReturn: false,
  Invoice: "261123.3.5",
  InputType: 4,
  Card: { PANEnding: "2222" },
  Result: { Code: "05", Message: "Do not honour" },
  Date: "2026-11-23T08:00:00.000",
};
const BACK = {
  ...PAYMENT,
  ID: "P5",
  Substate: 502,
  CanReturn: false,
  AmountEff: "0.00",
  AmountRvs: "12.30",
  CountRvs: 1,
  ReverseID: "R5",
  Invoice: "261123.3.6",
  Date: "2026-11-23T07:00:00.000",
};
const ALL = {
  ...listed(PAYMENT, CARD, RETURN, DECLINED, BACK),
  InProcess: [UNKNOWN],
  TransactionsCounters: { ItemCountTtl: 1206, PageCount: 3, AmountCvt: "87.60" },
};
const byId = {
  "payment/ID": ({ path }) => ({
    Transactions: [PAYMENT, CARD, RETURN, UNKNOWN, DECLINED, BACK, { ...RETURN, ID: "R5", ReverseID: "P5" }].filter(
      ({ ID }) => [ID, encodeURIComponent(ID)].some((one) => path.endsWith(`/${one}`)),
    ),
  }),
};
const LISTS = { "payment/listHistoryEx": ALL, ...byId };

story(
  "Today, and its next minutes",
  at("#/today", { ...takings, ...LISTS }),
  answer({ "report/takings": LOST, "payment/listHistoryEx": LOST }),
  60,
  "Refresh",
  answer({ "report/takings": undefined, "payment/listHistoryEx": undefined }),
  60,
);
story(
  "A cashier's today",
  at("", { ...takings, ...LISTS }, { me: CASHIER }),
  "#/tills",
  "#/webhooks",
  "#/price-list",
  "#/nowhere",
  answer({ "report/takings": undefined }),
  "#/day-report",
);
story(
  "The reports of a day, a week and a month",
  at("#/day-report", {
    ...takings,
    "report/drawer/list": {
      Drawers: [CLOSED, DRAWER, OUTSIDE],
      Earlier: [{ ...DRAWER, OpenedAt: "2026-10-01T08:00:00.000", LastCounted: "130.00", CashGivenBack: "30.00" }],
    },
    "payment/listHistoryEx": ALL,
  }),
  "Day before",
  "Day after",
  "Print",
  "#/week",
  "#/week?day=2026-11-19",
  "7 days later",
  [
    "chooses a day",
    (tab) => {
      const field = tab.document.getElementById("day");
      field.value = "2026-11-20";
      tab.fire(field, "change");
    },
  ],
  "#/days",
  { from: "2026-11-16", to: "2026-11-22" },
  submit,
  { from: "2026-11-18" },
  submit,
  "#/days?from=2026-08-01&to=2026-11-23",
  "#/days?from=2026-11-23&to=2026-11-01",
);
story(
  "The list of payments",
  at("#/payments", { ...LISTS, "merchant/pos/list": { PosList: [TILL, OWNERS_TILL], PosCounters: { PageCount: 1 } } }),
  "Next",
  "Next",
  "Previous",
  { search: "R 12.30", from: "2026-11-01", kind: "10", till: "3" },
  "Search",
  answer({ "payment/listHistoryEx": refused(202, ["ListBasicModel.RRN", 3]) }),
  { rrn: "x" },
  "Search",
  answer({ "payment/listHistoryEx": ALL }),
  "#/payments?sort=asc",
  answer({ "payment/listHistoryEx": listed() }),
  "#/payments?sort=asc&extid=1",
  "#/payments",
  answer({ "payment/listHistoryEx": LOST }),
  "#/payments?page=4",
  answer({ "payment/listHistoryEx": listed() }),
  "Try again",
  late("payment/listHistoryEx"),
  "#/payments?till=1",
  "#/payments?till=3",
  comes("payment/listHistoryEx"),
);
story(
  "Payments, one by one",
  at("#/payments/P2", LISTS),
  ["opens the return", (tab) => tab.click(tab.all(".returns a")[0])],
  "#/payments/P3",
  "Ask again",
  "#/payments/P4",
  "#/payments/P5",
  "Show the receipt",
  "Print",
  answer({ "payment/receipt/ID": { Receipt: null } }),
  "#/payments/P3",
  "Show the receipt",
  answer({ "payment/ID": { status: 404, ErrorCode: 207, ErrorMessage: "There is none." } }),
  "#/payments/P9",
);
story(
  "A receipt that is sent later",
  at("#/payments/P1", { "payment/receipt/ID": null }),
  "Send receipt",
  submit,
  { Email: " a@example.com " },
  submit,
  submit,
  { Email: "b@example.com" },
  submit,
  "Cancel",
  "Send receipt",
  { Email: "b@example.com" },
  answer({ "payment/receipt/ID": refused(202, ["Email", 3]) }),
  submit,
  answer({
    "payment/receipt/ID": ({ body }) => (body ? { Validations: [{ Property: "Email", Code: 5, Type: 2 }] } : undefined),
  }),
  { Phone: "082" },
  submit,
  answer({ "payment/receipt/ID": {} }),
  submit,
  "Send receipt",
);
story(
  "A return whose answer is lost",
  at("#/payments/P1", { "payment/reverse": LOST }),
  "Return…",
  { amount: "99" },
  submit,
  { amount: "x" },
  submit,
  { amount: "0" },
  submit,
  { amount: "1.234" },
  submit,
  { amount: "R 2", reason: " Broken " },
  submit,
  "Cancel",
  reload,
  "Send again",
  answer({ "payment/reverse": { status: 429, ErrorCode: 402, ErrorMessage: "Later." } }),
  submit,
  answer({ "payment/reverse": { ErrorCode: 310, Transaction: { ...PAYMENT, Amount: "2.00" } } }),
  submit,
  "Send again",
  answer({
    "payment/reverse": { ErrorCode: 1005, ErrorMessage: "No money", Transaction: { ...PAYMENT, Amount: "2.00" } },
  }),
  submit,
  "Return…",
  answer({ "payment/reverse": refused(202, ["BasicReverseTran.Amount", 99]) }),
  submit,
  answer({
    "payment/reverse": { status: 409, ErrorCode: ErrorCode.ALREADY_REVERSED },
    "payment/ID": { Transactions: [BACK] },
  }),
  submit,
);
const back = (number, amount) => ({
  ...RETURN,
  ID: `R${number}`,
  ReverseID: "P1",
  ReverseInvoice: PAYMENT.Invoice,
  Amount: amount,
});
const part = (given, left, returns) =>
  answer({
    "payment/reverse": { Transaction: returns.at(-1) },
    "payment/listHistoryEx": listed(...returns),
    "payment/ID": ({ path }) => ({
      Transactions: [
        path.endsWith("/P1")
          ? { ...PAYMENT, AmountEff: left, AmountRvs: given, CountRvs: returns.length, ReverseID: "R1" }
          : returns[0],
      ],
    }),
  });
story(
  "A payment that is returned in parts",
  at("#/payments/P1", LISTS),
  "Return…",
  { amount: "2" },
  part("2.00", "10.30", [back(1, "2.00")]),
  submit,
  "Return…",
  { amount: "3" },
  part("5.00", "7.30", [back(1, "2.00"), back(2, "3.00")]),
  submit,
);
story(
  "A payment of years ago with two returns",
  at("#/payments/P1", {
    ...LISTS,
    "payment/ID": {
      Transactions: [
        { ...PAYMENT, Date: "2023-05-01T10:00:00.000", AmountEff: "7.30", AmountRvs: "5.00", CountRvs: 2 },
      ],
    },
  }),
);
story(
  "The way back to a list, and another tab",
  at("#/payments?search=tea", LISTS),
  ["opens a payment", (tab) => tab.click(tab.all("[data-id='P1'] a")[0])],
  ["goes back by the link", (tab) => tab.click(tab.button("Back to the list"))],
  "#/payments/P3",
  ["goes to the list by the link", (tab) => tab.click(tab.button("Back to the list"))],
  ["opens a payment in another tab", (tab) => tab.click(tab.all("[data-id='P1'] a")[0], { ctrlKey: true })],
  ["opens it with the middle button", (tab) => tab.fire(tab.all("[data-id='P1'] a")[0], "auxclick", { button: 1 })],
  ["opens its menu", (tab) => tab.fire(tab.all("[data-id='P1'] a")[0], "auxclick", { button: 2 })],
  ["skips to the content", (tab) => tab.click(tab.all(".skip")[0])],
  "#/payments/%E0%A4%A",
  "#/payments/a%2Fb",
);
story(
  "Payments that the page does not know",
  at("#/payments/P1", {
    ...byId,
    "payment/ID": { Transactions: [{ ...CARD, InputType: 99, Substate: 999, StateDisplay: "Odd", CountRvs: 3 }] },
    "payment/listHistoryEx": { status: 403, ErrorCode: 151, ErrorMessage: "No." },
  }),
  answer({ "payment/listHistoryEx": LOST }),
  "#/payments/P7",
  answer({ "payment/ID": { Transactions: [{ ...DECLINED, Result: null }] }, "payment/receipt/ID": { Receipt: null } }),
  "#/payments/P8",
  "Show the receipt",
  "#/payments?to=2026-11-05",
  "#/payments?from=2026-11-23&to=2026-11-23",
  answer({ "payment/listHistoryEx": { ...listed(), InProcess: [UNKNOWN, { ...UNKNOWN, ID: "P6" }] } }),
  "#/payments?from=2026-11-22",
);
story(
  "A dialog that waits for its answer stays open",
  at("#/payments/P1", {}),
  "Return…",
  late("payment/reverse"),
  submit,
  pressEscape,
  comes("payment/reverse"),
  "Return…",
  pressEscape,
  "#/webhooks",
  "New webhook",
  { url: "https://shop.example/b" },
  late("merchant/webhook/create"),
  submit,
  pressEscape,
  comes("merchant/webhook/create"),
  pressEscape,
  "#/tills/3",
  among("[data-id='3']", "New secret key"),
  late("merchant/pos/ID/update"),
  "Make a new key",
  pressEscape,
  comes("merchant/pos/ID/update"),
  pressEscape,
  "#/tills",
  "New till",
  { Name: "Ben", Email: "ben@example.com", Phone: "0829876543", Password: "12345678" },
  late("merchant/pos/create"),
  submit,
  pressEscape,
  comes("merchant/pos/create"),
  pressEscape,
  "#/tills/3",
  among("[data-id='3']", "Block"),
  pressEscape,
);
story(
  "Exports",
  at("#/payments?till=3&from=2026-11-20", {}),
  "Export",
  submit,
  "Export",
  { format: "xero" },
  { Tax: "2200", TaxRate: "S" },
  submit,
  "Export",
  answer({ "report/export": refused(202, ["Accounts.Sales", 3]) }),
  { format: "beancount" },
  submit,
  answer({ "report/export": refused(202, ["Period.To", 9]) }),
  submit,
  { format: "xero" },
  answer({ "report/export": DOWN }),
  submit,
);

const SESSIONS = [
  { ID: "c", Device: "Phone", Started: "2026-11-23T08:00:00.000", LastUsed: "2026-11-23T08:30:00.000" },
  { ID: "b", Device: "Phone", Started: "2026-11-22T10:00:00.000", LastUsed: "2026-11-23T09:00:00.000" },
  { ID: "d", Device: "Phone", Started: "2026-11-22T20:00:00.000", LastUsed: "2026-11-22T21:00:00.000" },
  { ID: "a", Device: null, Started: "2026-11-21T10:00:00.000", LastUsed: "2026-11-22T09:00:00.000" },
];
const LOCKED = {
  ...TILL,
  Logon: { LastLogon: "2026-11-22T10:00:00.000", LockedUntil: "2026-11-23T15:00:00.000" },
  Sessions: SESSIONS,
  Rights: [301],
};
const TILLS = {
  "merchant/pos/list": {
    PosList: [LOCKED, { ...TILL, ID: 4, Name: "Till 2", State: 0, TID: null, TerminalID: null }, OWNERS_TILL],
    PosCounters: { PageCount: 1 },
  },
  "merchant/pos/ID": { Pos: LOCKED },
  ...takings,
};
story(
  "Tills and their dialogs",
  at("#/tills/3", TILLS),
  among("[data-id='3']", "Unlock"),
  among("dialog", "Unlock"),
  answer({
    "merchant/pos/ID": {
      Pos: {
        ...LOCKED,
        Sessions: [
          { ...SESSIONS[0], ID: "e", Device: "Desk" },
          { ...SESSIONS[0], ID: "f", Device: null },
          ...SESSIONS.slice(1),
        ],
      },
    },
  }),
  among(".devices", "Sign out"),
  late("merchant/pos/ID/update"),
  "Sign out everywhere",
  among("dialog", "Sign out everywhere"),
  comes("merchant/pos/ID/update"),
  among("[data-id='3']", "New password"),
  answer({ "merchant/pos/ID/update": refused(202, ["Password", 4]) }),
  { password: "short" },
  submit,
  answer({ "merchant/pos/ID/update": undefined }),
  submit,
  among("[data-id='3']", "New secret key"),
  "Make a new key",
  "Copy",
  "Done",
  among("[data-id='3']", "Block"),
  among("dialog", "Block"),
  answer({ "merchant/pos/ID": { Pos: { ...TILL, ID: 4, Name: "Till 2", State: 0, TID: null, TerminalID: null } } }),
  "#/tills/4",
  among("[data-id='4']", "Unblock"),
  "Cancel",
  answer({ "merchant/pos/ID": undefined }),
  "#/tills/1",
  among("[data-id='1']", "Block"),
  "Cancel",
  among("[data-id='1']", "New secret key"),
  "Cancel",
  "Sign out everywhere",
  among("dialog", "Sign out everywhere"),
);
story(
  "An administrator blocks herself",
  at("#/tills/1", {
    "merchant/pos/list": {
      PosList: [OWNERS_TILL, { ...OWNERS_TILL, ID: 2, Name: "Otto" }],
      PosCounters: { PageCount: 1 },
    },
    "merchant/pos/ID": { Pos: OWNERS_TILL },
    "merchant/pos/ID/update": refused(202, ["State", 12]),
  }),
  among("[data-id='1']", "New password"),
  "Cancel",
  among("[data-id='1']", "Block"),
  among("dialog", "Block yourself"),
  answer({ "merchant/pos/ID/update": undefined }),
  among("dialog", "Block yourself"),
);
story(
  "A till is changed",
  at("#/tills/3", {
    ...TILLS,
    "merchant/terminal/list": {
      Terminals: [TERMINAL, { ...TERMINAL, ID: 9, State: 0, Name: "TILL-9" }],
      TerminalsCounters: { PageCount: 1 },
    },
  }),
  submit,
  among("[data-id='3']", "Change"),
  { Name: " ", Phone: "082 987 6543" },
  check("SeeAll"),
  check("Offline"),
  answer({ "merchant/pos/ID/update": refused(202, ["Name", 1], ["TerminalID", 8]) }),
  submit,
  { TID: "new" },
  answer({ "terminal/create": refused(202, ["Name", 3]), "merchant/pos/ID/update": undefined }),
  submit,
  { Number: "TILL-7" },
  answer({ "terminal/create": undefined }),
  submit,
);
const FIRST = {
  "merchant/pos/list": { PosList: [{ ...OWNERS_TILL, CountryID: "ZA" }], PosCounters: { PageCount: 1 } },
  "merchant/terminal/list": { Terminals: [], TerminalsCounters: { PageCount: 1 } },
};
story(
  "A till abroad, and rights that are taken away",
  at("#/tills", {
    ...FIRST,
    "merchant/pos/list": {
      PosList: [
        { ...OWNERS_TILL, CountryID: "DE" },
        { ...TILL, Rights: [301] },
      ],
      PosCounters: { PageCount: 1 },
    },
    "merchant/pos/ID": { Pos: { ...TILL, TerminalID: null, Rights: [301] } },
  }),
  "New till",
  "Cancel",
  among("[data-id='3']", "Change"),
  check("ReturnOthers"),
  submit,
  answer({ "merchant/pos/list": LOST }),
  "#/today",
  "#/tills",
  answer({
    "merchant/pos/list": {
      PosList: Array.from({ length: 101 }, (_, number) => ({ ...TILL, ID: number + 10, Name: `T${number}` })).slice(
        0,
        2,
      ),
      PosCounters: { PageCount: 51 },
    },
  }),
  "#/tills?page=2",
);
story(
  "The first till of a shop",
  at("#/tills", FIRST),
  "New till",
  {
    Name: "Ben",
    Email: "ben@example.com",
    Phone: "0829876543",
    Password: "12345678",
    Location: "1 Main Rd",
    City: "Paarl",
    RegionCode: "WC",
  },
  check("AcceptCash"),
  check("SeeAll"),
  answer({
    "merchant/pos/create": refused(ErrorCode.EMAIL_TAKEN, ["Email", 3]),
    "merchant/pos/ID": { Pos: { ...TILL, SecretKey: "k1" } },
  }),
  submit,
  answer({ "merchant/pos/create": undefined }),
  submit,
  "Done",
  "New till",
  { Name: "Sue", Email: "sue@example.com", Phone: "+27829876543", Password: "12345678", TID: "" },
  answer({ "merchant/pos/ID": { Pos: { ...TILL, Name: "Sue", TID: null } } }),
  submit,
);

const ITEMS = [
  ITEM,
  {
    Code: "apple",
    Title: "Äpple",
    Price: "30.00",
    Unit: "kg",
    TaxCode: "VAT",
    Group: "Fruit",
    Barcode: "6001240100011",
    Active: true,
  },
  { Code: "aged", Title: "Old", Price: null, Unit: null, TaxCode: "VAT", Group: null, Barcode: null, Active: false },
];
const PRICES = {
  "merchant/pricelist": ({ path }) => (path.includes("Version=4") ? {} : { PriceList: { ...LIST, Items: ITEMS } }),
};
const file = (text, name = "a file") => [
  `imports ${name}`,
  async (tab) => {
    const [input] = tab.all("input").filter((one) => one.type === "file");
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    input.files = [{ size: bytes.length, arrayBuffer: async () => bytes }];
    tab.fire(input, "change");
    await tab.settle();
  },
];
story(
  "A price list is changed",
  at("#/price-list", PRICES),
  "New item",
  { "price-Title": "Bun", "price-Code": "bun", "price-Price": "x" },
  key("Escape"),
  "Save",
  { "price-Price": "5" },
  "Change Äpple",
  ["changes its box", (tab) => tab.click(tab.all("[type=checkbox]")[0])],
  "Remove",
  "Undo",
  "Change VAT",
  { "price-Rate": "" },
  key("Enter"),
  "New tax",
  { "price-Code": "TIP" },
  reload,
  "Discard changes",
  "Cancel",
  answer({
    "merchant/pricelist/update": refused(
      202,
      ["Items[3].Code", 12],
      ["Items[0].Code", 3],
      ["Taxes[1].Code", 3],
      ["Taxes[1].Name", 1],
    ),
  }),
  "Save",
  "Change Äpple",
  "Close",
  "Bun",
  answer({ "merchant/pricelist/update": refused(202, ["Items", 4]) }),
  "Save",
  answer({ "merchant/pricelist/update": undefined }),
  "Save",
  "Change Äpple",
  { "price-TaxCode": "" },
  "Change Tea",
  { "price-Price": "27" },
  { "price-search": "äp" },
  "Discard changes",
  among("dialog", "Discard changes"),
);
story(
  "An empty price list, and a file with many problems",
  at("#/price-list", { "merchant/pricelist": { PriceList: { Version: 0, Items: [], Taxes: [] } } }),
  file(new Uint8Array(256 * 1024 + 1), "a large file"),
  "Cancel",
  file(
    `Code,Title,Price\n${Array.from({ length: 60 }, (_, number) => `${number},T,x\n`).join("")}`,
    "a file with 60 problems",
  ),
  "Cancel",
  "New item",
  file("Code,Title\nx,X\n", "a file, with a change that is not saved"),
  "Cancel",
  file("Code,Title\n", "a file without items"),
);
story(
  "A cashier's empty price list",
  at("#/price-list", { "merchant/pricelist": { PriceList: { Version: 0, Items: [], Taxes: [] } } }, { me: CASHIER }),
);
story(
  "Two people change taxes",
  at("#/price-list", PRICES),
  "New tax",
  { "price-Code": "TIP", "price-Name": "Tips", "price-Rate": "5" },
  answer({
    "merchant/pricelist/update": { status: 409, ErrorCode: ErrorCode.PRICE_LIST_CHANGED },
    "merchant/pricelist": {
      PriceList: {
        Version: 5,
        Items: [ITEM, ITEMS[2]],
        Taxes: [
          { ...LIST.Taxes[0], Rate: "16" },
          { Code: "TIP", Name: "Tip", Rate: "5.0" },
        ],
      },
    },
  }),
  "Save",
  "Put my changes into it",
  answer({ "merchant/pricelist/update": undefined }),
  "Save",
);
story(
  "A price list is imported and exported",
  at("#/price-list", PRICES),
  "Export",
  "Change Tea",
  { "price-Price": "R 26,5" },
  "Export",
  { "price-Price": "25.00" },
  file("Code,Price\ntea,26\napple,31.5\nnew,1\n", "a file with a new item without a title"),
  "Cancel",
  file(new Uint8Array([255, 254, 255]), "a file of other letters"),
  "Cancel",
  file("Code,Title,Price,Active\ntea,Tea,26,no\nnew,New,,\n"),
  answer({ "merchant/pricelist/update": { status: 409, ErrorCode: ErrorCode.PRICE_LIST_CHANGED } }),
  among("dialog", "Import"),
  "Cancel",
  answer({ "merchant/pricelist/update": { status: 413, ErrorCode: ErrorCode.TOO_LARGE, ErrorMessage: "Large." } }),
  "Save",
  answer({ "merchant/pricelist/update": undefined }),
  "Save",
);

const ATTEMPTS = [
  { Timestamp: "2026-11-23T11:00:00.000Z", Status: 500, Milliseconds: 1234, Answer: "Oh" },
  { Timestamp: "2026-11-23T10:50:00.000Z", Status: null, Milliseconds: 10000, Reason: "no answer in time" },
];
const EVENT = {
  ID: "E1",
  Type: "payment.approved",
  Timestamp: "2026-11-22T22:30:00.000Z",
  TransactionID: "P1-23456789",
  Substate: 411,
  Deliveries: [
    { WebhookID: 8, State: "pending", Attempts: 2, NextAttempt: "2026-11-23T12:30:00.000Z", AttemptList: ATTEMPTS },
    {
      WebhookID: 7,
      State: "delivered",
      Attempts: 1,
      NextAttempt: null,
      AttemptList: [{ ...ATTEMPTS[0], Status: 204, Answer: null }],
    },
  ],
};
const TEST = {
  ID: "E2",
  Type: "test",
  Timestamp: "2026-11-23T11:30:00.000Z",
  TransactionID: null,
  Substate: null,
  Deliveries: [{ WebhookID: 8, State: "given up", Attempts: 1, NextAttempt: null, AttemptList: [ATTEMPTS[1]] }],
};
const events = (...Events) => ({
  "merchant/event/list": { Events, EventsCounters: { ItemCountPage: Events.length, Pagesize: 2 } },
});
const HOOKS = {
  "merchant/webhook/list": {
    Webhooks: [
      { ...WEBHOOK, Description: "Books" },
      { ...WEBHOOK, ID: 9, Url: "https://shop.example/b", State: 0, Types: ["payment.approved", "payment.declined"] },
      { ...WEBHOOK, ID: 10, Url: "https://shop.example/c" },
    ],
  },
  ...events(TEST, EVENT),
};
const open = (id) => [`opens event ${id}`, (tab) => tab.click(tab.all(`[data-id='${id}'] button`)[0])];
story(
  "Webhooks: receivers that refuse, are off, or answer never",
  at("#/webhooks?page=2", {
    "merchant/webhook/list": {
      Webhooks: [
        {
          ...WEBHOOK,
          Types: [
            "payment.approved",
            "payment.declined",
            "payment.rejected",
            "payment.unknown",
            "payment.cancelled",
            "reversal.approved",
            "reversal.declined",
          ],
        },
        { ...WEBHOOK, ID: 9, Url: "https://shop.example/b", State: 0 },
      ],
    },
    ...events({
      ...EVENT,
      Type: "odd",
      Substate: 999,
      Deliveries: [
        {
          ...EVENT.Deliveries[0],
          NextAttempt: null,
          AttemptList: [
            { ...ATTEMPTS[0], Status: 777 },
            { ...ATTEMPTS[1], Timestamp: "2026-11-23T10:40:00.000Z", Reason: "TLS: no answer in time" },
            { ...ATTEMPTS[1], Reason: "odd" },
          ],
        },
        { ...EVENT.Deliveries[1], WebhookID: 9 },
      ],
    }),
  }),
  open("E1"),
  among(".opened", "Send again"),
  18,
  among("[data-id='8']", "Send a test"),
  answer({
    ...events({ ...TEST, Deliveries: [{ ...TEST.Deliveries[0], AttemptList: [{ ...ATTEMPTS[0], Status: 410 }] }] }),
  }),
  4,
  answer({ "merchant/webhook/list": { Webhooks: [] } }),
  "#/today",
  "#/webhooks",
);
story(
  "Webhooks and events",
  at("#/webhooks", HOOKS),
  open("E1"),
  open("E2"),
  "#/webhooks?page=2",
  answer(events()),
  "Next",
  answer(HOOKS),
  "#/webhooks",
  among("[data-id='8']", "Send a test"),
  1,
  answer(
    events({
      ...TEST,
      Deliveries: [
        { ...TEST.Deliveries[0], State: "delivered", AttemptList: [{ ...ATTEMPTS[0], Status: 204, Milliseconds: 5 }] },
      ],
    }),
  ),
  3,
  among("[data-id='8']", "Change"),
  check("payment.unknown"),
  answer({ "merchant/webhook/ID/update": refused(202, ["Url", 3]) }),
  submit,
  { url: " https://shop.example/z " },
  answer({ "merchant/webhook/ID/update": undefined }),
  submit,
  among("[data-id='8']", "New secret"),
  answer({ "merchant/webhook/ID/update": null }),
  "Make a new secret",
  answer({ "merchant/webhook/ID/update": undefined }),
  "Make a new secret",
  "Done",
  among("[data-id='9']", "Switch on"),
  among("dialog", "Switch on"),
  "New webhook",
  answer({ "merchant/webhook/create": LOST }),
  { url: "https://shop.example/q" },
  submit,
  answer({ "merchant/webhook/create": undefined }),
  submit,
);

story(
  "A system user's merchants",
  () => aShop({ me: SUPPORT, answers: { ...TILLS, ...LISTS } }),
  { merchant: "8" },
  "Choose",
  "#/tills",
  "#/payments",
  { search: "261122.3.2" },
  "Search",
  "Another merchant",
  "#/merchant",
  { payment: "x" },
  "Find",
  "#/payments",
  { invoice: "261122.3.2" },
  "Search",
  "#/merchant",
  answer({ "merchant/pos/list": { PosList: [], PosCounters: { PageCount: 1 } } }),
  { merchant: "9" },
  "Choose",
  answer({ "merchant/pos/list": { status: 404, ErrorCode: 206, ErrorMessage: "None." } }),
  "Sign out",
  signIn(SUPPORT.Email),
  "Shop of 1 Merchant 8",
);
story(
  "Sign-in, its end, and another language",
  () =>
    aShop({
      me: null,
      hash: "#/payments",
      answers: { "user/login/session": { status: 401, ErrorCode: 101, ErrorMessage: "Wrong." } },
    }),
  signIn(OWNER.Email),
  answer({ "user/login/session": undefined }),
  signIn(OWNER.Email),
  noSession,
  "#/today",
  signIn(OWNER.Email),
  noSession,
  "Refresh",
  signIn(CASHIER.Email),
  noSession,
  "#/days",
  among("dialog", "Sign out"),
  late("user/login/session"),
  signIn(CASHIER.Email),
  comes("user/login/session"),
  "Afrikaans",
  "#/today",
);
const NEEDS_CODE = { status: 401, ErrorCode: 109, ErrorMessage: "A code." };
const opened = (tab) => {
  const [part] = tab.all("details");
  part.open = true;
  tab.fire(part, "toggle");
};
story(
  "A second factor, and a sign-in with its code",
  () => aShop({ hash: "#/shop" }),
  "Set up a second factor",
  answer({ "user/totp": NEEDS_CODE }),
  { code: "000000" },
  "Switch it on",
  answer({ "user/totp": undefined }),
  { code: "123456" },
  "Switch it on",
  "Done",
  "Switch it off",
  { code: "123456" },
  among("form:not(.card)", "Switch it off"),
  answer({ "user/login/session": ({ body }) => (body.Code ? undefined : NEEDS_CODE) }),
  "Sign out",
  signIn(OWNER.Email),
  { code: "123456" },
  "Sign in",
);
story(
  "A forgotten password, and the page of its link",
  () => aShop({ me: null }),
  opened,
  { forgotten: OWNER.Email },
  "Send a link",
  "#/reset/T",
  answer({ "user/password/reset": { status: 401, ErrorCode: 106, ErrorMessage: "Dead." } }),
  { password: "a long password" },
  "Set the password",
  answer({ "user/password/reset": undefined }),
  "Set the password",
);

// The till.
const TEA = "Tea R 25.00";
const GOODS = {
  "merchant/pricelist": {
    PriceList: {
      Version: 4,
      Items: ITEMS.map((one) => ({ ...one, Barcode: one.Barcode ?? "4006381333931", Active: true })),
      Taxes: LIST.Taxes,
    },
  },
};
story(
  "Goods are sold",
  till({ answers: GOODS }),
  TEA,
  among(".items", "Tea R 25.001"),
  "Äpple R 30.00 / kg",
  { quantity: "x" },
  submit,
  { quantity: "1,5" },
  submit,
  "Old Any price",
  { price: "" },
  submit,
  { price: "10" },
  submit,
  "1.5 kg × R 30.00",
  { off: "200%" },
  submit,
  "5 %",
  "10 %",
  { note: " ripe " },
  submit,
  "1 × R 10.00",
  { price: "x" },
  submit,
  { price: "12", off: "100" },
  "R",
  submit,
  { off: "1,50" },
  submit,
  among("[data-code='tea']", "One less"),
  "Discount on all",
  { off: "R 5" },
  submit,
  "Discount on all",
  ["types 7 beside the dialog", (tab) => tab.fire(tab.document.body, "keydown", { key: "7" })],
  "Cancel",
  among("[data-code='aged']", "Remove"),
  { description: " For a party " },
  "Cash",
  { received: "10" },
  submit,
  "Back",
  "Cash",
  { received: "100", receipt: "x" },
  submit,
  { receipt: "082 987 6543" },
  submit,
  "Receipt",
  "Send receipt",
  "Print",
  "Receipt",
  key("Enter"),
  1,
  key("Enter"),
);
story(
  "An amount is sold, and a scanner finds goods",
  till({ answers: GOODS }),
  "Amount",
  key("1", "2", "0", "0", "Backspace", "5"),
  among(".keys", "Delete"),
  "Items",
  "Amount",
  "Prepaid",
  key("Escape"),
  key("Enter"),
  key("6", "Escape"),
  scan("036000291452"),
  scan("6001240100011"),
  { quantity: "2" },
  submit,
  "Amount",
  key("Backspace", "Backspace"),
  scan("tea"),
  scan("aged"),
  "Cancel",
  "Items",
  { search: "appl" },
  { search: "zz" },
  { search: "" },
  "Cash",
  { received: "" },
  answer({
    "payment/submit": ({ body }) => ({
      ErrorCode: 1005,
      ErrorMessage: "Do not honour",
      TransactionID: body.BasicTran.ID,
    }),
  }),
  submit,
  "Pay another way",
  "Prepaid",
  answer({ "payment/submit": refused(202, ["Receipt.Email", 3]) }),
  { receipt: "a@example.com" },
  "Take payment",
  answer({ "payment/submit": undefined }),
  "Take it without the receipt",
);
const MANY = {
  "merchant/pricelist": {
    PriceList: {
      Version: 4,
      Items: Array.from({ length: 14 }, (_, number) => ({
        ...ITEM,
        Code: `i${number}`,
        Title: `Item ${number}`,
        Price: number ? "25.03" : "999999999.99",
        Group: number % 3 ? "Fruit" : null,
      })),
      Taxes: [],
    },
  },
};
story(
  "A long price list, and sums that are rounded or too large",
  till({ answers: MANY }),
  "Fruit",
  "Others",
  "All",
  { search: "item 1" },
  enter,
  { search: "item 13" },
  enter,
  "Item 1 R 25.03",
  { search: "item 0" },
  "Item 0 R 999,999,999.99",
  key("q"),
  offline,
  "Cash",
  among(".notes", "R 60.00"),
  [
    "presses once more, as a double tap",
    (tab) => {
      const [first] = tab.all(".entry button");
      if (first) tab.click(first, { detail: 2 });
    },
  ],
  "Receipt",
  online,
);
const CARDS = {
  "payment/GetLinkedCards": {
    LinkedCards: [
      { ID: 5, AccountID: 3, Alias: "Blue", PaymentType: "VISA", PANEnding: "1111" },
      { ID: 6, AccountID: 4, Alias: "Not hers", PANEnding: "2222" },
    ],
  },
};
story(
  "Other tenders",
  till({
    answers: {
      "payment/GetLinkedCards": LOST,
      "merchant/pos/ID": {
        Pos: {
          ...TILL,
          MobileSettings: {
            Features: { AcceptCash: true, AcceptCredit: true, Offline: true },
            AllowLinkedCardsEffective: true,
          },
          CurrencyID: "ZAR",
        },
      },
    },
  }),
  TEA,
  "Linked card",
  offline,
  online,
  "Back",
  answer(CARDS),
  "Linked card",
  "Take payment",
  ["chooses the card", (tab) => tab.fire(tab.all("[type=radio]")[0], "change")],
  { receipt: "a@example.com" },
  answer({
    "payment/submit": ({ body }) => ({
      ErrorCode: 0,
      TransactionID: body.BasicTran.ID,
      Transaction: { Invoice: "7", Substate: 401, CanReturnCNP: true },
      Validations: [{ Property: "Receipt.Email", Code: 5, Type: 2 }],
    }),
  }),
  "Take payment",
  "Understood",
  "New sale",
  TEA,
  "On account",
  { customer: " Ned " },
  answer({ "payment/submit": { status: 403, ErrorCode: 152, ErrorMessage: "Blocked." } }),
  "Take payment",
  answer({ "payment/submit": DOWN }),
  "Pay another way",
  "On account",
  "Take payment",
  20,
  answer({ "payment/submit": undefined }),
  20,
  "#/sales",
);
let shared = "";
story(
  "Without connection",
  till({
    answers: GOODS,
    globals: {
      navigator: {
        share: async ({ text }) => {
          shared = text;
        },
      },
    },
  }),
  offline,
  TEA,
  "Cash",
  "Take payment",
  "Receipt",
  "Share",
  ["another program has the receipt", () => assert.ok(/R\s25.00/.test(shared))],
  "#/sales",
  "#/day",
  "#/sell",
  "New sale",
  TEA,
  "Discount on all",
  { off: "1%" },
  submit,
  "Prepaid",
  "Take payment",
  "Sign out",
  answer({ "payment/submit": refused(202, ["BasicTran.Amount", 3]) }),
  online,
  3,
  "#/sales",
  answer({ "payment/submit": undefined }),
  among("[data-state='parked']", "Export"),
  among("[data-state='parked']", "Send again"),
  10,
  "Sign out",
);
const DEAR = { "merchant/pricelist": { PriceList: { Version: 4, Items: [{ ...ITEM, Price: "3000.00" }], Taxes: [] } } };
const dear = [offline, "Tea R 3,000.00", "Cash", "Take payment", "New sale", "Tea R 3,000.00", "Cash", "Take payment"];
story("A merchant without currency", till({ me: { ...CASHIER, CurrencyID: null, CurrencyDigits: null } }), "#/day");
story("A system user at the till", till({ me: SUPPORT }), "#/sales");
for (const code of [103, 108, 151, 152, 999]) {
  story(
    `A login that is refused with ${code}`,
    till({}),
    TEA,
    "Cash",
    answer({
      "payment/submit": { status: code > 150 && code < 900 ? 403 : 401, ErrorCode: code, ErrorMessage: "Not now." },
    }),
    "Take payment",
    "#/sales",
  );
}
story(
  "Sign-out at the till, and sign-in without connection",
  till({}),
  TEA,
  "Sign out",
  "Cancel",
  "Sign out",
  among("dialog", "Sign out"),
  offline,
  signIn("ann@example.com"),
  online,
  signIn("nobody@example.com"),
  answer({ "merchant/pos/ID": LOST }),
  signIn("ann@example.com"),
  offline,
  answer({ "merchant/pos/ID": undefined }),
  online,
  answer({ "payment/AuthAccount": { status: 429, ErrorCode: 402 } }),
  601,
  ["looks at the page", (tab) => tab.fire(tab.document.root, "focus")],
);
const euro = answer({
  "merchant/pos/ID": {
    Pos: {
      ...TILL,
      MobileSettings: { Features: { AcceptCash: true }, AllowLinkedCardsEffective: false },
      CurrencyID: "EUR",
    },
  },
});
story(
  "A till without a tender",
  till({ features: { Offline: true } }),
  TEA,
  key("Enter"),
  ["types Enter at no button", (tab) => tab.fire(tab.document.body, "keydown", { key: "Enter" })],
  "#/pay/cash",
);
story("A terminal in another currency than its price list", till({}), euro, 601, [
  "looks at the page",
  (tab) => tab.fire(tab.document.root, "focus"),
]);
story(
  "A declined sale after a reload",
  till({
    sales: [
      aSale({
        state: "declined",
        reason: { code: 1051, message: "Not enough money" },
        answeredAt: START,
        draft: {
          tender: "prepaid",
          minor: 2500,
          digits: 2,
          currency: "ZAR",
          description: "",
          lines: [],
          basket: { lines: [], off: null, figures: "2500", description: "For Ned" },
        },
      }),
    ],
    isTold: true,
  }),
  "Pay another way",
);
story("Without connection, more money than may wait", till({ answers: DEAR }), ...dear, "Pay another way");
story(
  "Without connection, an installed page whose browser deletes nothing",
  till({ answers: DEAR, globals: { isInstalled: true, navigator: { storage: { persist: async () => true } } } }),
  ...dear,
);
story(
  "Without connection, a till that may not sell then",
  till({ answers: GOODS, features: { AcceptCash: true } }),
  offline,
  TEA,
  "Cash",
  "Take payment",
  online,
  "Pay another way",
  late("payment/submit"),
  "Cash",
  "Take payment",
  key("Enter"),
  scan("4006381333931"),
  "#/sales",
  "#/sell",
  comes("payment/submit"),
  TEA,
);
const PAGES = {
  "payment/listHistoryEx": ({
    body: {
      ListBasicModel: { Page, InvoiceOriginal },
    },
  }) =>
    InvoiceOriginal
      ? listed(RETURN)
      : {
          ...(Page === 2 ? listed(DECLINED, BACK) : { ...listed(PAYMENT, CARD, RETURN), InProcess: [UNKNOWN] }),
          TransactionsCounters: { ItemCountTtl: 6, PageCount: 2 },
        },
  ...byId,
};
const KEPT = [
  aSale({ state: "paid", canReturn: true, invoice: "261123.3.9", isShownPaid: true, answeredAt: START }),
  aSale({
    id: "00000000-0000-4000-8000-00000000AAAB",
    counter: 2,
    number: "TEST2-000002",
    state: "declined",
    reason: { code: 1005, message: "No" },
    answeredAt: START,
    minor: 100,
    draft: { tender: "prepaid", minor: 100, digits: 2, currency: "ZAR", description: "Milk", lines: [] },
  }),
  aSale({
    id: "00000000-0000-4000-8000-00000000AAAC",
    counter: 3,
    number: "TEST2-000003",
    agent: 4,
    state: "paid",
    answeredAt: START,
  }),
];
story(
  "The sales of a cashier",
  till({ hash: "#/sales", sales: KEPT, answers: { ...PAGES, ...GOODS } }),
  "Show more",
  among("[data-sale-id='P1']", "Receipt"),
  among("[data-sale-id='P2']", "Receipt"),
  among("[data-sale-id='P1']", "Return…"),
  answer({
    "payment/reverse": { Transaction: { ...PAYMENT, Amount: "12.30" } },
    "payment/ID": {
      Transactions: [{ ...PAYMENT, AmountEff: "0.00", AmountRvs: "12.30", CountRvs: 1, ReverseID: "R9" }],
    },
  }),
  submit,
  { search: "tea" },
  [
    "types Escape in the search",
    (tab) => tab.fire(tab.document.getElementById("search"), "keydown", { key: "Escape" }),
  ],
  enter,
  { search: "" },
  1,
  "#/sales?search=milk",
  "#/sales",
  { day: "2026-11-20" },
  { day: "2026-11-23" },
  answer({ "payment/listHistoryEx": LOST }),
  { search: "milk" },
  1,
  { search: "" },
  1,
  "Try again",
  offline,
);
story(
  "A return at the till that is unknown, declined, or sent after a new sign-in",
  till({ hash: "#/sales", answers: { ...PAGES } }),
  among("[data-sale-id='P1']", "Return…"),
  answer({ "payment/reverse": { ErrorCode: 310, Transaction: { ...PAYMENT, Amount: "12.30" } } }),
  submit,
  "#/sell",
  "#/sales",
  among("[data-sale-id='P1']", "Send again"),
  answer({ "payment/reverse": { ErrorCode: 1005, ErrorMessage: "No money", Transaction: PAYMENT } }),
  submit,
  among("[data-sale-id='P2']", "Return…"),
  noSession,
  submit,
  signIn("ann@example.com"),
  answer({ "payment/receipt/ID": { status: 403, ErrorCode: 151 } }),
  among("[data-sale-id='P1']", "Receipt"),
  answer({ "payment/receipt/ID": { status: 404, ErrorCode: 568 } }),
  among("[data-sale-id='P2']", "Receipt"),
);
story(
  "The day of a cashier",
  till({
    hash: "#/day",
    skew: 10_800_000,
    facts: { offset: -10_800_000 },
    answers: {
      ...takings,
      "report/drawer": ({ body }) => ({ Drawer: body.Action === "close" ? CLOSED : DRAWER }),
    },
  }),
  "Print",
  { Counted: "x" },
  "Count and close",
  { Amount: "5" },
  "Take out",
  answer({ "report/drawer": refused(202, ["Counted", 7]) }),
  { Counted: "120.001", "drawer-close-Note": " All there " },
  "Count and close",
  "Close the drawer",
  answer({ "report/drawer": { Drawer: CLOSED } }),
  "Count and close",
  "Close the drawer",
  { day: "2026-11-20" },
  answer({ "report/takings": LOST }),
  { day: "2026-11-19" },
  "Try again",
  offline,
  online,
);
story(
  "Sign-in at the till",
  till({
    me: CASHIER,
    facts: { session: undefined, account: undefined, prices: { merchant: 8, version: 4, items: ITEMS } },
    answers: { ...PRICES, "user/login/session": { status: 401, ErrorCode: 101, ErrorMessage: "Wrong." } },
  }),
  signIn(" ann@example.com "),
  answer({ "user/login/session": undefined }),
  signIn("ann@example.com"),
  TEA,
  noSession,
  "Cash",
  "Take payment",
  "Later",
  "Enter password",
  signIn("olga@example.com"),
  reload,
  "Sign out",
  "Sign out",
);
story(
  "An administrator takes the sales of an agent that left",
  till({ sales: [aSale({ state: "parked", queued: 1, isShownPaid: true, reason: { code: 202 } })], answers: GOODS }),
  "Sign out",
  "For an administrator",
  signIn("ann@example.com"),
  "Sign out",
  "For an administrator",
  signIn("sue@example.com"),
  signIn("olga@example.com"),
  "Export",
  "Delete the sale",
  "Delete for good",
);
const REFUSED = aSale({ state: "waiting", queued: 1, isShownPaid: true });
const noStorage = {
  open: () => {
    const request = {};
    queueMicrotask(() => {
      request.error = new Error("broken");
      request.onerror?.();
    });
    return request;
  },
};
for (const [name, globals] of Object.entries({
  "no storage": { indexedDB: noStorage },
  "no database": { indexedDB: undefined },
  "no locks": { navigator: { locks: undefined } },
  "no locks, without https": { isInsecure: true, navigator: { locks: undefined } },
})) {
  story(
    `A browser with ${name}`,
    async () => {
      const tab = await aTill({ shop: new Shop(), globals });
      delete tab.store;
      return tab;
    },
    1,
  );
}
const locks = new Locks();
locks.held = { clientId: "the first tab" };
story("The till in a second tab, until the first one is closed", till({ locks }), [
  "closes the first tab",
  () => locks.lose(),
]);
story(
  "A sale that was refused, and was stored late",
  till({
    sales: [REFUSED],
    isTold: true,
    local: new Map([["payments.till.refused", JSON.stringify([REFUSED.id])]]),
    hash: "#/sales",
  }),
  "#/sell",
  3,
);

test("The stored stories are all told", () => {
  if (isNew) writeFileSync(FILE, told.join(""));
  else assert.equal(known.size, told.length || known.size);
});
