import { request } from 'node:http';
import { scannedFetch, scanResponse } from './secret-scanner.ts';

/** A response, without following redirects. */
interface RawResponse {
  status: number;
  location: string | null;
  headers: Headers;
  text: string;
}

/** Sends one request, without following redirects. */
export async function fetchOnce(url: string, init: RequestInit = {}): Promise<RawResponse> {
  const response = await scannedFetch(url, { ...init, redirect: 'manual' });
  const { status, headers } = response;
  return { status, headers, location: headers.get('location'), text: await response.text() };
}

/** Sends a request that `fetch` would normalize: unescaped characters in a path, repeated headers, another Host. */
export function sendRaw(
  origin: string,
  { path, method = 'GET', headers = [], body = '' }: RawRequest,
): Promise<RawResponse> {
  const { host, hostname, port } = new URL(origin);
  const named = headers.some(([name]) => name.toLowerCase() === 'host') ? headers : [['Host', host], ...headers];
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers: named.flat() }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => {
        const { statusCode: status = 0, headers } = response;
        const received = new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)]));
        const url = URL.parse(path, origin)?.href ?? origin;
        try {
          scanResponse({ method, url, status, headers, text });
          resolve({ status, headers: received, location: headers.location ?? null, text });
        } catch (error) {
          reject(error);
        }
      });
    });
    sent.on('error', reject).end(body);
  });
}

interface RawRequest {
  path: string;
  method?: string;
  headers?: [name: string, value: string][];
  body?: string;
}

/** The query parameters of a redirect. */
export function redirectParams(location: string | null | undefined): Record<string, string> {
  return location ? Object.fromEntries(new URL(location).searchParams) : {};
}
