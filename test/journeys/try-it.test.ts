import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBarriers, launchChromium, signIn } from '../support/chromium.ts';
import { PASSWORD } from '../support/people.ts';
import { newWorld } from '../support/world.ts';

const chromium = await launchChromium();
const world = await newWorld();
await world.addInvoice(world.acme, { number: 'INV-77' });

const SCREENS = [
  { colorScheme: 'dark', viewport: { width: 360, height: 740 } },
  { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
] as const;

for (const screen of SCREENS) {
  test(`a developer tries an app from Allow to Revoke, ${screen.colorScheme}, ${screen.viewport.width} pixels wide`, async () => {
    const app = await world.addApp({ name: 'Trial', ownerBusinessId: world.acme.id });
    const { page, complaints } = await chromium.newPage(screen);
    const press = (name: string) => page.getByRole('button', { name }).click();
    const look = async (text: string) => {
      await page.getByText(text).first().waitFor();
      assert.deepEqual(await findBarriers(page), [], text);
      const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
      assert.equal(await page.evaluate(overflow), 0, `${text} scrolls sideways`);
    };
    await page.goto(`${world.web}/settings/developer/${app.id}/try`);
    await signIn(page, world.ada.email, PASSWORD);

    await look('Scopes to ask for');
    await press('Add it to the redirect URIs');
    await press('Show me the request');
    await look('Send the browser to the authorize endpoint');
    await page.getByRole('link', { name: 'Go there' }).click();
    await press('Allow');
    await look('The server that was asked');
    await page.getByLabel('client_secret').fill('gcs_wrong');
    await press('Send the request');
    await look('invalid_client');
    await page.getByLabel('client_secret').fill(app.secret);
    await press('Send the request');
    await look('"token_type": "bearer"');
    await press('Call the API');
    await press('List invoices');
    await look('INV-77');
    await press('Refresh');
    await press('Revoke');
    await look('It has ended');
    await press('Call the API');
    await look('revoked_by_app');

    assert.deepEqual(complaints, []);
  });
}
