// The promises of a till that sells without connection, as far as its queue keeps them.
import assert from "node:assert/strict";
import { meaning, roomOf } from "../../chalicelib/pages/till/rules.js";
import { Device, fc } from "./device.mjs";
import { test } from "./runner.mjs";

const SCENARIOS = Number(process.env.SCENARIOS ?? 300);

async function aDevice() {
  const device = new Device();
  await device.begin();
  await device.signIn();
  return device;
}

const statesOf = async (device) => (await device.store.newest(3, 1000)).map((sale) => sale.state).reverse();

test("1. A sale has its GUID and its number in the storage before anything is sent", async () => {
  const device = await aDevice();
  let stored;
  device.send = async () => {
    [stored] = await device.store.queue();
    return {};
  };
  const sale = await device.sell();

  assert.equal(stored.id, sale.id);
  assert.equal(stored.number, "TEST2-000001");
});

test("1. The kept basket knows its sale from the moment in which the sale is stored, and not before", async () => {
  const device = await aDevice();
  const basketOf = async () => (await device.store.facts()).basket;
  device.isStorageFull = true;
  await device.sell();
  assert.deepEqual(await basketOf(), { key: 1 });
  device.isStorageFull = false;
  let stored;
  device.send = async () => {
    stored = await basketOf();
    return {};
  };
  const { id } = await device.sell();
  assert.deepEqual(stored, { key: 2, id });
  await device.store.keepBasket(undefined);
  assert.equal(await basketOf(), undefined);
});

for (const storage of ["isStorageFull", "isStorageLate"]) {
  test(`1. A sale is shown as paid only when the storage knows it (${storage})`, async () => {
    const device = await aDevice();
    device.send = async () => {
      device[storage] = true;
      return {};
    };
    const sale = await device.sell();

    assert.deepEqual([sale.state, sale.isShownPaid], ["unknown", false]);
  });
}

test("1. A sale that is sent again keeps its GUID", async () => {
  const device = await aDevice();
  device.faults = ["lost answer", "lost answer", "down"];
  await device.sell();
  for (const _ of [1, 2, 3, 4]) await device.wait(60);

  assert.equal(new Set(device.service.sent.map((one) => one.id)).size, 1);
  assert.equal(device.service.sent.length, 4);
  assert.deepEqual(await statesOf(device), ["paid"]);
});

const FAULTS = [
  "lost request",
  "lost answer",
  "inProgress",
  "unknown",
  "busy",
  "down",
  "broken",
  "stranger",
  "page of another",
];
for (const fault of FAULTS) {
  test(`2. A sale stays in the queue after: ${fault}`, async () => {
    const device = await aDevice();
    device.faults = [fault];
    const sale = await device.sell();

    assert.equal(sale.state, "waiting");
    await device.wait(60);
    assert.deepEqual(await statesOf(device), ["paid"]);
    assert.equal(device.service.taken.size, 1);
  });
}

test("2. After an ended session a sale waits for the same agent", async () => {
  const device = await aDevice();
  device.endSessions();
  await device.sell();
  const sent = device.service.sent.length;
  await device.wait(60);

  assert.equal(device.queue.problem.means, "sign in");
  assert.equal(device.service.sent.length, sent); // nothing more with the ended session
  await device.signIn();
  await device.wait(1);
  assert.deepEqual(await statesOf(device), ["paid"]);
});

test("2. A first attempt of a blocked agent is refused at the till, and nothing waits", async () => {
  const device = await aDevice();
  device.service.blocked.add(3);
  const { refused } = await device.sell();

  assert.deepEqual([refused.why, refused.code], ["service", 152]);
  assert.equal(device.queue.problem, null); // it was told at the sale in hand
  device.service.blocked.clear();
  await device.wait(60);
  assert.deepEqual(await device.store.queue(), []);
  assert.equal(device.service.taken.size, 0);
});

test("2. A blocked agent's paid sale waits, and is sent after the agent is unblocked", async () => {
  const device = await aDevice();
  device.service.blocked.add(3);
  await device.sell({ isOnline: false });
  await device.wait(1);

  assert.equal(device.queue.problem.means, "blocked");
  device.service.blocked.clear();
  await device.wait(16);
  assert.deepEqual(await statesOf(device), ["paid"]);
  assert.equal(device.queue.problem, null);
});

