import fastify, { type FastifyInstance, type RouteOptions } from 'fastify';
import { SCOPES } from '../../grants/scopes.ts';
import { REQUEST_ID } from '../../http/error-schemas.ts';
import { Type } from '../../lib/schema.ts';
import { describedBy, openToBrowsers, plainJson, shareWithAnyOrigin } from '../../oauth/routes.ts';
import { type Document, listOperations } from './document.ts';
import { describeWebhooks } from './webhooks.ts';

const PATH = '/openapi.json';
const EXAMPLE = { openapi: '3.1.0', info: { title: 'The API', version: 'v1' }, paths: {} };

declare module 'fastify' {
  interface FastifyInstance {
    /** The OpenAPI document of all its routes. */
    describeItself(): Promise<Document>;
  }
}

interface Parts {
  platformName: string;
  issuer: string;
}

/** Notes every route that is mounted after it. The OpenAPI document is made of their schemas when somebody first asks. */
export function describeRoutes(host: FastifyInstance, deps: Parts): void {
  const routes: RouteOptions[] = [];
  host.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD') routes.push(route);
  });
  let document: Promise<Document> | undefined;
  host.decorate('describeItself', () => {
    document ??= draw(routes, Object.values(host.getSchemas()), deps).catch((error) => {
      document = undefined;
      throw error;
    });
    return document;
  });
}

/** On a second host, which has the same routes and listens nowhere: the library that draws is slow to load. */
async function draw(routes: RouteOptions[], shared: unknown[], { platformName, issuer }: Parts): Promise<Document> {
  const { default: swagger } = await import('@fastify/swagger');
  const model = fastify({ schemaController: plainJson });
  await model.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: `The API of ${platformName}`,
        version: 'v1',
        description:
          'Apps connect with the authorization code flow of OAuth 2.0, and call the business API with the access token. ' +
          'Within `/api/v1` changes only ever add; a removal is announced at least 180 days ahead with `Deprecation` and ' +
          '`Sunset` headers. An empty parameter or field counts as absent. Values listed under `x-extensible-enum` may become ' +
          'more, and so may fields and event types: ignore what you do not know.',
      },
      servers: [{ url: issuer }],
      tags: [
        { name: 'Authorization', description: 'How an app gets tokens, renews them and ends them.' },
        { name: 'Business API', description: 'What an access token is for. Pages of any origin may call it.' },
        { name: 'Webhooks', description: 'What apps are told as it happens, for those who have missed something.' },
        { name: 'Operations', description: 'What a load balancer or a tool asks.' },
      ],
      components: { securitySchemes: securitySchemes(issuer) },
    },
    refResolver: { buildLocalReference: ({ $id }, _, __, i) => (typeof $id === 'string' ? $id : `def-${i}`) },
  });
  for (const schema of shared) model.addSchema(schema);
  for (const { method, url, schema } of routes) {
    model.route({ method, url, ...describedBy(schema ?? {}), handler: async () => {} });
  }
  await model.ready();
  // The library writes it from our own schemas; its type knows less about it than we do.
  const document = model.swagger() as unknown as Document;
  for (const { parameters = [] } of listOperations(document)) {
    for (const parameter of parameters) {
      if (parameter.in === 'query' && !parameter.required) parameter.allowEmptyValue = true;
    }
  }
  return { ...document, webhooks: describeWebhooks() };
}

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
    summary: 'Generate a client',
    description: 'This reference as an OpenAPI 3.1 document.',
    security: [],
    response: {
      200: {
        description: 'The document.',
        headers: { 'x-request-id': REQUEST_ID },
        content: {
          'application/json': { schema: Type.Unsafe({ type: 'object', additionalProperties: true }), example: EXAMPLE },
        },
      },
    },
  };
  host.get(PATH, { ...describedBy(schema), onRequest: shareWithAnyOrigin }, () => host.describeItself());
  openToBrowsers(host, PATH);
}

const OK = Type.Object({ status: Type.Literal('ok', { description: 'It is.' }) });

/** Asked by whatever watches over the process. */
export function describeCheck(operationId: string, summary: string, refusals: Record<number, object> = {}) {
  const headers = { 'x-request-id': REQUEST_ID };
  const content = { 'application/json': { schema: OK, example: { status: 'ok' } } };
  const response = { 200: { description: 'Yes.', headers, content }, ...refusals };
  return { schema: { operationId, tags: ['Operations'], summary, security: [], response } };
}
