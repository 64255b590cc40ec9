import { requireBaseUrl, requireFunction, requireTimeout } from './arguments.ts';
import type { Connection } from './requests.ts';

/** The address of Gatehouse, and how requests are sent. */
export interface ConnectionOptions {
  /** The address of Gatehouse's API, such as `https://api.example.com`. */
  baseUrl: string;
  /** The timeout of one attempt in milliseconds, until its response is read; 30,000 by default. */
  timeout?: number | undefined;
  /** Replaces the `fetch` of the platform. */
  fetch?: typeof fetch | undefined;
}

const DEFAULT_TIMEOUT = 30_000;

export function readConnection({ baseUrl, timeout = DEFAULT_TIMEOUT, fetch: given }: ConnectionOptions): Connection {
  return {
    baseUrl: requireBaseUrl(baseUrl),
    timeout: requireTimeout(timeout),
    // Looked up at each request, and called as a plain function: browsers reject it as a method of another object.
    fetch: given === undefined ? (url, init) => fetch(url, init) : requireFunction(given, 'fetch'),
  };
}
