// What stays in the storages of a device: after a sign-out, and when somebody else signs in.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { Store } from "../../chalicelib/pages/till/store.js";
import { CASHIER, OWNER, SUPPORT, Shop, aSale, aShop, aTill } from "./pages.mjs";
import { test } from "./runner.mjs";

const LOST = { status: 500, ErrorCode: 901 };
// The names in localStorage: what each holds, and what of its person or merchant is in the name.
const KEPT = {
  "payments.language": "the language of the device",
  "payments.till.refused": "IDs of sales that took no money",
  "payments.till.mayLose": "that a notice was read",
  "payments.till.unsent": "the numbers of sales that wait",
  "accounts.7.hledger": "a bookkeeper's names, of a merchant",
  "merchants.90": "the merchants that a system user showed",
  "prices.1.7": "a draft of a person and a merchant",
};

test("Only these modules use a storage of the browser", () => {
  const folder = new URL("../../chalicelib/pages/", import.meta.url);
  const using = ["kit", "shop", "till"]
    .flatMap((room) =>
      readdirSync(new URL(room, folder))
        .filter((name) => name.endsWith(".js"))
        .map((name) => `${room}/${name}`),
    )
    .filter((name) =>
      /localStorage|sessionStorage|indexedDB|document\.cookie/.test(readFileSync(new URL(name, folder), "utf8")),
    );

  assert.deepEqual(using, [
    "kit/giving_back.js",
    "kit/language.js",
    "kit/session.js",
    "kit/storage.js",
    "shop/export.js",
    "shop/merchants.js",
    "shop/price_draft.js",
    "till/frame.js",
    "till/main.js",
    "till/settings.js",
    "till/store.js",
  ]); // a new one needs its case below
});

// Leave something in each storage that the shop's page has: a return without a known outcome, and a changed price list.
async function withWork(tab) {
  tab.go("#/payments/P1");
  await tab.settle();
  await tab.press("Return…", "Return R 12.30", "Cancel");
  tab.go("#/price-list");
  await tab.settle();
  await tab.press("Change Tea");
  await tab.fill({ "price-Price": "99" });
  await tab.pass(1);
  tab.go("#/payments");
  await tab.settle();
  await tab.press("Export");
  await tab.fill({ format: "hledger", Sales: "Income:Olga" });
  tab.fire(tab.all("dialog form")[0], "submit");
  await tab.settle();
  tab.go("#/tills");
  await tab.settle();
  assert.deepEqual([...tab.session.keys()].sort(), ["payments.return.P1", "payments.session"]);
  assert.deepEqual([...tab.local.keys()].sort(), ["accounts.7.hledger", "prices.1.7"]);
}

const NED = { ...OWNER, AgentID: 5, Name: "Ned", Email: "ned@example.com" };

// The ways in which a person leaves the page, and who is signed in then.
const WAYS = {
  "signs out": [(tab) => tab.press("Sign out"), null],
  "signs out in the dialog of an ended session": [
    async (tab) => {
      await ended(tab);
      await tab.press("Sign out");
    },
    null,
  ],
  "is replaced in the dialog of an ended session": [
    async (tab) => {
      await ended(tab);
      await signIn(tab, CASHIER);
    },
    CASHIER,
  ],
  "is replaced by another manager, at a draft": [atADraft, NED],
  "ends all own sessions": [
    async (tab) => {
      tab.go("#/tills/1");
      await tab.settle();
      await tab.press("Sign out everywhere", "Sign out everywhere");
    },
    null,
  ],
};

async function atADraft(tab) {
  tab.go("#/price-list");
  await tab.settle();
  tab.shop.tokens.clear();
  await tab.press("Save");
  await signIn(tab, NED);
}

async function ended(tab) {
  tab.shop.tokens.clear();
  tab.go("#/today");
  await tab.settle();
}

async function signIn(tab, { Email }) {
  await tab.fill({ email: Email, password: "x" });
  tab.fire(
    tab.all("form").findLast((one) => one.querySelector("[type=password]")),
    "submit",
  );
  await tab.settle();
}

