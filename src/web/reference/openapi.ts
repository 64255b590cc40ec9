import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { tagOf } from '../../business/resource-schemas.ts';
import { EVENTS, type EventDeclaration, listEventTypes } from '../../events/event-types.ts';
import { allowAnyOrigin, mountPreflight } from '../../http/cors.ts';
import { documentedBy, REQUEST_ID } from '../../http/openapi.ts';
import { sha256 } from '../../lib/secrets.ts';
import { SCOPES } from '../../oauth/scopes.ts';
import { RESOURCES } from '../../resources/all.ts';
import { type Document, listOperations, type Schema } from './document.ts';

const PATH = '/openapi.json';
const EXAMPLE = { openapi: '3.1.0', info: { title: 'The API', version: 'v1' }, paths: {} };

/** Documents every route that is mounted after it. */
export async function describeRoutes(
  host: FastifyInstance,
  { platformName, issuer, servesResources }: { platformName: string; issuer: string; servesResources: boolean },
): Promise<void> {
  await host.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: `${platformName} API`, version: 'v1', description: describeApi(issuer, servesResources) },
      servers: [{ url: issuer }],
      tags: TAGS,
      components: { securitySchemes: securitySchemes(issuer) },
    },
    refResolver: { buildLocalReference: ({ $id }, _, __, i) => (typeof $id === 'string' ? $id : `def-${i}`) },
    transformObject: (built) =>
      'openapiObject' in built ? complete(built.openapiObject, servesResources) : built.swaggerObject,
  });
}

/** Adds what the plugin does not support. */
function complete(built: object, servesResources: boolean): object {
  const document = built as Document;
  for (const { parameters = [] } of listOperations(document)) {
    for (const parameter of parameters) {
      if (parameter.in === 'query' && !parameter.required) parameter.allowEmptyValue = true;
    }
  }
  const used = new Set(listOperations(document).flatMap(({ tags }) => tags));
  const tags = document.tags.filter(({ name }) => used.has(name));
  return { ...document, tags, webhooks: describeWebhooks(listEventTypes(servesResources)) };
}

/** The OpenAPI document of a host with `describeRoutes`. */
export function readDocument(host: FastifyInstance): Document {
  return host.swagger() as unknown as Document;
}

