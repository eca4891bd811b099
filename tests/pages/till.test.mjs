// The page of the till around its queue: every button before the last answer, and a storage that tells late or never.
import assert from "node:assert/strict";
import { decimal } from "../../chalicelib/pages/till/rules.js";
import { fc } from "./device.mjs";
import { PEOPLE, Phone } from "./page.mjs";
import { test } from "./runner.mjs";

const SCENARIOS = Number(process.env.SCENARIOS ?? 300);
const IS_QUICK = SCENARIOS < 100; // a share of the combinations
const LIVES = Math.ceil(SCENARIOS / 4);
const TEA = { code: "tea", title: "Tea", price: 2500, quantity: "1", unit: null, taxes: [], off: null };
const PAYER = "payer@example.com";
const SOLD = {
  id: "00000000-0000-4000-8000-00000000AAAA",
  draft: { tender: "cash", minor: 0, digits: 2, currency: "ZAR" },
};

const hasLine = ({ sale }) => !sale.sale().result && sale.sale().lines.length > 0;
// What somebody can do at the page. A view offers the buttons of a line only with a line.
const ACTIONS = {
  add: ({ sale }) => sale.add(TEA),
  more: (life) => hasLine(life) && life.sale.more(0, "1"),
  remove: (life) => hasLine(life) && life.sale.remove(0),
  "discount a line": (life) => hasLine(life) && life.sale.setLine(0, { off: { percent: "10" } }),
  "discount all": ({ sale }) => sale.discountAll({ minor: 100 }),
  "press a key": ({ sale }) => sale.press("7"),
  "type the receipt": ({ sale }) => sale.change({ receiptTo: PAYER }),
  take: (life) => life.take({ receipt: { Email: PAYER } }),
  "take what is refused": (life) => life.take({ description: "poison" }),
  "pay another way": ({ sale }) => sale.payAnotherWay(),
  "new sale": ({ sale }) => sale.nextSale(),
  correct: ({ sale }) => sale.sale().result?.sale?.state === "paid" && sale.correct(async () => "It was given back."),
  "decline elsewhere": (life) => hasLine(life) && life.decline(),
  "take without the receipt": (life) => life.takeWithoutReceipt(),
  sign: ({ sale }) => sale.sign(sale.sale().result?.sale ?? SOLD, "picture"),
  "send again": async ({ till }) =>
    Promise.all(
      (await till.leftSales()).filter((one) => one.state === "parked").map((one) => till.queue.sendAgain(one.id)),
    ),
  "sign in": ({ till }) => till.signIn("ann", "right"),
  "another signs in": ({ till }) => till.signIn("ben", "right"),
  "an administrator clears": async (life) => {
    const refused = await life.till.signIn("eve", "right");
    if (refused?.mayClear) await life.clear();
  },
  "sign out": (life) => life.signOut(),
  reload: (life) => again(life.phone, "end"),
  kill: (life) => again(life.phone, "kill"),
  look: (life) => life.happen("focus"),
  "go online": (life) => {
    life.phone.isReachable = true;
    life.happen("online");
  },
  "go offline": (life) => {
    life.phone.isReachable = false;
    life.happen("offline");
  },
};

async function again(phone, how) {
  const kept = await phone.again(how);
  await phone.settle();
  checkReloaded(phone, kept);
}

// Let somebody act, and note a defect of the page. A refusal of the service or the storage is none.
async function act(phone, name, action = ACTIONS[name]) {
  const { life } = phone;
  if (life.isOver || (!life.isShown && !["reload", "kill"].includes(name))) return;
  life.pending += 1;
  try {
    await action(life);
  } catch (error) {
    if (error instanceof TypeError || error instanceof ReferenceError) phone.problems.push(`${name}: ${error.stack}`);
  }
  life.pending -= 1;
}

async function aPhone({ name = "ann", basket = true } = {}) {
  const phone = new Phone();
  await phone.open();
  const signing = phone.life.till.signIn(name, "right");
  await phone.settle();
  await signing;
  if (basket) {
    phone.life.sale.add(TEA);
    phone.life.sale.change({ receiptTo: PAYER });
    await phone.settle();
  }
  return phone;
}

