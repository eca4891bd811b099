// Takings of the merchant, and the names of their tills and kinds of payment.
import { call } from "../kit/api.js";
import { KINDS } from "../kit/kinds.js";
import { kindName } from "./kinds.js";
import { isBlind } from "../kit/drawer.js";
import { account, isManager, session } from "../kit/session.js";
import { byNet, currencies, grouped, inGroups, of, total } from "../kit/takings.js";

export { byNet, currencies, grouped, inGroups, of, total };

// The takings of a period, the taxes in them, the late sales that were recorded in it, and of a single day the receipt numbers of each till.
export async function allTakings(first, last, by) {
  const answer = await call("report/takings", { Period: { From: first, To: last }, ...account(), By: by });
  return { rows: answer.Takings, taxes: answer.Taxes, late: answer.Late, numbers: answer.ReceiptNumbers };
}

// The same for the eyes of this person: who counts a drawer blind sees no sum with cash before.
export async function takings(...period) {
  const all = await allTakings(...period);
  const isAsked = session().me.DrawerBlind && !isManager();
  if (!isAsked || !isBlind((await call("report/drawer", {})).Drawer)) return all;
  const rows = all.rows.filter((row) => row.InputType !== KINDS.cash.inputType);
  return { ...all, rows, taxes: [], late: [], isWithoutCash: true };
}

export const kindOf = (row) => kindName(row.InputType);
// Two tills may have the same name.
export const tillIdOf = (row) => row.AgentID;
export const tillOf = (row) => row.AgentName ?? String(row.AgentID);
