import { Type } from 'typebox';
import { REASONS } from '../http/errors.ts';
import { COMMON_ERRORS, describeErrors, NO_STORE } from '../http/openapi.ts';
import { EVENT, EVENT_QUERY } from './schemas.ts';

export const eventsOperation = {
  operationId: 'listEvents',
  tags: ['Webhooks'],
  summary: 'Catch up on events',
  description:
    'What the app has been told in the last 30 days, oldest first, a page at a time, for a receiver that was down. The app ' +
    'proves itself by HTTP Basic. What a business has since taken back is left out, ' +
    'and so are the last 15 seconds.',
  security: [{ basic: [] }],
  querystring: EVENT_QUERY,
  response: {
    200: {
      description: 'A page of events.',
      headers: {
        ...NO_STORE,
        link: Type.String({ description: 'If there is more: the next page, as `<…>; rel="next"` (RFC 8288).' }),
      },
      content: {
        'application/json': {
          schema: Type.Array(Type.Unsafe({ $ref: 'Event#' })),
          example: [
            {
              id: '0190b9a2-1c3d-7e4f-8a5b-6c7d8e9f0a1b',
              type: 'grant.revoked',
              timestamp: '2030-01-01T00:00:00.000Z',
              data: {
                businessId: '0190b9a1-5e1a-7b22-9c33-1a2b3c4d5e6f',
                grantId: '0190b9a1-8d5e-7f6a-9b7c-8d9e0f1a2b3c',
                userId: '0190b9a1-6f2b-7a11-8f00-5d1c2b3a4f60',
                reason: 'disconnected_by_user',
              },
            },
          ],
        },
      },
    },
    400: describeErrors({ invalid_request: ['value_not_allowed', 'field_repeated'] }),
    401: describeErrors(
      { invalid_client: REASONS.invalid_client },
      { 'www-authenticate': Type.String({ description: 'Sent where HTTP Basic was used.' }) },
    ),
    403: describeErrors({ unauthorized_client: REASONS.unauthorized_client }),
    ...COMMON_ERRORS,
  },
};

export const NAMED_SCHEMAS = [EVENT];
