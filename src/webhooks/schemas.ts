import { type Static, Type } from 'typebox';
import { EVENT_TYPES } from '../events/event-types.ts';
import { LIMIT_PARAMETER } from '../http/paging.ts';
import { oneOfOpen } from '../oauth/schemas.ts';

export const EVENT = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'The same as `webhook-id` where it was delivered.' }),
    type: oneOfOpen([...EVENT_TYPES], 'What happened.'),
    timestamp: Type.String({ format: 'date-time', description: 'When it happened.' }),
    data: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: true,
      description: 'Ids, `businessId` where a business is concerned, and what belongs to the type.',
    }),
  },
  { $id: 'Event', description: 'Something that happened, as an endpoint is told of it.' },
);

export const EVENT_QUERY = Type.Object({
  limit: LIMIT_PARAMETER,
  cursor: Type.Optional(
    Type.String({ format: 'uuid', description: 'The id of the last event that you have: what came after it follows.' }),
  ),
});
export type EventQuery = Static<typeof EVENT_QUERY>;
