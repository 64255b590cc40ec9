import { randomBytes } from 'node:crypto';
import cookies from '@fastify/cookie';
import forms from '@fastify/formbody';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import {
  type Api,
  type App,
  type AppOptions,
  createApp,
  GatehouseError,
  type PendingAuthorization,
  type Scope,
  type Tokens,
  verifyWebhook,
  type WebhookEvent,
} from '../sdk/typescript/src/index.ts';
import { type Html, toText } from '../src/lib/html.ts';
import { type Branding, connectedPage, errorPage, welcomePage } from './pages.ts';

/** A separate app that uses only Gatehouse's public API and its own credentials. */
export interface DemoApp {
  branding: Branding;
  connection: AppOptions;
  scope: Scope;
  port: number;
  /** Undefined if the app has no webhook endpoint. */
  signingSecret?: string;
}

/** The state of one browser. */
interface Session {
  pending?: PendingAuthorization;
  tokens?: Tokens;
  api?: Api;
  refreshes: number;
}

export async function startDemoApp(options: DemoApp): Promise<{ close(): Promise<void> }> {
  const { branding, connection, scope, port, signingSecret } = options;
  const server = fastify({ forceCloseConnections: true });
  await server.register(cookies);
  await server.register(forms);
  const events = mountWebhooks(server, signingSecret);
  const deps = { branding, app: createApp(connection), scope, sessions: createSessions(branding.id), events };
  server.addHook('onRequest', async (_, reply) => void reply.headers(HEADERS));
  mountHome(server, deps);
  mountConnect(server, deps);
  mountTokens(server, deps);
  server.setErrorHandler((error, request, reply) => {
    // After any other error the tokens are still valid.
    const hasEnded = error instanceof GatehouseError && error.code === 'invalid_grant';
    if (hasEnded) clearTokens(deps.sessions.of(request, reply));
    const message = error instanceof GatehouseError ? error.message : 'Something went wrong in the app. Try again.';
    return sendPage(reply.code(502), errorPage(branding, message));
  });
  await server.listen({ host: '127.0.0.1', port });
  return server;
}

interface Deps {
  branding: Branding;
  app: App;
  scope: Scope;
  sessions: ReturnType<typeof createSessions>;
  events: readonly WebhookEvent[];
}

/** The pages show private data: they are not cached or framed, and run no scripts. */
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
};

function mountHome(server: FastifyInstance, { branding, sessions, events }: Deps): void {
  server.get('/', async (request, reply) => {
    const session = sessions.of(request, reply);
    const { api } = session;
    const [business] = (await api?.businesses()) ?? [];
    if (!api || !business || !session.tokens) return sendPage(reply, welcomePage(branding, events));
    const { items: invoices } = await api.business(business.id).invoices.listPage({ limit: 12 });
    const { tokens, refreshes } = session;
    return sendPage(reply, connectedPage(branding, { business, invoices, tokens, refreshes, events }));
  });
}

function mountConnect(server: FastifyInstance, { branding, app, scope, sessions }: Deps): void {
  server.get('/connect', async (request, reply) => {
    const { url, ...pending } = await app.beginAuthorization({ scopes: [scope] });
    sessions.of(request, reply).pending = pending;
    return reply.redirect(url, 303);
  });

  server.get('/callback', async (request, reply) => {
    const session = sessions.of(request, reply);
    const { pending } = session;
    delete session.pending;
    if (!pending)
      return sendPage(reply.code(400), errorPage(branding, 'This browser has not started a connection. Start here.'));
    try {
      const tokens = await app.finishAuthorization(request.url, pending);
      storeTokens(app, sessions.renew(request, reply), tokens);
    } catch (error) {
      if (!(error instanceof GatehouseError) || error.code !== 'access_denied') throw error;
      return sendPage(reply, errorPage(branding, `Nothing was shared. ${error.description}`));
    }
    return reply.redirect('/', 303);
  });
}

function mountTokens(server: FastifyInstance, { app, sessions }: Deps): void {
  // The SDK refreshes tokens automatically; this button shows it.
  server.post('/refresh', async (request, reply) => {
    const session = sessions.of(request, reply);
    const refreshes = session.refreshes + 1;
    if (session.tokens) storeTokens(app, session, await app.refresh(session.tokens.refreshToken), refreshes);
    return reply.redirect('/', 303);
  });

  server.post('/disconnect', async (request, reply) => {
    const session = sessions.of(request, reply);
    if (session.tokens) await app.revoke(session.tokens.refreshToken);
    clearTokens(session);
    return reply.redirect('/', 303);
  });
}

/** One API client per session, so that concurrent requests share one refresh. */
function storeTokens(app: App, session: Session, tokens: Tokens, refreshes = 0): void {
  const save = (newer: Tokens) => {
    session.tokens = newer;
    session.refreshes += 1;
  };
  Object.assign(session, { tokens, refreshes, api: app.api({ tokens, save }) });
}

function clearTokens(session: Session): void {
  delete session.tokens;
  delete session.api;
}

/** In memory. */
function createSessions(cookie: string) {
  const sessions = new Map<string, Session>();
  function create(reply: FastifyReply): Session {
    const [id, session] = [randomBytes(16).toString('base64url'), { refreshes: 0 }];
    sessions.set(id, session);
    reply.setCookie(cookie, id, { path: '/', httpOnly: true, sameSite: 'lax' });
    return session;
  }
  return {
    of: (request: FastifyRequest, reply: FastifyReply) => sessions.get(request.cookies[cookie] ?? '') ?? create(reply),
    /** Connecting changes the cookie, so that an attacker cannot set it beforehand (session fixation). */
    renew(request: FastifyRequest, reply: FastifyReply): Session {
      sessions.delete(request.cookies[cookie] ?? '');
      return create(reply);
    },
  };
}

function sendPage(reply: FastifyReply, page: Html): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(toText(page));
}

const MAX_EVENTS = 5;

/** Returns the received events, the newest first. In memory. */
function mountWebhooks(server: FastifyInstance, secret: string | undefined): readonly WebhookEvent[] {
  const events: WebhookEvent[] = [];
  if (secret === undefined) return events;
  server.register(async (scope) => {
    // The signature covers the raw body.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) => done(null, body));
    scope.post<{ Body: string }>('/webhooks', async (request, reply) => {
      try {
        addEvent(events, await verifyWebhook({ headers: request.headers, body: request.body, secret }));
        return reply.code(204).send();
      } catch (error) {
        if (error instanceof GatehouseError) return reply.code(400).send();
        throw error;
      }
    });
  });
  return events;
}

/** An event can be delivered more than once. */
function addEvent(events: WebhookEvent[], event: WebhookEvent): void {
  if (events.some(({ id }) => id === event.id)) return;
  events.unshift(event);
  events.splice(MAX_EVENTS);
}