for (const [name, [leave, next]] of Object.entries(WAYS)) {
  test(`After a person ${name}, nothing of her is in the tab, and the next one has nothing of hers`, async () => {
    const tab = await aShop({ answers: { "payment/reverse": LOST } });
    Object.assign(tab.shop.people, { ned: NED, eve: { ...NED, AgentID: 2, Email: "eve@example.com" } });
    await withWork(tab);
    const tokens = [...tab.shop.tokens.keys()];
    await leave(tab);
    assert.deepEqual([...tab.session.keys()], next ? ["payments.session"] : []);
    if (!next) {
      assert.ok(tab.offered().includes("Sign in"));
      assert.ok(
        tab.sent.some((one) => one.path === "user/logout/session" && tokens.includes(one.token)),
        "the service hears of it",
      );
      await signIn(tab, CASHIER);
    }
    assert.equal(JSON.parse(tab.session.get("payments.session")).me.AgentID, (next ?? CASHIER).AgentID);
    assert.ok(
      tab.sent.some((one) => /list|takings/.test(one.path) && one.token.startsWith((next ?? CASHIER).Email)),
      "the view is loaded again",
    );
    for (const one of tab.local.keys()) assert.ok(one in KEPT, one);
    tab.go("#/payments/P1");
    await tab.settle();
    assert.ok(!tab.text.includes("its outcome is not known"));
    await tab.press("Sign out");
    await signIn(tab, tab.shop.people.eve);
    tab.go("#/price-list");
    await tab.settle();
    assert.ok(tab.text.includes("R 25.00") && !tab.text.includes("R 99.00"), "a draft is its person's");
    await tab.press("Sign out");
    await signIn(tab, OWNER);
    await tab.settle();
    assert.ok(tab.text.includes("R 99.00"), "and waits for her");
  });
}

test("The same person goes on with her unfinished return after her session ended", async () => {
  const tab = await aShop({ answers: { "payment/reverse": LOST } });
  await withWork(tab);
  await ended(tab);
  await signIn(tab, OWNER);
  tab.go("#/payments/P1");
  await tab.settle();

  assert.ok(tab.offered().includes("Send again"));
});

const atTheEnd = {
  "signs in": [(tab) => signIn(tab, OWNER), 1],
  "leaves, and another signs in": [
    async (tab) => {
      await tab.press("Sign out");
      await signIn(tab, CASHIER);
    },
    0,
  ],
  "is replaced": [(tab) => signIn(tab, CASHIER), 0],
};

for (const [name, [act, count]] of Object.entries(atTheEnd)) {
  test(`A return whose session ended is sent when the same person signs in, and never by another: she ${name}`, async () => {
    const tab = await aShop({ hash: "#/payments/P1" });
    await tab.press("Return…");
    tab.shop.tokens.clear();
    await tab.press("Return R 12.30");
    const sent = () => tab.sent.filter((one) => one.path === "payment/reverse");
    const [{ key }] = sent();
    await act(tab);
    await tab.settle();
    assert.deepEqual(
      sent()
        .slice(1)
        .map((one) => one.key),
      Array(count).fill(key),
    );
    tab.shop.tokens.clear();
    tab.go("#/tills");
    await tab.settle();
    assert.ok(tab.text.includes("Sign in again"), "the next end of a session is told");
    await signIn(tab, count ? OWNER : CASHIER);
    await tab.settle();
    assert.equal(sent().length, 1 + count);
  });
}

// Answers that come late, after which a request is repeated.
const REPEATED = {
  "that its session has ended": { status: 401, ErrorCode: 105 },
  "that it may be repeated soon": { status: 503, ErrorCode: 903, retryAfter: 3 },
};

for (const [name, answer] of Object.entries(REPEATED)) {
  test(`A return is never sent by another person who has signed in when the answer comes ${name}`, async () => {
    let late;
    const tab = await aShop({
      hash: "#/payments/P1",
      answers: {
        "payment/reverse": () =>
          new Promise((come) => {
            late = come;
          }),
      },
    });
    await tab.press("Return…", "Return R 12.30", "Sign out");
    await signIn(tab, CASHIER);
    late(answer);
    await tab.pass(10);

    assert.deepEqual(
      tab.sent.filter((one) => one.path === "payment/reverse").map((one) => one.token.split("-")[0]),
      [OWNER.Email],
    );
  });
}

test("An answer to a session that ended, which comes after the next sign-in, asks for no other one", async () => {
  let late;
  const tab = await aShop({ hash: "#/payments" });
  tab.shop.tokens.clear();
  tab.shop.answers["report/takings"] = ({ token }) =>
    tab.shop.tokens.has(token)
      ? undefined
      : new Promise((come) => {
          late = come;
        });
  tab.go("#/today");
  await tab.settle();
  await signIn(tab, OWNER);
  late({ status: 401, ErrorCode: 105, ErrorMessage: "Sign in." });
  await tab.settle();

  assert.equal(tab.all("dialog").length, 0);
});

