import { ANYWHERE, describeRefusals, UNCACHED } from '../http/error-schemas.ts';
import { REASONS } from '../http/errors.ts';
import { Type } from '../lib/schema.ts';
import { BUSINESS, BUSINESS_HEADER, INVOICE, INVOICE_QUERY, ME } from './schemas.ts';

const TAGS = ['Business API'];
const CHALLENGE = { 'www-authenticate': Type.String({ description: 'RFC 6750 §3.', examples: ['Bearer'] }) };

const NOT_AUTHENTICATED = describeRefusals(
  { unauthorized: REASONS.unauthorized, invalid_token: REASONS.invalid_token },
  CHALLENGE,
);

export const meOperation = {
  operationId: 'me',
  tags: TAGS,
  summary: 'Read the user’s profile',
  description:
    'The user, business and app that the access token belongs to, for clients that expect a profile or userinfo ' +
    'endpoint. It needs no scope and no `x-business-id`.',
  security: [{ oauth2: [] }],
  response: {
    200: {
      description: 'Whom the token acts for.',
      headers: UNCACHED,
      content: {
        'application/json': {
          schema: Type.Unsafe({ $ref: 'Me#' }),
          example: {
            user: {
              id: '0190b9a1-6f2b-7a11-8f00-5d1c2b3a4f60',
              name: 'Ada Lovelace',
              email: 'ada@example.com',
              emailVerified: true,
            },
            business: { id: '0190b9a1-5e1a-7b22-9c33-1a2b3c4d5e6f', name: 'Harbour Coffee' },
            app: { id: '0190b9a0-1111-7aaa-8bbb-2c3d4e5f6a7b', name: 'Ledgerly' },
            scopes: ['read:invoices'],
            grantedAt: '2026-07-15T09:30:00.000Z',
          },
        },
      },
    },
    400: describeRefusals({ invalid_request: ['token_in_address'] }, CHALLENGE),
    401: NOT_AUTHENTICATED,
    ...ANYWHERE,
  },
};

export const businessesOperation = {
  operationId: 'listBusinesses',
  tags: TAGS,
  summary: 'Learn the business id',
  description: 'The one business that the access token acts in. It needs no scope and no `x-business-id`.',
  security: [{ oauth2: [] }],
  response: {
    200: {
      description: 'A list of one.',
      headers: UNCACHED,
      content: {
        'application/json': {
          schema: Type.Array(Type.Unsafe({ $ref: 'Business#' })),
          example: [{ id: '0190b9a1-5e1a-7b22-9c33-1a2b3c4d5e6f', name: 'Harbour Coffee' }],
        },
      },
    },
    400: describeRefusals({ invalid_request: ['token_in_address'] }, CHALLENGE),
    401: NOT_AUTHENTICATED,
    ...ANYWHERE,
  },
};

export const invoicesOperation = {
  operationId: 'listInvoices',
  tags: TAGS,
  summary: 'List invoices',
  description: 'The invoices of one business, newest first, a page at a time. It needs the scope `read:invoices`.',
  security: [{ oauth2: ['read:invoices'] }],
  headers: BUSINESS_HEADER,
  querystring: INVOICE_QUERY,
  response: {
    200: {
      description: 'A page of invoices.',
      headers: {
        ...UNCACHED,
        link: Type.String({
          description: 'If there is more: the next page, as `<…>; rel="next"` (RFC 8288).',
          examples: ['<https://api.example.com/api/v1/accounting/invoices?limit=50&cursor=…>; rel="next"'],
        }),
      },
      content: {
        'application/json': {
          schema: Type.Array(Type.Unsafe({ $ref: 'Invoice#' })),
          example: [
            {
              id: '0190b9a2-1c3d-7e4f-8a5b-6c7d8e9f0a1b',
              number: 'INV-2001',
              status: 'SENT',
              total: '1234.50',
              currency: 'GBP',
              customerId: 'contact-1',
            },
          ],
        },
      },
    },
    400: describeRefusals(
      { invalid_request: ['business_id_malformed', 'value_not_allowed', 'field_repeated', 'token_in_address'] },
      CHALLENGE,
    ),
    401: NOT_AUTHENTICATED,
    403: describeRefusals(
      { insufficient_scope: REASONS.insufficient_scope, business_mismatch: REASONS.business_mismatch },
      CHALLENGE,
    ),
    ...ANYWHERE,
  },
};

export const NAMED_SCHEMAS = [INVOICE, BUSINESS, ME];
