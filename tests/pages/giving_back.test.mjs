// The return of a payment: what it gives back, and one key until its outcome is known, whatever is lost, clicked twice or
// loaded again.
import assert from "node:assert/strict";
import { CASHIER, PAYMENT, aSale, aShop, aTill, listed } from "./pages.mjs";
import { test } from "./runner.mjs";

const LOST = null;
const UNKNOWN = { ErrorCode: 310, Transaction: { ...PAYMENT, Amount: "2.30" } };
const DONE = { Transaction: { ...PAYMENT, ID: "R1", Amount: "2.30" } };
const refusal = (status, ErrorCode) => ({ status, ErrorCode, ErrorMessage: "No." });

const returns = (tab) => tab.sent.filter(({ path }) => /^payment\/reverse/.test(path));
const tranOf = (tab) => returns(tab).at(-1).body.BasicReverseTran;
const dialogButton = (tab) => tab.all("dialog form button").find((one) => one.type === "submit");
const receipt = (...Lines) => ({
  "payment/receipt/ID": { Receipt: { Subject: "", Html: "", Text: "", Lines, LinesTotal: "1.00" } },
});
const payment = (changes, ...lines) => ({
  "payment/ID": { Transactions: [{ ...PAYMENT, ...changes }] },
  ...receipt(...lines),
});

async function opened(answers = {}, given = {}) {
  const tab = await aShop({ hash: "#/payments/P1", answers, ...given });
  await tab.press("Return…");
  return tab;
}

// Press the button of the dialog, which is answered so. An answer closes the dialog.
async function give(tab, answer) {
  const name = tab.all("dialog").length ? null : tab.offered().find((one) => ["Return…", "Send again"].includes(one));
  if (name) await tab.press(name);
  tab.shop.answers["payment/reverse"] = answer;
  tab.click(dialogButton(tab));
  await tab.settle();
}

for (const [name, answer] of [
  ["lost", LOST],
  ["not known to the service", UNKNOWN],
  ["still in progress", refusal(409, 301)],
  ["an outage", refusal(503, 903)],
  ["a defect", refusal(500, 901)],
  ["of a proxy", { status: 504, ErrorCode: "x" }],
])
  test(`A return whose answer was ${name} is the same return, after a reload too`, async () => {
    const tab = await opened();
    await tab.fill({ amount: "2.3", reason: "Broken" });
    await give(tab, answer);
    await give(tab, refusal(429, 402)); // says nothing about the first
    tab.hash = "#/payments/P1";
    tab.open();
    await tab.settle();
    assert.ok(!tab.offered().includes("Return…"));
    await give(tab, refusal(503, 903));
    await give(tab, DONE);

    assert.equal(returns(tab).length, 4);
    assert.equal(new Set(returns(tab).map(({ key, body }) => key + JSON.stringify(body))).size, 1);
    const { TransactionID, ...sent } = tranOf(tab);
    assert.deepEqual(sent, {
      ReverseMode: 2,
      Amount: "2.30",
      PartialReverse: true,
      CurrencyID: "ZAR",
      Description: "Broken",
    });
    assert.ok(tab.text.includes("R 2.30 was given back."));
    assert.ok(tab.offered().includes("Return…"));
  });

for (const [name, ...answers] of [
  ["refused", refusal(400, 202)],
  ["not tried at the bank", refusal(503, 902)],
  ["lost and then refused", LOST, refusal(400, 202)],
  ["too many at once", refusal(429, 402)],
])
  test(`After a return that was ${name} another one begins`, async () => {
    const tab = await opened();
    for (const answer of answers) await give(tab, answer);
    await tab.fill({ amount: "3.00" });
    await give(tab, DONE);

    assert.notEqual(returns(tab)[0].key, returns(tab).at(-1).key);
    assert.equal(tranOf(tab).Amount, "3.00");
  });

