import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createBrowser } from '../support/browser.ts';
import { databaseUrl, TEMPLATE } from '../support/databases.ts';
import { startNodes } from '../support/nodes.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { enterCode, enterPassword, isSignedIn, setUpTwoStep } from '../support/two-step.ts';

const LIMIT = 4;
const postgres = await startPostgres();
after(() => postgres.remove());
await createTemplate(postgres.url);
const env = { LIMIT_SIGN_IN_PER_ACCOUNT: String(LIMIT) };
const { nodes, acme, addUser } = await startNodes(3, databaseUrl(postgres.url, TEMPLATE), env);

/** Enters the password of the user in a browser at each node. */
async function enterPasswordAtEach(user: { email: string }) {
  return Promise.all(
    nodes.map(async ({ web }) => {
      const browser = createBrowser(web, [web]);
      return { browser, page: await enterPassword(browser, user) };
    }),
  );
}

async function addTwoStepUser(name: string) {
  const user = await addUser(name, [[acme, 'member']]);
  const { web } = nodes[0] ?? assert.fail();
  const browser = createBrowser(web, [web]);
  await browser.signIn(user.email, 'correct horse battery');
  return { user, ...(await setUpTwoStep({ clock: Date.now }, browser)) };
}

test('one code that is sent to three nodes at the same time signs in once [E5]', async () => {
  const { user, code } = await addTwoStepUser('Rea');
  const waiting = await enterPasswordAtEach(user);
  const unused = code(1);

  const pages = await Promise.all(waiting.map(({ browser, page }) => enterCode(browser, page, unused)));

  assert.equal(pages.filter(isSignedIn).length, 1);
  assert.equal(pages.filter(({ status }) => status === 401).length, 2);
});

test('wrong codes in parallel are counted together, whichever node they are sent to [E5]', async () => {
  const { user, code } = await addTwoStepUser('Sal');
  const waiting = await enterPasswordAtEach(user);

  const guesses = await Promise.all(
    Array.from({ length: 21 }, (_, i) => {
      const { browser, page } = waiting[i % waiting.length] ?? assert.fail();
      return enterCode(browser, page, String(100_000 + i));
    }),
  );
  const { browser, page } = waiting[1] ?? assert.fail();
  const right = await enterCode(browser, page, code(1));

  assert.equal(guesses.filter(({ status }) => status === 401).length, LIMIT);
  assert.equal(guesses.filter(({ status }) => status === 429).length, 21 - LIMIT);
  assert.equal(right.status, 429);
});
