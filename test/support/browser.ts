import assert from 'node:assert/strict';
import { rememberTypedSecrets, scannedFetch, scanResponse } from './secret-scanner.ts';

/** The response after all redirects within our hosts. */
export interface BrowserPage {
  status: number;
  /** The URL of this response. */
  url: string;
  /** The target of a redirect to another host, such as an app. */
  leftTo: URL | undefined;
  text: string;
  headers: Headers;
}

export type Fields = Record<string, string | string[]>;
export type Browser = ReturnType<typeof createBrowser>;

/** A minimal browser: forms, cookies and redirects. It adds `extraHeaders` to every request. test/browser uses Chromium. */
export function createBrowser(home: string, ownOrigins: string[], extraHeaders: Record<string, string> = {}) {
  const cookies = new Map<string, string>();

  async function send(url: string, init: RequestInit = {}): Promise<BrowserPage> {
    const headers = new Headers({ ...extraHeaders, ...(init.headers as Record<string, string>) });
    if (url.startsWith(home)) headers.set('cookie', cookieHeader(cookies));
    rememberTypedSecrets(init.body);
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    const text = await response.text();
    scanResponse({ method: init.method ?? 'GET', url, status: response.status, headers: response.headers, text });
    for (const cookie of response.headers.getSetCookie()) storeCookie(cookies, cookie);
    const location = response.headers.get('location');
    const next = location === null ? undefined : new URL(location, url);
    if (next && ownOrigins.includes(next.origin)) return send(next.href);
    return { status: response.status, url, leftTo: next, text, headers: response.headers };
  }

  const open = (address: string) => send(new URL(address, home).href);

  async function sendOnce(address: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set('cookie', cookieHeader(cookies));
    rememberTypedSecrets(init.body);
    return scannedFetch(new URL(address, home), { ...init, headers, redirect: 'manual' });
  }

  /** Resolves `/settings/…`, which redirects to the page of the business. Forms do not redirect. */
  async function resolve(address: string): Promise<string> {
    if (!isShortAddress(address)) return address;
    const location = (await sendOnce(address)).headers.get('location');
    return location?.startsWith('/businesses/') ? location : address;
  }

  return {
    cookies,
    open,
    /** Submits a form of a page, with these fields changed. On the consent screen, checked boxes stay checked. */
    submit(page: BrowserPage, action: string, fields: Fields = {}, headers: Record<string, string> = {}) {
      const form = findForm(page.text, action);
      const checked = action === '/consent' ? checkedFields(form.body) : {};
      const body = toBody({ ...form.fields, ...form.repeated, ...checked, ...fields });
      return send(new URL(form.action, home).href, { method: 'POST', body, headers });
    },
    /** Posts a form that is on no page, such as a stale or forged one. */
    async post(address: string, fields: Fields = {}, headers: Record<string, string> = {}) {
      return send(new URL(await resolve(address), home).href, { method: 'POST', body: toBody(fields), headers });
    },
    /** Sends one request with this browser's cookies, without following redirects. */
    async fetch(address: string, init: RequestInit = {}): Promise<Response> {
      return sendOnce(await resolve(address), init);
    },
    /** The CSRF token of this browser's forms. */
    async csrf(): Promise<string> {
      return hiddenFields((await open('/sign-out')).text, '/sign-out').csrf ?? '';
    },
    async signIn(email: string, password: string, page?: BrowserPage) {
      const form = page ?? (await open('/sign-in'));
      return this.submit(form, '/sign-in', { email, password });
    },
  };
}

/** The link to the next page of a list. */
export function nextPageLink({ text }: { text: string }): string | undefined {
  return /href="([^"]*)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
}

/** The link to the previous page of a list that can be read backwards. */
export function previousPageLink({ text }: { text: string }): string | undefined {
  return /href="([^"]*)" rel="prev"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
}

/** The hidden inputs of the form with this action. */
export function hiddenFields(text: string, action: string): Record<string, string> {
  return findForm(text, action).fields;
}

/** The form with this action. A short action, without the business, also matches. */
function findForm(text: string, action: string) {
  const forms = [...text.matchAll(/<form method="post"[^>]*action="([^"]*)"[^>]*>(.*?)<\/form>/gs)];
  const form = forms.find(([, to = '']) => to === action || shortAddress(to) === action);
  assert.ok(form, `the page has a form for ${action}:\n${text}`);
  const inputs = form[2]?.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g) ?? [];
  const pairs = [...inputs].map(([, name = '', value = '']) => [name, unescaped(value)] as const);
  const fields: Record<string, string> = Object.fromEntries(pairs);
  const repeated = Object.entries(Object.groupBy(pairs, ([name]) => name)).filter(([, values]) => values?.[1]);
  const lists: Fields = Object.fromEntries(repeated.map(([name, all = []]) => [name, all.map(([, value]) => value)]));
  return { action: unescaped(form[1] ?? ''), fields, repeated: lists, body: form[2] ?? '' };
}

/** The fields of the checked checkboxes and radio buttons. */
function checkedFields(form: string): Fields {
  const fields: Record<string, string[]> = {};
  for (const [input] of form.matchAll(/<input type="(?:checkbox|radio)"[^>]* checked[^>]*>/g)) {
    const [, name = '', value = ''] = / name="([^"]*)" value="([^"]*)"/.exec(input) ?? [];
    fields[name] = [...(fields[name] ?? []), unescaped(value)];
  }
  return fields;
}

const SHORT_ADDRESS = /^\/settings\/(?:connected-apps|members|business|audit-log|developer)(?:[/?.]|$)/;

/** Whether this address of a business's page leaves out the business. */
function isShortAddress(address: string): boolean {
  return SHORT_ADDRESS.test(address);
}

/** Removes the business from an address. Most tests have only one business. */
export function shortAddress(address: string): string {
  return address
    .replace(/^\/businesses\/[^/]+\/settings(?=\/|$)/, '/settings/business')
    .replace(/^\/businesses\/[^/]+\//, '/settings/');
}

export function toBody(fields: Fields): URLSearchParams {
  const pairs = Object.entries(fields).flatMap(([name, value]) => [value].flat().map((item) => [name, item]));
  return new URLSearchParams(pairs);
}

function storeCookie(cookies: Map<string, string>, header: string): void {
  const [pair = ''] = header.split(';');
  const [name = '', value = ''] = pair.split(/=(.*)/s);
  if (/max-age=0|expires=thu, 01 jan 1970/i.test(header)) cookies.delete(name);
  else cookies.set(name, value);
}

function cookieHeader(cookies: Map<string, string>): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
}

export function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}
