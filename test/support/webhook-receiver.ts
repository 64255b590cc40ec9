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

/** The webhook receiver of an app: records events, and responds as the test says. */
export async function startWebhookReceiver(answering: Responder = (_, response) => response.end()) {
  const received: Received[] = [];
  const watched: string[] = [];
  let waiting: (() => void)[] = [];
  const receiver = { answering };
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const one = { path: request.url ?? '', headers: request.headers, body, event: JSON.parse(body) };
    received.push(one);
    watched.push(`${JSON.stringify(request.headers)} ${body}`);
    for (const wake of waiting.splice(0)) wake();
    receiver.answering(one, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.closeAllConnections();
    server.close();
    for (const text of watched) recordLeak('what was sent to a webhook', text);
  });
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    answer(next: Responder) {
      receiver.answering = next;
    },
    /** Waits until this many events have arrived in total. */
    async has(count: number): Promise<Received[]> {
      while (received.length < count) await new Promise<void>((resolve) => (waiting = [...waiting, resolve]));
      return received;
    },
  };
}

export const respondWithStatus =
  (status: number): Responder =>
  (_, response) =>
    response.writeHead(status).end();
