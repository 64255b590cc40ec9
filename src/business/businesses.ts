import { Type } from 'typebox';
import { findBusiness } from '../accounts/businesses.ts';
import type { ProtectedEndpoint } from './protected-endpoint.ts';

const BUSINESS = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'Goes into `x-business-id`.' }),
    name: Type.String({ description: 'The name of the business.', examples: ['Harbour Coffee'] }),
  },
  { description: 'A business that a token acts in.' },
);

/** An app learns here which id to send as `x-business-id` to every endpoint with a scope. */
export const businessesEndpoint: ProtectedEndpoint = {
  method: 'GET',
  path: '/api/v1/businesses',
  scope: null,
  operationId: 'listBusinesses',
  tool: false,
  summary: 'Learn the business id',
  description: 'The one business that the access token acts in.',
  response: {
    description: 'A list of one.',
    name: 'Business',
    schema: BUSINESS,
    isList: true,
    example: [{ id: '0190b9a1-5e1a-7b22-9c33-1a2b3c4d5e6f', name: 'Harbour Coffee' }],
  },
  async handle({ db, access }) {
    const business = await findBusiness(db, access.businessId);
    return { body: business ? [{ id: business.id, name: business.name }] : [] };
  },
};