const GAPS = {
  "at once": async () => {},
  "a moment later": () =>
    new Promise((done) => {
      setImmediate(done);
    }),
  "before the answer": (phone) => phone.settle(),
};

const isHidden = (phone, sale) => JSON.parse(phone.local.get("payments.till.refused") ?? "[]").includes(sale.id);
const salesOf = (phone) => phone.storage.raw().sales.filter((sale) => !isHidden(phone, sale));
const queuedOf = (phone) => salesOf(phone).filter((sale) => sale.queued !== undefined);
const takenOf = (phone, minor) =>
  [...phone.service.taken.values()].filter(({ content }) => JSON.parse(content).basic.Amount === decimal(minor, 2));

// What holds in each quiet moment in which the storage has no fault left.
function checkNow(phone, { isTold = true } = {}) {
  const {
    life: { till, sale, isShown },
  } = phone;
  const { session, features, currency, country, problem } = till.till();
  const { facts } = phone.storage.raw();
  assert.deepEqual(phone.problems, []);
  assert.deepEqual(phone.service.mixed, [], "no request of one agent has the session of another");

  for (const one of salesOf(phone))
    if (one.answeredAt)
      assert.ok(!JSON.stringify(one).includes(PAYER) && !one.request, "an answered sale has no address");
  if (!isShown) return;
  if (!session) {
    assert.deepEqual(
      [facts.session, facts.basket, phone.session.size],
      [undefined, undefined, 0],
      "nothing of the session is left",
    );
    assert.ok(!JSON.stringify(sale.sale()).includes(PAYER), "nothing of the payer is left");
    assert.ok(!JSON.stringify(facts).includes(PAYER), "nothing of the payer is left");
    return;
  }
  const person = Object.values(PEOPLE).find((one) => one.AgentID === session.agent);
  if (features)
    assert.deepEqual(
      [features.AcceptPrepaid, currency, country],
      [person.features.AcceptPrepaid, person.CurrencyID, person.country],
      "the account is the agent's own",
    );
  if (facts.account?.agent === session.agent) assert.equal(facts.account.currency, person.CurrencyID);
  if (isTold) assert.equal(facts.session?.token, session.token, "the device has the session of the page");
  for (const one of queuedOf(phone))
    assert.equal(one.agent, session.agent, "another agent signs in only when nothing waits");
  if (problem) assert.equal(problem.token, session.token, "a problem is one of this session");
  if (phone.life.ended.has(session.token)) assert.equal(problem?.means, "sign in", "a session that ended is told");
  const { result, ...basket } = sale.sale();
  if (isTold && basket.agent === session.agent && facts.basket)
    assert.deepEqual(facts.basket, basket, "each tap is stored");
  if (facts.basket) assert.equal(facts.basket.agent, session.agent, "the basket is the agent's own");
  assert.notEqual(result?.state, "busy");
}

// After a reload the last committed basket is there, or the end of its sale is told.
function checkReloaded(phone, kept) {
  const { till, sale } = phone.life;
  if (!phone.life.isShown || !kept || kept.agent !== till.till().session?.agent) return;
  const sold = salesOf(phone).find((one) => one.id === kept.id || (kept.key && one.draft.key === kept.key));
  const shown = sale.sale();
  if (sold) assert.equal(shown.result?.sale.id, sold.id, "the end of the sale is told");
  else
    assert.deepEqual(
      [shown.lines, shown.figures, shown.receiptTo],
      [kept.lines, kept.figures, kept.receiptTo],
      "the basket is there again",
    );
}

// Let time pass until it is so, at most so many seconds.
async function until(phone, seconds, isSo) {
  for (let passed = 0; passed < seconds && !isSo(); passed += 3) await phone.pass(3);
}

