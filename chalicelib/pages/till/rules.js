// The rules of a till that goes on selling without connection (docs/offline.md). Pure functions: no browser, no words.
import { DECLINED, ErrorCode } from "../kit/error_codes.js";
import { KINDS } from "../kit/kinds.js";

export const TENDERS = Object.fromEntries(Object.entries(KINDS).filter(([, kind]) => kind.isTender));

// Where the browser may delete the stored sales, so much money may wait for the service, in units of the currency: about 300
// US dollars. Another currency has no limit.
// biome-ignore format: a table
export const MAX_QUEUED = {
  AED: 1100, AUD: 450, BRL: 1600, BWP: 4000, CAD: 400, CHF: 250, CNY: 2100, DKK: 2000, EGP: 15_000, EUR: 300,
  GBP: 250, GHS: 4000, HKD: 2300, IDR: 4_500_000, ILS: 1100, INR: 25_000, JPY: 40_000, KES: 40_000,
  KRW: 400_000, KWD: 90, LSL: 5000, MAD: 3000, MUR: 14_000, MWK: 500_000, MXN: 5500, MYR: 1300, MZN: 20_000, NAD: 5000, NGN: 450_000,
  NOK: 3000, NZD: 500, PHP: 17_000, PLN: 1100, RWF: 400_000, SAR: 1100, SEK: 3000, SGD: 400, SZL: 5000, THB: 10_000, TRY: 12_000,
  TZS: 750_000, UGX: 1_100_000, USD: 300, VND: 7_500_000, XAF: 175_000, XOF: 175_000, ZAR: 5000, ZMW: 7500,
};
export const KEPT_DAYS = 31; // a sale after its answer
export const PATIENCE_S = { offline: 8, online: 40 }; // for the answer while the customer waits: a sale that may wait is stored sooner

const DAY_MS = 86_400_000;
const MAX_AGE_MS = 364 * DAY_MS; // the service takes an offline sale within a year
const PAUSES_S = [4, 8, 15];
const MAX_PAUSE_S = 60;

const SIGNATURE_OWED = 401; // Substate of a payment that is complete with the customer's signature
const NOT_ATTEMPTED = ErrorCode.DEPENDENCY_UNAVAILABLE; // nothing was sent to the bank, and the ID is used up
const NOT_ABOUT_THE_SALE = new Set([ErrorCode.MEDIA_TYPE, ErrorCode.METHOD_NOT_ALLOWED, ErrorCode.UNKNOWN_PATH]);
const NOT_ALLOWED = new Set([ErrorCode.ROLE_MAY_NOT, ErrorCode.NOT_THE_CALLER]);
const BLOCKED = new Set([ErrorCode.AGENT_BLOCKED, ErrorCode.MERCHANT_BLOCKED, ...NOT_ALLOWED]);
const PAID = "BasicTran.OfflineTran.Paid";
const RECEIPT = "Receipt.";
const [ERROR, WARNING] = [1, 2];

export const State = { WAITING: "waiting", UNKNOWN: "unknown", PARKED: "parked", PAID: "paid", DECLINED: "declined" };
export const Means = {
  PAID: "paid",
  DECLINED: "declined",
  AGAIN: "again",
  SIGN_IN: "sign in",
  BLOCKED: "blocked",
  REFUSED: "refused",
  NO_TIME: "no time",
  NO_RECEIPT: "no receipt",
};

// The meaning of an answer for the sale of this ID. `answer` is {status, body, retryAfter}; without `body` no answer of the
// service came. `isForAll`: the other sales would get the same answer. A body may be anything: it may come from a proxy.
export function meaning(id, { status, body, retryAfter = 0 }) {
  if (!body) return { means: Means.AGAIN, retryAfter };
  const { ErrorCode: code, ErrorMessage: message } = body;
  if (status === 401) return { means: BLOCKED.has(code) ? Means.BLOCKED : Means.SIGN_IN, code, message };
  if (status === 403 && NOT_ALLOWED.has(code)) return { means: Means.BLOCKED, code, message };
  if (status === 429) return { means: Means.AGAIN, retryAfter, isForAll: true };
  if ((status >= 500 && code !== NOT_ATTEMPTED) || code === ErrorCode.IN_PROGRESS || NOT_ABOUT_THE_SALE.has(code))
    return { means: Means.AGAIN, retryAfter };
  if (status >= 200 && status < 300) return answered(id, body);
  if (code === 0) return { means: Means.AGAIN }; // not the service's
  if ("message" in body) return { means: Means.AGAIN }; // the form of gateways and proxies
  const findings = findingsOf(body);
  return {
    means: whyRefused(
      code,
      findings.filter((one) => one.Type === ERROR),
    ),
    code,
    message,
    findings,
  };
}

