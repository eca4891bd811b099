// The way of an empty shop to its first sale.
import { useLoaded } from "../kit/load.js";
import { address } from "../kit/route.js";
import { isManager, merchant } from "../kit/session.js";
import { listed } from "./history.js";
import { TAKEN } from "./till_form.js";
import { allTills } from "./till_list.js";
import { texts } from "./texts.js";
import { html } from "../kit/view.js";

const sells = ({ TID, MobileSettings: { Features } }) => TID && TAKEN.some((name) => Features[name]);

// Null for a shop that has sold something lately.
async function load() {
  const { counters } = await listed({});
  return counters.ItemCountTtl ? null : { hasTill: (await allTills()).some(sells) };
}

function Steps() {
  const { data } = useLoaded(load, String(merchant().ClientID));
  if (!data) return null;
  const names = texts.firstSteps;
  const till = new URL("till", document.baseURI).href;
  return html`<section class="card"><h2>${names.title}</h2><ol class="steps">
    <li><a href=${address("shop")}>${names.shop}</a> <p>${names.shopWords}</p></li>
    <li><a href=${address("tills")}>${names.till}</a> ${data.hasTill && html`<span class="badge good">${names.done}</span>`} <p>${names.tillWords}</p></li>
    <li><a href=${till} target="_blank" rel="noopener">${names.sell}</a> <p>${names.sellWords(till)}</p></li>
  </ol></section>`;
}

export const FirstSteps = () => isManager() && html`<${Steps} />`;
