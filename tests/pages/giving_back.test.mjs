// The dialog of a return: one key until its outcome is known, whatever is lost, clicked twice or loaded again.
import assert from "node:assert/strict";
import { Patience, modules } from "./page.mjs";
import { test } from "./runner.mjs";

const PAYMENT = {
  ID: "P1",
  CurrencyID: "ZAR",
  AmountEff: "12.30",
  CanReturn: true,
  InputType: 10,
  Format: { CurrencyE: 2 },
};
const LOST = null;
const DONE = { status: 200, body: { ErrorCode: 0, Amount: "12.30", CurrencyID: "ZAR" } };
const UNKNOWN = { status: 200, body: { ErrorCode: 310 } };
const refusal = (status, ErrorCode) => ({ status, body: { ErrorCode, ErrorMessage: "No." } });

// A tab of the browser: what it stores, and the answers that it gets.
class Tab {
  stored = new Map();
  sent = []; // {key, body}
  answers = [];
  told = []; // the ends: "answered" or "stale"

  async fetch(url, { body, headers }) {
    this.sent.push({ url: url.pathname, key: headers["Idempotency-Key"], body });
    const answer = this.answers.shift();
    if (!answer) throw new TypeError("Failed to fetch");
    return { status: answer.status, headers: new Map(), text: async () => JSON.stringify(answer.body) };
  }

  // Load the page and open the dialog.
  open(payment = PAYMENT) {
    const storage = {
      getItem: (name) => this.stored.get(name) ?? null,
      setItem: (name, text) => this.stored.set(name, text),
      removeItem: (name) => this.stored.delete(name),
      clear: () => this.stored.clear(),
    };
    let drawn = this.sent.length;
    const globals = {
      navigator: { languages: ["en"] },
      document: { documentElement: {}, baseURI: "https://pay.example/app" },
      location: { hash: "" },
      history: { state: { number: 1 } },
      addEventListener() {},
      localStorage: { getItem: () => null },
      sessionStorage: storage,
      fetch: (...given) => this.fetch(...given),
      crypto: { getRandomValues: (bytes) => bytes.fill((drawn += 1)) },
      setTimeout() {},
      clearTimeout() {},
      performance,
      Date,
      AbortController: Patience,
      globalThis: {},
    };
    const kept = [];
    let place;
    const slot = (made) => {
      place += 1;
      return (kept[place] ??= made());
    };
    const hooks = {
      html: (strings, ...values) => ({ strings, values }),
      useRef: (current) => slot(() => ({ current })),
      useLayoutEffect() {},
      useId: () => "id",
      useState: (first) => {
        const own = slot(() => ({ value: first }));
        return [
          own.value,
          (value) => {
            own.value = value;
          },
        ];
      },
    };
    const load = modules(globals, hooks);
    load("shop/texts.js");
    const { ReturnDialog } = load("kit/giving_back.js");
    const given = {
      payment,
      onClose() {},
      onAnswered: () => this.told.push("answered"),
      onStale: () => this.told.push("stale"),
    };
    this.form = { reason: { value: "" }, amount: { focus() {} } };
    this.render = () => {
      place = -1;
      const { strings, values } = ReturnDialog(given);
      const at = (name) => values.find((_, number) => strings[number].endsWith(`${name}=`));
      at("form ref").current = { elements: this.form };
      return at;
    };
    this.submit = this.render()("onSubmit");
    return this;
  }

  type(amount) {
    this.render()("onInput")({ target: { value: amount } });
    this.submit = this.render()("onSubmit");
  }

  // Press the button, which shows the answer. Each press is by what is shown then.
  async press(answer) {
    this.answers.push(answer);
    await this.submit({ preventDefault() {} });
    this.submit = this.render()("onSubmit");
  }

  get keys() {
    return new Set(this.sent.map((one) => one.key)).size;
  }
}

for (const [name, answer] of [
  ["lost", LOST],
  ["not known to the service", UNKNOWN],
  ["still in progress", refusal(409, 301)],
  ["an outage", refusal(503, 903)],
  ["a defect", refusal(500, 901)],
  ["of a proxy", { status: 504, body: { message: "Endpoint request timed out" } }],
  ["nothing", { status: 504, body: null }],
]) {
  for (const isReloaded of [false, true]) {
    test(`A return whose answer was ${name} is the same return${isReloaded ? " after a reload" : ""}`, async () => {
      const tab = new Tab().open();
      tab.type("2.30");
      tab.form.reason.value = "Broken";
      await tab.press(answer);
      if (isReloaded || answer === UNKNOWN)
        tab.open(); // an answer closes the dialog
      else tab.type("3.00");
      tab.form.reason.value = "Other";
      await tab.press(refusal(429, 402)); // says nothing about the first
      await tab.press(DONE);

      assert.equal(tab.sent.length, 3);
      assert.equal(tab.keys, 1);
      assert.equal(new Set(tab.sent.map((one) => one.body)).size, 1);
      assert.match(tab.sent[0].body, /"Amount":"2.30","PartialReverse":true,"CurrencyID":"ZAR","Description":"Broken"/);
      assert.equal(tab.told.at(-1), "answered");
      assert.equal(tab.stored.size, 0);
    });
  }
}

const DECIDED = [
  ["refused", refusal(400, 202)],
  ["not tried at the bank", refusal(503, 902)],
];
for (const [name, ...answers] of [
  ...DECIDED,
  ...DECIDED.map(([name, answer]) => [`lost and then ${name}`, LOST, answer]),
  ["too many at once", refusal(429, 402)],
]) {
  test(`After a return that was ${name} another one begins`, async () => {
    const tab = new Tab().open();
    for (const answer of answers) await tab.press(answer);
    tab.type("3.00");
    await tab.press(DONE);

    assert.equal(tab.keys, 2);
    assert.match(tab.sent.at(-1).body, /"Amount":"3.00"/);
  });
}

test("A double click is one return", async () => {
  const tab = new Tab().open();
  const { submit } = tab;
  tab.answers = [DONE, DONE];
  await Promise.all([submit({ preventDefault() {} }), submit({ preventDefault() {} })]);

  assert.equal(tab.sent.length, 1);
});

test("A payment that changed since it was read is told, and nothing of the return is left", async () => {
  const tab = new Tab().open();
  await tab.press(refusal(409, 304));

  assert.deepEqual(tab.told, ["stale"]);
  assert.equal(tab.stored.size, 0);
});

test("No amount that is none, is not above zero, is too much or has too many decimals is sent", async () => {
  for (const typed of ["", "x", "0", "-1", "12.31", "1.005"]) {
    const tab = new Tab().open();
    tab.type(typed);
    await tab.press(DONE);
    assert.equal(tab.sent.length, 0, typed);
  }
});

test("A card that was not present is given back by its own request, and a full return says so", async () => {
  const tab = new Tab().open({ ...PAYMENT, CanReturnCNP: true });
  await tab.press(DONE);

  assert.ok(tab.sent[0].url.endsWith("payment/reversecnp"));
  assert.match(tab.sent[0].body, /"ReverseMode":5,"Amount":"12.30","PartialReverse":false/);
});