test("2. A refusal parks only that sale, visibly and with its reason, and the others go on", async () => {
  const device = await aDevice();
  for (const description of ["", "poison", ""]) await device.sell({ description, isOnline: false });
  await device.wait(1);

  assert.deepEqual(await statesOf(device), ["paid", "parked", "paid"]);
  const [parked] = await device.store.queue();
  assert.equal(parked.reason.code, 202);
  await device.queue.sendAgain(parked.id);
  assert.deepEqual(await statesOf(device), ["paid", "parked", "paid"]);
});

test("2. A refusal while the customer waits takes nothing and leaves nothing", async () => {
  const device = await aDevice();
  const { refused } = await device.sell({ description: "poison" });

  assert.deepEqual([refused.why, refused.code], ["service", 202]);
  assert.deepEqual(await statesOf(device), []);
});

function deferred() {
  const made = {};
  made.promise = new Promise((resolve) => {
    made.resolve = resolve;
  });
  return made;
}

test("2. A sale that is refused at the till while an older one is sent is not sent afterwards", async () => {
  const device = await aDevice();
  const { send } = device;
  const [older, refusal] = [1, 2].map(() => deferred());
  let tries = 0;
  device.send = async (request, ...rest) => {
    if (request.BasicTran.Amount !== "6.66") await older.promise;
    else if ((tries += 1) === 1) return {};
    else {
      older.resolve();
      await refusal.promise;
    }
    return send.call(device, request, ...rest);
  };
  await device.sell({ isOnline: false, minor: 666 });
  const selling = device.sell({ description: "poison" });
  while ((await device.store.queue()).length < 2)
    await new Promise((resolve) => {
      setTimeout(resolve, 1);
    });
  const round = device.queue.hurry();
  const { refused } = await selling;
  refusal.resolve();
  await round;

  assert.equal(refused.why, "service");
  assert.deepEqual(await statesOf(device), ["paid"]);
  assert.equal(device.service.sent.length, 2);
});

test("2. One sale that never gets an answer holds nobody back", async () => {
  const device = await aDevice();
  const bad = await device.sell({ isOnline: false, minor: 666 });
  const { send } = device;
  device.send = (request, ...rest) => (request.BasicTran.Amount === "6.66" ? {} : send.call(device, request, ...rest));
  await device.kill();
  for (let more = 0; more < 20; more += 1) await device.sell({ isOnline: false });
  for (const _ of [1, 2, 3]) await device.wait(20);

  assert.deepEqual(
    (await device.store.queue()).map((one) => one.id),
    [bad.id],
  );
});

test("13. A sale at the till is sent at once, while the queue waits for an answer or pauses", async () => {
  const device = await aDevice();
  const { send } = device;
  await device.sell({ isOnline: false, minor: 666 });
  device.send = (request, ...rest) =>
    request.BasicTran.Amount === "6.66" ? new Promise(() => {}) : send.call(device, request, ...rest);
  device.queue.hurry();

  assert.equal((await device.sell()).state, "paid");
});

test("2. Without connection a round asks for two sales, not for all", async () => {
  const device = await aDevice();
  device.faults = Array(100).fill("lost request");
  for (let more = 0; more < 20; more += 1) await device.sell({ isOnline: false });
  const left = device.faults.length;
  await device.wait(16);

  assert.ok(left - device.faults.length <= 2, `${left - device.faults.length}`);
});

test("2. The pause that the service asks for is kept, also when somebody looks at the page", async () => {
  const device = await aDevice();
  device.faults = ["busy"];
  await device.sell();
  const sent = device.service.sent.length;
  await device.sell({ isOnline: false }); // too many requests: it is asked of all sales
  device.elapsed += 1000;
  await device.queue.hurry();

  assert.equal(device.service.sent.length, sent);
  await device.wait(15);
  assert.deepEqual(await statesOf(device), ["paid", "paid"]);
});

test("3. While something waits it is sent at least each 15 seconds", async () => {
  const device = await aDevice();
  device.faults = Array(12).fill("lost request");
  await device.sell();
  for (let second = 0; second < 165; second += 1) await device.wait(1);

  assert.deepEqual(await statesOf(device), ["paid"]);
});

test("5. No sale is sent under another agent", async () => {
  const device = await aDevice();
  await device.sell({ isOnline: false });
  device.faults = ["lost request", "lost request"];
  await device.signIn(4);
  await device.wait(60);
  await device.wait(60);

  assert.deepEqual(
    device.service.sent.filter((one) => one.agent === 4),
    [],
  );
});

