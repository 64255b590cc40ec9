import { randomBytes } from 'node:crypto';
import cookies from '@fastify/cookie';
import forms from '@fastify/formbody';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
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

/** A small app of its own, which knows Gatehouse only by its public address and its own credentials. */
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
  const visitors = new Map<string, Visitor>();
  await app.register(cookies);
  await app.register(forms);

  app.get('/', async (request, reply) => {
    const visitor = visitorOf(request, reply);
    if (!visitor.tokens) return show(reply, welcomePage(look));
    const found = await readInvoices(connection, visitor.tokens);
    return show(reply, connectedPage(look, { ...found, tokens: visitor.tokens, refreshes: visitor.refreshes }));
  });

  app.get('/connect', async (request, reply) => {
    const visitor = visitorOf(request, reply);
    visitor.departure = departTo(connection, scope);
    return reply.redirect(visitor.departure.url, 303);
  });

  app.get<{ Querystring: Record<string, string> }>('/callback', async (request, reply) => {
    const visitor = visitorOf(request, reply);
    const { departure } = visitor;
    const { code, state, iss, error, error_description: description } = request.query;
    delete visitor.departure;
    if (!departure || state !== departure.state || iss !== connection.baseUrl) {
      throw new Refused('This answer does not belong to a request of this browser.');
    }
    if (error === 'access_denied') return show(reply, troublePage(look, 'Nothing was shared. You can connect later.'));
    if (error || !code) throw new Refused(`${error}: ${description}`);
    visitor.tokens = await exchangeCode(connection, code, departure.verifier);
    visitor.refreshes = 0;
    return reply.redirect('/', 303);
  });

  app.post('/refresh', async (request, reply) => {
    const visitor = visitorOf(request, reply);
    if (visitor.tokens) visitor.tokens = await refreshTokens(connection, visitor.tokens);
    visitor.refreshes += 1;
    return reply.redirect('/', 303);
  });

  app.post('/disconnect', async (request, reply) => {
    const visitor = visitorOf(request, reply);
    if (visitor.tokens) await revokeTokens(connection, visitor.tokens);
    delete visitor.tokens;
    return reply.redirect('/', 303);
  });

  // Whatever was refused, the app's tokens are of no more use: say so, and let the user connect again.
  app.setErrorHandler((error, request, reply) => {
    delete visitorOf(request, reply).tokens;
    const message = error instanceof Refused ? error.message : 'The app could not reach Gatehouse.';
    return show(reply.code(502), troublePage(look, message));
  });

  function visitorOf(request: FastifyRequest, reply: FastifyReply): Visitor {
    const known = visitors.get(request.cookies[look.id] ?? '');
    if (known) return known;
    const [id, visitor] = [randomBytes(16).toString('base64url'), { refreshes: 0 }];
    visitors.set(id, visitor);
    reply.setCookie(look.id, id, { path: '/', httpOnly: true, sameSite: 'lax' });
    return visitor;
  }

  await app.listen({ host: '127.0.0.1', port });
  return app;
}

function show(reply: FastifyReply, page: Html): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(toText(page));
}
