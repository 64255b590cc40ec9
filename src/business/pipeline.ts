import { Type } from 'typebox';
import { formatAmount } from '../lib/money.ts';
import { deals, STAGES } from '../resources/deals.ts';
import { AMOUNT_PATTERN } from '../resources/resource.ts';
import { sumAmounts } from '../storage/amounts.ts';
import type { ProtectedEndpoint } from './protected-endpoint.ts';
import { tagOf } from './resource-schemas.ts';

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
    const rows = await db
      .selectFrom('deals')
      .select(['stage', 'currency', sumAmounts('amount').as('amount'), ({ fn }) => fn.countAll<string>().as('deals')])
      .where('business_id', '=', access.businessId)
      .groupBy(['stage', 'currency'])
      .orderBy('currency')
      .execute();
    const body = STAGES.map((stage) => {
      const found = rows.filter((row) => row.stage === stage);
      const amounts = found.map(({ currency, amount }) => ({
        currency: String(currency),
        amount: formatAmount(amount, String(currency)),
      }));
      return { stage, deals: found.reduce((sum, row) => sum + Number(row.deals), 0), amounts };
    });
    return { body };
  },
};