test("6. A sale that was begun online is repeated as it was", async () => {
  const device = await aDevice();
  device.faults = ["lost request"];
  const { id } = await device.sell();
  await device.wait(60);

  assert.equal(JSON.parse(device.service.taken.get(id).content).offline.OfflineMode, undefined);
});

test("6. Without the feature Offline, and with a linked card, nothing is sold without connection", async () => {
  const device = await aDevice();
  assert.equal((await device.sell({ tender: "linkedCard", isOnline: false })).refused.why, "connection");
  device.features = {};
  assert.equal((await device.sell({ isOnline: false })).refused.why, "connection");
  device.faults = ["lost answer"];
  assert.equal((await device.sell()).state, "unknown");
  assert.equal(device.service.taken.size, 1);
});

test("7. The numbers of a device are unique and grow, whatever is refused", async () => {
  const device = await aDevice();
  for (const description of ["", "poison", "", "declined", ""]) await device.sell({ description, isOnline: false });
  await device.kill();
  await device.sell({ isOnline: false });
  const numbers = (await device.store.newest(3, 10)).map((one) => one.number);

  assert.deepEqual(
    numbers,
    [6, 5, 4, 3, 2, 1].map((one) => `TEST2-00000${one}`),
  );
});

for (const days of [-2, 2]) {
  test(`8. A clock that is ${days} days wrong parks nothing, and Paid is the service's time`, async () => {
    const device = await aDevice();
    device.skew = days * 86_400_000;
    await device.sell(); // the answer shows the offset
    const { id } = await device.sell({ isOnline: false });
    await device.wait(30);

    assert.equal(device.service.taken.get(id).Paid, "2026-11-23T14:00:00.000");
  });

  test(`8. A clock that jumps ${days} days while nothing is answered parks nothing`, async () => {
    const device = await aDevice();
    device.faults = Array(6).fill("lost request");
    await device.sell({ isOnline: false });
    device.skew = days * 86_400_000;
    await device.sell({ isOnline: false });
    for (let round = 0; round < 6; round += 1) await device.wait(20);

    assert.deepEqual(await statesOf(device), ["paid", "paid"]);
  });
}

test("8. After an answer no Paid is later than the service's clock", async () => {
  const device = await aDevice();
  device.skew = 2 * 86_400_000;
  await device.sell({ isOnline: false, minor: 1 });
  device.faults = Array(8).fill("lost request");
  await device.sell({ isOnline: false, minor: 2 });
  for (let round = 0; round < 8; round += 1) await device.wait(20);
  const paid = [...device.service.taken.values()].map((one) => one.Paid?.slice(0, 13));

  assert.deepEqual(paid.sort(), ["2026-11-23T14", undefined]); // the service refused the time of one, and its answer showed the clock
});

test("2. A sale is not sent twice at once: the queue waits for the till", async () => {
  const device = await aDevice();
  let answer;
  let requests = 0;
  device.send = () => {
    requests += 1;
    return new Promise((resolve) => {
      answer = resolve;
    });
  };
  const selling = device.sell();
  while (!answer)
    await new Promise((resolve) => {
      setTimeout(resolve, 1);
    });
  await device.queue.hurry();

  assert.equal(requests, 1);
  answer({});
  await selling;
});

test("9. A full storage refuses the sale before money is taken", async () => {
  const device = await aDevice();
  device.isStorageFull = true;
  for (const isOnline of [true, false]) assert.equal((await device.sell({ isOnline })).refused.why, "storage");

  assert.equal(device.service.sent.length, 0);
});

for (const isOnline of [true, false]) {
  test(`12. A sale that is ${isOnline ? "online" : "offline"}, and whose commit comes after the refusal, is never sent`, async () => {
    const device = await aDevice();
    device.isStorageLate = true;
    assert.equal((await device.sell({ isOnline })).refused.why, "storage");
    device.isStorageLate = false;
    await device.commitLate();
    assert.deepEqual(await statesOf(device), []);
    for (const _ of [1, 2]) {
      await device.kill();
      await device.wait(60);
    }

    assert.equal(device.service.sent.length, 0);
    assert.equal(await raw(device), 0);
  });
}

