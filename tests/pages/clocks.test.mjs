// The pages and the clock of the device: midnight between two steps, a clock that is wrong, and one that is set meanwhile.
import assert from "node:assert/strict";
import { START } from "./device.mjs";
import {
  CASHIER,
  ITEM,
  LIST,
  OWNER,
  OWNERS_TILL,
  PAYMENT,
  SUPPORT,
  Shop,
  aSale,
  aShop,
  aTill,
  kindOf,
  listed,
} from "./pages.mjs";
import { test } from "./runner.mjs";

const HOUR_MS = 3_600_000;
const SKEWS_H = [0, -30, 3]; // hours by which a clock is wrong

const dayOf = (tab, gmt) => new Date(START + tab.clock.now + gmt * HOUR_MS).toISOString().slice(0, 10);

// The day that Today asks for.
const askedDay = (tab) =>
  tab.sent.findLast(
    ({ path, body }) => path === "report/takings" && body.By === "hour" && body.Period.From > "2026-11-20",
  ).body.Period.From;

async function choose(tab, merchant) {
  tab.go("#/merchant");
  await tab.settle();
  await tab.fill({ merchant: String(merchant) });
  await tab.press("Choose");
}

async function reload(tab) {
  tab.open();
  await tab.settle();
}

async function signInAgain(tab, end = () => tab.shop.tokens.clear()) {
  end();
  await tab.press("Refresh");
  await tab.fill({ password: "x" });
  tab.fire(tab.all("dialog form")[0], "submit");
  await tab.settle();
}

// The steps of a person, and the zone of the merchant that is then shown.
const STEPS = {
  "chooses Asia": [(tab) => choose(tab, 13), 13],
  "chooses Hawaii": [(tab) => choose(tab, 100), -10],
  "loads again": [reload],
  "signs in again": [signInAgain],
  looks: [() => {}],
};
const ZONES = { 13: 13, 100: -10 };
const PEOPLE = ({ path }) => ({
  PosList: [{ ...OWNERS_TILL, ID: Number(path.split("/")[1]) }],
  PosCounters: { PageCount: 1 },
});

async function lookAtToday(tab) {
  for (const view of ["#/days", "#/today"]) {
    tab.go(view);
    await tab.settle();
  }
  return askedDay(tab);
}

test("The day of the shop is the merchant's, whatever midnight is between which steps", async () => {
  let turn = 0;
  for (const first of ["chooses Asia", "chooses Hawaii"]) {
    for (const second of Object.keys(STEPS)) {
      turn += 1;
      const hours = [7, 11, 23][turn % 3];
      const tab = await aShop({ me: SUPPORT, hash: "#/today", answers: { "merchant/pos/list": PEOPLE } });
      tab.skew = [0, -48, 48][turn % 3] * HOUR_MS; // of a clock with the wrong day
      tab.shop.zones = ZONES;
      await reload(tab);
      let zone;
      for (const name of [first, second, "looks"]) {
        const [step, itsZone] = STEPS[name];
        await tab.sleep(hours);
        await step(tab);
        zone = itsZone ?? zone;
        assert.equal(await lookAtToday(tab), dayOf(tab, zone), `${first}, ${second}, ${hours} h each: ${name}`);
      }
    }
  }
});

test("The shop's day after a sign-in is the service's, also when the clock was set since somebody else signed in", async () => {
  const tab = await aShop({ hash: "#/today" });
  await tab.press("Sign out");
  await tab.sleep(30);
  tab.skew = -5 * HOUR_MS;
  await tab.fill({ email: OWNER.Email, password: "x" });
  await tab.press("Sign in");

  assert.equal(askedDay(tab), dayOf(tab, 2));
});

test("A view of the shop that is open at midnight goes on with the next day", async () => {
  const tab = await aShop({ hash: "#/today" });
  await tab.pass(9.9 * 3600);
  assert.equal(askedDay(tab), "2026-11-23");
  await tab.pass(0.2 * 3600);
  tab.go("#/days");
  await tab.settle();
  tab.go("#/today");
  await tab.settle();
  assert.equal(askedDay(tab), "2026-11-24");
});

