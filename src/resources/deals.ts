import { amount, choice, currency, date, FieldError, notes, type Resource, reference, text } from './resource.ts';

const ID = '0190b9a1-8d5e-7f6a-9b7c-8d9e0f1a2b3c';

/** In the order of the pipeline. */
const OPEN_STAGES = ['LEAD', 'QUALIFIED', 'PROPOSAL', 'NEGOTIATION'];
const CLOSED_STAGES = ['WON', 'LOST'];
export const STAGES = [...OPEN_STAGES, ...CLOSED_STAGES];

export const deals: Resource = {
  name: 'deal',
  plural: 'deals',
  title: 'Deal',
  description: 'A sale that the business hopes to make.',
  path: '/api/v1/crm/deals',
  table: 'deals',
  scopes: { read: 'read:deals', write: 'write:deals' },
  fields: {
    title: text('What is sold.', { required: true, example: 'Espresso machines for three sites' }),
    stage: choice(STAGES, 'The stage of the pipeline.', { computed: true, initial: 'LEAD' }),
    amount: amount('The value of the deal.', { required: true }),
    currency: currency(),
    contactId: reference('contact', 'The person to talk to.'),
    companyId: reference('company', 'The company that would buy.'),
    expectedCloseDate: date('The expected date of the decision.'),
    lostReason: text('Why it was lost.', { computed: true, nullable: true }),
    notes: notes('Anything else.'),
  },
  filters: ['stage', 'contactId'],
  sorts: [],
  state: { field: 'stage', editableIn: OPEN_STAGES, events: { WON: 'won', LOST: 'lost' } },
  transitions: {
    move: {
      summary: 'Move a deal to another stage',
      description: 'Moves an open deal within the pipeline. To close it, use `win` or `lose`.',
      from: OPEN_STAGES,
      body: { stage: choice(OPEN_STAGES, 'The stage to move it to.', { required: true }) },
      change({ stage }, body) {
        if (body.stage === stage) throw new FieldError('stage', `must differ: the deal is already in ${stage}`);
        return { stage: body.stage };
      },
    },
    win: {
      summary: 'Mark a deal as won',
      description: 'Closes the deal.',
      from: OPEN_STAGES,
      change: () => ({ stage: 'WON' }),
    },
    lose: {
      summary: 'Mark a deal as lost',
      description: 'Closes the deal, with a reason if there is one.',
      from: OPEN_STAGES,
      body: { reason: text('Why it was lost.', { example: 'Chose a cheaper supplier' }) },
      change: (_, { reason = null }) => ({ stage: 'LOST', lostReason: reason }),
    },
    reopen: {
      summary: 'Reopen a closed deal',
      description: 'Moves the deal back to the last open stage.',
      from: CLOSED_STAGES,
      change: () => ({ stage: OPEN_STAGES.at(-1), lostReason: null }),
    },
  },
  eventFields: ['title', 'stage', 'amount', 'currency'],
  example: {
    title: 'Espresso machines for three sites',
    stage: 'PROPOSAL',
    amount: '18400.00',
    currency: 'GBP',
    contactId: ID,
    companyId: ID,
    expectedCloseDate: '2026-09-30',
    lostReason: null,
    notes: 'Wants delivery before the winter.',
  },
};
