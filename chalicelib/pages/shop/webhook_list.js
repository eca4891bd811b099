// The merchant's webhooks and events, with the deliveries to each webhook.
import { ErrorCode } from "../kit/error_codes.js";
import { call, wait } from "../kit/api.js";
import { merchant, session } from "../kit/session.js";

export const ON = 1;
export const OFF = 0;
export const PENDING = "pending";

const LOOKS_S = [0.3, 0.7, 1, 2, 3, 4, 5]; // pauses between two looks: a receiver has ten seconds to answer

const path = (rest) => `merchant/${merchant().ClientID}/${rest}`;
const zone = () => ({ GMT: session().me.GMT });
// Not repeated, because a secret in a lost answer cannot be read again.
const once = { isRepeatable: false };

export const webhooks = async () => (await call(path("webhook/list"), zone())).Webhooks;
export const create = async (fields) => (await call(path("webhook/create"), { ...zone(), ...fields }, once)).Webhook;
export const update = async (id, fields) =>
  (await call(path(`webhook/${id}/update`), { ...zone(), ...fields })).Webhook;
export const rotate = async (id) =>
  (await call(path(`webhook/${id}/update`), { ...zone(), RotateSecret: true }, once)).Webhook;

// Delete a webhook. A repeated request finds it gone: the wish is fulfilled.
export async function remove(id) {
  try {
    await call(path(`webhook/${id}/delete`), {});
  } catch (refusal) {
    if (refusal.code !== ErrorCode.WEBHOOK_NOT_FOUND) throw refusal;
  }
}

export async function eventsPage(page) {
  const { Events, EventsCounters } = await call(path("event/list"), { Page: page });
  return { events: Events, isFull: EventsCounters.ItemCountPage === EventsCounters.Pagesize };
}

export const latestAttempt = (delivery) => delivery?.AttemptList[0];
export const succeeded = (attempt) => attempt.Status >= 200 && attempt.Status < 300;

// Send a test to a webhook and return its attempt.
export async function sendTest(webhookId, isLeft) {
  const { EventID } = await call(path(`webhook/${webhookId}/test`), {});
  return attemptAfter(undefined, EventID, webhookId, 1, isLeft);
}

// Send an event of a page to a webhook again and return the attempt.
export async function sendAgain(event, delivery, page, isLeft) {
  await call(path(`event/${event.ID}/resend`), { WebhookID: delivery.WebhookID });
  return attemptAfter(latestAttempt(delivery)?.Timestamp, event.ID, delivery.WebhookID, page, isLeft);
}

// Look at the list until it has an attempt after the one at `before`; undefined if none comes soon.
async function attemptAfter(before, eventId, webhookId, page, isLeft) {
  for (const pause of LOOKS_S) {
    await wait(pause);
    if (isLeft()) return undefined;
    const { events } = await eventsPage(page);
    const delivery = events.find((one) => one.ID === eventId)?.Deliveries.find((one) => one.WebhookID === webhookId);
    const attempt = latestAttempt(delivery);
    if (attempt && attempt.Timestamp !== before) return attempt;
  }
  return undefined;
}
