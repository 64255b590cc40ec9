import { Type } from 'typebox';
import { formatAmount } from '../../lib/money.ts';
import { deals, STAGES } from '../../resources/deals.ts';
import { AMOUNT_PATTERN } from '../../resources/resource.ts';
import { readBatches } from '../batches.ts';
import type { ProtectedEndpoint } from '../protected-endpoint.ts';
import { tagOf } from '../resource-schemas.ts';

const STAGE = Type.Object(
  {
    stage: Type.String({ description: 'The name of the stage.', examples: ['PROPOSAL'] }),
    deals: Type.Integer({ description: 'How many deals are in it.' }),
    amounts: Type.Array(
      Type.Object({
        currency: Type.String({ description: 'ISO 4217.' }),
        amount: Type.String({ pattern: AMOUNT_PATTERN, description: 'The sum of its deals in this currency.' }),
      }),
      {
        description: 'What they are worth, by currency.',
      },
    ),
  },
  { description: 'A stage of the pipeline.' },
);

export const pipelineEndpoint: ProtectedEndpoint = {
  method: 'GET',
  path: '/api/v1/crm/pipeline',
  scope: deals.scopes.read,
  operationId: 'getPipeline',
  tag: tagOf(deals),
  summary: 'Get the pipeline',
  description: 'The stages in order, with how many deals are in each and what they are worth.',
  response: {
    description: 'The stages, in order.',
    name: 'Stage',
    schema: STAGE,
    isList: true,
    example: [{ stage: 'LEAD', deals: 2, amounts: [{ currency: 'GBP', amount: '18400.00' }] }],
  },
  async handle({ db, access }) {
    const stages = new Map(STAGES.map((stage) => [stage, { deals: 0, amounts: new Map<string, bigint>() }]));
    const columns = ['stage', 'currency', 'amount'];
    for await (const rows of readBatches(db, { table: 'deals', businessId: access.businessId, columns })) {
      for (const row of rows) {
        const found = stages.get(String(row.stage));
        if (!found) continue;
        const currency = String(row.currency);
        found.deals++;
        found.amounts.set(currency, (found.amounts.get(currency) ?? 0n) + BigInt(row.amount ?? 0));
      }
    }
    const body = [...stages].map(([stage, { deals, amounts }]) => ({
      stage,
      deals,
      amounts: [...amounts].sort().map(([currency, sum]) => ({ currency, amount: formatAmount(sum, currency) })),
    }));
    return { body };
  },
};
