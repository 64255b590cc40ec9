import { requireBaseUrl, requireFunction, requireTimeout } from './arguments.ts';
import type { Connection } from './requests.ts';

/** Where Gatehouse is, and how it is asked. */
export interface ConnectionOptions {
  /** The address of Gatehouse's API, such as `https://api.example.com`. */
  baseUrl: string;
  /** How long one attempt may take, in milliseconds, its answer read to the end; 30,000 if left out. */
  timeout?: number | undefined;
  /** What sends the requests, if not the `fetch` of the platform. */
  fetch?: typeof fetch | undefined;
}

const USUAL_TIMEOUT = 30_000;

export function readConnection({ baseUrl, timeout = USUAL_TIMEOUT, fetch: given }: ConnectionOptions): Connection {
  return {
    baseUrl: requireBaseUrl(baseUrl),
    timeout: requireTimeout(timeout),
    // Looked up at each request, and called as a plain function: browsers refuse it as a method of something else.
    fetch: given === undefined ? (url, init) => fetch(url, init) : requireFunction(given, 'fetch'),
  };
}