test("A double click is one return, and no text that is no amount is sent", async () => {
  const tab = await opened();
  for (const [typed, words] of [
    ["", "Type an amount"],
    ["0", "Type an amount above zero."],
    ["-1", "Type an amount above zero."],
    ["12.31", "At most R 12.30"],
    ["1.005", "Type at most 2 decimals."],
  ]) {
    await tab.fill({ amount: typed });
    await give(tab, DONE);
    assert.ok(tab.all("dialog [role=alert]")[0].label.startsWith(words), typed);
    assert.equal(tab.document.activeElement.name, "amount");
  }
  await tab.fill({ amount: "2.30" });
  tab.shop.answers["payment/reverse"] = DONE;
  const button = dialogButton(tab);
  tab.click(button);
  tab.click(button);
  await tab.settle();

  assert.equal(returns(tab).length, 1);
});

test("A card that was not present is given back by its own request, and all that remains says so", async () => {
  const tab = await opened(payment({ CanReturnCNP: true }));
  tab.click(dialogButton(tab));
  await tab.settle();

  assert.equal(returns(tab)[0].path, "payment/reversecnp");
  assert.deepEqual([tranOf(tab).ReverseMode, tranOf(tab).Amount, tranOf(tab).PartialReverse], [5, "12.30", false]);
});

test("A return that meets a changed payment shows what is left, or that nothing is", async () => {
  for (const [AmountEff, words, next] of [
    ["2.00", "Now R 2.00 is left.", "Return R 2.00"],
    ["0.00", "another return has given back everything", undefined],
  ]) {
    const tab = await opened();
    tab.shop.answers["payment/ID"] = { Transactions: [{ ...PAYMENT, AmountEff, AmountRvs: "10.30", CountRvs: 1 }] };
    await give(tab, refusal(409, 304));

    assert.ok(tab.all("dialog [role=alert]")[0].label.includes(words));
    assert.equal(dialogButton(tab)?.label, next);
    assert.ok(!tab.session.has("payments.return.P1"));
  }
});

test("A look-up that fails says so and can be tried again, and a payment that cannot be returned now is told", async () => {
  const tab = await opened();
  await tab.press("Cancel");
  tab.shop.answers["payment/receipt/ID"] = LOST;
  await tab.press("Return…");
  assert.ok(tab.all("dialog [role=alert]")[0].label.includes("No answer came"));
  delete tab.shop.answers["payment/receipt/ID"];
  await tab.press("Try again");
  assert.equal(dialogButton(tab).label, "Return R 12.30");
  await tab.press("Cancel");
  tab.shop.answers["payment/ID"] = { Transactions: [{ ...PAYMENT, CanReturn: false }] };
  await tab.press("Return…");
  assert.ok(tab.all("dialog [role=alert]")[0].label.includes("allows no return of this payment now"));
});

const line = (Title, Price, RemainingQuantity, RemainingAmount) => ({
  Title,
  Quantity: 1,
  Discount: null,
  Amount: "1.00",
  Price,
  RemainingQuantity,
  RemainingAmount,
});
const COFFEE = line("Coffee", "38.00", 2, "76.00");
const CAKE = line("Cake", "45.50", 1, "45.50");
const HAM = line("Ham (kg)", "99.99", "0.350", "35.00");
const SOLD = [COFFEE, CAKE, HAM, line("Discount", "-5.00", 1, "0.00"), line("Tea", "20.00", 0, "0.00")];
const GOODS = {
  "one of two": [{}, SOLD, ["+ Coffee"], "38.00", [["Coffee", "38.00", "1"]]],
  "one too many": [
    {},
    SOLD,
    ["+ Coffee", "+ Coffee", "− Coffee", "+ Cake"],
    "83.50",
    [
      ["Coffee", "38.00", "1"],
      ["Cake", "45.50", "1"],
    ],
  ],
  "a weight, in coins": [
    {},
    [...SOLD.slice(0, 2), line("Ham (kg)", "99.99", "0.350", "34.96")],
    ["+ Ham (kg)"],
    "35.00",
    [["Ham (kg)", "99.99", "0.350"]],
  ],
  "a weight by card": [
    { InputType: 7 },
    [...SOLD.slice(0, 2), line("Ham (kg)", "99.99", "0.350", "34.96")],
    ["+ Ham (kg)"],
    "34.96",
    [["Ham (kg)", "99.99", "0.350"]],
  ],
  "a third": [{ InputType: 7 }, [line("Tea", "3.33", 3, "10.00"), CAKE], ["+ Tea"], "3.33", [["Tea", "3.33", "1"]]],
  "two thirds": [
    { InputType: 7 },
    [line("Tea", "3.33", 3, "10.00"), CAKE],
    ["+ Tea", "+ Tea"],
    "6.67",
    [["Tea", "3.33", "2"]],
  ],
  "a weight step by step": [
    { InputType: 7 },
    [line("Ham", "10.00", "2.5", "25.00"), CAKE],
    ["+ Ham", "+ Ham", "+ Ham", "− Ham"],
    "20.00",
    [["Ham", "10.00", "2"]],
  ],
  "equal lines": [
    { InputType: 7 },
    [line("Tea", "10", 1, "9.00"), line("Tea", "10.00", 2, "20.00"), CAKE],
    ["+ Tea", "+ Tea"],
    "19.00",
    [["Tea", "10", "2"]],
  ],
  everything: [
    {},
    SOLD,
    ["All of it"],
    "156.52",
    [
      ["Coffee", "38.00", "2"],
      ["Cake", "45.50", "1"],
      ["Ham (kg)", "99.99", "0.350"],
    ],
  ],
};
for (const [name, [changes, lines, presses, amount, sent]] of Object.entries(GOODS))
  test(`Goods that come back give back what the service computes: ${name}`, async () => {
    const tab = await opened(payment({ AmountEff: "156.52", ...changes }, ...lines));
    assert.equal(dialogButton(tab).label, "Return");
    await tab.press(...presses);
    assert.equal(dialogButton(tab).label, `Return R ${amount}`);
    await give(tab, DONE);

    const { Amount, PartialReverse, AuxDataInput } = tranOf(tab);
    assert.deepEqual([Amount, PartialReverse], [amount, amount !== "156.52"]);
    assert.deepEqual(
      AuxDataInput.AuxData.Purchases.map((one) => [one.Title, one.Price, one.Quantity]),
      sent,
    );
  });

