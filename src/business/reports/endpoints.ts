import { Type } from 'typebox';
import type { ProtectedEndpoint } from '../protected-endpoint.ts';
import { dayOf } from '../records.ts';
import { agedReceivables } from './aged-receivables.ts';
import { balance } from './balance.ts';
import { profitAndLoss } from './profit-and-loss.ts';

export const reportEndpoints: ProtectedEndpoint[] = [profitAndLoss, balance, agedReceivables].map((report) => ({
  method: 'GET',
  path: `/api/v1/accounting/reports/${report.name}`,
  scope: 'read:reports',
  operationId: `get${report.title}`,
  tag: 'Reports',
  summary: report.summary,
  description: report.description,
  query: Type.Object(report.query),
  response: {
    description: 'The report.',
    name: report.title,
    schema: { ...report.schema, description: report.description },
    example: report.example,
  },
  handle: async ({ db, access, query, now }) => ({
    body: await report.compute(db, access.businessId, query, dayOf(now)),
  }),
}));
