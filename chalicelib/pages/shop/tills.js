// Tills and people: the merchant's agents, their states, keys and passwords.
import { addDays, formatDate, formatMoment } from "../kit/dates.js";
import { Act } from "../kit/dialogs.js";
import { useLoaded } from "../kit/load.js";
import { formatCount } from "../kit/money.js";
import { Loaded } from "../kit/parts.js";
import { address } from "../kit/route.js";
import { isManager, merchant, session, today } from "../kit/session.js";
import { allTakings } from "./takings.js";
import { Block, Devices, Key, NewPassword } from "./till_dialogs.js";
import { ChangeTill, CreateTill } from "./till_form.js";
import { ACTIVE, allTills, hasOwnList, isActive, isPerson, till, update } from "./till_list.js";
import { Pages } from "./tables.js";
import { texts } from "./texts.js";
import { html, useState } from "../kit/view.js";

const UNLOCK = { Unlock: true };
const PAGE = 100;
const LOOKED_BACK_DAYS = 31; // for the last day of payments

function State({ shown }) {
  if (!isActive(shown)) return html`<span class="badge bad">${texts.tills.blocked}</span>`;
  if (shown.Logon?.LockedUntil)
    return html`<span class="badge warn">${texts.tills.locked(formatMoment(shown.Logon.LockedUntil))}</span>`;
  return html`<span class="badge good">${texts.tills.active}</span>`;
}

// A till with a secret key never signs in, so its last day of payments says whether it is in use.
function Till({ shown, lastDay, ask }) {
  const names = texts.tills;
  const act = (title, words, fields) => () => ask({ shown, title, words, run: () => update(shown.ID, fields) });
  const open = (Dialog) => () => ask({ shown, Dialog });
  const lastLogon = shown.Logon?.LastLogon;
  const facts = [
    [names.terminal, shown.TID ?? (isPerson(shown) ? null : names.none)],
    [names.lastDay, lastDay ? formatDate(lastDay) : !isPerson(shown) && names.noDay],
    [names.lastLogon, lastLogon ? formatMoment(lastLogon) : !lastDay && names.never],
  ];
  return html`<li class="card till" data-id=${shown.ID}>
    <p class="line"><b>${shown.Name}</b> <${State} shown=${shown} /></p>
    <p>${shown.Email}${shown.IsAdministrator && html` · ${names.administrator}`}</p>
    <dl class="facts">${facts.filter(([, value]) => value).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
    <div class="actions">
      ${hasOwnList(shown) && html`<a class="button" href=${address("payments", { till: shown.ID })}>${names.payments}</a>`}
      ${
        isManager() &&
        html`
        <button type="button" onClick=${open(ChangeTill)}>${names.change}</button>
        ${shown.Logon?.LockedUntil && html`<button type="button" onClick=${act(names.unlock, names.unlockWords(shown.Name), UNLOCK)}>${names.unlock}</button>`}
        <button type="button" onClick=${open(Devices)}>${names.devices}</button>
        <button type="button" onClick=${open(NewPassword)}>${names.newPassword}</button>
        <button type="button" onClick=${open(Key)}>${names.newKey}</button>
        ${
          isActive(shown)
            ? html`<button type="button" class="danger" onClick=${open(Block)}>${names.block}</button>`
            : html`<button type="button" onClick=${act(names.unblock, names.unblockWords(shown.Name), { State: ACTIVE })}>${names.unblock}</button>`
        }`
      }
    </div>
  </li>`;
}

async function load() {
  const tills = isManager() ? await allTills() : [await till(session().me.AgentID)];
  const { rows } = await allTakings(addDays(today(), 1 - LOOKED_BACK_DAYS), today(), "day");
  const lastDays = new Map();
  for (const { AgentID, Day } of rows) lastDays.set(AgentID, [Day, lastDays.get(AgentID) ?? ""].sort()[1]);
  return { people: tills.filter(isPerson), tills: tills.filter((one) => !isPerson(one)), lastDays };
}

function Listed({ page, ask, people, tills, lastDays }) {
  const list = (all) =>
    html`<ul class="tills">${all.map((one) => html`<${Till} key=${one.ID} shown=${one} lastDay=${lastDays.get(one.ID)} ask=${ask} />`)}</ul>`;
  const pages = Math.ceil(tills.length / PAGE);
  return html`
    ${tills.length > 0 && list(tills.slice((page - 1) * PAGE, page * PAGE))}
    <${Pages} page=${page} words=${texts.pages.ofAll(formatCount(page), formatCount(pages))} hasNext=${page < pages}
      to=${(other) => address("tills", { page: other })} />
    ${people.length > 0 && html`<h2>${texts.tills.people}</h2>${list(people)}`}`;
}

// A till sends its cashier to an administrator or to the support of this service, which is the system user.
const Messages = () => html`<details class="messages"><summary>${texts.tills.messages.title}</summary>
  <dl class="facts">${texts.tills.messages.all.map(([said, done]) => html`<div class="long"><dt>${said}</dt><dd>${done}</dd></div>`)}</dl></details>`;

export function Tills({ query }) {
  const [asked, ask] = useState(null);
  const state = useLoaded(load, String(merchant().ClientID));
  const close = () => {
    ask((now) => (now === asked ? null : now)); // an answer that comes late closes no other dialog
    if (session()) state.reload(); // whoever blocks herself is signed out
  };
  return html`<div class="title">
      <h1>${texts.tills.title}</h1>
      ${isManager() && html`<button type="button" onClick=${() => ask({ Dialog: CreateTill })}>${texts.tills.create}</button>`}
    </div>
    ${session().me.IsSystemUser && html`<${Messages} />`}
    <${Loaded} state=${state}>${(all) => html`<${Listed} page=${Number(query.page) || 1} ask=${ask} ...${all} />`}<//>
    ${asked?.Dialog && html`<${asked.Dialog} shown=${asked.shown} onClose=${close} />`}
    ${asked?.run && html`<${Act} ...${asked} onClose=${close} />`}`;
}
