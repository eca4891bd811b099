// A payment: its state, card, returns, receipt, photo and signature.
import { formatMoment } from "../kit/dates.js";
import { canReturn, GiveBack } from "../kit/giving_back.js";
import { found, isReversal, isUnknown, returnsOf, tookMoney } from "./history.js";
import { useLoaded } from "../kit/load.js";
import { Loaded, Money } from "../kit/parts.js";
import { Badge, latestList, meansOf, shownAmount } from "./payments.js";
import { ReceiptOf } from "./receipt.js";
import { taxName } from "./reports.js";
import { address, goBackTo } from "../kit/route.js";
import { merchant, session } from "../kit/session.js";
import { texts } from "./texts.js";
import { html } from "../kit/view.js";
const FORBIDDEN = 403;

const listed = (facts, kind) =>
  facts
    .filter(([, value]) => value)
    .map(([name, value]) => html`<div key=${name} class=${kind}><dt>${name}</dt><dd>${value}</dd></div>`);

function Facts({ payment }) {
  const names = texts.payment;
  const money = (amount) => html`<${Money} amount=${amount} currency=${payment.CurrencyID} />`;
  const isReturned = !isReversal(payment) && payment.CountRvs > 0;
  const isRefused = !tookMoney(payment) && !payment.IsNotFinished;
  const facts = [
    [names.means, meansOf(payment)],
    [names.refusal, isRefused && payment.Result?.Message],
    [names.till, payment.TransPos.Name],
    [names.givenBack, isReturned && money(payment.AmountRvs)],
    [names.remains, isReturned && money(payment.AmountEff)],
    [names.taken, payment.Received && formatMoment(payment.Date)],
    [names.received, payment.Received && formatMoment(payment.Received)],
    [names.cashGot, payment.AmountCashGot !== null && money(payment.AmountCashGot)],
    ...(payment.TaxAmounts ?? []).map((tax) => [taxName(tax), names.taxIn(money(tax.Tax), money(tax.Gross))]),
    [names.invoice, payment.Invoice],
  ];
  const long = [
    [names.description, payment.Description],
    [names.receiptTo, [payment.ReceiptEmail, payment.ReceiptPhone].filter(Boolean).join(", ")],
    [
      names.original,
      isReversal(payment) &&
        payment.ReverseID &&
        html`<a href=${address("payments", {}, payment.ReverseID)}>${names.showOriginal}</a>`,
    ],
  ];
  const technical = [
    [names.card, payment.Card.PANMasked && `${payment.Card.IIN} ${payment.Card.PANMasked}`],
    [names.cardholder, payment.CardholderName],
    [names.terminal, payment.TerminalName],
    [names.acquirer, payment.AcquirerID],
    [names.state, `${payment.Status} · ${payment.State}/${payment.Substate}`],
    [
      names.result,
      payment.Result && [payment.Result.Code, payment.Result.Message].filter((one) => one !== null).join(" · "),
    ],
    [names.approval, payment.ApprovalCode],
    [names.rrn, payment.RRN],
    [names.extId, payment.ExtID],
  ];
  return html`<dl class="facts">${listed(facts)}${listed(long, "long")}</dl>
    <details class="technical"><summary>${names.technical}</summary><dl class="facts">${listed([[names.id, payment.ID]], "long")}${listed(technical)}</dl></details>`;
}

function Return({ one, payment }) {
  const reason = one.Description === payment.Description ? null : one.Description; // a return without one has the payment's
  return html`<li data-id=${one.ID}><a href=${address("payments", {}, one.ID)}>
    <time>${formatMoment(one.Date)}</time>
    <span class="what">${reason ?? texts.payment.noReason}</span>
    <span class="till">${one.TransPos.Name}</span>
    <${Badge} payment=${one} />
    <span class="amount"><${Money} amount=${shownAmount(one)} currency=${one.CurrencyID} /></span>
  </a></li>`;
}

// Another agent made the return. The payment says how much was given back.
function orNone(refusal) {
  if (refusal.status !== FORBIDDEN) throw refusal;
  return [];
}

function Returns({ payment }) {
  const state = useLoaded(
    () => returnsOf(payment).catch(orNone),
    `${payment.ID} ${payment.AmountRvs} ${payment.CountRvs}`,
  );
  return html`<section class="card rows returns"><h2>${texts.returns}</h2>
    <${Loaded} state=${state}>${(returns) => html`
      <ul>${returns.map((one) => html`<${Return} key=${one.ID} one=${one} payment=${payment} />`)}</ul>
      ${returns.length < payment.CountRvs && html`<p class="empty">${texts.payment.moreReturns}</p>`}`}<//>
  </section>`;
}

function Pictures({ payment }) {
  const shown = [
    [payment.PhotoUrl, texts.payment.photo],
    [payment.SignatureUrl, texts.payment.signature],
  ].filter(([url]) => url);
  return shown.map(
    ([url, name]) =>
      html`<section class="card"><h2>${name}</h2><img class="picture" src=${url} alt=${name} /></section>`,
  );
}

function Shown({ payment, reload }) {
  return html`
    <section class="card headline">
      <p class="line"><${Badge} payment=${payment} /> ${payment.Received && html`<span class="badge">${texts.offline}</span>`}
        <span>${formatMoment(payment.Date)}</span></p>
      <p class="net"><${Money} amount=${shownAmount(payment)} currency=${payment.CurrencyID} /></p>
      ${
        isUnknown(payment) &&
        html`<div class="note warn"><p>${isReversal(payment) ? texts.payment.unknownReturn : texts.payment.unknown}</p>
        <button type="button" onClick=${reload}>${texts.payment.ask}</button></div>`
      }
      <div class="actions"><${GiveBack} id=${payment.ID} currency=${payment.CurrencyID} onChanged=${reload}
        mayReturn=${canReturn(payment) && session().me.Features?.Returns !== false} /></div>
      <${Facts} payment=${payment} />
    </section>
    <${ReceiptOf} payment=${payment} />
    ${!isReversal(payment) && payment.CountRvs > 0 && html`<${Returns} payment=${payment} />`}
    <${Pictures} payment=${payment} />`;
}

export function Payment({ id }) {
  const state = useLoaded(() => found(id), id);
  const operation = state.data && texts.operations[state.data.OperationID];
  return html`<div class="title">
      <h1>${operation ?? texts.operations[1]}</h1>
      ${session().me.IsSystemUser && merchant().Name && html`<p>${merchant().Name}</p>`}
      <p><a href=${latestList()} onClick=${goBackTo(latestList())}>${texts.payment.back}</a></p>
    </div>
    <${Loaded} state=${state}>${(payment) => html`<${Shown} payment=${payment} reload=${state.reload} />`}<//>`;
}
