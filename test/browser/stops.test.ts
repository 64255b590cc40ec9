import { sql } from 'kysely';
import { requestFollowUp } from '../../src/grants/follow-ups.ts';
import { assertAccessible, clickButton, createFlowTest, waitForText } from '../support/browser-flow.ts';
import { launchChromium } from '../support/chromium.ts';
import { externalRequest, startDocumentHost } from '../support/client-document-host.ts';

const flowTest = createFlowTest(await launchChromium());
const documents = await startDocumentHost();

flowTest('an owner sees how far a follow-up is, until it is done', async ({ server, openSignedIn }) => {
  const db = server.storage().durable;
  await server.connect();
  await sql`create trigger broken before delete on follow_ups begin select raise(abort, 'broken'); end`.execute(db);
  const followUp = { kind: 'end', appId: server.ledger.id, reason: 'app_tokens_ended' } as const;
  const { id } = await requestFollowUp(db, followUp, server.clock());
  const page = await openSignedIn(server.ada, `/settings/developer/${server.ledger.id}`);
  await waitForText(page, 'Ending access: 0 done, 1 left.');
  await assertAccessible(page);

  await db.updateTable('follow_ups').set({ done: 12_500 }).where('id', '=', id).execute();
  // The page changes without a reload.
  await waitForText(page, 'Ending access: 12,500 done, 1 left.');
  await sql`drop trigger broken`.execute(db);
  await page.locator('#follow-ups').waitFor({ state: 'detached' });
});

flowTest(
  'a person who has connected too many external apps sees which to disconnect',
  async ({ server, openSignedIn }) => {
    const authorize = () => server.authorizeUrl(externalRequest(server, documents.newClientId()));
    const browser = await server.signedIn();
    await browser.submit(await browser.open(authorize()), '/consent', { decision: 'allow' });
    const page = await openSignedIn(server.ada, authorize());

    await page.locator('button[value="allow"]:enabled').waitFor();
    await clickButton(page, 'Allow');

    await page.getByRole('heading', { name: 'Assistant cannot be connected yet' }).waitFor();
    await assertAccessible(page);
    await page.getByRole('link', { name: 'Assistant' }).click();
    await page.getByRole('heading', { name: 'Assistant' }).waitFor();
  },
  { rejects: true, env: { WEBHOOKS_TO_LOOPBACK: 'yes', MAX_EXTERNAL_APPS_PER_USER: '1' } },
);
