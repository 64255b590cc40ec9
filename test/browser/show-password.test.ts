import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPasswordLink } from '../../src/accounts/password-links.ts';
import { OPERATOR } from '../../src/audit/entries.ts';
import { findAxeViolations, launchChromium, signIn } from '../support/chromium.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { inviteInBrowser } from '../support/invitations.ts';
import { startTestServer } from '../support/test-server.ts';

const chromium = await launchChromium();
const server = await startTestServer();
const created = await createPasswordLink(
  OPERATOR,
  server.storage().durable,
  { userId: (await server.addUser('Rea')).id, businessId: null },
  server.clock(),
);
const pages = {
  'sign-in page': '/sign-in',
  invitation: await inviteInBrowser(await server.signedIn()),
  'page for a new password': `/password/${created?.token}`,
};

const LANGUAGES = [
  { locale: 'en-GB', name: 'Show password', colorScheme: 'light' },
  { locale: 'de-DE', name: 'Passwort anzeigen', colorScheme: 'dark' },
] as const;

for (const [what, path] of Object.entries(pages)) {
  test(`the ${what} shows the password while its button is pressed, in both languages`, async () => {
    for (const { name, ...device } of LANGUAGES) {
      const { page, consoleErrors } = await chromium.newPage({ ...device, viewport: { width: 360, height: 740 } });
      await page.goto(`${server.web}${path}`);
      const field = page.locator('#password');
      await field.fill(PASSWORD);
      await field.press('Tab');
      const focused = await page.evaluate(() => document.activeElement?.textContent);
      assert.equal(focused, name);

      const button = page.getByRole('button', { name, exact: true, pressed: false });
      await button.press('Space');
      await page.getByRole('button', { name, exact: true, pressed: true }).waitFor();
      assert.equal(await field.getAttribute('type'), 'text');
      assert.equal(await field.inputValue(), PASSWORD);
      assert.deepEqual(await findAxeViolations(page), []);
      await page.keyboard.press('Space');
      await button.waitFor();
      assert.equal(await field.getAttribute('type'), 'password');
      assert.deepEqual(consoleErrors, []);
    }
  });

  test(`without JavaScript the ${what} has no button that shows the password`, async () => {
    const { page } = await chromium.newPage({ javaScriptEnabled: false });
    await page.goto(`${server.web}${path}`);

    await page.locator('#password').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Show password' }).count(), 0);
  });
}

test('a password that is shown is hidden again before it is sent', async () => {
  const { page } = await chromium.newPage();
  await page.goto(`${server.web}/sign-in`);
  await page.getByLabel('Email').fill(server.ada.email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Show password' }).click();
  await page.evaluate(() =>
    document.querySelector('form')?.addEventListener('submit', (event) => event.preventDefault()),
  );
  await page.getByRole('button', { name: 'Sign in' }).click();

  assert.equal(await page.getByLabel('Password').getAttribute('type'), 'password');
});

for (const [path, name] of [
  ['/settings/account', 'Show new password'],
  ['/settings/delete-account', 'Show current password'],
] as const) {
  test(`${path} shows a password while the button "${name}" is pressed`, async () => {
    const { page, consoleErrors } = await chromium.newPage();
    await page.goto(`${server.web}/sign-in`);
    await signIn(page, server.ada.email, PASSWORD);
    await page.goto(`${server.web}${path}`);
    const button = page.getByRole('button', { name, exact: true });
    const field = page.locator(`#${await button.getAttribute('aria-controls')}`);
    await field.fill(PASSWORD);
    await button.click();

    assert.equal(await field.getAttribute('type'), 'text');
    assert.deepEqual(await findAxeViolations(page), []);
    assert.deepEqual(consoleErrors, []);
  });
}