// The records of the database, also the hidden ones.
const raw = (device) =>
  new Promise((resolve) => {
    device.factory.open("payments.till").onsuccess = ({ target }) => {
      const counted = target.result.transaction("sales").objectStore("sales").count();
      counted.onsuccess = () => {
        target.result.close();
        resolve(counted.result);
      };
    };
  });

test("12. A sale that the service refused and the storage cannot delete is not sent again", async () => {
  const device = await aDevice();
  const remove = device.store.remove;
  device.store.remove = async () => {
    throw new Error("The storage does not answer.");
  };
  const { refused } = await device.sell({ description: "poison" });
  device.store.remove = remove;
  const sent = device.service.sent.length;
  await device.kill();
  await device.wait(60);

  assert.equal(refused.why, "service");
  assert.equal(device.service.sent.length, sent);
});

test("12. Without localStorage the page remembers the refusal", async () => {
  const device = await aDevice();
  const { localStorage } = globalThis;
  delete globalThis.localStorage;
  device.isStorageLate = true;
  await device.sell();
  device.isStorageLate = false;
  await device.commitLate();
  await device.wait(60);
  globalThis.localStorage = localStorage;

  assert.equal(device.service.sent.length, 0);
});

test("15. An address that the service refuses parks no sale: it is sent without the receipt", async () => {
  const device = await aDevice();
  const receipt = { Phone: "+27829876543" };
  await device.sell({ receipt, isOnline: false });
  device.faults = ["lost request"];
  await device.sell({ receipt });
  for (const _ of [1, 2]) await device.wait(60);

  assert.deepEqual(await statesOf(device), ["paid", "paid"]);
  assert.ok((await device.store.newest(3, 2)).every((sale) => sale.hasNoReceipt));
  const { refused } = await device.sell({ receipt });
  assert.equal(refused.means, "no receipt"); // the page offers the sale without it
});

test("9. Where the browser may delete, at most 5,000.00 waits, and only sales without connection are limited", async () => {
  const device = await aDevice();
  device.isPersistent = false;
  device.faults = Array(50).fill("lost request");
  await device.sell({ minor: 300_000, isOnline: false });
  await device.sell({ minor: 200_000, isOnline: false });

  assert.equal((await device.sell({ minor: 1, isOnline: false })).refused.why, "limit");
  assert.equal((await device.sell({ minor: 900_000 })).state, "waiting");
});

test("9. The limit is worth the same in each currency that has one, and counts the money of that currency", () => {
  const yen = { minor: 30_000, draft: { currency: "JPY" } };

  assert.equal(roomOf([yen], { currency: "JPY", digits: 0 }), 10_000);
  assert.equal(roomOf([yen], { currency: "IDR", digits: 2 }), 450_000_000);
  assert.equal(roomOf([yen], { currency: "BTN", digits: 2 }), Infinity);
});

test("9. A parked sale counts against the limit too", async () => {
  const device = await aDevice();
  device.isPersistent = false;
  await device.sell({ minor: 300_000, description: "poison", isOnline: false });
  await device.wait(1);
  assert.deepEqual(await statesOf(device), ["parked"]);

  assert.equal((await device.sell({ minor: 200_001, isOnline: false })).refused.why, "limit");
  assert.equal((await device.sell({ minor: 200_000, isOnline: false })).refused, undefined);
});

test("9. A connection to the database that broke is opened again", async () => {
  const device = await aDevice();
  const { open } = device.factory;
  let opened = 0;
  let database;
  device.factory.open = (...given) => {
    opened += 1;
    const request = open.apply(device.factory, given);
    request.addEventListener("success", () => {
      database = request.result;
    });
    return request;
  };
  await device.kill();
  database.close();

  assert.equal((await device.sell({ isOnline: false })).number, "TEST2-000001");
  assert.equal(opened, 2);
});

test("9. A parked sale that is sent again while the storage is full stays parked, and the page tells of the storage", async () => {
  const device = await aDevice();
  await device.sell({ isOnline: false, description: "poison" });
  await device.wait(1);
  const [{ id }] = await device.store.queue();
  device.isStorageFull = true;
  await device.queue.sendAgain(id);

  assert.ok(device.queue.failure);
  assert.deepEqual(await statesOf(device), ["parked"]);
});