// All faults end, and the page is loaded again. Its agent signs in, and the queue drains. The page can be used.
async function checkHealed(phone) {
  phone.storage.faults = () => undefined;
  Object.assign(phone, { faults: [], delay: 0, isReachable: true });
  await until(phone, 60, () => phone.life.pending === 0);
  assert.equal(phone.life.pending, 0, "each button has its answer");
  await again(phone, "kill");
  const [left] = queuedOf(phone);
  const name = left ? Object.keys(PEOPLE).find((one) => PEOPLE[one].AgentID === left.agent) : "ann";
  act(phone, "sign in", ({ till }) => till.signIn(name, "right"));
  const waiting = () => queuedOf(phone).filter((one) => one.state !== "parked");
  await until(phone, 75, () => phone.life.pending === 0 && !waiting().length);
  assert.equal(phone.life.pending, 0, "each button has its answer");
  checkNow(phone);
  assert.deepEqual(waiting(), [], "the queue drains");
  const {
    session: { me },
    prices,
    lost,
  } = phone.life.till.till();
  assert.deepEqual(lost, [], "no sale is told as gone");
  assert.deepEqual(
    [prices.merchant, prices.items],
    [me.ClientID, [{ Code: `of ${me.ClientID}` }]],
    "the price list is the merchant's own",
  );
  for (const [minor, press] of phone.presses) checkPress(phone, minor, press);
  const before = phone.presses.size;
  phone.life.sale.nextSale();
  phone.life.sale.press("5");
  phone.life.take();
  await phone.settle();
  assert.deepEqual(phone.presses.get(before + 1).told, ["paid"], "the page can be used");
  const numbers = phone.storage.raw().sales.map((one) => one.number);
  assert.equal(new Set(numbers).size, numbers.length, "no two sales have one number");
}

function checkPress(phone, minor, { agent, told, isSecond }) {
  const taken = takenOf(phone, minor);
  const stored = salesOf(phone).filter((one) => one.draft.minor === minor);
  const words = `press ${minor} was told ${told}`;
  assert.ok(taken.length <= 1 && stored.length <= 1, `${words}, and is ${taken.length + stored.length} sales`);
  if (isSecond)
    assert.deepEqual([told, taken.length, stored.length], [[], 0, 0], "no second sale begins while one is in hand");
  for (const one of phone.service.submits) {
    if (one.amount === decimal(minor, 2))
      assert.ok([agent, undefined].includes(one.agent), `${words}: agent ${agent} sold and ${one.agent} sent`);
  }
  if (phone.cleared.has(minor)) return;
  const isTaken = taken.length === 1 && !taken[0].isDeclined;
  if (told.includes("refused")) {
    assert.deepEqual(new Set(told), new Set(["refused"]), words);
    assert.deepEqual([taken.length, stored.length], [0, 0], `${words}, and is there`);
  } else if (told.includes("paid")) {
    assert.ok(isTaken && stored[0]?.state === "paid", `${words}, and is ${stored[0]?.state}`);
  } else if (told.includes("waiting")) {
    assert.ok(isTaken || (stored[0]?.state === "parked" && stored[0].reason), `${words}, and is ${stored[0]?.state}`);
  } else if (isTaken) {
    assert.equal(stored[0]?.state, "paid", `${words}, and money was taken`);
    assert.ok(phone.ends > 0, `${words}, and the page did not end`);
  }
}

// A sale that waits, or one that the service refused after the customer had seen it as paid.
async function withSale(state, phone) {
  act(phone, "go offline");
  act(phone, state === "parked" ? "take what is refused" : "take");
  await phone.pass(3);
  if (state === "parked") act(phone, "go online");
  await phone.pass(3);
  assert.equal(queuedOf(phone)[0].state, state);
  Object.assign(phone, { isReachable: true, faults: Array(9).fill("lost request") });
  return phone;
}

for (const state of ["waiting", "parked"]) {
  test(`While a sale is ${state}, nobody signs out, and no other agent signs in`, async () => {
    const phone = await withSale(state, await aPhone());
    const { till } = phone.life;
    const answers = Promise.all([till.signOut(), till.signIn("ben", "right"), till.signIn("eve", "right")]);
    await phone.pass(1);

    assert.deepEqual(await answers, [false, { isAnother: true, mayClear: false }, { isAnother: true, mayClear: true }]);
    assert.equal(till.till().session.agent, 3);
    assert.deepEqual([...phone.service.tokens.values()], [3], "the sessions of the others are ended");
    checkNow(phone);
    await checkHealed(phone);
  });

  test(`A sale that is ${state} is taken away by an administrator of the merchant, and its agent is signed out`, async () => {
    const phone = await withSale(state, await aPhone());
    act(phone, "an administrator clears");
    await phone.pass(1);

    assert.equal(phone.life.till.till().session, undefined);
    checkNow(phone);
    await checkHealed(phone);
  });
}

