// The differences of two price lists, and the list that has the changes of two people. Prices are decimal texts.
export const FIELDS = ["Code", "Title", "Price", "Unit", "TaxCode", "Group", "Barcode", "Active"];
export const TAX_FIELDS = ["Code", "Name", "Rate"];

// A decimal without zeros that say nothing.
export const plain = (number) =>
  String(number)
    .replace(/^0+(?=\d)/, "")
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");

const compared = (field, value) => {
  if (field === "Price" || field === "Rate") return plain(value ?? "");
  return field === "TaxCode" ? (value ?? "").toLowerCase() : String(value ?? "");
};
const isSame = (field, one, other) => compared(field, one[field]) === compared(field, other[field]);
const byCode = (all) => new Map(all.map((one) => [one.Code, one]));

// The changes from `before` to `after`: entries that are added, changed with old and new values, or taken away.
export function difference(before, after, fields = FIELDS) {
  const [old, now] = [byCode(before), byCode(after)];
  const changesOf = (one) =>
    fields
      .filter((field) => !isSame(field, old.get(one.Code), one))
      .map((field) => ({ field, from: old.get(one.Code)[field], to: one[field] }));
  return {
    added: after.filter((one) => !old.has(one.Code)),
    changed: after
      .filter((one) => old.has(one.Code))
      .map((one) => ({ one, changes: changesOf(one) }))
      .filter(({ changes }) => changes.length),
    gone: before.filter((one) => !now.has(one.Code)),
  };
}

export const countOf = ({ added, changed, gone }) => added.length + changed.length + gone.length;

// The list of another person with my changes since `base`. Where both changed a field, mine stays.
export function merged(base, mine, theirs, fields = FIELDS) {
  const own = difference(base, mine, fields);
  const gone = new Set(own.gone.map((one) => one.Code));
  const changes = new Map(own.changed.map(({ one, changes: all }) => [one.Code, { one, all }]));
  const kept = theirs
    .filter((one) => !gone.has(one.Code))
    .map((one) => {
      const change = changes.get(one.Code);
      return change ? { ...one, ...Object.fromEntries(change.all.map(({ field, to }) => [field, to])) } : one;
    });
  const codes = new Set(theirs.map((one) => one.Code));
  const lost = own.changed.map(({ one }) => one).filter((one) => !codes.has(one.Code)); // they took it away
  // A code that both added stands twice, and the service says so at the field. Nothing typed is lost.
  const twin = (one) =>
    kept.some((other) => other.Code === one.Code && fields.every((field) => isSame(field, one, other)));
  return [...kept, ...lost, ...own.added.filter((one) => !twin(one))];
}
