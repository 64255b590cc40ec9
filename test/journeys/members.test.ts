import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { findBarriers, launchChromium, signIn } from '../support/chromium.ts';
import { PASSWORD } from '../support/people.ts';
import { newWorld } from '../support/world.ts';

const chromium = await launchChromium();

const SCREENS = [
  { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { colorScheme: 'dark', viewport: { width: 360, height: 740 } },
] as const;

async function look(page: Page): Promise<void> {
  assert.deepEqual(await findBarriers(page), [], page.url());
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  assert.equal(overflow, 0, `${page.url()} scrolls sideways`);
}

for (const screen of SCREENS) {
  const { colorScheme, viewport } = screen;
  test(`an owner invites someone, who makes an account and joins, becomes an admin and is removed (${colorScheme}, ${viewport.width} pixels)`, async () => {
    const world = await newWorld();
    const { page: owner, complaints } = await chromium.newPage(screen);
    const { page: newcomer, complaints: others } = await chromium.newPage(screen);

    await owner.goto(`${world.web}/settings/members`);
    await signIn(owner, world.ada.email, PASSWORD);
    await look(owner);
    await owner.getByRole('link', { name: 'Invite someone' }).click();
    await owner.getByLabel('For whom').fill('Kim from sales');
    await look(owner);
    await owner.getByRole('button', { name: 'Make the link' }).click();
    await look(owner);
    const link = (await owner.locator('#invitation').textContent()) ?? '';
    await owner.getByRole('link', { name: 'All invitations' }).click();
    await owner.getByText('Kim from sales').waitFor();
    await look(owner);

    await newcomer.goto(link);
    await look(newcomer);
    await newcomer.getByLabel('Your name').fill('Kim');
    await newcomer.getByLabel('Email').fill('kim@example.com');
    await newcomer.getByLabel('Password').fill(PASSWORD);
    await newcomer.getByRole('button', { name: 'Make the account and join' }).click();
    await newcomer.getByText('You are now a member.').waitFor();

    await owner.getByRole('link', { name: 'Members', exact: true }).last().click();
    await owner.getByRole('link', { name: 'Manage Kim' }).click();
    await look(owner);
    await owner.getByRole('radio', { name: /^Admin/ }).check();
    await owner.getByRole('button', { name: 'Save' }).click();
    await owner.getByText('The role is changed.').waitFor();
    await look(owner);
    await owner.getByRole('link', { name: 'Manage Kim' }).click();
    await owner.getByRole('link', { name: 'Remove…' }).click();
    await look(owner);
    await owner.getByRole('button', { name: 'Remove Kim' }).click();
    await owner.getByText('The member is removed.').waitFor();

    await newcomer.goto(`${world.web}/settings/members`);
    await newcomer.getByText('You are not a member of any business yet.').waitFor();
    await look(newcomer);
    assert.deepEqual([...complaints, ...others], []);
  });
}

test('someone with an account signs in from the link and joins', async () => {
  const world = await newWorld();
  const bob = await world.addUser('Bob');
  const { page: owner } = await chromium.newPage();
  const { page, complaints } = await chromium.newPage();
  await owner.goto(`${world.web}/settings/members/invite`);
  await signIn(owner, world.ada.email, PASSWORD);
  await owner.getByRole('button', { name: 'Make the link' }).click();
  const link = (await owner.locator('#invitation').textContent()) ?? '';

  await page.goto(link);
  await page.getByRole('link', { name: 'Sign in to join' }).click();
  await signIn(page, bob.email, PASSWORD);
  await page.getByRole('button', { name: 'Join as Bob' }).waitFor();
  await look(page);
  await page.getByRole('button', { name: 'Join as Bob' }).click();
  await page.getByText('You are now a member.').waitFor();

  assert.deepEqual(complaints, []);
});
