// The agent's rights, features, currency and payment options, and the price list of its merchant.
const ALL_MS = 600_000; // AuthAccount answers once in an interval, of ten minutes unless the stage sets another

export const isRecent = (instant, milliseconds = ALL_MS) => Math.abs(Date.now() - instant) < milliseconds;

// The currency that payment/submit takes, with its decimals: both are the service's, never the browser's.
export const currencyOf = ({ currency, digits, session: { me } }) =>
  digits === undefined ? { currency: me.CurrencyID, digits: me.CurrencyDigits } : { currency, digits };

// Read the facts that may change within a minute, and the others once in ten minutes. `call(method, path)` returns an answer,
// `state()` the known facts. Return {me, account, prices, refreshedAt}, or null without an answer; without `prices` they are as before.
export async function readAccount(call, agent, state) {
  const ask = async (path) => {
    const { status, body } = await call("GET", path);
    return status === 200 ? (body ?? null) : null;
  };
  const me = (await ask("user/me"))?.Data;
  if (!me) return null;
  let { refreshedAt } = state();
  const isOld = !isRecent(refreshedAt);
  const pos = isOld && (await ask(`merchant/${me.ClientID}/pos/${agent}`))?.Pos;
  if (pos) refreshedAt = Date.now();
  else if (state().country === undefined) return null;
  const prices = await readPrices(ask, me.ClientID, state().prices);
  const known = state();
  const isChanged = Object.entries(me.Features).some(([name, isOn]) => isOn !== known.features?.[name]);
  const account = {
    agent,
    features: {
      ...me.Features,
      AllowLinkedCards: pos ? pos.MobileSettings.AllowLinkedCardsEffective : known.features?.AllowLinkedCards,
    },
    options: isChanged ? undefined : known.options, // the answer is of other features: these decide until the next one
    askedAt: known.askedAt,
    currency: me.CurrencyID,
    digits: me.CurrencyDigits,
    country: pos ? pos.CountryID : known.country,
    listCurrency: pos ? pos.CurrencyID : known.listCurrency,
  };
  if (isOld && !isRecent(known.askedAt)) {
    const { status, body } = await call("GET", "payment/AuthAccount");
    if (status === 200 && body)
      Object.assign(account, { options: body.PaymentOptions.map((one) => one.Id), askedAt: Date.now() });
    if (status === 429) Object.assign(account, { options: undefined, askedAt: Date.now() }); // the features decide
  }
  return { me, account, prices, refreshedAt };
}

// The items of the price list, which the device keeps for times without connection, and the tax of typed amounts.
async function readPrices(ask, merchant, known) {
  const isKnown = known?.merchant === merchant && known.typedTax !== undefined;
  const list = (await ask(`merchant/${merchant}/pricelist${isKnown ? `?Version=${known.version}` : ""}`))?.PriceList;
  return list && { merchant, version: list.Version, items: list.Items, typedTax: list.TypedTaxCode ?? null };
}