const findingsOf = ({ Validations }) => (Array.isArray(Validations) ? Validations.filter(Boolean) : []);
const isOfReceipt = ({ Property }) => String(Property).startsWith(RECEIPT);

function whyRefused(code, errors) {
  if (code !== ErrorCode.VALIDATION_FAILED || !errors.length) return Means.REFUSED;
  if (errors.some((one) => one.Property === PAID)) return Means.NO_TIME;
  return errors.every(isOfReceipt) ? Means.NO_RECEIPT : Means.REFUSED;
}

function answered(id, body) {
  const { ErrorCode: code, ErrorMessage: message, TransactionID, Transaction } = body;
  if (String(TransactionID).toUpperCase() !== id) return { means: Means.AGAIN }; // not about this sale
  if (code === ErrorCode.OUTCOME_UNKNOWN) return { means: Means.AGAIN, isUnknown: true };
  if (code >= DECLINED) return { means: Means.DECLINED, code, message };
  if (code !== 0) return { means: Means.AGAIN };
  const hasNoReceipt = findingsOf(body).some((one) => one.Type === WARNING && isOfReceipt(one));
  return {
    means: Means.PAID,
    invoice: Transaction?.Invoice ?? null,
    canReturn: Boolean(Transaction?.CanReturn || Transaction?.CanReturnCNP),
    ...(hasNoReceipt && { hasNoReceipt }),
    ...(Transaction?.Substate === SIGNATURE_OWED && { owesSignature: true }),
  };
}

// The seconds until a sale is sent again, after so many failures in a row.
export function pause(failures, retryAfter = 0) {
  const usual = PAUSES_S[Math.min(failures, PAUSES_S.length) - 1]; // seconds
  return Math.min(Math.max(usual, retryAfter), MAX_PAUSE_S);
}

// The tenders that the agent's features and the account's payment options allow. Without options the features decide.
export function allowed(features, options) {
  const kinds = options && new Set(options);
  return Object.keys(TENDERS).filter((name) => {
    const { feature, inputType } = TENDERS[name];
    return Boolean(features[feature]) && (!kinds || kinds.has(inputType));
  });
}

// The service's own form of an e-mail. It reads telephone numbers as people write them: here such a text only has digits, so
// that none is refused which the service takes.
const EMAIL =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9-]{1,63})+$/;
const MAX_EMAIL = 254;
const PHONE = /^(?=.*\p{Nd}.*\p{Nd})[^@]{2,64}$/u;
const WITH_COUNTRY = /[+＋]/; // its code

// The receipt's address as the request has it, null for none, or undefined for a text that is no address. A local telephone
// number is one of the country.
export function addressOf(typed, country) {
  const text = typed.trim();
  if (!text) return null;
  if (EMAIL.test(text) && text.length <= MAX_EMAIL) return { Email: text };
  return PHONE.test(text) && (country || WITH_COUNTRY.test(text)) ? { Phone: text } : undefined;
}

const MAX_DESCRIPTION = 1024;
const NOT_TEXT = /[\p{Cs}\p{Cc}]/gu; // halves of pairs, and control characters

// A typed description as the service takes it.
export const descriptionOf = (typed) => [...typed.replace(NOT_TEXT, " ").trim()].slice(0, MAX_DESCRIPTION).join("");

export const maySellOffline = (tender, features) => TENDERS[tender].isOffline && Boolean(features.Offline);

// Whole minor units as the decimal text that the interface takes.
export function decimal(minor, digits) {
  const figures = String(Math.abs(minor)).padStart(digits + 1, "0");
  const point = figures.length - digits;
  return (minor < 0 ? "-" : "") + figures.slice(0, point) + (digits ? `.${figures.slice(point)}` : "");
}

export const MAX_FIGURES = 11; // of an amount in minor units

// A decimal text in whole minor units, or null for one that has too many figures or decimals.
export function minorOf(text, digits) {
  const [whole, fraction = ""] = text.split(".");
  const figures = (whole + fraction.padEnd(digits, "0")).replace(/^0+(?=\d)/, "");
  return /^\d+$/.test(figures) && fraction.length <= digits && figures.length <= MAX_FIGURES ? Number(figures) : null;
}

