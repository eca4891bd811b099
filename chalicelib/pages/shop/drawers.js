// The drawers of a day, the cash that was in none, and the drawer of a till now.
import { call } from "../kit/api.js";
import { Drawer } from "../kit/drawer.js";
import { DrawerForms } from "../kit/drawer_forms.js";
import { useLoaded } from "../kit/load.js";
import { Field, Loaded } from "../kit/parts.js";
import { ReportHead } from "./reports.js";
import { address, go } from "../kit/route.js";
import { account, isManager, merchant, session } from "../kit/session.js";
import { tillOf } from "./takings.js";
import { allTills, isActive, isPerson } from "./till_list.js";
import { texts } from "./texts.js";
import { html } from "../kit/view.js";

// A manager gets every drawer, another person only its own latest one. `earlier` were opened before the day, and counted on
// it or not yet.
export async function drawersOfDay(day) {
  if (isManager()) {
    const Period = { From: day, To: day };
    const answer = await call("report/drawer/list", { Period, ...account() });
    return { opened: answer.Drawers, earlier: answer.Earlier };
  }
  const own = (await call("report/drawer", {})).Drawer;
  const isEarlier = own?.OpenedAt.slice(0, 10) < day && (own.ClosedAt ?? day).startsWith(day);
  return { opened: own?.OpenedAt.startsWith(day) ? [own] : [], earlier: isEarlier ? [own] : [] };
}

export function Drawers({ opened, earlier, nameOf }) {
  const listed = (title, drawers) =>
    drawers.length > 0 &&
    html`<section>
    <h2>${title}</h2>
    ${drawers.map((drawer) => html`<${Drawer} key=${drawer.DrawerID} drawer=${drawer} title=${tillOf(drawer)} lastLine="sum" nameOf=${nameOf} />`)}
  </section>`;
  return html`${listed(texts.drawer.title, opened)}${listed(texts.drawer.earlier, earlier)}`;
}

// The drawer of one till or person, and the acts on it.
function DrawerOf({ agent, nameOf }) {
  const { me } = session();
  const other = agent === me.AgentID ? undefined : agent;
  const state = useLoaded(
    async () => (await call("report/drawer", other ? { AgentID: other } : {})).Drawer ?? {},
    String(agent),
  );
  const shown = (found) => {
    const drawer = found.DrawerID ? found : null;
    return html`${drawer ? html`<article class="card report"><h2 class="unseen">${texts.drawer.one}</h2><${Drawer} drawer=${drawer} title=${tillOf(drawer)} lastLine="sum" nameOf=${nameOf} /></article>` : html`<p class="empty">${texts.drawer.none}</p>`}
      <${DrawerForms} drawer=${drawer} agent=${other} currency=${me.CurrencyID} digits=${me.CurrencyDigits} onActed=${() => state.reload({ isQuiet: true })} />`;
  };
  return html`<${Loaded} state=${state}>${shown}<//>`;
}

export function DrawerNow({ query }) {
  const { me } = session();
  const tills = useLoaded(
    async () => (isManager() ? (await allTills()).filter(isActive) : []),
    String(merchant().ClientID),
  );
  const choice = (all, agent) => html`<${Field} id="drawer-of" label=${texts.columns.till}>
    <select id="drawer-of" value=${String(agent)} onChange=${({ target }) => go("drawer", { till: target.value })}>${all.map(
      (one) => html`<option value=${String(one.ID)} selected=${one.ID === agent}>${one.Name}</option>`,
    )}</select><//>`;
  const shown = (all) => {
    const agent = Number(query.till) || (all.find((one) => !isPerson(one)) ?? all[0])?.ID || me.AgentID;
    return html`${all.length > 0 && html`<div class="filters days unprinted">${choice(all, agent)}</div>`}
      <${DrawerOf} key=${agent} agent=${agent} nameOf=${(id) => all.find((one) => one.ID === id)?.Name} />`;
  };
  return html`<${ReportHead} title=${texts.drawer.one} shown=${address("drawer")} /><${Loaded} state=${tills}>${shown}<//>`;
}