test("What a draft or a name is about is its own merchant, also for a system user", async () => {
  const shop = new Shop();
  const tab = await aShop({ me: SUPPORT, shop });
  const steps = async (merchant, word) => {
    tab.go("#/merchant");
    await tab.settle();
    await tab.fill({ merchant });
    await tab.press("Choose");
    tab.go("#/price-list");
    await tab.settle();
    const before = tab.text;
    await tab.press("Change Tea");
    await tab.fill({ "price-Title": word });
    await tab.pass(1);
    tab.go("#/payments");
    await tab.settle();
    await tab.press("Export");
    await tab.fill({ format: "hledger" });
    const known = tab.all("input").find((one) => one.name === "Sales").value;
    await tab.fill({ Sales: word });
    tab.fire(tab.all("dialog form")[0], "submit");
    await tab.settle();
    return [before, known];
  };
  await steps("7", "Green");
  const [shown, known] = await steps("8", "Blue");
  assert.ok(!shown.includes("Green"));
  assert.equal(known, "");
  assert.deepEqual([...tab.local.keys()].sort(), [
    "accounts.7.hledger",
    "accounts.8.hledger",
    "merchants.90",
    "prices.90.7",
    "prices.90.8",
  ]);
  assert.deepEqual(
    JSON.parse(tab.local.get("merchants.90")).map((one) => one.ClientID),
    [8, 7],
  );
  assert.ok(![...tab.local.values()].join().includes("token"));
  await tab.press("Sign out");
  await signIn(tab, (tab.shop.people.eve = { ...SUPPORT, AgentID: 91, Email: "eve@example.com" }));
  assert.ok(!tab.text.includes("Shown last"));
  assert.equal(tab.all(".recent").length, 0);
});

const FACTS = ["account", "device", "offset", "prices"]; // of the till, which are not of a sale in hand
const RETURN = [
  "payments.return.P1",
  JSON.stringify({ key: "k", endpoint: "payment/reverse", amount: "12.30", body: { BasicReverseTran: {} } }),
];

for (const [name, leave, isAnother] of [
  ["signs out", (till) => till.signOut(), false],
  ["is replaced", (till) => till.signIn("eve@example.com", "x"), true],
  ["signs in again", (till) => till.signIn(CASHIER.Email, "x"), false],
]) {
  test(`After a cashier ${name}, the device has only what is not hers`, async () => {
    const shop = new Shop();
    shop.people.eve = { ...CASHIER, AgentID: 4, Name: "Eve", Email: "eve@example.com" };
    const tab = await aTill({ shop, sales: [aSale({ state: "paid" })], session: new Map([RETURN]) });
    await tab.press("Tea R 25.00");
    await tab.fill({ description: "Payer" });
    await tab.pass(1);
    const leaving = leave(tab.load("till/till.js"));
    await tab.pass(1);
    await leaving;
    const facts = await tab.store.facts();
    const isHere = name === "signs in again";
    assert.deepEqual(
      Object.keys(facts)
        .filter((one) => !FACTS.includes(one))
        .sort(),
      isHere ? ["basket", "session"] : isAnother ? ["session"] : [],
    );
    assert.deepEqual(
      [...tab.session.keys()].sort(),
      isHere ? ["payments.return.P1", "payments.session"] : isAnother ? ["payments.session"] : [],
    );
    assert.equal(tab.text.includes("Payer") || JSON.stringify(facts).includes("Payer"), isHere);
    for (const one of tab.local.keys()) assert.ok(one in KEPT, one);
  });
}

test("A basket whose sale was refused is there again after a reload, and that of a sale is not", async () => {
  const first = await aTill();
  await first.press("Tea R 25.00");
  await first.pass(1);
  const basket = { ...(await first.store.facts()).basket, id: aSale().id };
  const after = async (sales) => {
    const tab = await aTill({ sales, facts: { basket } });
    return [
      tab.load("till/sale.js").sale().lines.length,
      tab.offered().includes("Cash"),
      tab.offered().includes("New sale"),
    ];
  };

  assert.deepEqual(
    [await after([]), await after([aSale({ state: "paid" })])],
    [
      [1, true, false],
      [0, false, true],
    ],
  );
});

test("A second tap after the result takes nothing", async () => {
  const tab = await aTill();
  await tab.press("Tea R 25.00");
  const { take } = tab.load("till/sale.js");
  const paid = { tender: "cash", minor: 2500, currency: "ZAR", digits: 2, description: "Tea" };
  await take(paid);
  await take(paid);

  assert.equal((await tab.store.newest(3, 9)).length, 1);
});

