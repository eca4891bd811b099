// The drawers of a day, and the cash that was in none.
import { call } from "../kit/api.js";
import { Drawer } from "../kit/drawer.js";
import { account, isManager } from "../kit/session.js";
import { tillOf } from "./takings.js";
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
