import type { FastifyInstance } from 'fastify';
import { findApp } from '../apps/apps.ts';
import { listEvents } from '../events/events.ts';
import { ApiError } from '../http/errors.ts';
import { documentedBy } from '../http/openapi.ts';
import { nextLink, type RawQuery, readLimit, readText, valueNotAllowed } from '../http/paging.ts';
import type { Clock } from '../lib/clock.ts';
import { isId } from '../lib/ids.ts';
import { authenticateClient } from '../oauth/client-authentication.ts';
import type { TokenDeps } from '../oauth/token/endpoint.ts';
import { eventsOperation, NAMED_SCHEMAS } from './operations.ts';
import type { EventQuery } from './schemas.ts';
import { toPayload } from './signatures.ts';
import { visibleTo } from './visibility.ts';

const PATH = '/api/v1/events';

/** A receiver that was down catches up here. */
export function mountEvents(host: FastifyInstance, parts: TokenDeps & { clock: Clock }): void {
  for (const schema of NAMED_SCHEMAS) host.addSchema(schema);
  host.get<{ Querystring: RawQuery<EventQuery> }>(PATH, documentedBy(eventsOperation), async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const { headers, ip: address, requestContext: context } = request;
    const { authorization } = headers;
    const credentials = { authorization, clientId: undefined, clientSecret: undefined, address, context };
    const { client: app } = await authenticateClient(parts, credentials, undefined, parts.clock());
    await rejectPaused(parts, app.id);
    const { limit, after } = readPage(request.query);

    const asked = { appId: app.id, after, limit: limit + 1 };
    const events = await listEvents(parts.storage.durable, asked, parts.clock());
    const page = events.slice(0, limit);
    const last = page.at(-1);
    if (last && events.length > page.length) {
      reply.header('link', nextLink(parts.issuer + PATH, { limit: String(limit), cursor: last.id }));
    }
    const audible = await visibleTo(parts.storage.durable, app.id, page, parts.clock());
    return audible.map((event) => ({ id: event.id, ...toPayload(event) }));
  });
}

/** The platform paused the app because it does not trust it, so its past events are withheld, too. */
async function rejectPaused({ storage }: TokenDeps, appId: string): Promise<void> {
  const app = await findApp(storage.durable, appId);
  if (app?.pausedAt === null) return;
  const description = 'The platform has paused the app. It can read its events again once it is resumed.';
  throw new ApiError({ status: 403, code: 'unauthorized_client', reason: 'app_paused', description });
}

function readPage(query: RawQuery<EventQuery>): { limit: number; after: string | undefined } {
  const [sent, cursor] = [readText(query, 'limit'), readText(query, 'cursor')];
  const limit = readLimit(sent);
  if (cursor !== undefined && !isId(cursor)) throw valueNotAllowed('cursor is the id of the last event that you have.');
  return { limit, after: cursor };
}