// The money that may wait besides these sales, in minor units; below zero when they are too many, Infinity without a limit.
export const roomOf = (queued, { currency, digits }) =>
  queued
    .filter((one) => one.draft.currency === currency)
    .reduce((room, one) => room - one.minor, (MAX_QUEUED[currency] ?? Infinity) * 10 ** digits);

// An instant in milliseconds as the local time of a zone in hours, as the interface takes it.
const local = (instant, gmt) => new Date(instant + gmt * 3_600_000).toISOString().slice(0, 23);

const purchaseOf = ({ title, price, quantity, taxes, discount }, digits) => ({
  Title: title,
  Price: decimal(price, digits),
  Quantity: quantity,
  ...(discount && { Discount: decimal(discount, digits) }),
  ...(taxes.length && { TaxCode: taxes }),
});

// The request of a sale. It is made once: a later version of the till sends it as it is.
export function requestOf(sale) {
  const { draft, device, counter, number } = sale;
  const basic = {
    ID: sale.id,
    InputType: TENDERS[draft.tender].inputType,
    Amount: decimal(draft.minor, draft.digits),
    CurrencyID: draft.currency,
  };
  if (draft.description) basic.Description = draft.description;
  if (draft.tender === "cash" && draft.receivedMinor != null)
    basic.AmountCashGot = decimal(draft.receivedMinor, draft.digits);
  if (sale.isOffline) {
    basic.OfflineTran = { OfflineMode: true, Invoice: number, OfflineQueueId: `${device}:${counter}` };
    if (draft.location) basic.OfflineTran.OfflineLocation = draft.location;
  }
  if (draft.lines?.length)
    basic.AuxDataInput = { AuxData: { Purchases: draft.lines.map((line) => purchaseOf(line, draft.digits)) } };
  const request = { BasicTran: basic };
  if (draft.taxes?.length) request.TaxesModel = { Taxes: draft.taxes };
  if (draft.lang) request.Lang = draft.lang;
  if (draft.signature) request.Files = [{ FileType: "SIGNATURE", FileCode: draft.signature }];
  if (draft.receipt) request.Receipt = draft.receipt;
  if (draft.receipt?.Phone && draft.country) request.CountryCode = draft.country; // a local number is read there
  if (draft.linkedCard) request.Card = { CardInputMode: 2, LinkedCardId: draft.linkedCard };
  return request;
}

// The request at an instant: an offline sale says when it was paid. The service's clock counts: the time is the device's
// with the offset of that moment, and never after the service's present time where that is known. A time or an address
// that the service cannot take is left out: it does not compare them.
export function requestAt(sale, now, isNowKnown) {
  const { Receipt, ...bare } = sale.request;
  const request = sale.hasNoReceipt ? bare : sale.request;
  if (!sale.isOffline || sale.hasNoTime) return request;
  const paid = isNowKnown ? Math.min(sale.takenAt, now) : sale.takenAt;
  if (now - paid > MAX_AGE_MS) return request;
  const offline = { ...request.BasicTran.OfflineTran, Paid: local(paid, sale.gmt) };
  return { ...request, GMT: sale.gmt, BasicTran: { ...request.BasicTran, OfflineTran: offline } };
}

// The number by which the service finds a sale, or null. It gives its own to one that was begun online.
export const numberOf = ({ invoice, isOffline, number }) => invoice ?? (isOffline ? number : null);

// The state of a stored sale as the page shows it. The page calls a sale paid only after the mark is stored, because then a refusal parks it.
export const shownState = (sale) => (sale.state === State.WAITING && !sale.isShownPaid ? State.UNKNOWN : sale.state);

// The changes of a sale after an answer, or null for one that the customer never saw as paid: it leaves nothing behind.
export function settled(sale, verdict, now) {
  const { means } = verdict;
  const { receipt, signature, ...draft } = sale.draft; // the device needs the payer's address and signature no longer
  const facts = { draft, queued: undefined, request: undefined, answeredAt: now };
  if (means === Means.PAID) {
    const { invoice, canReturn, owesSignature, hasNoReceipt = sale.hasNoReceipt } = verdict;
    return { ...facts, state: State.PAID, invoice, canReturn, owesSignature, hasNoReceipt };
  }
  const reason = { code: verdict.code, message: verdict.message, findings: verdict.findings };
  if (sale.isShownPaid) return { state: State.PARKED, reason };
  return { ...facts, state: State.DECLINED, reason };
}
