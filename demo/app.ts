import { randomBytes } from 'node:crypto';
import cookies from '@fastify/cookie';
import forms from '@fastify/formbody';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type Html, toText } from '../src/lib/html.ts';
import {
  type Connection,
  type Departure,
  departTo,
  exchangeCode,
  Refused,
  readInvoices,
  refreshTokens,
  revokeTokens,
  type Tokens,
} from './gatehouse.ts';
import { connectedPage, type Look, troublePage, welcomePage } from './pages.ts';

/** A small app of its own, which speaks to Gatehouse by its public address and with its own credentials. */
export interface DemoApp {
  look: Look;
  connection: Connection;
  scope: string;
  port: number;
}

/** What the app remembers of one browser. */
interface Visitor {
  departure?: Departure;
  tokens?: Tokens;
  refreshes: number;
}

export async function startDemoApp({ look, connection, scope, port }: DemoApp): Promise<{ close(): Promise<void> }> {
  const app = fastify({ forceCloseConnections: true });
  await app.register(cookies);
  await app.register(forms);
  const parts = { look, connection, scope, visitorOf: rememberVisitors(look.id) };
  mountHome(app, parts);
  mountConnect(app, parts);
  mountTokens(app, parts);
  app.setErrorHandler((error, request, reply) => {
    const isRefused = error instanceof Refused;
    // Tokens that Gatehouse will not take any more are of no use; after any other failure they still are.
    if (isRefused) delete parts.visitorOf(request, reply).tokens;
    const message = isRefused ? error.message : 'The app could not reach Gatehouse. Try again.';
    return show(reply.code(502), troublePage(look, message));
  });
  await app.listen({ host: '127.0.0.1', port });
  return app;
}

interface Parts extends Omit<DemoApp, 'port'> {
  visitorOf(request: FastifyRequest, reply: FastifyReply): Visitor;
}

function mountHome(app: FastifyInstance, { look, connection, visitorOf }: Parts): void {
  app.get('/', async (request, reply) => {
    const visitor = visitorOf(request, reply);
    if (!visitor.tokens) return show(reply, welcomePage(look));
    const found = await readInvoices(connection, visitor.tokens).catch(async (error) => {
      if (!(error instanceof Refused) || error.code !== 'invalid_token') throw error;
      return readInvoices(connection, await renew(connection, visitor));
    });
    return show(reply, connectedPage(look, { ...found, tokens: visitor.tokens, refreshes: visitor.refreshes }));
  });
}

function mountConnect(app: FastifyInstance, { look, connection, scope, visitorOf }: Parts): void {
  app.get('/connect', async (request, reply) => {
    const departure = departTo(connection, scope);
    visitorOf(request, reply).departure = departure;
    return reply.redirect(departure.url, 303);
  });

  app.get<{ Querystring: Record<string, string> }>('/callback', async (request, reply) => {
    const visitor = visitorOf(request, reply);
    const { departure } = visitor;
    const { code, state, iss, error, error_description: description } = request.query;
    delete visitor.departure;
    if (!departure || state !== departure.state || iss !== connection.baseUrl) {
      throw new Refused('foreign_answer', 'This answer does not belong to a request of this browser.');
    }
    if (error === 'access_denied') return show(reply, troublePage(look, `Nothing was shared. ${description ?? ''}`));
    if (error || !code) throw new Refused(error ?? 'no_code', description ?? '');
    visitor.tokens = await exchangeCode(connection, code, departure.verifier);
    visitor.refreshes = 0;
    return reply.redirect('/', 303);
  });
}

function mountTokens(app: FastifyInstance, { connection, visitorOf }: Parts): void {
  app.post('/refresh', async (request, reply) => {
    await renew(connection, visitorOf(request, reply));
    return reply.redirect('/', 303);
  });

  app.post('/disconnect', async (request, reply) => {
    const visitor = visitorOf(request, reply);
    if (visitor.tokens) await revokeTokens(connection, visitor.tokens);
    delete visitor.tokens;
    return reply.redirect('/', 303);
  });
}

async function renew(connection: Connection, visitor: Visitor): Promise<Tokens> {
  if (!visitor.tokens) throw new Refused('not_connected', 'Connect first.');
  visitor.tokens = await refreshTokens(connection, visitor.tokens);
  visitor.refreshes += 1;
  return visitor.tokens;
}

/** In memory: a demo app forgets everyone when it stops. */
function rememberVisitors(cookie: string): Parts['visitorOf'] {
  const visitors = new Map<string, Visitor>();
  return (request, reply) => {
    const known = visitors.get(request.cookies[cookie] ?? '');
    if (known) return known;
    const [id, visitor] = [randomBytes(16).toString('base64url'), { refreshes: 0 }];
    visitors.set(id, visitor);
    reply.setCookie(cookie, id, { path: '/', httpOnly: true, sameSite: 'lax' });
    return visitor;
  };
}

function show(reply: FastifyReply, page: Html): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(toText(page));
}
