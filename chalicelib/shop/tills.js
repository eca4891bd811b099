// Tills: the merchant's agents, their states, and their keys.
import { formatMoment } from "./dates.js";
import { Act } from "./dialogs.js";
import { useLoaded } from "./load.js";
import { formatCount } from "./money.js";
import { Loaded, Pages } from "./parts.js";
import { address } from "./route.js";
import { isManager, merchant, session } from "./session.js";
import { CreateTill, Key } from "./till_dialogs.js";
import { ACTIVE, BLOCKED, till, tillsPage, update } from "./till_list.js";
import { texts } from "./texts.js";
import { html, useState } from "./view.js";

const UNLOCK = { Unlock: true };

function State({ shown }) {
  if (shown.State === BLOCKED) return html`<span class="badge bad">${texts.tills.blocked}</span>`;
  if (shown.Logon?.LockedUntil) return html`<span class="badge warn">${texts.tills.locked(formatMoment(shown.Logon.LockedUntil))}</span>`;
  return html`<span class="badge good">${texts.tills.active}</span>`;
}

function Till({ shown, ask }) {
  const names = texts.tills;
  const act = (title, words, fields) => () => ask({ shown, title, words, run: () => update(shown.ID, fields) });
  const isBlocked = shown.State === BLOCKED;
  return html`<li class="card till" data-id=${shown.ID}>
    <p class="line"><b>${shown.Name}</b> <${State} shown=${shown} /></p>
    <p>${shown.Email}${shown.IsAdministrator && html` · ${names.administrator}`}</p>
    <dl class="facts">
      <div><dt>${names.terminal}</dt><dd>${shown.TID ?? names.none}</dd></div>
      <div><dt>${names.lastLogon}</dt><dd>${shown.Logon?.LastLogon ? formatMoment(shown.Logon.LastLogon) : names.never}</dd></div>
    </dl>
    <div class="actions">
      <a class="button" href=${address("payments", { till: shown.ID })}>${names.payments}</a>
      ${isManager() && html`
        ${isBlocked
          ? html`<button type="button" onClick=${act(names.unblock, names.unblockWords(shown.Name), { State: ACTIVE })}>${names.unblock}</button>`
          : html`<button type="button" onClick=${act(names.block, names.blockWords(shown.Name), { State: BLOCKED })}>${names.block}</button>`}
        ${shown.Logon?.LockedUntil && html`<button type="button" onClick=${act(names.unlock, names.unlockWords(shown.Name), UNLOCK)}>${names.unlock}</button>`}
        <button type="button" onClick=${() => ask({ shown, newKey: true })}>${names.newKey}</button>`}
    </div>
  </li>`;
}

async function load(page) {
  if (isManager()) return tillsPage(merchant().ClientID, page);
  const own = await till(session().me.AgentID);
  return { tills: [own], counters: { ItemCountTtl: 1, PageCount: 1 } };
}

export function Tills({ query }) {
  const [asked, ask] = useState(null);
  const page = Number(query.page) || 1;
  const state = useLoaded(() => load(page), `${merchant().ClientID} ${page}`);
  const close = () => {
    ask(null);
    state.reload();
  };
  return html`<div class="title">
      <h1>${texts.tills.title}</h1>
      ${isManager() && html`<button type="button" onClick=${() => ask({ create: true })}>${texts.tills.create}</button>`}
    </div>
    <${Loaded} state=${state}>${({ tills, counters }) => html`
      <ul class="tills">${tills.map((one) => html`<${Till} key=${one.ID} shown=${one} ask=${ask} />`)}</ul>
      ${counters.PageCount > 1 && html`<${Pages} page=${page} words=${texts.pages.ofAll(formatCount(page), formatCount(counters.PageCount))}
        hasNext=${page < counters.PageCount} to=${(other) => address("tills", { page: other })} />`}`}<//>
    ${asked?.create && html`<${CreateTill} onClose=${close} />`}
    ${asked?.newKey && html`<${Key} shown=${asked.shown} onClose=${close} />`}
    ${asked?.run && html`<${Act} ...${asked} onClose=${close} />`}`;
}
