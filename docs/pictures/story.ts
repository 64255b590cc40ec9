import type { Browser, Page } from 'playwright-core';
import { DEMO_PASSWORD, DEMO_USERS } from '../../demo/data.ts';
import type { Camera } from './camera.ts';
import { SCALE, type Step, VIEW } from './stage.ts';

export const STEPS: Step[] = [
  { title: 'Start', text: 'One command starts Gatehouse with sample data and a demo app.' },
  { title: 'Connect', text: 'An app asks for access to the data of a business.' },
  { title: 'Sign in', text: 'The user signs in at Gatehouse. The app never sees the password.' },
  { title: 'Allow', text: 'The user sees who asks for what, and allows it.' },
  { title: 'Read', text: 'The app reads the invoices of this one business.' },
  { title: 'Disconnect', text: 'The user ends the access.' },
  { title: 'Refused', text: 'The next call of the app gets the status 401, with the reason.' },
];

const WEB = 'http://localhost:4001';
const LEDGERLY = 'http://127.0.0.1:4002';
const COMMAND = 'npm start';

interface Story {
  browser: Browser;
  colorScheme: 'light' | 'dark';
  camera: Camera;
  /** What the demo printed. */
  output: string;
}

/** Returns the picture for readers who want no motion. */
export async function tellStory({ browser, colorScheme, camera, output }: Story): Promise<{ still: Buffer }> {
  const open = async () => {
    const context = await browser.newContext({ viewport: VIEW, deviceScaleFactor: SCALE, colorScheme });
    return context.newPage();
  };
  await showStart(camera, output);
  const [user, developer] = [await open(), await open()];
  const still = await showConnecting(camera, user);
  await showDisconnecting(camera, user);
  await showRefusal(camera, { user, developer });
  await user.context().close();
  await developer.context().close();
  return { still };
}

async function showStart(camera: Camera, output: string): Promise<void> {
  await camera.showTerminal('$ ▮', 400);
  for (let typed = 1; typed < COMMAND.length; typed += 2)
    await camera.showTerminal(`$ ${COMMAND.slice(0, typed)}▮`, 120);
  await camera.showTerminal(`$ ${COMMAND}▮`, 400);
  await camera.showTerminal(`$ ${COMMAND}\n\n${output}`, 3000);
}

async function showConnecting(camera: Camera, page: Page): Promise<Buffer> {
  camera.nextStep();
  await page.goto(LEDGERLY);
  await camera.showPage(page, 1000);
  await camera.click(page, page.getByRole('link', { name: 'Connect to Gatehouse' }));
  camera.nextStep();
  await page.getByLabel('Email').fill(DEMO_USERS.owner.email);
  await camera.showPage(page, 500);
  await page.getByLabel('Password').fill(DEMO_PASSWORD);
  await camera.click(page, page.getByRole('button', { name: 'Sign in', exact: true }));
  camera.nextStep();
  await page.getByRole('button', { name: 'Allow' }).waitFor();
  await camera.showPage(page, 2000);
  const still = camera.frames.at(-1)?.png;
  await camera.click(page, page.getByRole('button', { name: 'Allow' }));
  camera.nextStep();
  await page.getByText('The newest invoices').waitFor();
  await camera.showPage(page, 2200);
  if (!still) throw new Error('The film has no frames.');
  return still;
}

async function showDisconnecting(camera: Camera, page: Page): Promise<void> {
  camera.nextStep();
  await page.goto(`${WEB}/settings/connected-apps`);
  await camera.showPage(page, 1200);
  await camera.click(page, page.getByRole('button', { name: /^Disconnect Ledgerly/ }));
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await camera.showPage(page, 900);
  await camera.click(page, dialog.getByRole('button', { name: 'Disconnect', exact: true }));
  await page.getByRole('status').waitFor();
  await camera.showPage(page, 1200);
}

/** What the user sees in the app, and what the developer of the app sees in its log. */
async function showRefusal(camera: Camera, { user, developer }: { user: Page; developer: Page }): Promise<void> {
  camera.nextStep();
  await user.goto(LEDGERLY);
  await camera.showPage(user, 1800);
  await developer.goto(`${WEB}/sign-in`);
  await developer.getByLabel('Email').fill(DEMO_USERS.admin.email);
  await developer.getByLabel('Password').fill(DEMO_PASSWORD);
  await developer.getByRole('button', { name: 'Sign in', exact: true }).click();
  await developer.waitForURL(({ pathname }) => pathname !== '/sign-in');
  await developer.goto(`${WEB}/settings/developer`);
  await developer.getByRole('link', { name: 'Ledgerly' }).click();
  await developer.getByRole('link', { name: 'Requests' }).click();
  const refused = developer
    .getByRole('listitem')
    .filter({ hasText: /^\s*401/ })
    .getByRole('link');
  await refused.evaluate((link) => link.scrollIntoView({ block: 'center' }));
  await camera.showPage(developer, 1200);
  // The log is live: a click can be lost while it changes.
  const address = await refused.evaluate((link) => (link as HTMLAnchorElement).href);
  await camera.pointAt(developer, refused);
  await developer.goto(address);
  const reason = developer.getByRole('heading', { name: 'Why it was rejected' });
  await reason.evaluate((heading) => heading.scrollIntoView({ block: 'center' }));
  await camera.showPage(developer, 3000);
}
