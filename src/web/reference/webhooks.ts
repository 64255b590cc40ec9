import { Type } from 'typebox';
import { EVENTS, type EventDeclaration } from '../../events/event-types.ts';
import type { Document, Schema } from './document.ts';

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

function describeEvent(type: string, { summary, data, example }: EventDeclaration) {
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
