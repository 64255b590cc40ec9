import type { FastifyInstance } from 'fastify';
import { GatehouseError, verifyWebhook, type WebhookEvent } from '../sdk/typescript/src/index.ts';

const MOST_KEPT = 5;

/** What the app was told by webhook, the newest first. In memory, as everything here. */
export function mountHearing(server: FastifyInstance, secret: string | undefined): readonly WebhookEvent[] {
  const heard: WebhookEvent[] = [];
  if (secret === undefined) return heard;
  server.register(async (part) => {
    // The signature is over the body as it came, so it is not parsed before it is checked.
    part.removeAllContentTypeParsers();
    part.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) => done(null, body));
    part.post<{ Body: string }>('/webhooks', async (request, reply) => {
      try {
        remember(heard, await verifyWebhook({ headers: request.headers, body: request.body, secret }));
        return reply.code(204).send();
      } catch (error) {
        if (error instanceof GatehouseError) return reply.code(400).send();
        throw error;
      }
    });
  });
  return heard;
}

/** An event can come more than once. */
function remember(heard: WebhookEvent[], event: WebhookEvent): void {
  if (heard.some(({ id }) => id === event.id)) return;
  heard.unshift(event);
  heard.splice(MOST_KEPT);
}