/** Markdown. Its headings are entries in the navigation of the reference. */
function describeApi(issuer: string, servesResources: boolean): string {
  const use = servesResources
    ? `Each operation names the scope that it needs. [How lists, writes and money work](${issuer}/docs/reference/business-api).`
    : 'The platform has an API of its own, which checks them; this server only issues the tokens.';
  return `Apps connect with the authorization code flow of OAuth 2.0, and call the business API with the access token.

## Guides

New here? Follow [Connect your app](${issuer}/docs/guides/connect-your-app). [All guides](${issuer}/docs/guides) also cover frameworks, webhooks, assistants and your own API, and there are clients for [TypeScript](${issuer}/docs/sdk/typescript) and [Python](${issuer}/docs/sdk/python).

## Errors

Every error has the same four fields, and [a page that explains it](${issuer}/docs/errors). Every response has an \`x-request-id\` header, which identifies it in the server’s logs. An unknown path responds with 404, an unsupported method with 405.

## Versions

Changes within \`/api/v1\` are additive; a removal is announced at least 180 days ahead with \`Deprecation\` and \`Sunset\` headers. An empty parameter counts as absent, and so does an empty field of the OAuth endpoints. Later versions may add fields, event types and values to an \`x-extensible-enum\`: ignore those that you do not know.

## Scopes

An app requests some of the scopes that it is registered for, and the user allows them. ${use}

${SCOPES.map(({ name, meaning }) => `- \`${name}\`: ${meaning}.`).join('\n')}`;
}

const TAGS = [
  { name: 'Authorization', description: 'How an app gets, refreshes and revokes tokens.' },
  { name: 'Business API', description: 'The user, business and app of an access token. CORS allows every origin.' },
  ...RESOURCES.map((resource) => ({ name: tagOf(resource), description: resource.description })),
  { name: 'Reports', description: 'Sums over the data of a business, exact and by currency.' },
  { name: 'MCP', description: 'The business API as tools for AI agents.' },
  { name: 'Webhooks', description: 'The events that are sent to webhook endpoints, and a list of past events.' },
  { name: 'Operations', description: 'Health checks and this document.' },
];

function securitySchemes(issuer: string) {
  return {
    oauth2: {
      type: 'oauth2',
      description: 'An access token, as `Authorization: Bearer …`.',
      flows: {
        authorizationCode: {
          authorizationUrl: `${issuer}/api/v1/oauth/authorize`,
          tokenUrl: `${issuer}/api/v1/oauth/token`,
          refreshUrl: `${issuer}/api/v1/oauth/token`,
          scopes: Object.fromEntries(SCOPES.map(({ name, meaning }) => [name, meaning])),
        },
      },
    },
    basic: {
      type: 'http',
      scheme: 'basic',
      description: 'The app’s `client_id` and `client_secret`, each form-encoded. They may go into the body instead.',
    },
  } as const;
}

export function mountOpenApi(host: FastifyInstance): void {
  const schema = {
    operationId: 'openapi',
    tags: ['Operations'],
    summary: 'Get the OpenAPI document',
    description: 'This reference as an OpenAPI 3.1 document.',
    security: [],
    response: {
      200: {
        description: 'The document.',
        headers: {
          'x-request-id': REQUEST_ID,
          etag: Type.String({ description: 'The version of the document, for `If-None-Match`.' }),
        },
        content: {
          'application/json': { schema: Type.Unsafe({ type: 'object', additionalProperties: true }), example: EXAMPLE },
        },
      },
    },
  };
  let written: WrittenDocument | undefined;
  host.get(PATH, { ...documentedBy(schema), onRequest: allowAnyOrigin }, async ({ headers: sent }, reply) => {
    written ??= writeDocument(host);
    // It changes with an upgrade, so a client asks each time.
    reply.headers({ 'cache-control': 'no-cache', etag: written.etag });
    if (sent['if-none-match']?.includes(written.etag)) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(written.content);
  });
  mountPreflight(host, PATH);
}

interface WrittenDocument {
  content: Buffer;
  etag: string;
}

/** Once in a process: all routes are mounted before the first request, and the document has half a megabyte. */
function writeDocument(host: FastifyInstance): WrittenDocument {
  const content = Buffer.from(JSON.stringify(readDocument(host)));
  return { content, etag: `"${sha256(content)}"` };
}

const HEADERS: [name: string, description: string, schema: Schema][] = [
  [
    'webhook-id',
    'The id of the event, the same in every attempt. Use it to ignore duplicates.',
    { type: 'string', format: 'uuid' },
  ],
  ['webhook-timestamp', 'When this attempt was made, in seconds since 1970.', { type: 'string' }],
  [
    'webhook-signature',
    'One or more signatures, separated by spaces: `v1,` and a base64 HMAC-SHA256.',
    { type: 'string' },
  ],
];

/** OpenAPI 3.1 `webhooks`: the requests that an endpoint receives, by the Standard Webhooks specification. */
function describeWebhooks(types: string[]): Document['webhooks'] {
  const declared = Object.entries(EVENTS).filter(([type]) => types.includes(type));
  const entries = declared.map(([type, event]) => [type, { post: describeEvent(type, event) }]);
  return Object.fromEntries(entries);
}

function describeEvent(type: string, { summary, data, example }: EventDeclaration) {
  const schema = Type.Object({
    type: Type.Unsafe({ type: 'string', enum: [type], description: 'What happened.' }),
    timestamp: Type.String({ format: 'date-time', description: 'When it happened.' }),
    data: Type.Object(data as Parameters<typeof Type.Object>[0], {
      description: 'The details of the event. More fields may be added.',
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
      410: { description: 'Gone. The endpoint is switched off and receives no more events.' },
      default: { description: 'Failed. It is retried for about three days.' },
    },
    security: [],
  };
}
