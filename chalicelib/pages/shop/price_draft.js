// The price list that is being changed. The device keeps it until it is saved, also after a reload or a sign-out.
import { ErrorCode } from "../kit/error_codes.js";
import { Refusal, call } from "../kit/api.js";
import { typedAmount } from "../kit/money.js";
import { isManager, merchant, session } from "../kit/session.js";
import { countOf, difference, FIELDS, TAX_FIELDS } from "./price_changes.js";
import { texts } from "./texts.js";

const FORMAT = 3; // the code of a finding
const DECIMALS = 7;
const path = () => `merchant/${merchant().ClientID}/pricelist`;
// Where the draft of this person and merchant is kept; null for a person who changes nothing. It is asked for once: at the
// end of a view somebody else may be signed in.
export const place = () => (isManager() ? `prices.${session().me.AgentID}.${merchant().ClientID}` : null);

let last = 0;
// Entries have keys of their own, because a code can change.
const keyed = (entries) => entries.map((one) => ({ ...one, key: one.key ?? (last += 1) }));

export const fieldsOf = (kind) => (kind === "Items" ? FIELDS : TAX_FIELDS);

// A draft: `base` is the stored list that it changes.
export const draftOf = (base, { Items, Taxes, TypedTaxCode = base.TypedTaxCode } = base) => ({
  base,
  Items: keyed(Items),
  Taxes: keyed(Taxes),
  TypedTaxCode,
});

// The tax of typed amounts as the draft's taxes write it; null when they do not have it.
export const typedTaxOf = ({ Taxes, TypedTaxCode }) =>
  Taxes.find((one) => one.Code && one.Code.toLowerCase() === TypedTaxCode?.toLowerCase())?.Code ?? null;
export const load = async () => (await call(path())).PriceList;
export const changesOf = ({ base, Items, Taxes, TypedTaxCode }) =>
  countOf(difference(base.Items, Items)) +
  countOf(difference(base.Taxes, Taxes, TAX_FIELDS)) +
  (TypedTaxCode === base.TypedTaxCode ? 0 : 1);

export function kept(at) {
  const found = at && JSON.parse(localStorage.getItem(at) ?? "null");
  return found && draftOf(found.base, { ...found, Items: found.Items.map(unkeyed), Taxes: found.Taxes.map(unkeyed) });
}

export function keep(at, draft) {
  if (!at) return;
  try {
    if (changesOf(draft)) localStorage.setItem(at, JSON.stringify(draft));
    else localStorage.removeItem(at);
  } catch {
    // without room on the device the draft lives as long as the page
  }
}

const unkeyed = ({ key, ...one }) => one;

// The decimals of the merchant's currency. A browser has others for some currencies.
export const digits = () => session().me.CurrencyDigits;

// An entry as the service takes it: a number as a decimal text, an empty text as null.
function sent({ key, ...one }) {
  const entry = Object.fromEntries(Object.entries(one).map(([field, value]) => [field, value === "" ? null : value]));
  for (const field of ["Price", "Rate"])
    if (entry[field] != null)
      entry[field] = typedAmount(String(entry[field]), merchant().CurrencyID, field === "Price" ? digits() : undefined);
  return entry;
}

// Entries as files have them.
export const entries = (all) =>
  all.map((one) => ({ ...unkeyed(one), ...("Price" in one ? { Price: sent(one).Price ?? one.Price } : {}) }));

// A price of 1.500 may be a thousand and a half to the person, so its decimals count as they were typed.
function codeOf(field, number) {
  if (number === null) return FORMAT;
  return field === "Price" && (number.split(".")[1] ?? "").length > digits() ? DECIMALS : undefined;
}

// A typed number that is none would be sent as null, which means something else.
function notNumbers(draft) {
  return ["Items", "Taxes"].flatMap((kind) =>
    draft[kind].flatMap((one, number) =>
      ["Price", "Rate"]
        .filter((field) => ![null, undefined, ""].includes(one[field]))
        .map((field) => ({ Property: `${kind}[${number}].${field}`, Code: codeOf(field, sent(one)[field]) }))
        .filter(({ Code }) => Code),
    ),
  );
}

// Store the draft and return the stored list, or throw a Refusal.
export async function save(draft) {
  const findings = notNumbers(draft);
  if (findings.length)
    throw new Refusal({ code: ErrorCode.VALIDATION_FAILED, message: texts.prices.problems, findings });
  const { PriceList } = await call(`${path()}/update`, {
    Version: draft.base.Version,
    Taxes: draft.Taxes.map(sent),
    TypedTaxCode: typedTaxOf(draft),
    Items: draft.Items.map(sent),
  });
  return PriceList;
}

// The findings of a refusal by the entry and field: {kind, key, name, field, words}.
export function problemsOf(error, draft) {
  return (error?.findings ?? []).flatMap(({ Property, Code }) => {
    const [, kind, number, field] = /^(Items|Taxes)\[(\d+)\]\.(\w+)$/.exec(Property) ?? [];
    const entry = draft[kind]?.[number];
    const own = texts.prices.checks[field];
    const words = own?.[Code] && !(field === "Code" && Code === FORMAT && kind === "Items") ? own[Code] : own?.other;
    return entry
      ? [{ kind, key: entry.key, field, words: words ?? texts.errors.checks[Code] ?? texts.errors.field }]
      : [];
  });
}
