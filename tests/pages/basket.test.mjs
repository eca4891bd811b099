// The basket of the till: its sums, its discounts, and the lines that it sells.
import assert from "node:assert/strict";
import {
  EMPTY,
  byGroup,
  countOf,
  dueOf,
  favouritesOf,
  fits,
  matching,
  scanned,
  sellable,
  soldLines,
  sumOf,
  withItem,
  withLine,
  withMore,
} from "../../chalicelib/pages/till/basket.js";
import { handed } from "../../chalicelib/pages/kit/notes.js";
import { decimal, descriptionOf, minorOf } from "../../chalicelib/pages/till/rules.js";
import { fc } from "./device.mjs";
import { test } from "./runner.mjs";

const ZAR = { tender: "cash", currency: "ZAR", country: "ZA" };
const a = (code, price, changes) => ({
  code,
  title: code,
  price,
  quantity: "1",
  unit: null,
  taxes: [],
  off: null,
  ...changes,
});
const quantities = fc.oneof(
  fc.integer({ min: 1, max: 40 }).map(String),
  fc.integer({ min: 1, max: 9999 }).map((units) => decimal(units, 3)),
);
const offs = fc.oneof(
  fc.constant(null),
  fc.integer({ min: 1, max: 50_000 }).map((minor) => ({ minor })),
  fc.integer({ min: 1, max: 10_000 }).map((units) => ({ percent: decimal(units, 2) })),
);
const someLines = fc.array(
  fc.record({
    price: fc.integer({ min: 0, max: 100_000 }),
    quantity: quantities,
    taxes: fc.constantFrom([], ["A"], ["A", "B"]),
    off: offs,
  }),
  { minLength: 1, maxLength: 8 },
);
const baskets = fc
  .record({ lines: someLines, off: offs, figures: fc.constantFrom("", "0", "1234") })
  .map((basket) => ({ ...basket, lines: basket.lines.map((line, number) => a(`item ${number}`, line.price, line)) }));

// Price × quantity as the service rounds it.
function rounded({ price, quantity }) {
  const [whole, fraction = ""] = quantity.split(".");
  const [units, one] = [BigInt(price) * BigInt(whole + fraction), 10n ** BigInt(fraction.length)];
  const half = (2n * (units < 0n ? -units : units) + one) / (2n * one);
  return Number(units < 0n ? -half : half);
}

test("The sold lines add up to the sum, and the service rounds each line to the same", () => {
  fc.assert(
    fc.property(baskets, (basket) => {
      const sold = soldLines(basket, "Amount");

      assert.equal(
        sold.reduce((total, line) => total + line.minor, 0),
        sumOf(basket),
      );
      for (const line of sold) {
        assert.equal(rounded(line), line.minor + line.discount);
        assert.ok(line.minor >= 0 && line.discount >= 0);
      }
    }),
  );
});

test("In cash goods and typed amounts are rounded to the coin, and to no more than the service takes", () => {
  const basket = { ...EMPTY, lines: [a("coffee", 3800, { quantity: "2" }), a("cake", 8353)] };

  assert.equal(dueOf(basket, ZAR), 15950);
  assert.equal(dueOf(basket, { ...ZAR, tender: "prepaid" }), 15953);
  assert.equal(dueOf({ ...EMPTY, figures: "1234" }, ZAR), 1230);
  assert.equal(dueOf({ ...EMPTY, figures: "1234" }, { ...ZAR, tender: "prepaid" }), 1234);
  assert.equal(dueOf({ ...EMPTY, figures: "99999999999" }, ZAR), 99_999_999_990);
  assert.equal(dueOf({ ...EMPTY, lines: [a("bag", 4)] }, ZAR), 10);
  assert.equal(dueOf({ ...EMPTY, lines: [a("kaas", 1238)] }, { tender: "cash", currency: "EUR", country: "NL" }), 1240);
  assert.equal(dueOf({ ...EMPTY, lines: [a("Käse", 1238)] }, { tender: "cash", currency: "EUR", country: "DE" }), 1238);
  fc.assert(
    fc.property(baskets, (some) => {
      const due = dueOf(some, ZAR);
      assert.ok(!sumOf(some) || (due % 10 === 0 && Math.abs(due - sumOf(some)) < 10)); // the service takes less than a coin above
    }),
  );
});

