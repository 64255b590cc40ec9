import assert from 'node:assert/strict';
import { DEVELOPER } from './app-pages.ts';
import type { Browser, BrowserPage, Fields } from './browser.ts';
import type { RegisteredApp } from './fixtures.ts';
import type { TestServer } from './test-server.ts';

export const tryPath = (app: { id: string }, section = DEVELOPER) => `${section}/${app.id}/try`;

/** The text of the element with this id. */
export function shownText({ text }: BrowserPage, id: string): string {
  const [, found] = new RegExp(`id="${id}">([^<]*)<`).exec(text) ?? [];
  assert.ok(found, `the page shows ${id}:\n${text}`);
  return plain(found);
}

/** The target of the page's primary button. */
export function primaryLink({ text }: BrowserPage): string {
  const [, address] = /<a class="button primary" href="([^"]*)"/.exec(text) ?? [];
  assert.ok(address, `the page has a link to go on:\n${text}`);
  return plain(address);
}

/** The playground state in the page's forms. */
export function playgroundState({ text }: BrowserPage): string {
  return /name="playground_state" value="([^"]+)"/.exec(text)?.[1] ?? '';
}

export function plain(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
}

/** Steps through the playground of one of Acme's apps, to the page where a test starts. */
export function createPlayground(server: TestServer, browser: Browser) {
  /** Returns the page that shows the authorize request. */
  async function begin(app: RegisteredApp, fields: Fields = {}, as = browser): Promise<BrowserPage> {
    const defaults = { scope: ['read:invoices'], redirect_uri: app.redirectUris[0] ?? '' };
    return as.submit(await as.open(tryPath(app)), tryPath(app), { ...defaults, ...fields });
  }

  /** Opens the authorize request, and submits the consent screen. */
  async function decide(page: BrowserPage, decision = 'allow'): Promise<BrowserPage> {
    const consent = await browser.open(primaryLink(page));
    return consent.status === 200 && consent.url.includes('/consent?')
      ? browser.submit(consent, '/consent', { decision })
      : consent;
  }

  const paste = (app: RegisteredApp, page: BrowserPage, pasted: string): Promise<BrowserPage> =>
    browser.submit(page, `${tryPath(app)}/callback`, { pasted });

  /** Returns the page that asks for the client secret. */
  async function reachExchange(app: RegisteredApp, fields: Fields = {}): Promise<BrowserPage> {
    const page = await begin(app, fields);
    return paste(app, page, (await decide(page)).leftTo?.href ?? '');
  }

  return {
    begin,
    decide,
    paste,
    reachExchange,

    async reachTokens(app: RegisteredApp, fields: Fields = {}): Promise<BrowserPage> {
      return browser.submit(await reachExchange(app, fields), `${tryPath(app)}/exchange`, {
        client_secret: app.secret,
      });
    },

    newApp: (changes: Parameters<TestServer['addApp']>[0] = {}): Promise<RegisteredApp> =>
      server.addApp({ name: 'Trial', ownerBusinessId: server.acme.id, requiresPkce: true, ...changes }),
  };
}
