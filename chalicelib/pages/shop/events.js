// The latest events of the merchant, with their deliveries to each webhook, and a way to send one again.
import { formatSecond, formatTime } from "../kit/dates.js";
import { ActButton, useAct } from "../kit/dialogs.js";
import { useIsLeft } from "../kit/left.js";
import { formatCount } from "../kit/money.js";
import { Failure, Loaded } from "../kit/parts.js";
import { address } from "../kit/route.js";
import { localTime } from "../kit/session.js";
import { ByDay, Pages } from "./tables.js";
import { texts } from "./texts.js";
import { latestAttempt, ON, PENDING, sendAgain, succeeded } from "./webhook_list.js";
import { html, useId, useState } from "../kit/view.js";

const NONE = "none"; // the event was not sent to this webhook
const FAILING = "failing"; // pending after a failed attempt
const LOOKS = { delivered: "good", [PENDING]: "", [FAILING]: "warn", "given up": "bad", [NONE]: "" };
const WORST_FIRST = ["given up", FAILING, PENDING, "delivered", NONE];

const isFailing = (delivery) => delivery.State === PENDING && delivery.Attempts > 0 && latestAttempt(delivery);
const stateOf = (delivery) => (isFailing(delivery) ? FAILING : delivery.State);
const worstOf = (deliveries) => {
  const found = deliveries.map(stateOf);
  return WORST_FIRST.find((state) => found.includes(state)) ?? NONE;
};

const Badge = ({ state }) => html`<span class=${`badge ${LOOKS[state]}`}>${texts.events.states[state]}</span>`;

// The problem of an attempt, in words: by the answered status, or by the reason for no answer.
export function failureOf({ Status: status, Reason: reason }) {
  const { statuses, reasons, broken } = texts.events;
  if (status === null) return reasons[reason] ?? reasons[reason?.split(": ")[1]] ?? broken;
  return statuses[status] ?? statuses[`${String(status)[0]}xx`] ?? "";
}

// A button that sends, and a sentence about the receiver's answer.
export function Send({ label, row, send, onSent }) {
  const [outcome, setOutcome] = useState(null);
  const isLeft = useIsLeft();
  const { act, isBusy, error } = useAct(async () => {
    setOutcome(null);
    const attempt = await send(isLeft);
    if (isLeft()) return;
    setOutcome({ attempt });
    onSent();
  });
  return html`<${ActButton} type="button" aria-describedby=${row} isBusy=${isBusy} onClick=${act}>${label}<//>
    ${error && html`<${Failure} error=${error} />`}
    <p class="sent" role="status">${outcome && html`<${Outcome} attempt=${outcome.attempt} />`}</p>`;
}

function Outcome({ attempt }) {
  const said = (kind, words) => html`<span class=${`note ${kind}`}>${words}</span>`;
  if (!attempt) return said("", texts.events.later);
  if (attempt.Status === null) return said("bad", texts.events.unanswered(failureOf(attempt)));
  const time = formatCount(attempt.Milliseconds);
  if (succeeded(attempt)) return said("good", texts.events.taken(attempt.Status, time));
  return said("bad", `${texts.events.refused(attempt.Status, time)} ${failureOf(attempt)}`);
}

function Attempt({ attempt }) {
  return html`<li>
    <p><time>${formatSecond(localTime(attempt.Timestamp))}</time>
      <b class=${succeeded(attempt) ? "good" : "bad"}>${attempt.Status ?? texts.events.noAnswer}</b>
      <span>${texts.events.milliseconds(formatCount(attempt.Milliseconds))}</span></p>
    ${!succeeded(attempt) && html`<p>${failureOf(attempt)}</p>`}
    ${attempt.Answer && html`<p class="answer">${attempt.Answer}</p>`}
  </li>`;
}

