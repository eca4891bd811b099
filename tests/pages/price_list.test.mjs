// The price list of the shop's page: its CSV, its differences, and the changes of two people.
import assert from "node:assert/strict";
import { difference, merged } from "../../chalicelib/pages/shop/price_changes.js";
import { read, withItems, write } from "../../chalicelib/pages/shop/price_csv.js";
import { test } from "./runner.mjs";

const NOTHING = { Price: null, Unit: null, TaxCode: null, Group: null, Barcode: null, Active: true };
const TAXES = [{ Code: "VAT15", Name: "VAT", Rate: "15" }];
const an = (Code, fields) => ({ Code, Title: `The ${Code}`, ...NOTHING, ...fields });
const ITEMS = [
  an("coffee", { Price: "38.00", TaxCode: "VAT15", Group: "Drinks", Barcode: "6001240100011" }),
  an("=1+1", { Title: "'=cmd|'/c calc'!A0", Group: '"quoted", and; more', Price: "0.00", Active: false }),
  an("-5", { Title: "'-a quotation'", Unit: "kg", Group: "two\r\nlines" }),
  an(" a;=b ", { Title: "日本\u200b=x", Price: "12345678901234567.89" }),
];
const readAs = (text, options) => read(text, { taxes: TAXES, items: [], digits: 2, currency: "ZAR", ...options });
const problemsOf = (text, options) =>
  readAs(text, options).problems.map(({ line, column, code }) => [line, column, code].filter(Boolean).join(" "));

test("What is exported is read again unchanged", () => {
  for (const currency of ["ZAR", "USD"])
    assert.deepEqual(readAs(write(ITEMS, currency), { currency }), { items: ITEMS, problems: [], others: [] });
});

test("No cell of the export is computed", () => {
  const text = write(ITEMS, "ZAR");

  assert.ok(text.startsWith("\ufeffCode;Title;Price;Unit;TaxCode;Group;Barcode;Active\r\ncoffee;The coffee;38,00;"));
  assert.ok(text.includes("\r\n'=1+1;''=cmd|"));
  assert.ok(text.includes("\r\n'-5;''-a quotation'"));
  assert.ok(
    write(ITEMS, "USD").startsWith(
      "\ufeffCode,Title,Price,Unit,TaxCode,Group,Barcode,Active\r\ncoffee,The coffee,38.00,",
    ),
  );
});