test("A parked sale that is sent again twice at once, or after it was paid, is paid once", async () => {
  const phone = await withSale("parked", await aPhone());
  phone.faults = [];
  phone.service.isKind = true;
  const {
    till: { queue, leftSales },
  } = phone.life;
  const [{ id }] = await leftSales();
  queue.sendAgain(id);
  queue.sendAgain(id);
  await phone.pass(1);
  queue.sendAgain(id);
  await phone.pass(1);

  assert.equal(phone.storage.raw().sales.find((one) => one.id === id).state, "paid");
  await checkHealed(phone);
});

test("A sale is sent again after a look at the storage that failed", async () => {
  const phone = await aPhone();
  const before = phone.storage.count;
  phone.faults = ["lost answer"];
  act(phone, "take");
  await phone.pass(8.1); // the answer is lost, and the sale waits
  phone.storage.faults = (count, mode) => (mode === "readonly" && count > before ? "never" : undefined);
  await phone.pass(45);
  phone.storage.faults = () => undefined;
  await phone.pass(60);

  assert.deepEqual(queuedOf(phone), []);
  await checkHealed(phone);
});

test("A session that ended is told, and an answer to it that comes after the next sign-in is not", async () => {
  const phone = await aPhone();
  phone.service.tokens.clear();
  phone.delay = 5_000;
  const asking = phone.life.till.ask("POST", "payment/GetLinkedCards", {});
  await phone.settle();
  phone.delay = 0;
  act(phone, "sign in");
  await phone.pass(6);
  assert.equal(await asking, null);
  assert.equal(phone.life.till.till().problem, null);
  checkNow(phone);
  for (const name of ["look", "take", "sign"]) {
    phone.service.tokens.clear();
    if (name === "look") await phone.pass(601);
    act(phone, name);
    await phone.pass(1);
    assert.equal(phone.life.till.till().problem.means, "sign in", name);
    act(phone, "sign in");
    await phone.pass(1);
    assert.equal(phone.life.till.till().problem, null);
  }
  await checkHealed(phone);
});

test("AuthAccount is asked once in ten minutes, however often somebody looks", async () => {
  const phone = await aPhone({ basket: false });
  await phone.pass(599);
  const before = phone.service.asked.get(3);
  phone.delay = 500;
  for (const name of ["look", "look", "go offline", "go online", "sign in", "look"]) act(phone, name);
  await phone.pass(70);

  assert.notEqual(phone.service.asked.get(3), before);
  assert.equal(phone.service.askedTooOften, 0);
  checkNow(phone);
});

test("The account is the agent's own, also after a sign-in without an answer, and while the one before is asked", async () => {
  const phone = await aPhone();
  await phone.pass(597);
  phone.delay = 700;
  phone.life.till.readNews(true);
  act(phone, "another signs in");
  for (let round = 0; round < 12; round += 1) {
    await phone.pass(0.35);
    checkNow(phone, { isTold: false });
  }
  act(phone, "sign out");
  await phone.pass(1);
  checkNow(phone);
  phone.service.isSilent = true;
  const account = [
    "agent",
    "features",
    "options",
    "currency",
    "digits",
    "country",
    "listCurrency",
    "askedAt",
    "refreshedAt",
  ];
  const known = () => {
    const state = phone.life.till.till();
    return account.map((name) => state[name]);
  };
  act(phone, "sign in");
  await phone.pass(3);
  assert.deepEqual([phone.life.till.till().session.agent, ...known()], [3, ...account.map(() => undefined)]); // the device knows that of the other
  phone.service.isSilent = false;
  act(phone, "look");
  await phone.pass(5);
  for (const name of ["sign out", "sign in"]) {
    phone.service.isSilent = name === "sign in";
    act(phone, name);
    await phone.pass(3);
  }
  const [agent, , options, currency, , country] = known();
  assert.deepEqual([agent, options, currency, country], [3, [10, 8], "ZAR", "ZA"], "the device knows it");
});

