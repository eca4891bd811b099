// A system user chooses a merchant, or finds a payment of any merchant.
import { useAct } from "../kit/dialogs.js";
import { useIsLeft } from "../kit/left.js";
import { Failure, Field } from "../kit/parts.js";
import { go, parse } from "../kit/route.js";
import { idOfAny, recent, show } from "./merchants.js";
import { texts } from "./texts.js";
import { html, useRef } from "../kit/view.js";

const names = texts.merchant;

// A link that was opened before the choice stays.
async function choose(clientId) {
  const isShown = await show(clientId);
  if (isShown && parse(location.hash).view === "merchant") go("today");
}

function Recent({ one }) {
  const { act, isBusy, error } = useAct(() => choose(one.ClientID));
  return html`<li><button type="button" disabled=${isBusy} onClick=${act}>${one.Name} <small>${names.numbered(one.ClientID)}</small></button>
    ${error && html`<${Failure} error=${error} />`}</li>`;
}

function Choice() {
  const form = useRef(null);
  const { act, isBusy, error } = useAct(() => choose(Number(form.current.elements.merchant.value)));
  const last = recent();
  return html`<section class="card narrow">
    ${last.length > 0 && html`<h2>${names.recent}</h2><ul class="recent">${last.map((one) => html`<${Recent} key=${one.ClientID} one=${one} />`)}</ul>`}
    <form ref=${form} onSubmit=${act}>
      ${error && html`<${Failure} error=${error} />`}
      <${Field} id="merchant" name="merchant" type="number" min="1" max="999999999999999" required label=${names.number} hint=${names.hint} />
      <div class="actions"><button class="main" disabled=${isBusy}>${names.choose}</button></div>
    </form>
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
      <div class="actions"><button class="main" disabled=${isBusy}>${names.findButton}</button></div>
    </form>
  </section>`;
}

export const ChooseMerchant = () => html`<div class="title"><h1>${names.title}</h1></div>
  <div class="loaded"><${Choice} /><${Find} /></div>`;
