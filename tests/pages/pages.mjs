// The pages of somebody who is signed in, and a service that answers what they ask. A test changes the answers.
import { IDBFactory, START, forget } from "./device.mjs";
import { Store } from "../../chalicelib/pages/till/store.js";
import { Tab } from "./browser.mjs";

export const OWNER = {
  AgentID: 1,
  ClientID: 7,
  ClientName: "Coffee",
  Name: "Olga",
  Email: "olga@example.com",
  GMT: 2,
  CurrencyID: "ZAR",
  CurrencyDigits: 2,
  IsAdministrator: true,
  IsSystemUser: false,
  Rights: [],
};
export const CASHIER = { ...OWNER, AgentID: 3, Name: "Ann", Email: "ann@example.com", IsAdministrator: false };
export const SUPPORT = {
  ...OWNER,
  AgentID: 90,
  ClientID: null,
  ClientName: null,
  CurrencyID: null,
  Name: "Sue",
  Email: "sue@example.com",
  IsAdministrator: false,
  IsSystemUser: true,
};
export const PAYMENT = {
  ID: "P1",
  OperationID: 1,
  Substate: 411,
  Status: 1,
  State: 4,
  StateDisplay: "Paid",
  IsNotFinished: false,
  CanReturn: true,
  CanReturnCNP: false,
  PosID: 3,
  Amount: "12.30",
  AmountEff: "12.30",
  AmountRvs: "0.00",
  CountRvs: 0,
  AmountCashGot: null,
  ClientID: 7,
  CurrencyID: "ZAR",
  Date: "2026-11-23T13:00:00.000",
  Format: { CurrencyE: 2 },
  InputType: 10,
  Invoice: "261123.3.1",
  Card: {},
  TransPos: { Name: "Till 1" },
  Description: "Tea",
  ReverseID: null,
  Result: null,
};
export const TILL = {
  ID: 3,
  Name: "Till 1",
  Email: "ann@example.com",
  Phone: "+27829876543",
  State: 1,
  AccountTypeID: 10,
  IsAdministrator: false,
  Rights: [],
  TerminalID: 5,
  TID: "TILL-1",
  CountryID: "ZA",
  Logon: {},
  MobileSettings: { Features: { AcceptCash: true } },
  Sessions: [],
};
export const OWNERS_TILL = {
  ...TILL,
  ID: 1,
  Name: "Olga",
  AccountTypeID: 11,
  IsAdministrator: true,
  TerminalID: null,
  TID: null,
};
export const MERCHANT = {
  ID: 7,
  ClientID: 7,
  State: 1,
  Name: "Coffee",
  AddressDeFacto: "1 Long Street",
  Phone: "+27829876543",
  TaxID: null,
  CountryID: "ZA",
  DrawerBlind: false,
  MobileSettings: { Features: { AcceptCash: true }, AllowLinkedCardsEffective: 1 },
};
export const WEBHOOK = {
  ID: 8,
  Url: "https://shop.example/a",
  State: 1,
  Types: ["payment.approved"],
  Updated: "2026-11-23T12:00:00.000",
};
export const ITEM = {
  Code: "tea",
  Title: "Tea",
  Price: "25.00",
  Unit: null,
  TaxCode: null,
  Group: null,
  Barcode: null,
  Active: true,
};
export const listed = (...payments) => ({
  Transactions: payments,
  InProcess: [],
  NotFinishedActualTrans: [],
  TransactionsCounters: { ItemCountTtl: payments.length, PageCount: 1, AmountCvt: "0.00" },
});
export const LIST = { Version: 4, Items: [ITEM], Taxes: [{ Code: "VAT", Name: "VAT", Rate: "15" }] };
export const DRAWER = {
  AgentID: 3,
  AgentName: "Till 1",
  CurrencyID: "ZAR",
  DrawerID: "D1",
  OpenedAt: "2026-11-23T08:00:00.000",
  OpenedBy: 3,
  Float: "100.00",
  LastCounted: null,
  Cash: "0.00",
  CashTaken: "0.00",
  CashGivenBack: "0.00",
  PaidIn: "0.00",
  PaidOut: "0.00",
  Expected: "100.00",
  Counted: null,
  Difference: null,
  ClosedAt: null,
  ClosedBy: null,
  Movements: [{ At: "2026-11-23T08:00:00.000", By: 3, Kind: "open", Amount: "100.00", Note: null }],
};
export const CLOSED = {
  ...DRAWER,
  Counted: "99.00",
  Difference: "-1.00",
  ClosedAt: "2026-11-23T13:30:00.000",
  ClosedBy: 3,
  Movements: [
    ...DRAWER.Movements,
    { At: "2026-11-23T13:30:00.000", By: 4, Kind: "close", Amount: "99.00", Note: "One rand is missing" },
  ],
};
export const TERMINAL = {
  ID: 5,
  Name: "TILL-1",
  Alias: "Till 1",
  Title: "Coffee",
  State: 1,
  SIC: "5814",
  Currency: "710",
  Country: "710",
  City: "Cape Town",
  Location: "1 Main Rd",
  RegionCode: "WC",
  EntryCaps: "10",
  ZIP: "8001",
};