test("At midnight of the merchant the views of the till go on with the next day, with the basket and the open drawer", async () => {
  for (const hash of ["#/sales", "#/day"]) {
    const tab = await aTill({ answers: { "payment/listHistoryEx": listed(PAYMENT) } });
    await tab.press("Tea R 25.00");
    tab.go(hash);
    await tab.pass(1);
    await tab.sleep(10.1);
    await tab.pass(3);
    const { Period } = tab.sent.findLast(({ body }) => body?.Period).body;
    assert.deepEqual([tab.document.getElementById("day").value, Period.From], ["2026-11-24", "2026-11-24"]);
    if (hash === "#/day") assert.ok(tab.offered().includes("Count and close"));
    tab.go("#/sell");
    await tab.settle();
    assert.equal(tab.all("[data-testid='line']").length, 1);
  }
});

test("The days of the till are the merchant's by the service's clock, however wrong the device's is", async () => {
  for (const hours of SKEWS_H) {
    for (const [isOnline, passed] of [
      [true, 0],
      [true, 11],
      [false, 0],
      [false, 11],
    ]) {
      const skew = hours * HOUR_MS;
      const sold = aSale({ state: "paid", takenAt: START - 60_000 });
      const tab = await aTill({
        sales: [sold],
        skew,
        isOnline,
        facts: { offset: -skew },
        hash: "#/sales",
        answers: { "payment/listHistoryEx": listed({ ...PAYMENT, CountRvs: 2 }) },
      });
      await tab.sleep(passed);
      if (isOnline && passed) await tab.load("till/till.js").signIn(CASHIER.Email, "x");
      tab.go("#/sell");
      await tab.settle();
      tab.go("#/sales");
      await tab.pass(1);
      const field = () => tab.document.getElementById("day");
      assert.deepEqual(
        [field().value, field().getAttribute("max")],
        [dayOf(tab, 2), dayOf(tab, 2)],
        `${hours} h wrong, online: ${isOnline}, after ${passed} h`,
      );
      if (!isOnline) assert.equal(tab.all("[data-sale-id]").length, passed ? 0 : 1);
      if (isOnline)
        assert.equal(
          tab.sent.findLast(({ body }) => body?.ListBasicModel?.InvoiceOriginal).body.Period.To,
          dayOf(tab, 2),
        ); // of the returns of a payment
      tab.go("#/day");
      await tab.pass(1);
      assert.equal(field().value, dayOf(tab, 2));
      if (isOnline)
        assert.equal(tab.sent.findLast((one) => one.path === "report/takings").body.Period.To, dayOf(tab, 2));
    }
  }
});

// Minutes since the sale, hours by which the clock is wrong, and whether the sale can be returned and is still told.
const AGES = [
  [14, 3, false, true],
  [14, -30, false, true],
  [16, -30, false, false],
  [23.9 * 60, 3, false, false],
  [24.1 * 60, -30, true, false],
];

test("A sale can be returned a day after it was taken, and its end is told for 15 minutes, by the service's clock", async () => {
  for (const [minutes, hours, isReturned, isTold] of AGES) {
    const skew = hours * HOUR_MS;
    const sales = [aSale({ state: "paid", takenAt: START - minutes * 60_000 })];
    const usual = {
      skew,
      sales,
      facts: { offset: -skew },
      answers: { "payment/listHistoryEx": { status: 500, ErrorCode: 901 } },
    };
    const told = await aTill({ ...usual, isTold: true });
    assert.equal(told.offered().includes("New sale"), isTold, `${hours} h wrong, ${minutes} minutes ago`);
    const tab = await aTill({ ...usual, hash: `#/sales?search=${sales[0].number}` });
    await tab.pass(1);
    assert.equal(tab.offered().includes("Return…"), isReturned, `${hours} h wrong, ${minutes} minutes ago`);
  }
});

test("What was sold before somebody set the clock right, without connection, keeps its time", async () => {
  for (const hours of [3, -3]) {
    const tab = await aTill({
      isOnline: false,
      skew: hours * HOUR_MS,
      facts: { offset: -hours * HOUR_MS },
      hash: "#/amount",
    });
    await tab.press("5", "00", "Cash", "Take payment");
    await tab.pass(60);
    tab.skew = 0;
    tab.isOffline = false;
    await tab.pass(60);
    const sent = tab.sent.filter((one) => one.path === "payment/submit").map((one) => one.body);

    assert.deepEqual(
      [...new Set(sent.map((one) => one.BasicTran.OfflineTran.Paid.slice(0, 16)))],
      ["2026-11-23T14:00"],
    );
  }
});

