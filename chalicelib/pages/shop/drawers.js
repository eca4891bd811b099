// The drawers that were opened on a day, and the cash that was in none.
import { call } from "../kit/api.js";
import { Drawer } from "../kit/drawer.js";
import { account, isManager } from "../kit/session.js";
import { tillOf } from "./takings.js";
import { texts } from "./texts.js";
import { html } from "../kit/view.js";

// A manager gets every drawer, another person only its own latest one.
export async function drawersOfDay(day) {
  if (isManager()) {
    const Period = { From: day, To: day };
    return (await call("report/drawer/list", { Period, ...account() })).Drawers;
  }
  const own = (await call("report/drawer", {})).Drawer;
  return own?.OpenedAt.startsWith(day) ? [own] : [];
}

export function Drawers({ drawers }) {
  if (!drawers.length) return null;
  return html`<section>
    <h2>${texts.drawer.title}</h2>
    ${drawers.map((drawer) => html`<${Drawer} key=${drawer.DrawerID} drawer=${drawer} title=${tillOf(drawer)} lastLine="sum" />`)}
  </section>`;
}
