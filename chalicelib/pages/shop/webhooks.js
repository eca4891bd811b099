// Webhooks: the addresses that receive events, the state of each, and the latest events.
import { formatMoment } from "../kit/dates.js";
import { Act } from "../kit/dialogs.js";
import { Events, failureOf, Send } from "./events.js";
import { useLoaded } from "../kit/load.js";
import { Loaded } from "../kit/parts.js";
import { go } from "../kit/route.js";
import { isManager, localTime, merchant } from "../kit/session.js";
import { texts } from "./texts.js";
import { ChangeWebhook, CreateWebhook, KINDS, NewSecret } from "./webhook_dialogs.js";
import { eventsPage, latestAttempt, OFF, ON, remove, sendTest, succeeded, update, webhooks } from "./webhook_list.js";
import { html, useState } from "../kit/view.js";

// The latest attempt of a webhook among the newest events.
function lastAttemptAt(webhook, events = []) {
  const deliveries = events.flatMap((event) => event.Deliveries).filter((one) => one.WebhookID === webhook.ID);
  const attempts = deliveries.map(latestAttempt).filter(Boolean);
  return attempts.sort((one, other) => (one.Timestamp < other.Timestamp ? 1 : -1))[0];
}

// An attempt before the last change says nothing about the current address.
function State({ shown, attempt }) {
  if (shown.State === OFF) return html`<span class="badge bad">${texts.webhooks.off}</span>`;
  const isOfNow = attempt && localTime(attempt.Timestamp) > shown.Updated;
  if (isOfNow && !succeeded(attempt)) return html`<span class="badge warn">${texts.webhooks.failing}</span>`;
  return html`<span class="badge good">${texts.webhooks.on}</span>`;
}

function Webhook({ shown, attempt, ask, onSent }) {
  const names = texts.webhooks;
  const name = `webhook-${shown.ID}`;
  const isOn = shown.State === ON;
  const turn = (title, words, State) => () =>
    ask({ title, words: words(shown.Url), run: () => update(shown.ID, { State }) });
  const kinds =
    shown.Types.length === KINDS.length ? names.every : shown.Types.map((kind) => names.kinds[kind]).join(", ");
  return html`<li class="card webhook" data-id=${shown.ID}>
    <p class="line"><b id=${name}>${shown.Url}</b> <${State} shown=${shown} attempt=${attempt} /></p>
    <p>${kinds}${shown.Description && html` · ${shown.Description}`}</p>
    <dl class="facts">
      <div><dt>${names.changed}</dt><dd>${formatMoment(shown.Updated)}</dd></div>
      ${
        attempt &&
        html`<div><dt>${names.lastAttempt}</dt>
        <dd>${formatMoment(localTime(attempt.Timestamp))} ${attempt.Status && ` · ${attempt.Status}`}
          ${!succeeded(attempt) && html`<small>${failureOf(attempt)}</small>`}</dd></div>`
      }
    </dl>
    <div class="actions">
      <${Send} label=${names.test} row=${name} send=${(isLeft) => sendTest(shown.ID, isLeft)} onSent=${onSent} />
      <button type="button" aria-describedby=${name} onClick=${() => ask({ Dialog: ChangeWebhook, shown })}>${names.change}</button>
      <button type="button" aria-describedby=${name} onClick=${() => ask({ Dialog: NewSecret, shown })}>${names.newSecret}</button>
      ${
        isOn
          ? html`<button type="button" aria-describedby=${name} onClick=${turn(names.turnOff, names.turnOffWords, OFF)}>${names.turnOff}</button>`
          : html`<button type="button" aria-describedby=${name} onClick=${turn(names.turnOn, names.turnOnWords, ON)}>${names.turnOn}</button>`
      }
      <button type="button" aria-describedby=${name} class="danger"
        onClick=${() => ask({ title: names.remove, words: names.removeWords(shown.Url), isDangerous: true, run: () => remove(shown.ID) })}>${names.remove}</button>
    </div>
  </li>`;
}

export function Webhooks({ query }) {
  const [asked, ask] = useState(null);
  const page = Number(query.page) || 1;
  const state = useLoaded(webhooks, merchant().ClientID);
  const events = useLoaded(() => eventsPage(page), `${merchant().ClientID} ${page}`);
  const reload = () => {
    state.reload();
    events.reload();
  };
  const close = () => {
    ask((now) => (now === asked ? null : now)); // an answer that comes late closes no other dialog
    reload();
  };
  const showTest = () => (page > 1 ? go("webhooks") : reload()); // the test is the newest event
  const newest = page === 1 ? events.data?.events : [];
  return html`<div class="title">
      <h1>${texts.webhooks.title}</h1>
      ${isManager() && html`<button type="button" onClick=${() => ask({ Dialog: CreateWebhook })}>${texts.webhooks.create}</button>`}
    </div>
    <${Loaded} state=${state}>${(all) =>
      all.length
        ? html`<ul class="tills">${all.map(
            (one) => html`<${Webhook} key=${one.ID} shown=${one} attempt=${lastAttemptAt(one, newest)}
            ask=${ask} onSent=${showTest} />`,
          )}</ul>
          <${Events} state=${events} page=${page} webhooks=${all} reload=${reload} />`
        : html`<p class="empty">${texts.webhooks.none}</p>`}<//>
    ${asked?.Dialog && html`<${asked.Dialog} shown=${asked.shown} onClose=${close} />`}
    ${asked?.run && html`<${Act} ...${asked} onClose=${close} />`}`;
}
