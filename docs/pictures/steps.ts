import type { Page } from 'playwright-core';
import type { Settings } from '../../src/config/settings.ts';
import type { Picture } from './pages.ts';

interface Steps {
  settings: Settings;
  thirdParty: { clientId: string; clientSecret: string };
  signIn(page: Page, as: Picture['as']): Promise<void>;
  isWanted(name: string): boolean;
  shoot(name: string): Promise<void>;
}

const NAMES = ['new-secret', 'invitation-link', 'invitation', 'try-request', 'try-exchange', 'try-tokens'];

/** Pages that only a form leads to. */
export async function takeSteps(page: Page, steps: Steps): Promise<void> {
  if (!NAMES.some(steps.isWanted)) return;
  await takeInvitation(page, steps);
  await takePlayground(page, steps);
}

async function takeInvitation(page: Page, { settings, signIn, shoot }: Steps): Promise<void> {
  await signIn(page, 'owner');
  await page.goto(`${settings.consentUrl}/settings/members/invite`);
  await page.getByLabel('Email').fill('noor@harbour.example');
  await page.getByRole('button', { name: 'Create invitation link' }).click();
  await shoot('invitation-link');
  const link = await page.locator('#invitation').textContent();
  await signIn(page, undefined);
  await page.goto(link ?? '');
  await shoot('invitation');
}

async function takePlayground(page: Page, { settings, thirdParty, signIn, shoot }: Steps): Promise<void> {
  const app = `${settings.consentUrl}/settings/developer/${thirdParty.clientId}`;
  await signIn(page, 'admin');
  await page.goto(`${app}/try`);
  const add = page.getByRole('button', { name: 'Add it to the redirect URIs' });
  if (await add.isVisible()) await add.click();
  await page.getByRole('button', { name: 'Show the request' }).click();
  await shoot('try-request');
  await page.getByRole('link', { name: 'Open the authorize URL' }).click();
  const allow = page.getByRole('button', { name: 'Allow' });
  if (await allow.isVisible()) await allow.click();
  await page.getByLabel('client_secret').fill(thirdParty.clientSecret);
  await shoot('try-exchange');
  await page.getByRole('button', { name: 'Send the request' }).click();
  await page.getByText('access_token').first().waitFor();
  await shoot('try-tokens');
  await page.goto(`${settings.consentUrl}/settings/developer/new`);
  await page.getByLabel('App name').fill('Tally');
  await page.getByLabel('Redirect URI 1').fill('https://tally.example/callback');
  await page.getByLabel('read:invoices').check();
  await page.getByRole('button', { name: 'Register app' }).click();
  await shoot('new-secret');
}
