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
  type Tokens,
  type WebhookEvent,
} from '../sdk/typescript/src/index.ts';
import { type Html, toText } from '../src/lib/html.ts';
import { mountHearing } from './hearing.ts';
import { connectedPage, type Look, troublePage, welcomePage } from './pages.ts';

/** A small app of its own, which speaks to Gatehouse by its public address and with its own credentials. */
export interface DemoApp {
  look: Look;
  connection: AppOptions;
  scope: string;
  port: number;
  /** Of its webhooks, if it has an endpoint. */
  signingSecret?: string;
}

/** What the app remembers of one browser. */
interface Visitor {
  pending?: PendingAuthorization;
  tokens?: Tokens;
  api?: Api;
  refreshes: number;
}

export async function startDemoApp(options: DemoApp): Promise<{ close(): Promise<void> }> {
  const { look, connection, scope, port, signingSecret } = options;
  const server = fastify({ forceCloseConnections: true });
  await server.register(cookies);
  await server.register(forms);
  const heard = mountHearing(server, signingSecret);
  const parts = { look, app: createApp(connection), scope, visitors: rememberVisitors(look.id), heard };
  server.addHook('onRequest', async (_, reply) => void reply.headers(HEADERS));
  mountHome(server, parts);
  mountConnect(server, parts);
  mountTokens(server, parts);
  server.setErrorHandler((error, request, reply) => {
    // A grant that has ended does not come back; after any other failure the tokens are still good.
    const hasEnded = error instanceof GatehouseError && error.code === 'invalid_grant';
    if (hasEnded) forget(parts.visitors.of(request, reply));
    const message = error instanceof GatehouseError ? error.message : 'Something went wrong in the app. Try again.';
    return show(reply.code(502), troublePage(look, message));
  });
  await server.listen({ host: '127.0.0.1', port });
  return server;
}

interface Parts {
  look: Look;
  app: App;
  scope: string;
  visitors: ReturnType<typeof rememberVisitors>;
  heard: readonly WebhookEvent[];
}

/** The pages show what is someone's own: no cache keeps them, nobody frames them, and they run nothing. */
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
};

function mountHome(server: FastifyInstance, { look, visitors, heard }: Parts): void {
  server.get('/', async (request, reply) => {
    const visitor = visitors.of(request, reply);
    const { api } = visitor;
    const [business] = (await api?.businesses()) ?? [];
    if (!api || !business || !visitor.tokens) return show(reply, welcomePage(look, heard));
    const { invoices } = await api.invoicePage(business.id, { limit: 12 });
    const { tokens, refreshes } = visitor;
    return show(reply, connectedPage(look, { business, invoices, tokens, refreshes, heard }));
  });
}

function mountConnect(server: FastifyInstance, { look, app, scope, visitors }: Parts): void {
  server.get('/connect', async (request, reply) => {
    const { url, ...pending } = await app.beginAuthorization({ scopes: [scope] });
    visitors.of(request, reply).pending = pending;
    return reply.redirect(url, 303);
  });

  server.get('/callback', async (request, reply) => {
    const visitor = visitors.of(request, reply);
    const { pending } = visitor;
    delete visitor.pending;
    if (!pending) return show(reply.code(400), troublePage(look, 'This browser has not asked to connect. Start here.'));
    try {
      const tokens = await app.finishAuthorization(request.url, pending);
      keep(app, visitors.renew(request, reply), tokens);
    } catch (error) {
      if (!(error instanceof GatehouseError) || error.code !== 'access_denied') throw error;
      return show(reply, troublePage(look, `Nothing was shared. ${error.description}`));
    }
    return reply.redirect('/', 303);
  });
}

function mountTokens(server: FastifyInstance, { app, visitors }: Parts): void {
  // The library refreshes by itself in time; this button is here to see it happen.
  server.post('/refresh', async (request, reply) => {
    const visitor = visitors.of(request, reply);
    const refreshes = visitor.refreshes + 1;
    if (visitor.tokens) keep(app, visitor, await app.refresh(visitor.tokens.refreshToken), refreshes);
    return reply.redirect('/', 303);
  });

  server.post('/disconnect', async (request, reply) => {
    const visitor = visitors.of(request, reply);
    if (visitor.tokens) await app.revoke(visitor.tokens.refreshToken);
    forget(visitor);
    return reply.redirect('/', 303);
  });
}

/** One api for each visitor, so that however many requests they send, their tokens are refreshed once. */
function keep(app: App, visitor: Visitor, tokens: Tokens, refreshes = 0): void {
  const save = (newer: Tokens) => {
    visitor.tokens = newer;
    visitor.refreshes += 1;
  };
  Object.assign(visitor, { tokens, refreshes, api: app.api({ tokens, save }) });
}

function forget(visitor: Visitor): void {
  delete visitor.tokens;
  delete visitor.api;
}

/** In memory: a demo app forgets everyone when it stops. */
function rememberVisitors(cookie: string) {
  const visitors = new Map<string, Visitor>();
  function welcome(reply: FastifyReply): Visitor {
    const [id, visitor] = [randomBytes(16).toString('base64url'), { refreshes: 0 }];
    visitors.set(id, visitor);
    reply.setCookie(cookie, id, { path: '/', httpOnly: true, sameSite: 'lax' });
    return visitor;
  }
  return {
    of: (request: FastifyRequest, reply: FastifyReply) => visitors.get(request.cookies[cookie] ?? '') ?? welcome(reply),
    /** Whoever connects gets a new cookie: the old one may have been put there by someone else. */
    renew(request: FastifyRequest, reply: FastifyReply): Visitor {
      visitors.delete(request.cookies[cookie] ?? '');
      return welcome(reply);
    },
  };
}

function show(reply: FastifyReply, page: Html): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(toText(page));
}
