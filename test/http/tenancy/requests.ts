import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { after } from 'node:test';
import { scanResponse } from '../../support/secret-scanner.ts';

export interface SentRequest {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | null;
}

const agent = new Agent({ keepAlive: true });
after(() => agent.destroy());

/** Sends one request and scans the response. Takes less time than `fetch`: these tests send thousands. */
export async function sendRequest({ url, method, headers, body }: SentRequest) {
  const length: Record<string, string> = body === null ? {} : { 'content-length': `${Buffer.byteLength(body)}` };
  const sent = request(url, { method, headers: { ...headers, ...length }, agent });
  sent.end(body ?? undefined);
  const [response] = await once(sent, 'response');
  const received: { status: number; headers: IncomingHttpHeaders; text: string } = {
    status: response.statusCode,
    headers: response.headers,
    text: await text(response),
  };
  scanResponse({ method, url, ...received });
  return received;
}