// What a spreadsheet takes for a formula: in any part that a semicolon makes, after quotes, spaces and marks that nobody sees.
test("A text with a formula anywhere is not computed, and is read again unchanged", () => {
  const signs = ["=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20"];
  const hidden = ["", " ", "\u200b", "\u2800", "\ufeff", '"', "\u00a0\u0301", "\u3164"];
  const texts = signs.flatMap((sign) =>
    hidden.flatMap((mark) => [`${mark}${sign}1+1`, `Tea;${mark}${sign}1+1`, `a;b;${mark}${sign}1`, `'${mark}${sign}1`]),
  );
  for (const Title of [...texts, "Tea; milk", "'Tea'", "''=1", "Tea;'=1"]) {
    const written = write([an("a", { Title, Group: "Tea;=1" })], "USD");
    const { items, problems } = readAs(written);
    assert.deepEqual(problems, []);
    assert.equal(items[0].Title, Title);
    const [, first] = written.match(/\r\na,"?(.)/u);
    if (texts.includes(Title)) assert.equal(first, "'", JSON.stringify(Title));
    assert.ok(written.includes("'Tea;=1"));
  }
});

for (const [name, text] of [
  ["a comma", 'code,TITLE,price,taxcode,active\ncoffee,"Coffee, black",38.50,vat15,TRUE\n'],
  [
    "a semicolon and a decimal comma",
    '\ufeffCode;Title;Price;TaxCode;Active\r\ncoffee;"Coffee, black";38,50;VAT15;yes\r\n;;;;\r\n',
  ],
  [
    "spaces around what is no text",
    'Code,Title,Price,TaxCode,Active\ncoffee,"Coffee, black", 38.50 ," vat15 ", Yes \n',
  ],
  [
    "what spreadsheets leave: a named separator, an empty last column, short rows, blanks and signs of money",
    "sep=\t\r\nCode\tTitle\tPrice\tTaxCode\tActive\tGroup\t\r\ncoffee\tCoffee, black\tR\u00a038,50\tVAT15\tWAAR\t\t\t\r\n",
  ],
  ["short rows", "Code;Title;Price;TaxCode;Group;Barcode\r\ncoffee;Coffee, black;ZAR 38.5;VAT15\r\n"],
  ["quotes", '"Code","Title","Price","TaxCode","Active"\r"coffee","Coffee, black","38.50","VAT15",""'],
]) {
  test(`A file is read with ${name}`, () => {
    const { items, ...rest } = readAs(text);
    const plain = (one) => ({ ...one, Price: Number(one.Price) });
    assert.deepEqual(items.map(plain), [an("coffee", { Title: "Coffee, black", Price: 38.5, TaxCode: "VAT15" })]);
    assert.deepEqual(rest, { problems: [], others: [] });
  });
}

test("A field without a column stays as it is", () => {
  const { items, problems } = readAs("Code,Price\ncoffee,40\n", { items: ITEMS });

  assert.deepEqual(problems, []);
  assert.deepEqual(items, [{ ...ITEMS[0], Price: "40" }]);
});

test("A file changes what it has, and leaves other items and columns as they are", () => {
  const { items, problems, others } = readAs("Supplier,Code,Title,Active\nx,new,Tea,FALSE\ny,coffee,Kaffee,ONWAAR\n", {
    items: ITEMS,
  });

  assert.deepEqual([problems, others], [[], ["Supplier"]]);
  const changed = { ...ITEMS[0], Title: "Kaffee", Active: false };
  assert.deepEqual(withItems(ITEMS, items), [changed, ...ITEMS.slice(1), an("new", { Title: "Tea", Active: false })]);
});

test("A price is read as it is meant, or refused", () => {
  const priceOf = (price) => readAs(`Code;Title;Price\na;Tea;"${price}"\n`).items[0].Price;
  for (const [typed, price] of [
    ["1 234,50", "1234.50"],
    ["1.234,50", "1234.50"],
    ["1,234.50", "1234.50"],
    ["1,234,567.5", "1234567.5"],
    ["1\u202f234.5", "1234.5"],
    ["R1 234", "1234"],
    ["R 38,5", "38.5"],
    ["38 €", "38"],
    ["$0.5", "0.5"],
    ["", null],
  ])
    assert.equal(priceOf(typed), price, typed);
  for (const typed of ["1,500", "1.500", "38.005"]) assert.deepEqual(priceOf(typed), { code: "decimals" }, typed);
  for (const typed of ["-1", "1.2.3", "1,2,3", "12,34.5", "a lot", "R", "1e3"])
    assert.deepEqual(priceOf(typed), { code: "price" }, typed);
});

for (const [text, expected] of [
  ["", "1 empty"],
  ["Title,Price\nTea,1\n", "1 Code noColumn"],
  ["Name,Price,Group,VAT\nTea,1,Drinks,15\n", "1 Code, Title noColumn"],
  ["Code,Code\n", "1 Code twice"],
  ["Code,Price\nnew,1\n", "2 Title needed"],
  ["Code,Title\n,Tea\n", "2 Code needed"],
  ['Code,Title\n"a\nb",Tea\n\nc,Cake,1\n', "5 cells"],
  ["Code,Title\nc\n", "2 Title needed"],
  ['Code,Title\na,"Tea\n', "2 quote"],
  ['Code,Title\na,"Tea" b\n', "2 quote"],
  ["Code,Title,Price\na,Tea,-1\n", "2 Price price"],
  ["Code,Title,Price\na,Tea,1.005\n", "2 Price decimals"],
  ["Code;Title;Price\na;Tea;1,500\n", "2 Price decimals"], // a thousand and a half, or one rand fifty
  ["Code,Title,Barcode\na,Tea,6.00124E+12\n", "2 Barcode barcode"],
  ["Code,Title,Barcode\na,Tea,6001240100012\n", "2 Barcode barcode"],
  ["Code,Title,Barcode\na,Tea,036000291452\nb,Tea,0036000291452\n", "3 Barcode twice"],
  ["Code,Title,TaxCode\na,Tea,VAT14\n", "2 TaxCode tax"],
  ["Code,Title,Active\na,Tea,perhaps\n", "2 Active active"],
  ["Code,Title\na,Tea\nA,Tea\na,Tea\n", "4 Code twice"],
  [`Code,Title\na,${"x".repeat(129)}\n`, "2 Title long"],
  [`Code,Title\n${Array.from({ length: 501 }, (_, n) => `${n},Tea\n`).join("")}`, "502 many"],
]) {
  test(`What is wrong has its place: ${expected} in ${JSON.stringify(text.slice(0, 50))}`, () => {
    assert.deepEqual(problemsOf(text), [expected]);
  });
}

test("A text is as long as the service counts it, in characters", () => {
  for (const [field, longest] of [
    ["Title", 128],
    ["Unit", 8],
    ["Group", 40],
  ]) {
    const file = (length) =>
      field === "Title"
        ? `Code,Title\na,${"🧾".repeat(length)}\n`
        : `Code,Title,${field}\na,Tea,${"🧾".repeat(length)}\n`;
    assert.deepEqual([problemsOf(file(longest)), problemsOf(file(longest + 1))], [[], [`2 ${field} long`]]);
  }
});

test("A difference names what is added, changed and taken away", () => {
  const [coffee, second] = ITEMS;
  const { added, changed, gone } = difference(
    [coffee, second],
    [{ ...coffee, Price: "38", TaxCode: "vat15", Title: "Kaffee" }, an("tea")],
  );

  assert.deepEqual(
    added.map((one) => one.Code),
    ["tea"],
  );
  assert.deepEqual(
    changed.map((one) => one.changes),
    [[{ field: "Title", from: "The coffee", to: "Kaffee" }]],
  );
  assert.deepEqual(gone, [second]);
});

test("The changes of two people are both in the list", () => {
  const base = ["a", "b", "c", "d"].map((code) => an(code, { Price: "1.00" }));
  const mine = [{ ...base[0], Price: "2.00" }, { ...base[1], Title: "Mine" }, base[2], an("new")];
  const theirs = [{ ...base[0], Title: "Theirs", Price: "3.00" }, { ...base[2], Price: "4.00" }, base[3], an("other")];

  assert.deepEqual(merged(base, mine, theirs), [
    { ...base[0], Title: "Theirs", Price: "2.00" },
    { ...base[2], Price: "4.00" },
    an("other"),
    { ...base[1], Title: "Mine" },
    an("new"),
  ]);
});

test("Each pair of changes of two people is merged, and nothing typed is lost", () => {
  const base = [an("a", { Price: "1.00" }), an("z")];
  const of = {
    untouched: base[0],
    "another price": { ...base[0], Price: "2.00" },
    "another title": { ...base[0], Title: "Mine" },
    "the same price": { ...base[0], Price: "1" },
    gone: null,
  };
  const expected = (mine, theirs) => {
    if (mine === "gone") return null;
    const isMine = ["another price", "another title"].includes(mine);
    if (theirs === "gone") return isMine ? of[mine] : null;
    const changes = mine === "another price" ? { Price: "2.00" } : { Title: "Mine" };
    return isMine ? { ...of[theirs], ...changes } : of[theirs];
  };
  for (const mine of Object.keys(of)) {
    for (const theirs of Object.keys(of)) {
      const [own, other] = [mine, theirs].map((name) => [of[name], base[1]].filter(Boolean));
      const found = merged(base, own, other).find((one) => one.Code === "a") ?? null;
      assert.deepEqual(found, expected(mine, theirs), `mine ${mine}, theirs ${theirs}`);
      assert.ok(merged(base, own, other).some((one) => one.Code === "z"));
    }
  }
});

test("An item that both added alike is there once, and one that they added differently twice", () => {
  const mine = [an("new", { Price: "1.00" })];

  assert.deepEqual(merged([], mine, [an("new", { Price: "1.0" })]), [an("new", { Price: "1.0" })]);
  assert.equal(merged([], mine, [an("new", { Price: "2.00" })]).length, 2);
});
