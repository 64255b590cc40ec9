// `npm run pictures`: takes the screenshots in docs/pictures of a running server with the demo data, and of the gallery.
// `npm run pictures -- --all --out DIR` takes every page in both themes at both widths, `--only account,app` some of them.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import packed from '@sparticuz/chromium';
import { chromium, type Page } from 'playwright-core';
import { DEMO_PASSWORD, DEMO_USERS, ensureDemoApps, ensureDemoData } from '../../demo/data.ts';
import { readSettings } from '../../src/config/settings.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import { startServer } from '../../src/server.ts';
import {
  addDecisions,
  addReceiver,
  businessOf,
  findFailedRequest,
  findParcelwise,
  requireUser,
  turnOnTwoStep,
} from './data.ts';
import { startGallery } from './gallery.ts';
import { LOOKS, lookName } from './looks.ts';
import { listPictures, type Picture } from './pages.ts';
import { takeSteps } from './steps.ts';

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'docs/pictures' },
    all: { type: 'boolean', default: false },
    only: { type: 'string' },
  },
});
const { out, all } = values;
const only = values.only?.split(',');
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
const keys = createKeyring(settings.secretKeys);
const server = await startServer(settings);
const northgate = await ensureDemoData(server.storage, Date.now());
const { thirdParty } = await ensureDemoApps(server.storage, northgate, join(folder, 'apps.json'), Date.now());
const receiver = createServer((_, response) => response.writeHead(204).end()).listen(4703, '127.0.0.1');
const pictures = await addData();
const browser = await chromium.launch({
  executablePath: await packed.executablePath(),
  args: ['--no-sandbox', '--disable-gpu'],
});
mkdirSync(out, { recursive: true });

/** Only the top of these pages is shown. */
const LONG = ['reference', 'requests'];
/** The repository keeps two pictures of each page. */
const KEPT = ['desktop-light', 'phone-dark'];
const gallery = await startGallery();
for (const look of LOOKS) {
  const context = await browser.newContext(look);
  const page = await context.newPage();
  if (isWanted('gallery')) {
    await page.goto(gallery.url);
    await page.screenshot({ path: `${out}/gallery-${lookName(look)}.png`, fullPage: true });
  }
  if (all || KEPT.includes(lookName(look))) await takePictures(page, lookName(look));
  await context.close();
  console.log(`${out}: ${lookName(look)}`);
}
await gallery.close();
await browser.close();
receiver.close();
await server.close();
rmSync(folder, { recursive: true });

async function addData(): Promise<Picture[]> {
  return server.storage.transaction(async (db) => {
    const parcelwise = await findParcelwise(db, northgate);
    const [owner, member] = [
      await requireUser(db, DEMO_USERS.owner.email),
      await requireUser(db, DEMO_USERS.member.email),
    ];
    const businessId = await businessOf(db, owner);
    if (all) await addDecisions(db, { user: owner, member, businessId }, thirdParty.clientId, Date.now());
    return listPictures({
      api: settings.baseUrl,
      web: settings.consentUrl,
      ledgerly: thirdParty.clientId,
      parcelwise,
      request: await findFailedRequest(db, parcelwise),
      ...(await addReceiver(db, keys, parcelwise, Date.now())),
      northgate,
      owner: owner.id,
      member: member.id,
    });
  });
}

function isWanted(name: string): boolean {
  return only?.includes(name) ?? true;
}

/** One sign-in for each person, in the order of the list. */
async function takePictures(page: Page, suffix: string): Promise<void> {
  let visitor: Picture['as'];
  for (const picture of pictures.filter(({ name, isKept }) => isWanted(name) && (all || isKept))) {
    if (picture.as !== visitor) await signIn(page, picture.as);
    visitor = picture.as;
    await page.goto(picture.url);
    await shoot(page, picture.name, suffix);
  }
  if (!all) return;
  await page.context().clearCookies();
  await takeSteps(page, { settings, thirdParty, signIn, isWanted, shoot: (name) => shoot(page, name, suffix) });
  await takeTwoStep(page, suffix);
}

/** The pages of a user with two-step sign-in. */
async function takeTwoStep(page: Page, suffix: string): Promise<void> {
  if (!['two-step-on', 'step-up', 'second-step'].some(isWanted)) return;
  await signIn(page, 'owner');
  const user = await requireUser(server.storage.durable, DEMO_USERS.owner.email);
  await turnOnTwoStep(server.storage.durable, keys, user.id, Date.now());
  await page.goto(`${settings.consentUrl}/settings/two-step`);
  await shoot(page, 'two-step-on', suffix);
  await page.goto(`${settings.consentUrl}/settings/two-step/remove`);
  await shoot(page, 'step-up', suffix);
  await signIn(page, 'owner');
  await shoot(page, 'second-step', suffix);
  await server.storage.durable.deleteFrom('authenticator_apps').where('user_id', '=', user.id).execute();
}

async function shoot(page: Page, name: string, suffix: string): Promise<void> {
  if (!isWanted(name)) return;
  if (name === 'reference') await page.getByRole('heading', { name: 'Authorization' }).first().waitFor();
  // The script disables Allow for a moment.
  await page.waitForFunction(() => !document.querySelector('[data-delayed][aria-disabled]'));
  await page.screenshot({ path: `${out}/${name}-${suffix}.png`, fullPage: !LONG.includes(name) });
}

async function signIn(page: Page, as: Picture['as']): Promise<void> {
  await page.context().clearCookies();
  if (as === undefined) return;
  await page.goto(`${settings.consentUrl}/sign-in`);
  await page.getByLabel('Email').fill(DEMO_USERS[as].email);
  await page.getByLabel('Password').fill(DEMO_PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL(({ pathname }) => pathname !== '/sign-in');
}