// What a path asks, without the ID in it.
export function kindOf(path) {
  const [place] = path.split("?");
  return place
    .replace(/^merchant\/(?!list)[^/]+/, "merchant")
    .replace(
      /\/\d+|^(payment)\/(receipt\/)?(?!receipt|listHistoryEx|submit|reverse|GetLinkedCards|AuthAccount)[^/]+/g,
      (_, kind, receipt = "") => (kind ? `payment/${receipt}ID` : "/ID"),
    )
    .replace(/event\/[^/]+\/resend/, "event/ID/resend");
}

const todayIn = (gmt, now) => new Date(now + gmt * 3_600_000).toISOString().slice(0, 10);

export const FEATURES = { AcceptCash: true, AcceptPrepaid: true, AcceptCredit: true, Offline: true };

export class Shop {
  answers = {}; // of a test, by the kind of request: an answer, or a function of the request that returns one
  people = { olga: OWNER, ann: CASHIER, sue: SUPPORT };
  features = FEATURES; // of each agent
  zones = {}; // of an account that is not the merchant's own
  tokens = new Map();
  elapsed = () => 0;
  #signed = 0;

  sign(me) {
    this.#signed += 1;
    const token = `${me.Email}-${this.#signed}`;
    this.tokens.set(token, me);
    return token;
  }

  me(me, account) {
    const GMT = this.zones[account] ?? me.GMT;
    return {
      Data: {
        ...me,
        GMT,
        Features: me.Features ?? this.features,
        ...(account && me.IsSystemUser && { ClientName: `Shop of ${account}`, CurrencyID: "ZAR", CurrencyDigits: 2 }),
        Today: todayIn(GMT, START + this.elapsed()),
      },
    };
  }

  answer = (request) => {
    const { path, body, token } = request;
    const kind = kindOf(path);
    const own = this.answers[kind];
    const answered = typeof own === "function" ? own(request) : own;
    if (answered !== undefined) return answered;
    if (["health", "user/password/forgot", "user/password/reset"].includes(kind)) return {};
    if (kind === "user/login/session")
      return { Data: { SessionID: this.sign(Object.values(this.people).find((one) => one.Email === body.Email)) } };
    const me = this.tokens.get(token);
    if (!me) return { status: 401, ErrorCode: 105, ErrorMessage: "Sign in." };
    if (kind === "user/me") return this.me(me, path.split("AccountID=")[1]);
    return this.#usual(kind, body, path);
  };

  #usual(kind, body, path) {
    const usual = {
      "user/logout/session": {},
      "user/totp": { Data: body?.Code ? { RecoveryCodes: ["ABCDEFGHJK"] } : { Secret: "S", Uri: "otpauth://totp/x" } },
      "report/takings": { Takings: [], Taxes: [], Late: [], ReceiptNumbers: [] },
      "report/export": { Url: "https://files.example/x" },
      "report/drawer": { Drawer: DRAWER },
      "report/drawer/list": { Drawers: [], Earlier: [] },
      "payment/listHistoryEx": listed(),
      "payment/submit": () => ({ TransactionID: body.BasicTran.ID, Transaction: { Invoice: "1", CanReturn: true } }),
      "payment/AuthAccount": { PaymentOptions: [10, 8, 9, 7, 5].map((Id) => ({ Id })) },
      "payment/GetLinkedCards": { LinkedCards: [] },
      "payment/ID": { Transactions: [PAYMENT] },
      "payment/receipt/ID": body
        ? {}
        : { Receipt: { Subject: "Receipt", Html: "<p>", Text: "Tea", Lines: [], LinesTotal: null } },
      "payment/reverse": { Transaction: { ...PAYMENT, ID: "R1" } },
      "payment/reversecnp": { Transaction: { ...PAYMENT, ID: "R1" } },
      merchant: { Merchant: MERCHANT },
      "merchant/update": { Merchant: { ...MERCHANT, ...body } },
      "merchant/list": () => ({
        Merchants: /^\d+$/.test(body.Search)
          ? [{ ...MERCHANT, ClientID: Number(body.Search), Name: `Shop of ${body.Search}` }]
          : [],
        MerchantsCounters: { ItemCountTtl: 1 },
      }),
      "merchant/terminal/ID/update": { Terminal: TERMINAL },
      "merchant/pos/list": { PosList: [OWNERS_TILL, TILL], PosCounters: { PageCount: 1 } },
      "merchant/pos/ID": { Pos: path.endsWith("/pos/1") ? OWNERS_TILL : TILL },
      "merchant/pos/ID/update": { Pos: TILL },
      "merchant/pos/create": { Pos: { ...TILL, ID: 4 } },
      "merchant/terminal/list": { Terminals: [TERMINAL], TerminalsCounters: { PageCount: 1 } },
      "terminal/create": { Terminal: { ID: 6 } },
      "merchant/webhook/list": { Webhooks: [WEBHOOK] },
      "merchant/webhook/create": { Webhook: { ...WEBHOOK, Secret: "s" } },
      "merchant/webhook/ID/update": { Webhook: { ...WEBHOOK, Secret: "s" } },
      "merchant/webhook/ID/delete": {},
      "merchant/webhook/ID/test": { EventID: "E2" },
      "merchant/event/list": { Events: [], EventsCounters: { ItemCountPage: 0, Pagesize: 20 } },
      "merchant/event/ID/resend": {},
      "merchant/pricelist": { PriceList: LIST },
      "merchant/pricelist/update": { PriceList: { ...LIST, Version: 5, ...body } },
    };
    const found = usual[kind];
    return (typeof found === "function" ? found() : found) ?? { status: 404, ErrorCode: 207, ErrorMessage: kind };
  }
}

