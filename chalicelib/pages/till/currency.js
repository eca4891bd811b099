// The decimals of a currency, as ISO 4217 and the service have them. Browsers count for some currencies those in use.
const TWO = "AFN ALL COP HUF IDR IRR KPW LAK LBP MGA MMK PKR SOS SYP YER".split(" ");

export function digitsOf(currency) {
  if (TWO.includes(currency)) return 2;
  if (currency === "IQD") return 3;
  return new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits;
}
