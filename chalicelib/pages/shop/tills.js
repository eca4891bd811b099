// Tills and people: the merchant's agents and their states.
import { addDays, formatDate, formatMoment } from "../kit/dates.js";
import { useLoaded } from "../kit/load.js";
import { formatCount } from "../kit/money.js";
import { Loaded } from "../kit/parts.js";
import { address, go } from "../kit/route.js";
import { isManager, merchant, session, today } from "../kit/session.js";
import { allTakings } from "./takings.js";
import { Terminals } from "./terminals.js";
import { CreateTill } from "./till_form.js";
import { allTills, hasOwnList, isActive, isPerson, till } from "./till_list.js";
import { Pages } from "./tables.js";
import { texts } from "./texts.js";
import { html, useState } from "../kit/view.js";

const PAGE = 100;
const LOOKED_BACK_DAYS = 31; // for the last day of payments

function State({ shown }) {
  if (!isActive(shown)) return html`<span class="badge bad">${texts.tills.blocked}</span>`;
  if (shown.Logon?.LockedUntil)
    return html`<span class="badge warn">${texts.tills.locked(formatMoment(shown.Logon.LockedUntil))}</span>`;
  return html`<span class="badge good">${texts.tills.active}</span>`;
}

// A till with a secret key never signs in, so its last day of payments says whether it is in use. `children` are more buttons.
export function Till({ shown, lastDay, children }) {
  const names = texts.tills;
  const lastLogon = shown.Logon?.LastLogon;
  const facts = [
    [names.terminal, shown.TID ?? (isPerson(shown) ? null : names.none)],
    [names.lastDay, lastDay ? formatDate(lastDay) : lastDay === "" && !isPerson(shown) && names.noDay],
    [names.lastLogon, lastLogon ? formatMoment(lastLogon) : !lastDay && names.never],
  ];
  const name = `till-${shown.ID}`;
  return html`<li class="card till" data-id=${shown.ID}>
    <p class="line"><b id=${name}>${shown.Name}</b> <${State} shown=${shown} /></p>
    <p>${shown.Email}${shown.IsAdministrator && html` · ${names.administrator}`}</p>
    <dl class="facts">${facts.filter(([, value]) => value).map(([fact, value]) => html`<div><dt>${fact}</dt><dd>${value}</dd></div>`)}</dl>
    <div class="actions">
      ${hasOwnList(shown) && html`<a class="button" aria-describedby=${name} href=${address("payments", { till: shown.ID })}>${names.payments}</a>`}
      ${children ?? (isManager() && html`<button type="button" aria-describedby=${name} onClick=${() => go("tills", {}, shown.ID)}>${names.change}</button>`)}
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

function Listed({ page, people, tills, lastDays }) {
  const list = (all) =>
    html`<ul class="tills">${all.map((one) => html`<${Till} key=${one.ID} shown=${one} lastDay=${lastDays.get(one.ID) ?? ""} />`)}</ul>`;
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
  const [isNew, setNew] = useState(false);
  const state = useLoaded(load, String(merchant().ClientID));
  const close = () => {
    setNew(false);
    state.reload();
  };
  return html`<div class="title">
      <h1>${texts.tills.title}</h1>
      ${isManager() && html`<button type="button" onClick=${() => setNew(true)}>${texts.tills.create}</button>`}
    </div>
    ${session().me.IsSystemUser && html`<${Messages} />`}
    ${isManager() && html`<${Terminals} />`}
    <${Loaded} state=${state}>${(all) => html`<${Listed} page=${Number(query.page) || 1} ...${all} />`}<//>
    ${isNew && html`<${CreateTill} onClose=${close} />`}`;
}