test("A discount is that of its line, and one on all is shared by what the lines cost", () => {
  const [jam, tea] = [a("jam", 10_000, { taxes: ["VAT15"] }), a("tea", 5_005, { taxes: ["VAT0"], note: "hot" })];
  const ten = { percent: "10" };
  for (const [changes, expected] of [
    [{ lines: [jam, { ...tea, off: ten }] }, ["jam VAT15 10000 0", "tea · hot VAT0 4504 501"]],
    [{ lines: [jam, tea], off: ten }, ["jam VAT15 9000 1000", "tea · hot VAT0 4504 501"]],
    [{ lines: [jam, tea], off: { minor: 4 } }, ["jam VAT15 9997 3", "tea · hot VAT0 5004 1"]],
    [
      { lines: [{ ...jam, off: { percent: "50" } }], figures: "2000", off: ten },
      ["jam VAT15 4500 5500", "Amount VAT5 1800 200"],
    ],
    [
      { lines: [{ ...jam, off: { percent: "100" } }, tea], off: { minor: 9_000 } },
      ["jam VAT15 0 10000", "tea · hot VAT0 0 5005"],
    ],
    [{ figures: "2000" }, []],
  ])
    assert.deepEqual(
      soldLines({ ...EMPTY, ...changes }, "Amount", ["VAT5"]).map((one) =>
        [one.title, one.taxes, one.minor, one.discount].join(" "),
      ),
      expected,
    );
  fc.assert(
    fc.property(baskets, (some) => {
      const [before, after] = [{ ...some, off: null }, some].map((one) => soldLines(one, "Amount"));
      const [all, left] = [{ ...some, off: null }, some].map(sumOf);
      for (const [place, { minor }] of before.entries())
        assert.ok(Math.abs(after[place].minor - (all ? (minor * left) / all : 0)) < 1.001);
    }),
  );
});

test("A customer hands over notes of the currency", () => {
  for (const [minor, currency, digits, expected] of [
    [15950, "ZAR", 2, [16000, 20000]],
    [3800, "ZAR", 2, [4000, 5000, 10000, 20000]],
    [1_234_500, "ZAR", 2, [1_235_000, 1_236_000, 1_240_000]],
    [20000, "ZAR", 2, []],
    [320, "JPY", 0, [1000, 2000, 5000, 10_000]],
    [1_300, "KWD", 3, [1500, 2000, 5000, 10_000, 20_000]],
    [38_500, "VND", 0, [39_000, 40_000, 50_000, 100_000, 200_000, 500_000]],
    [500, "XPF", 0, []],
  ])
    assert.deepEqual(handed(minor, currency, digits), expected, `${minor} ${currency}`);
});

test("The same item at the same price is one line, and one less leaves a weight and takes the last piece away", () => {
  const olives = a("y", 100, { quantity: "1.350", unit: "kg" });
  let basket = [a("x", 100), a("x", 100), a("x", 90), olives].reduce(withItem, EMPTY);
  const quantities = () => basket.lines.map((line) => line.quantity);
  assert.deepEqual(quantities(), ["2", "1", "1.350"]);
  assert.equal(countOf({ ...basket, figures: "500" }), 5);
  assert.equal(withItem(withLine(basket, 0, { note: "No milk" }), a("x", 100)).lines.length, 4);
  for (const place of [2, 2, 0, 0]) basket = withMore(basket, place, "-1");
  assert.deepEqual(quantities(), ["1", "0.35"]);
});

test("A discount on all stays as long as there is a line, and goes with the last one", () => {
  const one = { title: "Tea", price: "12", quantity: "1", taxes: [] };
  const basket = { ...EMPTY, lines: [one, one], off: { percent: "10" } };
  const left = withMore(basket, 0, "-1");

  assert.deepEqual([left.off, withMore(left, 0, "-1").off], [basket.off, null]);
});