test("Nothing is chosen at first, and an amount is the second way, without goods", async () => {
  const tab = await opened(payment({ AmountEff: "121.50" }, COFFEE, CAKE));
  assert.deepEqual(
    tab.all(".goods output").map((one) => one.label),
    ["0 of 2", "0 of 1"],
  );
  await give(tab, DONE);
  assert.ok(tab.all("dialog [role=alert]")[0].label.includes("Choose what comes back"));
  await tab.press("+ Cake", "Return an amount");
  assert.equal(dialogButton(tab).label, "Return");
  await tab.fill({ amount: "5" });
  await give(tab, DONE);

  assert.deepEqual([returns(tab).length, tranOf(tab).Amount, tranOf(tab).AuxDataInput], [1, "5.00", undefined]);
});

for (const [kind, typed, amount] of [
  [10, "100.03", "100.00"],
  [10, "100", "100.00"],
  [10, "121.46", "121.47"], // not more than remains
  [10, "121.47", "121.47"],
  [7, "100.03", "100.03"],
])
  test(`${typed} of kind ${kind} is given back as ${amount}`, async () => {
    const tab = await opened(payment({ AmountEff: "121.47", InputType: kind }, COFFEE, CAKE));
    await tab.press("Return an amount");
    await tab.fill({ amount: typed });
    assert.equal(dialogButton(tab).label, `Return R ${amount}`);
    await give(tab, DONE);

    assert.equal(tranOf(tab).Amount, amount);
  });

test("How much of a line comes back can be typed, and not more than remains", async () => {
  const tab = await opened(payment({ AmountEff: "500.00" }, line("Screw", "2.00", 25, "50.00"), HAM, CAKE));
  const [screws, ham] = tab.all(".goods input");
  const type = (field, value) => {
    field.value = value;
    tab.fire(field, "input");
  };
  for (const wrong of ["26", "-1", "some", "0.0001"]) {
    type(screws, wrong);
    await tab.settle();
    await give(tab, DONE);
    assert.ok(tab.all("dialog [role=alert]")[0].label.startsWith("Type a quantity"), wrong);
    assert.equal(tab.document.activeElement, screws);
  }
  type(screws, "21");
  type(ham, "0,2");
  await tab.settle();
  await tab.press("− Screw");
  assert.equal(screws.value, "20");
  assert.equal(dialogButton(tab).label, "Return R 60.00");
  await give(tab, DONE);

  assert.equal(returns(tab).length, 1);
  assert.deepEqual(
    tranOf(tab).AuxDataInput.AuxData.Purchases.map((one) => [one.Title, one.Quantity]),
    [
      ["Screw", "20"],
      ["Ham (kg)", "0.2"],
    ],
  );
});

