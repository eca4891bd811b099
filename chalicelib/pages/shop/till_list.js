// The tills of the merchant, which are the interface's agents, and its terminals.
import { call } from "../kit/api.js";
import { merchant, session } from "../kit/session.js";

export const ACTIVE = 1;
export const BLOCKED = 0;
const USER = 11; // the type of an account
const SEES_ALL = 201; // a right

export const isActive = (till) => till.State === ACTIVE;
export const isOneself = (till) => till.ID === session().me.AgentID;
export const isPerson = (till) => till.IsAdministrator || till.AccountTypeID === USER;

// Whether a list can have only this till's payments: for a system user an account stands for all that it sees.
export const hasOwnList = (till) =>
  !session().me.IsSystemUser || !(till.IsAdministrator || till.Rights.includes(SEES_ALL));

export async function tillsPage(clientId, page) {
  const answer = await call(`merchant/${clientId}/pos/list`, { Page: page });
  return { tills: answer.PosList, counters: answer.PosCounters };
}

export async function allTills(clientId = merchant().ClientID) {
  const first = await tillsPage(clientId, 1);
  const tills = [...first.tills];
  for (let page = 2; page <= first.counters.PageCount; page += 1)
    tills.push(...(await tillsPage(clientId, page)).tills);
  return tills;
}

const path = (id) => `merchant/${merchant().ClientID}/pos/${id}`;

export const till = async (id) => (await call(path(id))).Pos;
export const update = async (id, fields) => (await call(`${path(id)}/update`, fields)).Pos;
// A till may be created although its answer is lost. The list then has it, because an e-mail is used only once.
export const create = async (fields) =>
  (await call(`merchant/${merchant().ClientID}/pos/create`, fields, { isRepeatable: false })).Pos;

export async function allTerminals() {
  const found = [];
  for (let page = 1, count = 1; page <= count; page += 1) {
    const answer = await call(`merchant/${merchant().ClientID}/terminal/list`, { Page: page });
    found.push(...answer.Terminals);
    count = answer.TerminalsCounters.PageCount;
  }
  return found;
}

export const createTerminal = async (fields) =>
  (await call("terminal/create", { ...fields, BranchID: merchant().ClientID }, { isRepeatable: false })).Terminal;
