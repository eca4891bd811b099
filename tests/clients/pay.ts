// A shop's program, written against the generated client: what pay.py does, in TypeScript.
import {
    BasicReverseTranReverseModeEnum,
    BasicTranInputTypeEnum,
    Configuration,
    HistoryApi,
    PaymentsApi,
    RefusalFromJSON,
    ResponseError,
} from './client';

declare const process: { argv: string[] };

async function main(url: string): Promise<void> {
    const configuration = new Configuration({
        basePath: url,
        username: 'till@demo.example',
        password: 'till-demo-password',
    });
    const api = new PaymentsApi(configuration);
    const id = crypto.randomUUID().toUpperCase();
    const order = `typescript-${crypto.randomUUID()}`;

    const paid = await api.submitPayment({
        submitPayment: {
            basicTran: {
                iD: id,
                inputType: BasicTranInputTypeEnum.CARD_KEYED_IN,
                currencyID: 'ZAR',
                amount: 1234567.89,
                description: 'Espresso',
                extID: order,
            },
            card: { cardInputMode: 1, cardDataInput: { pAN: '4242424242424242', eXP: '1235', cVV2: '123' } },
        },
    });
    const back = await api.reverseCnpPayment({
        idempotencyKey: `back-${order}`,
        reversePayment: {
            basicReverseTran: {
                transactionID: id,
                reverseMode: BasicReverseTranReverseModeEnum.RETURN_CARD_NOT_PRESENT,
                amount: 1234566.78,
                partialReverse: true,
            },
        },
    });
    const found = await api.getPayment({ tranId: id });
    const listed = await new HistoryApi(configuration).listHistory({
        listHistory: { listBasicModel: { page: 1 } },
    });
    let refused: unknown[] = [];
    try {
        await api.submitPayment({
            submitPayment: {
                basicTran: { inputType: BasicTranInputTypeEnum.CASH, currencyID: 'ZAR', amount: 10.999 },
            },
        });
    } catch (error) {
        if (!(error instanceof ResponseError)) {
            throw error;
        }
        const refusal = RefusalFromJSON(await error.response.json());
        refused = [error.response.status, refusal.errorCode, refusal.validations?.[0]?.property];
    }
    console.log(
        JSON.stringify({
            paid: [paid.errorCode, paid.transaction?.amount, paid.transaction?.substate],
            back: [back.errorCode, back.transaction?.amount, back.transaction?.operation],
            remains: found.transactions[0]?.amountEff,
            listed: listed.transactions
                .filter((one) => one.iD === id || one.iD === back.transactionReverseID)
                .map((one) => one.operation)
                .sort(),
            refused,
        }),
    );
}

void main(process.argv[2] ?? '');
