import { once } from 'node:events';
import { type IncomingHttpHeaders, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import express from 'express';
import fastify from 'fastify';
import { createGuard, type Guard, type GuardOptions } from '../../../sdk/guard/src/index.ts';
import type { TestServer } from '../../support/test-server.ts';

/** A guard with the credentials and the clock of the test server, which counts its requests about tokens and keeps its errors. */
export function guardFor(
  server: TestServer,
  app: { id: string; secret: string },
  options: Partial<GuardOptions> = {},
): { guard: Guard; sent: string[]; errors: Error[] } {
  const [sent, errors]: [string[], Error[]] = [[], []];
  const guard = createGuard({
    issuer: server.api,
    clientId: app.id,
    clientSecret: app.secret,
    clock: server.clock,
    onError: (error) => errors.push(error),
    fetch: (url, init) => {
      const path = new URL(String(url)).pathname;
      if (!path.startsWith('/.well-known/')) sent.push(path);
      return fetch(url, init);
    },
    ...options,
  });
  return { guard, sent, errors };
}

/** Serves one API on both frameworks: GET /invoices returns the access, for `read:invoices`. */
export async function serveInvoices(guard: Guard): Promise<{ Fastify: string; Express: string }> {
  const fast = fastify();
  fast.get('/invoices', { preHandler: guard.fastify('read:invoices') }, async (request) => guard.accessOf(request));
  const fastUrl = await fast.listen({ host: '127.0.0.1', port: 0 });
  after(() => fast.close());

  const api = express();
  api.get('/invoices', guard.express('read:invoices'), (request, response) => {
    response.json(guard.accessOf(request));
  });
  const server = api.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { Fastify: `${fastUrl}/invoices`, Express: `http://127.0.0.1:${port}/invoices` };
}

export interface GuardedResponse {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came, and asserts what it should be.
  body: any;
}

/** Sends a repeated header as several lines, which `fetch` cannot. */
export async function get(url: string, headers: Record<string, string | string[]>): Promise<GuardedResponse> {
  const request = send(url, { headers, agent: false });
  request.end();
  const [response] = await once(request, 'response');
  const text = (await response.setEncoding('utf8').toArray()).join('');
  return { status: response.statusCode, headers: response.headers, body: JSON.parse(text) };
}