test("A description is cut between its characters, without what is no text", () => {
  assert.equal(descriptionOf(` ${"x".repeat(1_023)}🧾🧾 `), `${"x".repeat(1_023)}🧾`);
  assert.equal(descriptionOf("a\u0000b\ud83ec"), "a b c");
});

test("No more is sold than the service takes", () => {
  const many = {
    ...EMPTY,
    lines: Array.from({ length: 100 }, (_, number) => a(`${number}`, 100, { off: { minor: 1 } })),
  };

  assert.ok(fits(many));
  assert.ok(!fits({ ...many, figures: "5" }));
  assert.ok(!fits({ ...EMPTY, lines: [a("gold", 99_999_999_999, { quantity: "2" })] }));
  assert.equal(minorOf("1234567890.00", 2), null);
  assert.equal(minorOf("0012.5", 2), 1250);
  assert.equal(minorOf("12.345", 2), null);
});

test("A scan is the item whose barcode or code equals it, in each form of the number, and no other", () => {
  const items = [
    ["upc", "036000291452"],
    ["ean8", "96385074"],
    ["ean13", "6001240100011"],
    ["gtin14", "16001240100018"],
    ["6001240100011", null],
    ["0291", null],
  ].map(([Code, Barcode]) => ({ Code, Barcode }));
  const [gs, upc] = ["\x1d", "0100036000291452"];
  for (const [code, scans] of Object.entries({
    upc: ["036000291452", "0036000291452", "00036000291452", "]E00036000291452", `]C1${upc}`, `${upc}10A1${gs}21B`],
    ean8: ["96385074", "0000096385074", "00000096385074", "]E496385074", "(01)00000096385074(10)A"],
    ean13: ["6001240100011", `]d2${gs}1726123110LOT7${gs}0106001240100011`, "06001240100011", "ean13"],
    gtin14: ["16001240100018", "(17)261231(01)16001240100018", "3103001250011600124010001810A"],
    "0291": ["0291", "]Q10291"],
  }))
    for (const scan of scans) assert.equal(scanned(items, scan)?.Code, code, JSON.stringify(scan));
  for (const scan of [
    "3600029145",
    "60012401000",
    "291",
    "0291x",
    `21${upc}`,
    "EAN8",
    "0106001240100012",
    "]E0",
    "(10)0291",
  ])
    assert.equal(scanned(items, scan), undefined, scan);
});

test("Items are found by words, codes and barcodes, those first whose title has the words", () => {
  const items = [
    { Code: "1", Title: "Crème brûlée", Price: "38.00", Group: "Desserts", Barcode: "036000291452" },
    { Code: "2", Title: "Tea", Price: null },
    { Code: "3", Title: "Old", Price: "1", Active: false },
    { Code: "4", Title: "Fine", Price: "1.234" },
    { Code: "tea", Title: "Rusk", Price: "1.00", Group: "With tea" },
    { Code: "5", Title: "Steak", Price: "1.00" },
    { Code: "6", Title: "Green tea", Price: "1.00" },
  ];
  const found = sellable(items, 2);

  for (const [typed, codes] of [
    ["", "12tea56"],
    ["brulee DESS", "1"],
    ["TEA", "265tea"],
    ["te gr", "6"],
    ["291452", "1"],
    ["xyz", ""],
  ])
    assert.equal(
      matching(found, typed)
        .map((item) => item.Code)
        .join(""),
      codes,
      typed,
    );
  assert.deepEqual(
    byGroup(found).map(([name, held]) => [name, held.length]),
    [
      ["", 3],
      ["Desserts", 1],
      ["With tea", 1],
    ],
  );
  const sold = (...codes) => ({ draft: { basket: { lines: codes.map((code) => ({ code })) } } });
  assert.deepEqual(favouritesOf([{ draft: {} }, ...Array(3).fill(sold("a", "b")), sold("b", "c"), sold("c")]), [
    "b",
    "a",
  ]);
});
