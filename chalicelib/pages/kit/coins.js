// The smallest coin in use by currency, in minor units, which `make reference` writes.
const COINS = { AED: 25, AMD: 1000, AUD: 5, AWG: 5, BAM: 5, BBD: 5, BDT: 100, BND: 5, BOB: 10, BRL: 5, BSD: 5, BWP: 5, CAD: 5, CHF: 5, CLP: 10, COP: 5000, CRC: 500, CZK: 100, DKK: 50, DOP: 100, FJD: 5, GEL: 5, GTQ: 5, GYD: 100, HKD: 10, HUF: 500, IDR: 5000, ILS: 10, INR: 100, JMD: 100, KES: 100, LKR: 100, LSL: 10, MKD: 100, MOP: 10, MXN: 10, MYR: 5, NAD: 10, NOK: 100, NPR: 100, NZD: 10, PEN: 10, PGK: 5, PKR: 100, QAR: 25, RSD: 100, SBD: 10, SEK: 100, SGD: 5, SZL: 10, THB: 25, TRY: 5, TTD: 5, TWD: 100, TZS: 5000, UAH: 50, UYU: 100, WST: 10, XCD: 5, XCG: 5, ZAR: 10 };
const ROUNDING_EURO = ["BE", "EE", "FI", "IE", "IT", "LT", "NL", "SK"];

// The smallest coin of a currency. Some countries have no use for the smallest ones of the euro.
export const coinOf = (currency, country) =>
  currency === "EUR" && ROUNDING_EURO.includes(country) ? 5 : (COINS[currency] ?? 1);
