// A drawer from its float to its count: its sums, and what was done to it.
import { formatMoment } from "./dates.js";
import { difference, isZero } from "./money.js";
import { Money } from "./parts.js";
import { isManager, session } from "./session.js";
import { texts } from "./language.js";
import { html } from "./view.js";

// Whether an agent counts this drawer without knowing the cash: until then no page tells the agent a sum of cash.
export const isBlind = (drawer) => Boolean(session().me.DrawerBlind && !isManager() && drawer && !drawer.ClosedAt);

// The author stands before the note, which may say anything.
function Movement({ movement: { At, By, Kind, Amount, Note }, drawer, nameOf }) {
  const names = texts.drawer;
  const author = (By === drawer.AgentID ? drawer.AgentName : nameOf(By)) ?? names.agent(By);
  return html`<p class="remark"><small>${formatMoment(At)} · ${names.kinds[Kind]}
    ${Amount !== null && html` <${Money} amount=${Amount} currency=${drawer.CurrencyID} />`}
    ${` · ${names.by(author)}`}${Note && html` · “<bdi>${Note}</bdi>”`}${!Note && Kind === "out" && ` · ${names.noReason}`}</small></p>`;
}

// What is not known yet, such as a count, or is not for this agent's eyes, is left out. `lastLine` is the class of the difference,
// `nameOf` returns an agent's name if it is known.
export function Drawer({ drawer, title, lastLine, nameOf = () => undefined }) {
  const names = texts.drawer;
  const { OpenedAt, ClosedAt, LastCounted } = drawer;
  const line = (name, amount, kind) =>
    amount !== null &&
    html`<div class=${kind}><dt>${name}</dt><dd><${Money} amount=${amount} currency=${drawer.CurrencyID} /></dd></div>`;
  const change = LastCounted === null ? null : difference(drawer.Float, LastCounted);
  return html`<h3>${title}</h3>
    ${drawer.DrawerID === null && html`<p>${names.outside}</p>`}
    ${OpenedAt && html`<p>${ClosedAt ? names.open(formatMoment(OpenedAt), formatMoment(ClosedAt)) : names.notCounted(formatMoment(OpenedAt))}</p>`}
    <dl class="sums">
      ${line(names.lastCounted, LastCounted)}${line(names.float, drawer.Float)}${change !== null && !isZero(change) && line(names.floatChange, change)}
      ${line(names.cashTaken, drawer.CashTaken)}${line(names.cashGivenBack, drawer.CashGivenBack)}${line(names.paidIn, drawer.PaidIn)}${line(names.paidOut, drawer.PaidOut)}
      ${line(names.expected, drawer.Expected)}${line(names.counted, drawer.Counted)}${line(names.difference, drawer.Difference, lastLine)}
    </dl>
    ${drawer.Movements === null && html`<p>${names.leftOut}</p>`}
    ${drawer.Movements?.map((movement) => html`<${Movement} movement=${movement} drawer=${drawer} nameOf=${nameOf} />`)}`;
}
