// The drawers of a day: the cash that each till should hold, and the cash that was counted.
import { call } from "../kit/api.js";
import { formatTime } from "../kit/dates.js";
import { difference, format, isNegative, isZero } from "../kit/money.js";
import { Money } from "../kit/parts.js";
import { account, isManager } from "../kit/session.js";
import { tillOf } from "./takings.js";
import { texts } from "./texts.js";
import { html } from "../kit/view.js";

// A manager gets every drawer with cash or a count, another person only its own.
export async function drawersOfDay(day) {
  if (isManager()) return (await call("report/drawer/list", { Day: day, ...account() })).Drawers;
  const own = (await call("report/drawer", { Day: day })).Drawer;
  return isZero(own.Cash) && isZero(own.ReturnedByOthers) && own.Float === null && own.Counted === null ? [] : [own];
}

function Drawer({ drawer }) {
  const names = texts.drawer;
  const line = (name, amount, kind) => html`<div class=${kind}><dt>${name}</dt>
    <dd>${amount === null ? names.none : html`<${Money} amount=${amount} currency=${drawer.CurrencyID} />`}</dd></div>`;
  const write = (amount) => format(amount, drawer.CurrencyID);
  return html`<h3>${tillOf(drawer)}</h3>
    <dl class="sums">
      ${line(names.float, drawer.Float)}
      ${line(names.cash, drawer.Cash)}
      ${line(names.expected, drawer.Expected)}
      ${line(drawer.CountedAt ? names.countedAt(formatTime(drawer.CountedAt)) : names.counted, drawer.Counted)}
      ${drawer.Difference !== null && line(names.difference, drawer.Difference, "sum")}
      ${!isZero(drawer.ReturnedByOthers) && line(names.byOthers, drawer.ReturnedByOthers)}
    </dl>
    ${!isZero(drawer.ReturnedByOthers) && html`<p><small>${names.othersGave(write(drawer.ReturnedByOthers), write(difference(drawer.Expected, drawer.ReturnedByOthers)))}</small></p>`}
    ${isNegative(drawer.Expected) && html`<p><small>${names.gaveForOthers}</small></p>`}
    ${drawer.Note && html`<p class="remark"><small>${drawer.Note}</small></p>`}`;
}

export function Drawers({ drawers }) {
  if (!drawers.length) return null;
  return html`<section>
    <h2>${texts.drawer.title}</h2>
    ${drawers.map((drawer) => html`<${Drawer} key=${drawer.AgentID} drawer=${drawer} />`)}
  </section>`;
}