test("With a right a till lists the sales of the shop with their sellers, and returns those of others", async () => {
  const theirs = { ...PAYMENT, ID: "P2", PosID: 4, TransPos: { Name: "Back till" } };
  for (const [Rights, isAll, offered] of [
    [[], false, 1],
    [[201], true, 1],
    [[201, 301], true, 2],
  ]) {
    const shown = Rights.includes(201) ? [PAYMENT, theirs] : [PAYMENT];
    const tab = await aTill({
      me: { ...CASHIER, Rights },
      hash: "#/sales",
      answers: { "payment/listHistoryEx": listed(...shown) },
    });
    const { ListBasicModel } = tab.sent.find(({ path }) => path === "payment/listHistoryEx").body;
    assert.equal(ListBasicModel.AccountID, isAll ? undefined : 3);
    assert.equal(tab.text.includes("Back till"), isAll);
    assert.equal(tab.offered().filter((one) => one === "Return…").length, offered);
  }
});

test("A till returns a line in four taps, and another one after it", async () => {
  const left = { ...PAYMENT, AmountEff: "83.50", AmountRvs: "38.00", CountRvs: 1, ReverseID: "R1" };
  const tab = await aTill({
    answers: {
      "payment/listHistoryEx": listed({ ...PAYMENT, AmountEff: "121.50" }),
      ...payment({ AmountEff: "121.50" }, COFFEE, CAKE),
      "payment/reverse": { Transaction: { ...PAYMENT, ID: "R1", Amount: "38.00" } },
    },
  });
  tab.go("#/sales");
  await tab.pass(0.3);
  await tab.press("Return…");
  await tab.press("+ Coffee");
  tab.shop.answers["payment/ID"] = { Transactions: [left] };
  await tab.press("Return R 38.00");
  assert.ok(tab.text.includes("R 38.00 was given back. Take the cash out of your own drawer"));
  assert.equal(tab.all("[data-sale-id] .badge")[0].label, "Returned in part");
  tab.shop.answers["payment/receipt/ID"] = receipt({ ...COFFEE, RemainingQuantity: 1, RemainingAmount: "38.00" }, CAKE)[
    "payment/receipt/ID"
  ];
  await tab.press("Return…", "All of it", "Return R 83.50");

  assert.equal(returns(tab).length, 2);
  assert.notEqual(returns(tab)[0].key, returns(tab)[1].key);
});

test("A return that is open when the connection goes stays with what was typed, and is sent when it is back", async () => {
  const tab = await aTill({ hash: "#/sales", answers: { "payment/listHistoryEx": listed(PAYMENT) } });
  const connect = async (isOnline) => {
    tab.isOffline = !isOnline;
    if (!isOnline) tab.fire(tab.document.root, "offline");
    await tab.pass(8);
  };
  await tab.pass(0.3);
  await tab.press("Return…");
  await tab.fill({ amount: "2.3", reason: "Broken" });
  await connect(false);
  assert.ok(tab.text.includes("No connection: nothing was returned yet."));
  await give(tab, DONE);
  assert.equal(returns(tab).length, 0);
  await connect(true);
  await give(tab, DONE);
  assert.deepEqual([returns(tab).length, tranOf(tab).Amount, tranOf(tab).Description], [1, "2.30", "Broken"]);
  assert.ok(tab.text.includes("R 2.30 was given back."));

  await connect(false);
  assert.ok(
    tab.text.includes("out of reach, and this device keeps no such sale.") && !tab.text.includes("Nothing was sold"),
  );
});

