import { LIMIT } from '../http/paging.ts';
import { type Static, Type } from '../lib/schema.ts';
import { oneOf, oneOfOpen } from '../oauth/schemas.ts';
import { STATUSES } from './invoices.ts';

const STATUS = oneOfOpen(STATUSES, 'How far the invoice has come.');

export const INVOICE = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'The invoice.' }),
    number: Type.String({ description: 'What people call it.', examples: ['INV-2001'] }),
    status: STATUS,
    total: Type.String({
      pattern: '^\\d+\\.\\d{2}$',
      description: 'The amount, exact at any size, with two decimals.',
      examples: ['1234.50'],
    }),
    currency: Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217.', examples: ['GBP'] }),
    customerId: Type.String({ description: 'A CRM contact.', examples: ['contact-1'] }),
  },
  { $id: 'Invoice', description: 'One invoice of the business.' },
);

export const BUSINESS = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'Goes into `x-business-id`.' }),
    name: Type.String({ description: 'What people call it.', examples: ['Harbour Coffee'] }),
  },
  { $id: 'Business', description: 'A business that a token acts in.' },
);

const idOf = (description: string) => Type.String({ format: 'uuid', description });
const nameOf = (description: string, example: string) => Type.String({ description, examples: [example] });

export const ME = Type.Object(
  {
    user: Type.Object(
      {
        id: idOf('Never changes. Equal to `sub` at introspection.'),
        name: nameOf('The name that the user chose.', 'Ada Lovelace'),
        email: nameOf('The address that the user signs in with. It can change.', 'ada@example.com'),
        emailVerified: Type.Boolean({
          description:
            'Whether the address is known to be the user’s. If not, do not connect them to an account by it: use `id`.',
        }),
      },
      { description: 'The user who allowed the app.' },
    ),
    business: Type.Object(
      { id: idOf('Goes into `x-business-id`.'), name: nameOf('The name of the business.', 'Harbour Coffee') },
      { description: 'The one business that the token acts in.' },
    ),
    app: Type.Object(
      { id: idOf('The `client_id`.'), name: nameOf('The name that users see.', 'Ledgerly') },
      { description: 'The app that the token was issued to.' },
    ),
    scopes: Type.Array(Type.String(), { description: 'The scopes of this access token.' }),
    grantedAt: Type.String({ format: 'date-time', description: 'When the user allowed the app.' }),
  },
  { $id: 'Me', description: 'Whom an access token acts for.' },
);

export const INVOICE_QUERY = Type.Object({
  status: Type.Optional(oneOf(STATUSES, 'Only invoices that have come this far.')),
  limit: LIMIT,
  cursor: Type.Optional(
    Type.String({ format: 'uuid', description: 'Where the next page starts: from the `Link` header of this one.' }),
  ),
});
export type InvoiceQuery = Static<typeof INVOICE_QUERY>;

export const BUSINESS_HEADER = Type.Object({
  'x-business-id': Type.String({
    format: 'uuid',
    description: 'The business that the token acts in. It selects; it never grants.',
  }),
});