function Delivery({ event, delivery, webhook, page, reload }) {
  const again = delivery.State === NONE ? texts.events.send : texts.events.again;
  return html`<section>
    <h3>${webhook?.Url ?? texts.events.isDeleted}</h3>
    <p class="line"><${Badge} state=${stateOf(delivery)} />
      ${delivery.NextAttempt && html`<span>${texts.events.next(formatSecond(localTime(delivery.NextAttempt)))}</span>`}</p>
    ${
      delivery.AttemptList.length > 0 &&
      html`<ol class="attempts" aria-label=${texts.events.attempts}>
      ${delivery.AttemptList.map((one) => html`<${Attempt} key=${one.Timestamp} attempt=${one} />`)}</ol>`
    }
    ${
      webhook?.State === ON
        ? html`<div class="actions"><${Send} label=${again} send=${(isLeft) => sendAgain(event, delivery, page, isLeft)} onSent=${reload} /></div>`
        : webhook && html`<p class="counted">${texts.events.isOff}</p>`
    }
  </section>`;
}

// An opened event. It also lists webhooks that did not receive it, because it can be sent to them.
function Opened({ event, webhooks, page, reload, id }) {
  const names = texts.events;
  const untold = webhooks.filter(
    (one) => one.State === ON && !event.Deliveries.some((delivery) => delivery.WebhookID === one.ID),
  );
  const others = untold.map((one) => ({
    WebhookID: one.ID,
    State: NONE,
    Attempts: 0,
    NextAttempt: null,
    AttemptList: [],
  }));
  const deliveries = event.TransactionID ? [...event.Deliveries, ...others] : event.Deliveries;
  return html`<div class="opened" id=${id}>
    <dl class="facts">
      <div><dt>${names.id}</dt><dd>${event.ID}</dd></div>
      ${
        event.TransactionID &&
        html`<div><dt>${names.transaction}</dt><dd>${event.TransactionID}</dd></div>
        <div><dt>${names.state}</dt><dd>${texts.states[event.Substate] ?? ""}</dd></div>`
      }
    </dl>
    ${deliveries.map(
      (delivery) => html`<${Delivery} key=${delivery.WebhookID} event=${event} delivery=${delivery}
      webhook=${webhooks.find((one) => one.ID === delivery.WebhookID)} page=${page} reload=${reload} />`,
    )}
    ${deliveries.length === 0 && html`<p class="counted">${names.nobody}</p>`}
  </div>`;
}

function Event({ event, ...opened }) {
  const [isOpen, open] = useState(false);
  const id = useId();
  const time = formatTime(localTime(event.Timestamp));
  const kind = texts.webhooks.kinds[event.Type] ?? event.Type;
  return html`<li class="event" data-id=${event.ID}>
    <time>${time}</time>
    <span class="what">${kind}</span>
    <span class="about">${
      event.TransactionID &&
      html`<a href=${address("payments", {}, event.TransactionID)}>
      ${texts.events.about(event.TransactionID.slice(0, 8))}</a>`
    }</span>
    <${Badge} state=${worstOf(event.Deliveries)} />
    <button type="button" class="quiet" aria-expanded=${String(isOpen)} aria-controls=${isOpen ? id : undefined} onClick=${() => open(!isOpen)}>
      ${isOpen ? texts.events.less : texts.events.more} <span class="unseen">${kind}, ${time}</span></button>
    ${isOpen && html`<${Opened} event=${event} id=${id} ...${opened} />`}
  </li>`;
}

export function Events({ state, page, webhooks, reload }) {
  return html`<section class="lately">
    <div class="title"><h2>${texts.events.title}</h2>
      <button type="button" class="quiet" onClick=${reload}>${texts.refresh}</button></div>
    <${Loaded} state=${state}>${({ events, isFull }) => html`
      ${events.length === 0 && html`<p class="empty">${page > 1 ? texts.events.noMore : texts.nothing}</p>`}
      <${ByDay} all=${events} timeOf=${(event) => localTime(event.Timestamp)}>
        ${(event) => html`<${Event} key=${event.ID} event=${event} webhooks=${webhooks} page=${page} reload=${reload} />`}<//>
      ${
        (page > 1 || isFull) &&
        html`<${Pages} page=${page} words=${texts.pages.one(formatCount(page))} hasNext=${isFull}
        to=${(other) => address("webhooks", { page: other })} />`
      }`}<//>
  </section>`;
}
