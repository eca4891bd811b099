// The merchants of a system user. In requests, one of the merchant's accounts names it.
import { call, callAs, Refusal } from "../kit/api.js";
import { ErrorCode } from "../kit/error_codes.js";
import { change, merchant, session } from "../kit/session.js";
import { texts } from "./texts.js";
import { allTills } from "./till_list.js";

const MOST_RECENT = 8;
const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const RECEIPT_NUMBER = /^(\d\d)(\d\d)(\d\d)\.(\d+)\.\d+$/; // the day, the agent, and its count
const MISSING = new Set([ErrorCode.TRANSACTION_NOT_FOUND, ErrorCode.AGENT_NOT_FOUND]);

const place = () => `merchants.${session().me.AgentID}`;
// The merchants that were shown last on this device: {ClientID, Name}, the latest first.
export const recent = () => JSON.parse(localStorage.getItem(place()) ?? "[]");

let choices = 0; // of merchants

// Show a merchant by the account with the most rights: an administrator sees the whole merchant. Its days are those of
// its own zone. Return whether it was done: a later choice and another person's session stay.
export async function show(clientId) {
  const { AgentID } = session().me;
  choices += 1;
  const number = choices;
  const tills = await allTills(clientId);
  const account = tills.find((till) => till.IsAdministrator) ?? tills[0];
  if (!account) throw new Refusal({ code: 0, message: texts.merchant.noTill });
  const { Data: me } = await callAs(session().token, `user/me?AccountID=${account.ID}`);
  if (number !== choices || session()?.me.AgentID !== AgentID) return false;
  const whole = me.ClientName ?? texts.merchant.numbered(clientId);
  localStorage.setItem(
    place(),
    JSON.stringify(
      [{ ClientID: clientId, Name: whole }, ...recent().filter((one) => one.ClientID !== clientId)].slice(
        0,
        MOST_RECENT,
      ),
    ),
  );
  const Name = account.IsAdministrator ? whole : texts.merchant.part(whole, account.Name);
  change({
    me,
    merchant: { ClientID: clientId, CurrencyID: me.CurrencyID, AccountID: account.ID, Name },
    askedAt: Date.now(),
  });
  return true;
}

// Show the merchant of a payment to a system user, so that its returns and lists are of this merchant.
export async function showMerchantOf(payment) {
  if (session().me.IsSystemUser && payment.ClientID !== merchant().ClientID) await show(payment.ClientID);
}

// Find a payment over all merchants. A receipt number names an agent and a day of its merchant.
// Return its ID; null if there is none; undefined for a text that is neither an ID nor a receipt number.
export async function idOfAny(typed) {
  const text = typed.trim();
  const [, year, month, day, agent] = RECEIPT_NUMBER.exec(text) ?? [];
  if (!agent && !GUID.test(text)) return undefined;
  try {
    if (!agent) return (await call(`payment/${text}`)).Transactions[0].ID;
    const on = `20${year}-${month}-${day}`;
    const answer = await call("payment/listHistoryEx", {
      Period: { From: on, To: on },
      ListBasicModel: { AccountID: Number(agent), Invoice: text },
    });
    return [...answer.Transactions, ...answer.InProcess, ...answer.NotFinishedActualTrans][0]?.ID ?? null;
  } catch (refusal) {
    if (MISSING.has(refusal.code) || refusal.code === ErrorCode.VALIDATION_FAILED) return null;
    throw refusal;
  }
}