for (const fault of ["full", "stuck", "never", "stalled"]) {
  test(`After a storage that is ${fault} the buttons of the same page work again`, async () => {
    const phone = await aPhone();
    phone.storage.faults = (_, mode) => (mode === "readwrite" ? fault : undefined);
    act(phone, "take");
    await phone.pass(60);
    assert.deepEqual(phone.presses.get(1).told, ["refused"]);
    phone.storage.faults = () => undefined;
    await phone.pass(60);
    act(phone, "pay another way");
    assert.equal(phone.life.sale.sale().result, null);
    act(phone, "take");
    await phone.pass(1);

    assert.equal(phone.presses.get(2).told[0], "paid");
    checkNow(phone);
    await checkHealed(phone);
  });
}

test("Whatever is pressed while somebody signs out begins nothing and leaves nothing", async () => {
  for (const name of ["type the receipt", "take", "another signs in"]) {
    let isOut = false;
    for (let rounds = 0; !isOut; rounds += 1) {
      const phone = await aPhone();
      act(phone, "sign out");
      for (let round = 0; round < rounds; round += 1) await GAPS["a moment later"]();
      isOut = !phone.life.till.till().session; // and then no later moment is another
      act(phone, name);
      await phone.pass(1);
      checkNow(phone);
      assert.deepEqual(queuedOf(phone), []);
    }
  }
});

test("While the limit of the money that waits is read, nobody signs out", async () => {
  const phone = await aPhone();
  act(phone, "go offline");
  await phone.settle();
  act(phone, "take");
  const leaving = phone.life.till.signOut();
  await phone.pass(1);

  assert.equal(await leaving, false);
  checkNow(phone);
  await checkHealed(phone);
});

test("A kept basket whose transaction is repeated is not older than the sale that came after it", async () => {
  const phone = await aPhone();
  const before = phone.storage.count;
  phone.storage.faults = (count) => (count === before + 1 ? "never" : undefined); // the basket with the key of the sale
  phone.delay = 7_000;
  act(phone, "press a key");
  act(phone, "take");
  await phone.pass(12);
  checkNow(phone);
  act(phone, "reload");
  await phone.pass(20);
  checkNow(phone);
  await checkHealed(phone);
});

test("A page that cannot read how its last sale ended does not offer its basket again", async () => {
  const phone = await aPhone();
  phone.delay = 9_000;
  act(phone, "take");
  await phone.settle();
  phone.life.end();
  await phone.settle();
  const before = phone.storage.count;
  phone.storage.faults = (count) => (count > before ? "stuck" : undefined); // the facts are read, and nothing else
  await phone.open();

  assert.ok(!phone.life.isShown, "the page says that the storage is broken");
  await checkHealed(phone);
});

test("A sale that needs a place is one, and nobody signs in or out before it is found", async () => {
  const phone = await aPhone();
  act(phone, "go offline");
  await phone.settle();
  phone.life.locates = 800;
  const taking = act(phone, "take");
  await phone.pass(0.5);
  phone.isReachable = true;
  const leaving = phone.life.till.signOut();
  const coming = phone.life.till.signIn("ben", "right");
  await phone.pass(0.1);
  assert.deepEqual([await leaving, await coming], [false, { isAnother: true, mayClear: false }]);
  phone.isReachable = false;
  await phone.pass(1);

  await taking;
  assert.deepEqual(queuedOf(phone)[0].request.BasicTran.OfflineTran.OfflineLocation, { Latitude: -34, Longitude: 18 });
  await checkHealed(phone);
});

const names = Object.keys(ACTIONS);

const GREAT = new Set([
  "take",
  "take what is refused",
  "sign in",
  "another signs in",
  "an administrator clears",
  "sign out",
]); // those that change more than the basket

for (const first of names) {
  test(`Every button is pressed before the answer to: ${first}`, async () => {
    for (const [place, second] of names.entries()) {
      for (const [number, [gap, wait]] of Object.entries(GAPS).entries()) {
        const great = [first, second].filter((name) => GREAT.has(name)).length;
        if (IS_QUICK && (!great || (place + names.indexOf(first)) % (great === 2 ? 3 : 8) !== number)) continue;
        const phone = await aPhone();
        phone.delay = 1_000;
        act(phone, first);
        await wait(phone);
        act(phone, second);
        try {
          await phone.pass(8);
          checkNow(phone);
          await checkHealed(phone);
        } catch (error) {
          error.message = `${first}, ${gap} ${second}: ${error.message}`;
          throw error;
        }
      }
    }
  });
}