test("10. A sale of an earlier version is sent as that version made it", async () => {
  const device = await aDevice();
  const sale =
    JSON.parse(`{"id": "00000000-0000-4000-8000-00000000ABCD", "device": "OLD22", "counter": 7, "number": "OLD22-000007", "version": 1, "agent": 3, "gmt": 2,
    "draft": {"tender": "cash", "minor": 500, "digits": 2, "currency": "ZAR", "description": ""}, "minor": 500, "isOffline": true, "isShownPaid": true,
    "takenAt": 1795435200000, "queued": 7, "state": "waiting", "request": {"BasicTran": {"ID": "00000000-0000-4000-8000-00000000ABCD", "InputType": 10,
    "Amount": "5.00", "CurrencyID": "ZAR", "FieldOfThen": 1, "OfflineTran": {"OfflineMode": true, "Invoice": "OLD22-000007", "OfflineQueueId": "OLD22:7"}}}}`);
  await device.store.take(sale.id, () => sale);
  await device.kill();
  await device.wait(1);

  assert.equal(JSON.parse(device.service.taken.get(sale.id).content).basic.FieldOfThen, 1);
});

test("11. A sale is forgotten 31 days after its answer, and one that waits never", async () => {
  const device = await aDevice();
  await device.sell();
  device.faults = Array(50).fill("lost request");
  await device.sell({ isOnline: false });
  await device.store.forget(device.now() + 32 * 86_400_000);

  assert.deepEqual(await statesOf(device), ["waiting"]);
});

test("11. The request of a sale that was answered is deleted with its addresses", async () => {
  const device = await aDevice();
  await device.sell();

  assert.equal((await device.store.newest(3, 1))[0].request, undefined);
});

test("2. A pause that the service asks two sales for is kept for all", async () => {
  const device = await aDevice();
  device.faults = Array(9).fill("lost request");
  for (const _ of [1, 2, 3]) await device.sell({ isOnline: false });
  device.faults = [];
  const { service } = device;
  const { answer } = service;
  service.answer = (request) => {
    service.sent.push({ id: request.BasicTran.ID });
    return { status: 503, retryAfter: 25, body: { ErrorCode: 903, ErrorMessage: "Out of reach." } };
  };
  await device.wait(60);
  const sent = service.sent.length;
  await device.queue.hurry();

  assert.equal(service.sent.length, sent);
  service.answer = answer;
  await device.wait(26);
  assert.deepEqual(await statesOf(device), ["paid", "paid", "paid"]);
});

test("A sale that did not reach the bank is refused, because its ID is used up", async () => {
  const device = await aDevice();
  const { send } = device;
  device.send = async () => ({ status: 503, retryAfter: 1, body: { ErrorCode: 902, ErrorMessage: "Out of reach." } });
  const { refused } = await device.sell({ tender: "linkedCard" });
  device.send = send;

  assert.deepEqual([refused.why, refused.code], ["service", 902]);
  assert.deepEqual(await statesOf(device), []);
  assert.equal((await device.sell({ tender: "linkedCard" })).state, "paid");
});

test("No body, however strange, is taken for a refusal or stops the queue", async () => {
  const bodies = [
    { ErrorCode: 0, TransactionID: 5 },
    { ErrorCode: 404, message: "no" },
    { ErrorCode: 310 },
    { ErrorCode: 202, Validations: {} },
  ];
  for (const body of bodies) {
    for (const status of body.message ? [200, 400, 404] : [200]) {
      const device = await aDevice();
      const { send } = device;
      device.send = async () => ({ status, body });
      assert.equal((await device.sell()).state, "waiting", JSON.stringify([status, body]));
      device.send = send;
      await device.wait(60);
      assert.deepEqual(await statesOf(device), ["paid"]);
    }
  }
});

test("An answer about another sale, or without an ErrorCode, settles nothing", () => {
  const paid = { ErrorCode: 0, TransactionID: "B" };
  for (const answer of [
    {},
    { status: 200 },
    { status: 200, body: paid },
    { status: 200, body: { ErrorCode: 0 } },
    { status: 302, body: { ErrorCode: 0 } },
  ]) {
    assert.equal(meaning("A", answer).means, "again");
  }
});

