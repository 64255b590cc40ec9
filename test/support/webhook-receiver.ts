import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { after } from 'node:test';
import { recordLeak } from './leaks.ts';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read any field, and assert its value.
  event: any;
}

type Responder = (received: Received, response: ServerResponse) => unknown;

/** The webhook receiver of an app: records events, and responds with `responder`. */
export async function startWebhookReceiver(responder: Responder = (_, response) => response.end()) {
  const received: Received[] = [];
  const requests: string[] = [];
  let waiting: (() => void)[] = [];
  const receiver = { responder };
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const one = { path: request.url ?? '', headers: request.headers, body, event: JSON.parse(body) };
    received.push(one);
    requests.push(`${JSON.stringify(request.headers)} ${body}`);
    for (const resolve of waiting.splice(0)) resolve();
    receiver.responder(one, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.closeAllConnections();
    server.close();
    for (const text of requests) recordLeak('a webhook request', text);
  });
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    respondWith(next: Responder) {
      receiver.responder = next;
    },
    /** Waits until this many events have arrived in total. */
    async waitFor(count: number): Promise<Received[]> {
      while (received.length < count) await new Promise<void>((resolve) => (waiting = [...waiting, resolve]));
      return received;
    },
  };
}

export const respondWithStatus =
  (status: number): Responder =>
  (_, response) =>
    response.writeHead(status).end();