// A tab with the page of a person, at an address.
export async function aShop({ me = OWNER, hash = "", answers = {}, session = {}, local, shop = new Shop() } = {}) {
  Object.assign(shop.answers, answers);
  const token = me && shop.sign(me);
  const stored = new Map(
    me
      ? [
          [
            "payments.session",
            JSON.stringify({ token, me: shop.me(me).Data, askedAt: START + shop.elapsed(), ...session.fields }),
          ],
        ]
      : [],
  );
  for (const [name, text] of Object.entries(session.others ?? {})) stored.set(name, text);
  const tab = new Tab("shop", shop.answer, { hash, local, session: stored });
  shop.elapsed = () => tab.clock.now;
  tab.shop = shop;
  await tab.settle();
  return tab;
}

const DRAFT = { tender: "cash", minor: 2500, digits: 2, currency: "ZAR", description: "", lines: [] };

export const aSale = (changes) => ({
  id: "00000000-0000-4000-8000-00000000AAAA",
  version: 1,
  agent: 3,
  gmt: 2,
  draft: DRAFT,
  minor: 2500,
  isOffline: false,
  isShownPaid: false,
  takenAt: START - 60_000,
  device: "TEST2",
  counter: 1,
  number: "TEST2-000001",
  ...changes,
});

// A tab with the till of a person, with sales on its device. Its basket is the one of the first sale, whose result is told.
export async function aTill({
  me = CASHIER,
  hash = "",
  sales = [],
  isTold = false,
  isOnline = true,
  answers = {},
  features = FEATURES,
  skew = 0,
  facts = {},
  shop = new Shop(),
  session,
  local,
  globals = {},
  locks,
} = {}) {
  const indexedDB = new IDBFactory();
  const store = new Store(indexedDB);
  forget(); // the sales that a device of another test refused
  const { CurrencyID: currency, CurrencyDigits: digits } = me;
  const account = {
    agent: me.AgentID,
    features,
    options: [10, 8, 9, 7, 5],
    askedAt: START + skew,
    currency,
    digits,
    country: "ZA",
    listCurrency: "ZAR",
  };
  shop.features = features;
  shop.answers = {
    "merchant/pos/ID": {
      Pos: { ...TILL, MobileSettings: { Features: features, AllowLinkedCardsEffective: false }, CurrencyID: "ZAR" },
    },
    ...answers,
  };
  const device = { prefix: "TEST2", counter: 0 };
  await store.remember({
    device,
    account,
    ...(me && {
      session: { token: shop.sign(me), me: { ...me, Today: "2026-11-20" }, agent: me.AgentID, gmt: me.GMT },
    }),
    ...facts,
  });
  for (const sale of sales) await store.take(sale.id, () => sale);
  if (isTold)
    await store.remember({
      basket: {
        agent: me.AgentID,
        lines: [],
        off: null,
        figures: "",
        description: "",
        receiptTo: "",
        customer: "",
        id: sales[0].id,
      },
    });
  const tab = new Tab("till", (request) => (tab.isOffline ? null : shop.answer(request)), {
    hash,
    session,
    local,
    skew,
    locks,
    globals: { indexedDB, ...globals, navigator: { onLine: isOnline, ...globals.navigator } },
  });
  Object.assign(tab, { isOffline: !isOnline, shop, store, indexedDB });
  shop.elapsed = () => tab.clock.now;
  await tab.pass(0.1);
  return tab;
}