const faults = fc.constantFrom(...FAULTS, undefined, undefined, undefined);
const command = fc.oneof(
  fc.record({
    do: fc.constant("sell"),
    isOnline: fc.boolean(),
    tender: fc.constantFrom("cash", "cash", "onAccount", "linkedCard"),
    description: fc.constantFrom("", "", "", "poison", "declined"),
    faults: fc.array(faults, { maxLength: 3 }),
  }),
  fc.record({
    do: fc.constant("wait"),
    seconds: fc.integer({ min: 1, max: 70 }),
    faults: fc.array(faults, { maxLength: 6 }),
  }),
  fc.record({ do: fc.constant("kill"), steps: fc.integer({ min: 0, max: 14 }) }),
  fc.record({
    do: fc.constantFrom(
      "end sessions",
      "sign in",
      "block",
      "unblock",
      "fill the storage",
      "empty the storage",
      "stall the storage",
      "commit",
      "send again",
      "look",
      "switch Offline off",
      "switch Offline on",
    ),
  }),
  fc.record({ do: fc.constant("set the clock"), days: fc.integer({ min: -2, max: 2 }) }),
);

const limit = (promise) =>
  Promise.race([
    promise,
    new Promise((resolve) => {
      setTimeout(resolve, 40, "stuck");
    }),
  ]);

async function run(device, one) {
  if (one.faults) device.faults = [...one.faults];
  if (one.do === "sell") await limit(device.sell(one)); // a killed page never returns
  if (one.do === "wait") await limit(device.wait(one.seconds));
  if (one.do === "kill") device.visit.stepsLeft = one.steps;
  if (one.do === "end sessions") device.endSessions();
  if (one.do === "sign in") await device.signIn();
  if (one.do === "block") device.service.blocked.add(3);
  if (one.do === "unblock") device.service.blocked.clear();
  if (one.do === "fill the storage") device.isStorageFull = true;
  if (one.do === "empty the storage") Object.assign(device, { isStorageFull: false, isStorageLate: false });
  if (one.do === "stall the storage") device.isStorageLate = true;
  if (one.do === "commit") await device.commitLate();
  if (one.do === "look") await limit(device.queue.hurry());
  if (one.do === "switch Offline off") device.features = {};
  if (one.do === "switch Offline on") device.features = { Offline: true };
  if (one.do === "set the clock") device.skew = one.days * 86_400_000;
  if (one.do === "send again")
    for (const sale of await device.store.queue())
      if (sale.state === "parked") await limit(device.queue.sendAgain(sale.id));
  if (device.visit.isOver) await device.begin();
}

// Every sale that was shown as paid is at the service once, or is parked; nothing else took money unseen.
async function check(device) {
  const sales = await device.heal();
  const byId = new Map(sales.map((sale) => [sale.id, sale]));
  assert.deepEqual(
    (await device.store.queue()).filter((sale) => sale.state !== "parked"),
    [],
    "the queue drained",
  );
  for (const [id, shown] of device.shown) {
    const sale = byId.get(id);
    assert.ok(sale, `${id} was shown as ${shown} and is gone`);
    const isTaken = device.service.taken.has(id) && !device.service.taken.get(id).isDeclined;
    if (shown === "paid") assert.equal(sale.state, "paid");
    if (shown === "waiting")
      assert.ok(["paid", "parked"].includes(sale.state), `${id} was shown as paid and is ${sale.state}`);
    assert.equal(sale.state === "paid", isTaken, `${id} is ${sale.state}`);
  }
  const { basket: kept } = await device.store.facts();
  const sold = sales.find((sale) => sale.draft.key === kept?.key);
  if (sold) assert.equal(kept.id, sold.id, "the basket of a stored sale is not offered again");
  for (const [id, { agent, isDeclined }] of device.service.taken) {
    assert.equal(agent, 3);
    if (!isDeclined)
      assert.equal(byId.get(id)?.state, "paid", `${id} took money, and the till shows ${byId.get(id)?.state}`);
  }
  for (const id of device.refused) {
    assert.ok(!device.service.taken.has(id), `${id} was shown as refused and was sent`);
    assert.ok(!byId.has(id), `${id} was shown as refused and is there`);
  }
  assert.ok(device.service.taken.size <= device.attempts, "a sale was sent under two IDs");
  assert.equal(new Set(sales.map((sale) => sale.number)).size, sales.length);
}

test(`In ${SCENARIOS} random scenarios each sale that was shown as paid is at the service once, or parked`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 25 }), async (commands) => {
      const device = await aDevice();
      for (const one of commands) await run(device, one);
      await check(device);
    }),
    { numRuns: SCENARIOS, seed: process.env.SEED ? Number(process.env.SEED) : undefined, endOnFailure: false },
  );
});
