// A shop's program, written against the types of openapi-typescript: what pay.py does, with openapi-fetch.
import createClient from 'openapi-fetch';
import type { components, paths, webhooks } from './schema.js';

declare const process: { argv: string[] };

type EventBody = webhooks['payment.approved']['post']['requestBody']['content']['application/json'];

// A receiver of events: they have the amount as a number, and kinds that are not known yet.
export function taken(event: EventBody): number {
    return event.type === 'payment.approved' ? event.data.Amount : 0;
}

async function main(url: string): Promise<void> {
    const client = createClient<paths>({
        baseUrl: url,
        headers: { Authorization: `Basic ${btoa('till@demo.example:till-demo-password')}` },
    });
    const id = crypto.randomUUID().toUpperCase();
    const sale: components['schemas']['BasicTran'] = {
        ID: id,
        InputType: 10,
        CurrencyID: 'ZAR',
        Amount: '1234567.89',
        Description: 'Espresso',
    };

    const paid = await client.POST('/api/v1/payment/submit', { body: { BasicTran: sale } });
    const back = await client.POST('/api/v1/payment/reverse', {
        params: { header: { 'Idempotency-Key': `back-${id}` } },
        body: {
            BasicReverseTran: { TransactionID: id, ReverseMode: 2, Amount: 1234566.78, PartialReverse: true },
        },
    });
    const found = await client.GET('/api/v1/payment/{tranId}', { params: { path: { tranId: id } } });
    const listed = await client.POST('/api/v1/payment/listHistoryEx', { body: { ListBasicModel: { Page: 1 } } });
    const refused = await client.POST('/api/v1/payment/submit', {
        body: { BasicTran: { InputType: 10, CurrencyID: 'ZAR', Amount: 10.999 } },
    });
    const refusal: components['schemas']['Refusal'] | undefined = refused.error;
    console.log(
        JSON.stringify({
            paid: [paid.data?.ErrorCode, paid.data?.Transaction?.Amount, paid.data?.Transaction?.Substate],
            back: [back.data?.ErrorCode, back.data?.Transaction?.Amount, back.data?.Transaction?.Operation],
            remains: found.data?.Transactions[0]?.AmountEff,
            listed: listed.data?.Transactions.filter((one) => [id, back.data?.TransactionReverseID].includes(one.ID))
                .map((one) => one.Operation)
                .sort(),
            refused: [refused.response.status, refusal?.ErrorCode, refusal?.Validations?.[0]?.Property],
        }),
    );
}

void main(process.argv[2] ?? '');
