// A drawer from its float to its count: its sums, and what was done to it.
import { formatMoment } from "./dates.js";
import { Money } from "./parts.js";
import { texts } from "./language.js";
import { html } from "./view.js";

function Movement({ movement: { At, By, Kind, Amount, Note }, drawer }) {
  const names = texts.drawer;
  return html`<p class="remark"><small>${formatMoment(At)} · ${names.kinds[Kind]}
    ${Amount !== null && html` <${Money} amount=${Amount} currency=${drawer.CurrencyID} />`}
    ${By !== drawer.AgentID && ` · ${names.by(By)}`}${Note && ` · ${Note}`}</small></p>`;
}

// What is not known yet, such as a count, or is not for this agent's eyes, is left out. `lastLine` is the class of the difference.
export function Drawer({ drawer, title, lastLine }) {
  const names = texts.drawer;
  const line = (name, amount, kind) =>
    amount !== null &&
    html`<div class=${kind}><dt>${name}</dt><dd><${Money} amount=${amount} currency=${drawer.CurrencyID} /></dd></div>`;
  return html`<h3>${title}</h3>
    ${drawer.DrawerID === null && html`<p>${names.outside}</p>`}
    <dl class="sums">
      ${line(names.float, drawer.Float)}${line(names.cash, drawer.Cash)}${line(names.paidIn, drawer.PaidIn)}${line(names.paidOut, drawer.PaidOut)}
      ${line(names.expected, drawer.Expected)}${line(names.counted, drawer.Counted)}${line(names.difference, drawer.Difference, lastLine)}
    </dl>
    ${drawer.Movements.map((movement) => html`<${Movement} movement=${movement} drawer=${drawer} />`)}`;
}
