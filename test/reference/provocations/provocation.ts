import type { ApiResponse } from '../../support/client.ts';
import { sendRaw } from '../../support/raw-http.ts';

/** How to provoke one response that the reference documents. */
export interface Provocation {
  operation: string;
  status: number;
  /** `page` for an HTML error page; `none` for a success. */
  reason: string;
  /** What provokes the response, in words. */
  to: string;
  provoke(): Promise<ApiResponse>;
}

export function reasonOf({ status, body }: ApiResponse): string {
  if (status < 400) return 'none';
  return typeof body === 'string' ? 'page' : String(body.reason);
}

/** Sends one request. */
export async function send(url: string, init: RequestInit = {}): Promise<ApiResponse> {
  const response = await fetch(url, { redirect: 'manual', ...init });
  const { status, headers } = response;
  const text = await response.text();
  return { status, headers, body: headers.get('content-type')?.includes('json') ? JSON.parse(text) : text };
}

/** Builds provocations from the table of one operation. */
export function provocationsOf(
  operation: string,
  table: [status: number, reason: string, to: string, provoke: () => Promise<ApiResponse>][],
): Provocation[] {
  return table.map(([status, reason, to, provoke]) => ({ operation, status, reason, to, provoke }));
}

/** Sends a GET request with two headers Authorization. */
export async function authorizeTwice(api: string, path: string): Promise<ApiResponse> {
  const headers: [string, string][] = [
    ['Authorization', 'Bearer x'],
    ['Authorization', 'Bearer y'],
  ];
  const { text, ...response } = await sendRaw(api, { path, headers });
  return { ...response, body: JSON.parse(text) };
}
