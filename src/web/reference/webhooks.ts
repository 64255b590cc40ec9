import { Type } from 'typebox';
import { STATUSES } from '../../business/invoices.ts';
import type { EventType } from '../../events/event-types.ts';
import { oneOfOpen } from '../../oauth/schemas.ts';
import type { Document, Schema } from './document.ts';

interface DescribedEvent {
  summary: string;
  /** The fields of `data`. */
  data: Record<string, object>;
  example: Record<string, unknown>;
}

const ID = '0190b9a1-8d5e-7f6a-9b7c-8d9e0f1a2b3c';
const idOf = (description: string) => Type.String({ format: 'uuid', description });
const textOf = (description: string) => Type.String({ description });

const BUSINESS = { businessId: idOf('The business that it happened in.') };
const GRANT = { ...BUSINESS, grantId: idOf('The grant.'), userId: idOf('The user who allowed the app.') };
const GRANT_EXAMPLE = { businessId: ID, grantId: ID, userId: ID };
const INVOICE = {
  ...BUSINESS,
  invoiceId: idOf('The invoice.'),
  number: textOf('The number that people use.'),
  status: oneOfOpen(STATUSES, 'Its status after the change.'),
  total: textOf('The amount, with two decimals.'),
  currency: textOf('ISO 4217.'),
};
const INVOICE_EXAMPLE = {
  businessId: ID,
  invoiceId: ID,
  number: 'INV-2001',
  status: 'SENT',
  total: '1234.50',
  currency: 'GBP',
};
/** A first-party app belongs to no business. */
const SECRET = {
  businessId: Type.Optional(idOf('The business that owns the app. Absent for a first-party app.')),
  secretId: idOf('The client secret.'),
};

/** The types allow no event without a description. */
const EVENTS: Record<EventType, DescribedEvent> = {
  'grant.created': {
    summary: 'A user allowed the app',
    data: { ...GRANT, scopes: Type.Array(Type.String(), { description: 'The scopes that were granted.' }) },
    example: { ...GRANT_EXAMPLE, scopes: ['read:invoices'] },
  },
  'grant.revoked': {
    summary: 'A grant has ended',
    data: { ...GRANT, reason: textOf('Why: one of the reasons of `invalid_grant`. More may be added.') },
    example: { ...GRANT_EXAMPLE, reason: 'disconnected_by_user' },
  },
  'grant.expiring': {
    summary: 'An unused grant expires in three days',
    data: { ...GRANT, expiresAt: Type.String({ format: 'date-time', description: 'When, unless the app refreshes.' }) },
    example: { ...GRANT_EXAMPLE, expiresAt: '2030-01-31T00:00:00.000Z' },
  },
  'invoice.created': { summary: 'An invoice was created', data: INVOICE, example: INVOICE_EXAMPLE },
  'invoice.updated': { summary: 'The status of an invoice has changed', data: INVOICE, example: INVOICE_EXAMPLE },
  'invoice.paid': {
    summary: 'An invoice was paid',
    data: INVOICE,
    example: { ...INVOICE_EXAMPLE, status: 'PAID' },
  },
  'app.secret_added': {
    summary: 'The app has a new client secret',
    data: SECRET,
    example: { businessId: ID, secretId: ID },
  },
  'app.secret_removed': {
    summary: 'A client secret was removed',
    data: SECRET,
    example: { businessId: ID, secretId: ID },
  },
  'endpoint.test': {
    summary: 'A test that someone asked for',
    data: { endpointId: idOf('The endpoint that is tested.') },
    example: { endpointId: ID },
  },
};

const HEADERS: [name: string, description: string, schema: Schema][] = [
  ['webhook-id', 'The event. The same at every attempt: do nothing twice.', { type: 'string', format: 'uuid' }],
  ['webhook-timestamp', 'When this attempt was made, in seconds since 1970.', { type: 'string' }],
  ['webhook-signature', 'One or several, separated by spaces: `v1,` and a base64 HMAC-SHA256.', { type: 'string' }],
];

/** OpenAPI 3.1 `webhooks`: the requests that an endpoint receives, by the Standard Webhooks specification. */
export function describeWebhooks(): Document['webhooks'] {
  const entries = Object.entries(EVENTS).map(([type, event]) => [type, { post: describeEvent(type, event) }]);
  return Object.fromEntries(entries);
}

function describeEvent(type: string, { summary, data, example }: DescribedEvent) {
  const schema = Type.Object({
    type: Type.Unsafe({ type: 'string', enum: [type], description: 'What happened.' }),
    timestamp: Type.String({ format: 'date-time', description: 'When it happened.' }),
    data: Type.Object(data as Parameters<typeof Type.Object>[0], {
      description: 'What belongs to the event. More fields may be added.',
    }),
  });
  return {
    operationId: `on_${type.replace('.', '_')}`,
    tags: ['Webhooks'],
    summary,
    parameters: HEADERS.map(([name, description, header]) => ({
      name,
      in: 'header',
      required: true,
      description,
      schema: header,
    })),
    requestBody: {
      required: true,
      content: {
        'application/json': { schema, example: { type, timestamp: '2030-01-01T00:00:00.000Z', data: example } },
      },
    },
    responses: {
      '2XX': { description: 'Received. It is not sent again.' },
      410: { description: 'Not wanted any more: the endpoint is switched off.' },
      default: { description: 'A failure: it is sent again later, for about three days.' },
    },
    security: [],
  };
}
