// A till or person: its form, devices, keys and passwords.
import { Act } from "../kit/dialogs.js";
import { useLoaded } from "../kit/load.js";
import { Loaded } from "../kit/parts.js";
import { address, go } from "../kit/route.js";
import { isManager, session } from "../kit/session.js";
import { Block, Devices, Key, NewPassword, SignOutEverywhere } from "./till_dialogs.js";
import { ChangeForm, choices } from "./till_form.js";
import { ACTIVE, isActive, update } from "./till_list.js";
import { Till, Tills } from "./tills.js";
import { texts } from "./texts.js";
import { html, useState } from "../kit/view.js";

function Actions({ shown, ask }) {
  const names = texts.tills;
  const act = (title, words, fields) =>
    html`<button type="button" onClick=${() => ask({ shown, title, words: words(shown.Name), run: () => update(shown.ID, fields) })}>${title}</button>`;
  const open = (title, Dialog, kind) =>
    html`<button type="button" class=${kind} onClick=${() => ask({ shown, Dialog })}>${title}</button>`;
  return html`${open(names.endSessions, SignOutEverywhere)}
    ${shown.Logon?.LockedUntil && act(names.unlock, names.unlockWords, { Unlock: true })}
    ${open(names.newPassword, NewPassword)}${open(names.newKey, Key)}
    ${isActive(shown) ? open(names.block, Block, "danger") : act(names.unblock, names.unblockWords, { State: ACTIVE })}`;
}

function Page({ id }) {
  const [asked, ask] = useState(null);
  const state = useLoaded(() => choices(Number(id)), id);
  const close = () => {
    ask((now) => (now === asked ? null : now)); // an answer that comes late closes no other dialog
    if (session()) state.reload(); // whoever blocks herself is signed out
  };
  const names = texts.tills;
  return html`<div class="title"><h1>${names.changeTitle}</h1><p><a href=${address("tills")}>${texts.payment.back}</a></p></div>
    <${Loaded} state=${state}>${(all) => html`<div class="beside">
      <ul class="tills"><${Till} shown=${all.shown}><${Actions} shown=${all.shown} ask=${ask} /><//></ul>
      <section class="card narrow"><h2>${names.change}</h2><${ChangeForm} all=${all} onClose=${() => go("tills")} /></section>
      <section class="card narrow"><h2>${names.devices}</h2><${Devices} shown=${all.shown} onEnded=${() => state.reload({ isQuiet: true })} /></section></div>`}<//>
    ${asked?.Dialog && html`<${asked.Dialog} shown=${asked.shown} onClose=${close} />`}
    ${asked?.run && html`<${Act} ...${asked} onClose=${close} />`}`;
}

export const TillPage = ({ id }) => (isManager() ? html`<${Page} id=${id} />` : html`<${Tills} query=${{}} />`);