const BASKET = {
  lines: [{ code: "tea", title: "Tea", price: 1230, quantity: "1", unit: null, taxes: [], off: null }],
  off: null,
  figures: "",
  description: "",
};
const TOLD = aSale({ state: "paid", canReturn: true, isShownPaid: true, invoice: "1" });
Object.assign(TOLD, { minor: 1230, draft: { ...TOLD.draft, minor: 1230, basket: BASKET } });
const GIVEN_BACK = { AmountEff: "0.00", AmountRvs: "12.30", CountRvs: 1, CanReturn: false };
const ALL = { Transaction: { ...PAYMENT, ID: "R1", Amount: "12.30" } };
const again = async (tab) => {
  tab.hash = tab.entries.at(-1).hash;
  tab.open();
  await tab.pass(0.5);
};
// What happens at each press of the button in the dialog, as answers or as steps in between; how many returns were sent, with how
// many keys, and whether the basket is there again at the end.
const CORRECTIONS = {
  "gives the sale back": [[ALL], 1, 1, true],
  "repeats a return whose answer was lost": [[LOST, ALL], 2, 1, true],
  "repeats it after a reload": [[LOST, again, ALL], 2, 1, true],
  "repeats it while the bank does not know": [[{ ...ALL, ErrorCode: 310 }, again, ALL], 2, 1, true],
  "gives nothing back when the bank declines": [[{ ...ALL, ErrorCode: 1005, ErrorMessage: "No." }], 1, 1, false],
  "begins another return after a refusal": [[refusal(503, 902), ALL], 2, 2, true],
  "leaves a sale that another return gave back, or has not finished": [[[GIVEN_BACK, {}]], 0, 0, false],
  "leaves a sale of which something came back": [
    [[{ AmountEff: "2.30", AmountRvs: "10.00", CountRvs: 1 }, {}]],
    0,
    0,
    false,
  ],
};
for (const [name, [answers, sent, keys, isBack]] of Object.entries(CORRECTIONS))
  test(`Correct ${name}, and the same basket is there only when all is given back`, async () => {
    const tab = await aTill({ sales: [TOLD], isTold: true });
    await tab.pass(1);
    for (const answer of answers) {
      if (typeof answer === "function") {
        await answer(tab);
        continue;
      }
      const [payment, given] = Array.isArray(answer) ? answer : [{}, answer];
      tab.shop.answers["payment/ID"] = { Transactions: [{ ...PAYMENT, ...payment }] };
      tab.shop.answers["payment/reverse"] = given;
      if (!tab.all("dialog").length) await tab.press("Correct");
      await tab.press("Return R 12.30");
      await tab.pass(0.3);
    }

    assert.deepEqual([returns(tab).length, new Set(returns(tab).map(({ key }) => key)).size], [sent, keys]);
    for (const { body } of returns(tab))
      assert.deepEqual([body.BasicReverseTran.Amount, body.BasicReverseTran.PartialReverse], ["12.30", false]);
    assert.equal(tab.all("[data-testid=line]").length, isBack ? 1 : 0, tab.text);
    assert.equal(Boolean((await tab.store.sale(TOLD.id)).isReturned), isBack);
    if (isBack) assert.ok(tab.text.includes("R 12.30 was given back. Take the cash out"), tab.text);
    else assert.equal(tab.all("dialog [role=alert]").length, 1);
    await again(tab);
    assert.equal(tab.all("[data-testid=line]").length, isBack ? 1 : 0, "a reload loses nothing");
  });

test("While a sale is given back nothing is scanned into the next one, and another agent begins without it", async () => {
  for (const isReplaced of [false, true]) {
    let come;
    const answers = {
      "payment/ID": { Transactions: [PAYMENT] },
      "payment/reverse": () =>
        new Promise((done) => {
          come = done;
        }),
    };
    const tab = await aTill({ sales: [TOLD], isTold: true, answers });
    await tab.pass(1);
    await tab.press("Correct", "Return R 12.30");
    const { add, sale } = tab.load("till/sale.js");
    assert.equal(add(BASKET.lines[0]), false);
    assert.ok(tab.text.includes("Return R 12.30: one moment…"));
    tab.go("#/sales"); // Back, beneath the dialog
    await tab.settle();
    assert.equal(add(BASKET.lines[0]), false);
    if (isReplaced) {
      tab.shop.people.ben = { ...CASHIER, AgentID: 4, Email: "ben@example.com" };
      await tab.load("till/till.js").signIn("ben@example.com", "x");
    }
    come(ALL);
    await tab.pass(1);

    assert.equal(sale().lines.length, isReplaced ? 0 : 1);
    assert.equal(tab.text.includes("was given back"), !isReplaced);
    assert.equal(add(BASKET.lines[0]), true);
  }
});
