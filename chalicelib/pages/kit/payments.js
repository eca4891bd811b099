// Payments of the interface: one by its ID, its returns, and its state.
import { call } from "./api.js";
import { addDays } from "./dates.js";
import { account, today } from "./session.js";

const MAX_DAYS = 366; // of a list

export async function found(id) {
  const answer = await call(`payment/${encodeURIComponent(id)}`);
  return answer.Transactions[0];
}

// The returns of a payment, the oldest first. Without a right to list them, only those that the person may see.
export async function returnsOf(payment) {
  if (payment.CountRvs === 1) return [await found(payment.ReverseID)];
  const period = { From: [payment.Date.slice(0, 10), addDays(today(), 1 - MAX_DAYS)].sort()[1], To: today() };
  const model = { ...account(), InvoiceOriginal: payment.Invoice, Sort: "Date asc" };
  const answer = await call("payment/listHistoryEx", { Period: period, ListBasicModel: model });
  return [...answer.Transactions, ...answer.InProcess].filter((one) => one.ReverseID === payment.ID);
}

export const isReversal = (payment) => payment.OperationID !== 1;
export const isUnknown = (payment) => payment.IsNotFinished && payment.Substate !== 401;
// Whether money moved: a payment took it, or a reversal gave it back.
export const tookMoney = (payment) =>
  isReversal(payment) ? payment.Substate === 502 : [401, 411, 502].includes(payment.Substate);

// All payments of a page as one list, newest first. The interface has pending ones in separate lists.
export const inOneList = (answer) =>
  [...answer.InProcess, ...answer.NotFinishedActualTrans, ...answer.Transactions].sort((one, other) =>
    one.Date < other.Date ? 1 : -1,
  );