test("A sale that is answered leaves no address, name or signature of its payer on the device", async () => {
  const tab = await aTill();
  await tab.press("Tea R 25.00", "On account");
  await tab.fill({ customer: "Payer", receipt: "payer@example.com" });
  tab.load("till/sale.js").change({ signature: "picture" });
  await tab.settle();
  await tab.press("Take payment");
  await tab.pass(1);
  const [sale] = await tab.store.newest(3, 1);
  const { Files, Receipt } = tab.sent.findLast((one) => one.path === "payment/submit").body;
  assert.deepEqual(
    [Files, Receipt],
    [[{ FileType: "SIGNATURE", FileCode: "picture" }], { Email: "payer@example.com" }],
  );

  assert.equal(sale.state, "paid");
  assert.deepEqual(
    ["receipt", "signature", "customer", "receiptTo"].filter(
      (field) => field in sale.draft || field in sale.draft.basket,
    ),
    [],
  );
  assert.ok(!JSON.stringify([sale, await tab.store.facts()]).includes("payer@example.com"));
});

const SOLD_OFFLINE = aSale({
  state: "waiting",
  queued: 1,
  isShownPaid: true,
  isOffline: true,
  request: { BasicTran: { ID: aSale().id } },
});

test("A till that is not installed says how much may wait, and offers to install it where its data stays", async () => {
  for (const [language, more, own, install, left] of [
    ["en", "R 2,400.00 more may wait", "a storage of its own", "Install the till", "R 2,400.00 of it is left"],
    ["af", "Nog R 2", "sy eie stoor", "Installeer die kassa", "daarvan is oor"],
  ]) {
    const navigator = { languages: [language] };
    const features = { AcceptOuterCard: true, Offline: true };
    const tab = await aTill({
      sales: [{ ...SOLD_OFFLINE, minor: 260_000 }],
      isOnline: false,
      hash: "#/amount",
      features,
      globals: { navigator },
    });
    await tab.pass(1);
    assert.ok(tab.text.includes(more) && tab.text.includes(own), tab.text);
    let prompts = 0;
    tab.fire(tab.document.root, "beforeinstallprompt", { prompt: () => (prompts += 1) });
    await tab.press("9", "9", "00", "00", tab.load("till/texts.js").texts.kinds.outerCard);
    assert.ok(tab.text.includes(left), "before anybody types at the other terminal");
    tab.submit(tab.all("form")[0]);
    await tab.pass(1);
    assert.equal(tab.all("[data-testid=result]")[0].getAttribute("data-state"), "refused");
    assert.ok(tab.text.includes(left) && !tab.text.includes(own), tab.text);
    await tab.press(install);
    assert.deepEqual([prompts, tab.offered().includes(install)], [1, false]);
  }
  const few = await aTill({ sales: [SOLD_OFFLINE], isOnline: false });
  await few.pass(1);
  assert.ok(!few.text.includes("more may wait"), "more than the half is left");
  const storage = { persist: async () => true };
  const installed = await aTill({
    sales: [SOLD_OFFLINE],
    isOnline: false,
    globals: { isInstalled: true, navigator: { storage } },
  });
  await installed.pass(1);
  assert.ok(!/may wait|of its own/.test(installed.text), installed.text);
});

test("Sales that were shown as paid and are gone with the browser's data are told by their numbers", async () => {
  for (const isReloaded of [false, true]) {
    const sales = [
      aSale({ state: "waiting", queued: 1, isShownPaid: true, isOffline: true, request: { BasicTran: {} } }),
      aSale({ id: "B", number: "TEST2-000002", counter: 2, state: "unknown", queued: 2, request: { BasicTran: {} } }),
    ];
    const tab = await aTill({ sales, isOnline: false });
    await tab.pass(1);
    assert.ok(!tab.text.includes("was cleared"));
    for (const { id } of sales) await new Store(tab.indexedDB).remove(id);
    if (isReloaded) tab.open();
    await tab.pass(5);
    assert.ok(tab.text.includes("gone before the service had them: TEST2-000001."), tab.text);
    await tab.press("Noted");
    await tab.pass(1);
    tab.open();
    await tab.pass(1);
    assert.ok(!tab.text.includes("was cleared"));
  }
});

test("Sales that were sent, refused or deleted by an administrator are not told as gone", async () => {
  const paid = SOLD_OFFLINE;
  const tab = await aTill({ sales: [paid], isOnline: false });
  await tab.pass(1);
  tab.isOffline = false;
  await tab.pass(20);
  tab.open();
  await tab.pass(1);
  assert.equal((await tab.store.sale(paid.id)).state, "paid");
  assert.ok(!tab.text.includes("was cleared"));

  const parked = await aTill({ sales: [{ ...paid, state: "parked", reason: { code: 202 } }] });
  await parked.pass(1);
  const till = parked.load("till/till.js");
  till.clear(await till.leftSales());
  await parked.pass(5);
  assert.deepEqual([await parked.store.queue(), parked.text.includes("was cleared")], [[], false]);
});