// Each transaction of an action has each fault once, and both attempts have it. Then the page goes on, or is loaded again.
const FAULTS = ["late", "never", "stalled", "stuck", "full", "kill"];
const STORING = names.filter(
  (name) => !["more", "remove", "discount a line", "discount all", "press a key", "reload", "kill"].includes(name),
);

async function withFault(name, { number, fault, times, then }) {
  const phone = await aPhone();
  const before = phone.storage.count;
  phone.storage.faults = (count) => (count >= before + number && count < before + number + times ? fault : undefined);
  act(phone, name);
  await phone.pass(then.seconds);
  if (phone.life.isOver || then.isReloaded) await again(phone, "end");
  await phone.pass(60);
  checkNow(phone, { isTold: false });
  await checkHealed(phone);
  return phone.storage.count - before;
}

const THEN = [{ seconds: 60 }, { seconds: 21, isReloaded: true }, { seconds: 5, isReloaded: true }];

// How many transactions an action has.
async function transactionsOf(name) {
  const phone = await aPhone();
  const before = phone.storage.count;
  act(phone, name);
  await phone.pass(1);
  return phone.storage.count - before;
}

for (const fault of FAULTS) {
  test(`A storage whose transaction is ${fault} loses no sale, tells no wrong end and lets the page go on`, async () => {
    for (const [place, name] of STORING.entries()) {
      const count = await transactionsOf(name);
      for (let number = 0; number < count; number += 1) {
        for (const times of fault === "kill" ? [1] : [1, 2]) {
          for (const [way, then] of THEN.entries()) {
            const isChosen =
              name === "take"
                ? times === 2 || number % 3 === way
                : GREAT.has(name) && (place + number + times) % 6 === way;
            if (IS_QUICK && !isChosen) continue;
            try {
              await withFault(name, { number, fault, times, then });
            } catch (error) {
              error.message = `${name}, transaction ${number} ${fault} ${times} times, ${JSON.stringify(then)}: ${error.message}`;
              throw error;
            }
          }
        }
      }
    }
  });
}

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constantFrom(...names, "add", "take", "take", "take", "sign in", "sign out"),
      rounds: fc.integer({ min: 0, max: 6 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ seconds: fc.constantFrom(1, 3, 12, 45) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      faults: fc.array(fc.constantFrom("lost request", "lost answer", "busy", "down", "unknown", "never", "blocked"), {
        minLength: 1,
        maxLength: 3,
      }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      storage: fc.constantFrom(...FAULTS),
      after: fc.integer({ min: 0, max: 4 }),
      times: fc.integer({ min: 1, max: 2 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      openings: fc.array(fc.constantFrom("late", "never", "fail"), { minLength: 1, maxLength: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ delay: fc.constantFrom(0, 300, 9_000, 50_000) }) },
  { weight: 1, arbitrary: fc.record({ ended: fc.constant(true) }) },
);

async function take(phone, one) {
  if (one.seconds) await phone.pass(one.seconds);
  if (one.faults) phone.faults = [...one.faults];
  if (one.delay !== undefined) phone.delay = one.delay;
  if (one.ended) phone.service.tokens.clear();
  if (one.openings) phone.storage.openings = [...one.openings];
  if (one.storage) {
    const first = phone.storage.count + one.after;
    phone.storage.faults = (count) => (count >= first && count < first + one.times ? one.storage : undefined);
  }
  if (one.act) act(phone, one.act);
  for (let round = 0; round < (one.rounds ?? 0); round += 1) await GAPS["a moment later"]();
  if (phone.life.isOver && !phone.life.isReplaced) await again(phone, "end");
}

test(`In ${LIVES} random lives of the page no money is lost or taken twice`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 14 }), async (steps) => {
      const phone = await aPhone();
      for (const one of steps) await take(phone, one);
      await phone.pass(120);
      phone.storage.openings = [];
      if (phone.life.isOver) await again(phone, "end");
      checkNow(phone, { isTold: false });
      await checkHealed(phone);
    }),
    {
      numRuns: LIVES,
      seed: process.env.SEED ? Number(process.env.SEED) : undefined,
      endOnFailure: false,
      includeErrorInReport: true,
    },
  );
});
