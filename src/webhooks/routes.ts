import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { findApp } from '../apps/apps.ts';
import { listEventTypes } from '../events/event-types.ts';
import { listEvents } from '../events/events.ts';
import { ApiError, REASONS } from '../http/errors.ts';
import { COMMON_ERRORS, describeErrors, documentedBy, NO_STORE } from '../http/openapi.ts';
import { LIMIT_PARAMETER, nextLink, type RawQuery, readLimit, readText, valueNotAllowed } from '../http/paging.ts';
import type { Clock } from '../lib/clock.ts';
import { isId } from '../lib/ids.ts';
import { authenticateConfidentialClient } from '../oauth/client-authentication.ts';
import { InvalidClient } from '../oauth/errors.ts';
import { readAuthorization } from '../oauth/routes.ts';
import { extensibleEnum } from '../oauth/schemas.ts';
import type { TokenDeps } from '../oauth/token/endpoint.ts';
import { toPayload } from './signatures.ts';
import { visibleTo } from './visibility.ts';

const PATH = '/api/v1/events';

/** For apps whose webhook endpoint was down. */
export function mountEvents(host: FastifyInstance, deps: TokenDeps & { clock: Clock; servesResources: boolean }): void {
  host.addSchema(eventSchema(deps.servesResources));
  host.get<{ Querystring: RawQuery<EventQuery> }>(PATH, documentedBy(eventsOperation), async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const { ip: address, requestContext: context } = request;
    const authorization = readAuthorization(request);
    if (authorization === undefined) throw missingCredentials();
    const credentials = { authorization, clientId: undefined, clientSecret: undefined, address, context };
    const { client: app } = await authenticateConfidentialClient(deps, credentials, undefined, deps.clock());
    await rejectPaused(deps, app.id);
    const { limit, after } = readPage(request.query);

    const query = { appId: app.id, after, limit: limit + 1 };
    const events = await listEvents(deps.storage.durable, query, deps.clock());
    const page = events.slice(0, limit);
    const last = page.at(-1);
    if (last && events.length > page.length) {
      reply.header('link', nextLink(deps.issuer + PATH, { limit: String(limit), cursor: last.id }));
    }
    const visible = await visibleTo(deps.storage.durable, app.id, page, deps.clock());
    return visible.map((event) => ({ id: event.id, ...toPayload(event) }));
  });
}

/** RFC 9110 §15.5.2: a 401 names the scheme. A GET has no body, which the other endpoints of an app read credentials from. */
function missingCredentials(): InvalidClient {
  const description = 'Send the client_id and client_secret of the app by HTTP Basic.';
  return new InvalidClient('credentials_missing', description, { usedBasic: true });
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
  if (cursor !== undefined && !isId(cursor))
    throw valueNotAllowed('cursor must be the id of the last event that you have.');
  return { limit, after: cursor };
}

const eventSchema = (servesResources: boolean) =>
  Type.Object(
    {
      id: Type.String({ format: 'uuid', description: 'The same as the `webhook-id` header of its deliveries.' }),
      type: extensibleEnum(listEventTypes(servesResources), 'What happened.'),
      timestamp: Type.String({ format: 'date-time', description: 'When it happened.' }),
      data: Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        additionalProperties: true,
        description: 'Depends on the type. Contains `businessId` if the event is about a business.',
      }),
    },
    { $id: 'Event', description: 'An event, as it is sent to an endpoint.' },
  );

const EVENT_QUERY = Type.Object({
  limit: LIMIT_PARAMETER,
  cursor: Type.Optional(
    Type.String({ format: 'uuid', description: 'The id of the last event that you have. Later events are returned.' }),
  ),
});
type EventQuery = Static<typeof EVENT_QUERY>;

const eventsOperation = {
  operationId: 'listEvents',
  tags: ['Webhooks'],
  summary: 'Catch up on events',
  description:
    'The events of the last 30 days, oldest first, for an app whose endpoint was down. The app authenticates with HTTP ' +
    'Basic. Events that the app may no longer read are left out, and so are those of the last 15 ' +
    'seconds and, while an import runs, since its start.',
  security: [{ basic: [] }],
  querystring: EVENT_QUERY,
  response: {
    200: {
      description: 'A page of events.',
      headers: {
        ...NO_STORE,
        link: Type.String({ description: 'The next page, if there is one, as `<…>; rel="next"` (RFC 8288).' }),
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
    400: describeErrors({ invalid_request: ['value_not_allowed', 'field_repeated', 'credentials_sent_twice'] }),
    401: describeErrors(
      { invalid_client: REASONS.invalid_client },
      { 'www-authenticate': Type.String({ description: 'The scheme: HTTP Basic.' }) },
    ),
    403: describeErrors({ unauthorized_client: REASONS.unauthorized_client }),
    ...COMMON_ERRORS,
  },
};