test("After a result the keyboard waits a moment, and the page half a minute for its next version, also when the clock is set", async () => {
  for (const hours of SKEWS_H) {
    const tab = await aTill();
    await tab.press("Tea R 25.00", "Cash", "Take payment");
    tab.skew = hours * HOUR_MS;
    const { isIdle } = tab.load("till/sale.js");
    const isHeld = () => !tab.fire(tab.button("New sale"), "keydown", { key: "Enter" });
    assert.deepEqual([isHeld(), isIdle()], [true, false]);
    await tab.pass(1);
    assert.deepEqual([isHeld(), isIdle()], [false, false], `set by ${hours} h`);
    await tab.pass(30);
    assert.equal(isIdle(), true, `set by ${hours} h`);
  }
});

test("The till reads prices, features and rights each minute and after each sale, the rest in ten minutes, however the clock is set", async () => {
  const count = (tab, kind) => tab.sent.filter(({ path }) => kindOf(path) === kind).length;
  for (const [minutes, event] of [
    [0.5, "focus"],
    [9, "focus"],
    [11, "visibilitychange"],
    [-11, "pageshow"],
    [-300, "focus"],
    [300, "online"],
  ]) {
    const tab = await aTill();
    await tab.pass(1);
    const before = ["merchant/pricelist", "merchant/pos/ID"].map((kind) => count(tab, kind));
    tab.skew = minutes * 60_000;
    for (let round = 0; round < 2; round += 1) {
      tab.fire(tab.document.root, event);
      await tab.pass(1);
    }
    const expected = [Math.abs(minutes) >= 1, Math.abs(minutes) >= 10].map((isRead, place) => before[place] + isRead);
    assert.deepEqual(
      ["merchant/pricelist", "merchant/pos/ID"].map((kind) => count(tab, kind)),
      expected,
      `set by ${minutes} minutes`,
    );
  }
  const tab = await aTill();
  const read = async (seconds) => {
    const before = count(tab, "user/me");
    await tab.pass(seconds);
    assert.equal(count(tab, "user/me") - before, count(tab, "merchant/pricelist") - before, "both together");
    return count(tab, "user/me") - before;
  };
  assert.equal(await read(121), 2);
  tab.document.visibilityState = "hidden";
  assert.equal(await read(121), 0, "nobody sees it");
  tab.document.visibilityState = "visible";
  await tab.press("Tea R 25.00", "Cash");
  assert.equal(await read(121), 0, "something is being paid");
  await tab.press("Take payment");
  assert.equal(await read(1), 0, "it was read after the sale");
  assert.equal(tab.sent.at(-1).path, "merchant/7/pricelist?Version=4");
});

test("What is in the basket keeps its price and says the new one, and features and rights are those of now", async () => {
  const tab = await aTill();
  await tab.press("Tea R 25.00", "One more");
  tab.shop.answers["merchant/pricelist"] = { PriceList: { ...LIST, Version: 5, Items: [{ ...ITEM, Price: "27.00" }] } };
  tab.shop.features = { AcceptCash: true };
  await tab.pass(61);
  assert.ok(tab.text.includes("The price is now R 27.00."));
  await tab.press("Tea R 27.002");
  assert.deepEqual(
    tab.all("[data-testid='line']").map((one) => [one.dataset.quantity, one.textContent.includes("now")]),
    [
      ["2", true],
      ["1", false],
    ],
  );
  assert.deepEqual([tab.offered().includes("Cash"), tab.offered().includes("Prepaid")], [true, false]);
  const { session, account } = await tab.store.facts();
  assert.deepEqual([session.me.Features, account.features.AcceptPrepaid], [{ AcceptCash: true }, undefined]);
});

test("A time in Retry-After is waited for, and one that has passed is not", async () => {
  for (const [seconds, sent] of [
    [3, 3],
    [60, 1],
    [-5, 1],
  ]) {
    const shop = new Shop();
    shop.answers = {
      "merchant/pos/list": () => ({
        status: 503,
        ErrorCode: 903,
        retryAfter: new Date(START + shop.elapsed() + seconds * 1000).toUTCString(),
      }),
    };
    const tab = await aShop({ hash: "#/tills", shop });
    await tab.pass(10);
    assert.equal(tab.sent.filter(({ path }) => path.endsWith("pos/list")).length, sent, `${seconds} s`);
  }
});
