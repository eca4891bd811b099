// A system user chooses a merchant, or finds a payment of any merchant.
import { call } from "../kit/api.js";
import { ActButton, useAct } from "../kit/dialogs.js";
import { useIsLeft } from "../kit/left.js";
import { formatCount } from "../kit/money.js";
import { Failure, Field } from "../kit/parts.js";
import { go, parse } from "../kit/route.js";
import { SecondFactor } from "./second_factor.js";
import { BLOCKED } from "./till_list.js";
import { idOfAny, recent, show } from "./merchants.js";
import { texts } from "./texts.js";
import { html, useRef, useState } from "../kit/view.js";

const names = texts.merchant;

// A link that was opened before the choice stays.
async function choose(clientId) {
  const isShown = await show(clientId);
  if (isShown && parse(location.hash).view === "merchant") go("today");
}

function Recent({ one }) {
  const { act, isBusy, error } = useAct(() => choose(one.ClientID));
  return html`<li><${ActButton} type="button" isBusy=${isBusy} onClick=${act}>${one.Name} <small>${names.numbered(one.ClientID)}</small>${one.State === BLOCKED && html` <span class="badge bad">${texts.tills.blocked}</span>`}<//>
    ${error && html`<${Failure} error=${error} />`}</li>`;
}

// The merchants that a search finds; those shown last before a search.
function Found({ merchants, count }) {
  if (!merchants.length) return html`<p class="empty" role="status">${names.noMerchant}</p>`;
  return html`<ul class="recent">${merchants.map((one) => html`<${Recent} key=${one.ClientID} one=${one} />`)}</ul>
    ${count > merchants.length && html`<p role="status">${names.moreMerchants(formatCount(count))}</p>`}`;
}

function Choice() {
  const form = useRef(null);
  const [found, show] = useState(null);
  const isLeft = useIsLeft();
  const { act, isBusy, error } = useAct(async () => {
    const Search = form.current.elements.merchant.value.trim();
    const answer = await call("merchant/list", { Search });
    const { Merchants: merchants, MerchantsCounters: counters } = answer;
    const named = merchants.find((one) => String(one.ClientID) === Search);
    if (isLeft()) return;
    if (named) await choose(named.ClientID);
    else show({ merchants, count: counters.ItemCountTtl });
  });
  const last = recent();
  return html`<section class="card narrow">
    ${!found && last.length > 0 && html`<h2>${names.recent}</h2><${Found} merchants=${last} />`}
    <form ref=${form} onSubmit=${act}>
      ${error && html`<${Failure} error=${error} />`}
      <${Field} id="merchant" name="merchant" type="search" autocomplete="off" spellcheck=${false} required label=${names.search} hint=${names.hint} />
      <div class="actions"><${ActButton} class="main" isBusy=${isBusy}>${names.choose}<//></div>
    </form>
    ${found && html`<${Found} ...${found} />`}
  </section>`;
}

function Find() {
  const form = useRef(null);
  const isLeft = useIsLeft();
  const { act, isBusy, error } = useAct(async () => {
    const id = await idOfAny(form.current.elements.payment.value);
    if (!id) throw new Error(id === null ? names.notFound : names.notSought);
    if (!isLeft()) go("payments", {}, id);
  });
  return html`<section class="card narrow"><h2>${names.find}</h2>
    <form ref=${form} onSubmit=${act} role="search">
      ${error && html`<${Failure} error=${error} />`}
      <${Field} id="payment" name="payment" type="search" autocomplete="off" spellcheck=${false} required label=${names.payment} hint=${names.paymentHint} />
      <div class="actions"><${ActButton} class="main" isBusy=${isBusy}>${names.findButton}<//></div>
    </form>
  </section>`;
}

export const ChooseMerchant = () => html`<div class="title"><h1>${names.title}</h1></div>
  <div class="loaded"><${Choice} /><${Find} /><${SecondFactor} /></div>`;
