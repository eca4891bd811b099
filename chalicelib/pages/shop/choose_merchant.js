// A system user chooses a merchant. In requests, one of the merchant's accounts names it.
import { callAs, Refusal } from "../kit/api.js";
import { Failure, Field } from "../kit/parts.js";
import { go } from "../kit/route.js";
import { change, session } from "../kit/session.js";
import { texts } from "texts";
import { allTills } from "./till_list.js";
import { html, useState } from "../kit/view.js";

// The account with the most rights: an administrator sees the whole merchant. Its days are those of its own zone.
async function chosen(clientId) {
  const tills = await allTills(clientId);
  const account = tills.find((till) => till.IsAdministrator) ?? tills[0];
  if (!account) throw new Refusal({ code: 0, message: texts.merchant.noTill });
  const isWhole = account.IsAdministrator;
  const Name = isWhole ? texts.merchant.name(clientId) : texts.merchant.part(clientId, account.Name);
  const { Data: me } = await callAs(session().token, `user/me?AccountID=${account.ID}`);
  const merchant = { ClientID: clientId, CurrencyID: me.CurrencyID, AccountID: account.ID, Name };
  return { me, merchant, askedAt: Date.now() };
}

export function ChooseMerchant() {
  const [error, setError] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    setError(null);
    try {
      change(await chosen(Number(new FormData(event.target).get("merchant"))));
      go("today");
    } catch (refusal) {
      setError(refusal);
    }
  };
  return html`<div class="title"><h1>${texts.merchant.title}</h1></div>
    <form class="card narrow" onSubmit=${submit}>
      ${error && html`<${Failure} error=${error} />`}
      <${Field} id="merchant" name="merchant" type="number" min="1" max="999999999999999" required label=${texts.merchant.number} hint=${texts.merchant.hint} />
      <div class="actions"><button class="main">${texts.merchant.choose}</button></div>
    </form>`;
}
