import type { Browser, Page } from 'playwright-core';
import { DEMO_PASSWORD, DEMO_USERS } from '../../demo/data.ts';
import { requireUser, turnOnTwoStep } from './data.ts';
import { writePicture } from './encode.ts';
import { startGallery } from './gallery.ts';
import { LOOKS, lookName } from './looks.ts';
import type { Picture } from './pages.ts';
import { type PictureServer, startPictureServer } from './server.ts';
import { takeSteps } from './steps.ts';

/** Of these pages, only what fits in a window is shown. */
const LONG = {
  desktop: ['account', 'app', 'connect-assistant', 'endpoint', 'error', 'new-app', 'reference', 'requests'],
  phone: ['consent', 'reference', 'requests'],
};
const WINDOW = { desktop: 960, phone: 780 };

export interface Wanted {
  out: string;
  /** Every page in every look, and not only what docs/pictures has. */
  all: boolean;
  /** The names of the pages; all by default. */
  only: string[] | undefined;
}

/** Takes pictures of the pages of a server with the data of the demo, and of the gallery. */
export async function takeStills(browser: Browser, wanted: Wanted): Promise<void> {
  const server = await startPictureServer();
  const gallery = await startGallery();
  try {
    for (const look of LOOKS) {
      const context = await browser.newContext(look);
      const shooting = { server, wanted, look, page: await context.newPage() };
      if (isWanted(shooting, 'gallery')) {
        await shooting.page.goto(gallery.url);
        await shoot(shooting, 'gallery');
      }
      await takePages(shooting);
      await context.close();
      console.log(`${wanted.out}: ${lookName(look)}`);
    }
  } finally {
    await gallery.close();
    await server.close();
  }
}

interface Shooting {
  server: PictureServer;
  wanted: Wanted;
  look: (typeof LOOKS)[number];
  page: Page;
}

function isWanted({ wanted }: Shooting, name: string): boolean {
  return wanted.only?.includes(name) ?? true;
}

/** One sign-in for each person, in the order of the list. */
async function takePages(shooting: Shooting): Promise<void> {
  const { server, wanted, look, page } = shooting;
  let visitor: Picture['as'];
  for (const { name, url, as, kept } of server.pictures) {
    if (!isWanted(shooting, name) || !(wanted.all || kept?.includes(look.size))) continue;
    if (as !== visitor) await signIn(shooting, as);
    visitor = as;
    await page.goto(url);
    await shoot(shooting, name);
  }
  if (!wanted.all) return;
  await page.context().clearCookies();
  await takeSteps(page, {
    settings: server.settings,
    thirdParty: server.thirdParty,
    signIn: (_, as) => signIn(shooting, as),
    isWanted: (name) => isWanted(shooting, name),
    shoot: (name) => shoot(shooting, name),
  });
  await takeTwoStep(shooting);
}

/** The pages of a user with two-step sign-in. */
async function takeTwoStep(shooting: Shooting): Promise<void> {
  if (!['two-step-on', 'step-up', 'second-step'].some((name) => isWanted(shooting, name))) return;
  const { page, server } = shooting;
  const { durable } = server.storage;
  await signIn(shooting, 'owner');
  const user = await requireUser(durable, DEMO_USERS.owner.email);
  await turnOnTwoStep(durable, server.keys, user.id, Date.now());
  await page.goto(`${server.settings.consentUrl}/settings/two-step`);
  await shoot(shooting, 'two-step-on');
  await page.goto(`${server.settings.consentUrl}/settings/two-step/remove`);
  await shoot(shooting, 'step-up');
  await signIn(shooting, 'owner');
  await shoot(shooting, 'second-step');
  await durable.deleteFrom('authenticator_apps').where('user_id', '=', user.id).execute();
}

async function shoot(shooting: Shooting, name: string): Promise<void> {
  if (!isWanted(shooting, name)) return;
  const { page, look, wanted } = shooting;
  if (name === 'reference') await page.getByRole('heading', { name: 'Authorization' }).first().waitFor();
  // The script disables Allow for a moment.
  await page.waitForFunction(() => !document.querySelector('[data-delayed][aria-disabled]'));
  const height = LONG[look.size].includes(name) ? WINDOW[look.size] : await heightOf(page);
  await page.setViewportSize({ ...look.viewport, height: Math.max(height, look.viewport.height) });
  await writePicture(`${wanted.out}/${name}-${lookName(look)}.png`, await page.screenshot());
  await page.setViewportSize(look.viewport);
}

/** A window of this height shows all of the page, with a sidebar as high as the page. */
function heightOf(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollHeight);
}

async function signIn({ page, server }: Shooting, as: Picture['as']): Promise<void> {
  await page.context().clearCookies();
  if (as === undefined) return;
  await page.goto(`${server.settings.consentUrl}/sign-in`);
  await page.getByLabel('Email').fill(DEMO_USERS[as].email);
  await page.getByLabel('Password').fill(DEMO_PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL(({ pathname }) => pathname !== '/sign-in');
}
