// Takings of the merchant, and the names of their tills and kinds of payment.
import { call } from "../kit/api.js";
import { kindName } from "./kinds.js";
import { account } from "../kit/session.js";
import { byNet, currencies, grouped, of, total } from "../kit/takings.js";

export { byNet, currencies, grouped, of, total };

const report = (first, last, by) => call("report/takings", { Period: { From: first, To: last }, ...account(), By: by });

export const takings = async (first, last, by) => (await report(first, last, by)).Takings;

// The takings of a day, the taxes in them, and the receipt numbers of each till.
export async function takingsOfDay(day) {
  const answer = await report(day, day, "day");
  return { rows: answer.Takings, taxes: answer.Taxes, numbers: answer.ReceiptNumbers };
}

export const kindOf = (row) => kindName(row.InputType);
// Two tills may have the same name.
export const tillIdOf = (row) => row.AgentID;
export const tillOf = (row) => row.AgentName ?? String(row.AgentID);
