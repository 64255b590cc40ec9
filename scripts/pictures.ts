// `npm run pictures`: takes the screenshots in docs/pictures of a running server with the demo data, and of the gallery.
// `npm run pictures -- --all --out DIR` takes every page in both themes at both widths.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import packed from '@sparticuz/chromium';
import { chromium, type Page } from 'playwright-core';
import { DEMO_PASSWORD, DEMO_USERS, ensureDemoApps, ensureDemoData } from '../demo/data.ts';
import { searchAppsOf } from '../src/apps/app-search.ts';
import { readSettings } from '../src/config.ts';
import { createKeyring } from '../src/lib/keyring.ts';
import { startServer } from '../src/server.ts';
import { sendTest } from '../src/webhooks/deliveries.ts';
import { insertEndpoint } from '../src/webhooks/endpoints.ts';
import { startGallery } from './gallery.ts';
import { LOOKS, lookName } from './looks.ts';

const { values } = parseArgs({
  options: { out: { type: 'string', default: 'docs/pictures' }, all: { type: 'boolean' } },
});
const { out } = values;
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-pictures-'));
const settings = readSettings({
  BASE_URL: 'http://localhost:4700',
  CONSENT_URL: 'http://localhost:4701',
  DATABASE_URL: `sqlite:${join(folder, 'gatehouse.db')}`,
  SECRET_KEYS: 'only-for-pictures-and-for-nothing-else-at-all',
  LOG_LEVEL: 'silent',
  WEBHOOKS_TO_LOOPBACK: 'yes',
  DYNAMIC_REGISTRATION: 'on',
});
const server = await startServer(settings);
const businessId = await ensureDemoData(server.storage, Date.now());
const { thirdParty } = await ensureDemoApps(server.storage, businessId, join(folder, 'apps.json'), Date.now());
const parcelwise = await findParcelwise();
const receiver = createServer((_, response) => response.writeHead(204).end()).listen(4703, '127.0.0.1');
const endpointId = await addReceiver(parcelwise);
const browser = await chromium.launch({
  executablePath: await packed.executablePath(),
  args: ['--no-sandbox', '--disable-gpu'],
});
mkdirSync(out, { recursive: true });

const request = new URLSearchParams({
  response_type: 'code',
  client_id: thirdParty.clientId,
  redirect_uri: 'http://127.0.0.1:4702/callback',
  scope: 'read:invoices read:contacts',
  optional_scope: 'read:contacts',
  state: 'picture',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
});
const PAGES = {
  'sign-in': `${settings.consentUrl}/sign-in`,
  consent: `${settings.baseUrl}/api/v1/oauth/authorize?${request}`,
  developer: `${settings.consentUrl}/settings/developer`,
  'new-app': `${settings.consentUrl}/settings/developer/new`,
  app: `${settings.consentUrl}/settings/developer/${thirdParty.clientId}`,
  'connected-apps': `${settings.consentUrl}/settings/connected-apps`,
  'connect-assistant': `${settings.consentUrl}/settings/connected-apps/assistant`,
  members: `${settings.consentUrl}/settings/members`,
  'audit-log': `${settings.consentUrl}/settings/audit-log`,
  requests: `${settings.consentUrl}/settings/developer/${parcelwise}/requests`,
  connections: `${settings.consentUrl}/settings/developer/${parcelwise}/connections`,
  endpoint: `${settings.consentUrl}/settings/developer/${parcelwise}/endpoints/${endpointId}`,
  'try-it': `${settings.consentUrl}/settings/developer/${thirdParty.clientId}/try`,
  platform: `${settings.consentUrl}/platform/apps`,
  account: `${settings.consentUrl}/settings/account`,
  reference: `${settings.baseUrl}/docs`,
  error: `${settings.baseUrl}/docs/errors/invalid_grant#refresh_token_reused`,
};

/** Only the top of these pages is shown. */
const LONG = ['reference', 'requests'];
/** Of each page, the repository keeps two. */
const KEPT = ['desktop-light', 'phone-dark'];
const gallery = await startGallery();
for (const look of LOOKS) {
  const context = await browser.newContext(look);
  const page = await context.newPage();
  await page.goto(gallery.url);
  await page.screenshot({ path: `${out}/gallery-${lookName(look)}.png`, fullPage: true });
  if (values.all || KEPT.includes(lookName(look))) await takePictures(page, lookName(look));
  await context.close();
  console.log(`${out}: ${lookName(look)}`);
}
await gallery.close();
await browser.close();
receiver.close();
await server.close();
rmSync(folder, { recursive: true });

async function findParcelwise(): Promise<string> {
  const [app] = await searchAppsOf(server.storage.durable, businessId, {
    search: 'Parcelwise',
    after: undefined,
    limit: 1,
  });
  if (!app) throw new Error('The demo has no Parcelwise.');
  return app.id;
}

/** With a delivery in its log. */
async function addReceiver(appId: string): Promise<string> {
  const addition = { appId, url: 'http://127.0.0.1:4703/events', eventTypes: ['grant.created', 'grant.revoked'] };
  return server.storage.transaction(async (db) => {
    const { endpoint } = await insertEndpoint(db, createKeyring(settings.secretKeys), addition, Date.now());
    await sendTest(db, endpoint, Date.now());
    return endpoint.id;
  });
}

async function takePictures(page: Page, suffix: string): Promise<void> {
  for (const [name, url] of Object.entries(PAGES)) {
    await page.goto(name === 'platform' ? `${settings.consentUrl}/settings/account` : url);
    if (name !== 'sign-in') await signIn(page, visitorOf(name));
    if (name === 'platform') await page.goto(url);
    if (name === 'reference') await page.getByRole('heading', { name: 'Authorization' }).first().waitFor();
    await page.screenshot({ path: `${out}/${name}-${suffix}.png`, fullPage: !LONG.includes(name) });
    await page.context().clearCookies();
  }
}

/** The user who would open the page: a developer, a member who is asked for consent, or an owner. */
function visitorOf(name: string): string {
  if (name === 'consent') return DEMO_USERS.member.email;
  return ['connected-apps', 'connect-assistant', 'members', 'audit-log'].includes(name)
    ? DEMO_USERS.owner.email
    : DEMO_USERS.admin.email;
}

async function signIn(page: Page, email: string): Promise<void> {
  if (!new URL(page.url()).pathname.startsWith('/sign-in')) return;
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(DEMO_PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL(({ pathname }) => !pathname.startsWith('/sign-in'));
}
