import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { markUserDisabled } from '../../src/accounts/users.ts';
import { hashPassword } from '../../src/lib/passwords.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { inviteInBrowser } from '../support/invitations.ts';
import { startTestServer } from '../support/test-server.ts';

/** Every computation of argon2 in this process, in which the server runs, too. */
async function countHashes(work: () => Promise<unknown>): Promise<number> {
  let hashes = 0;
  const hook = createHook({
    init(_, type) {
      if (type === 'ARGON2REQUEST') hashes += 1;
    },
  });
  hook.enable();
  await work();
  hook.disable();
  return hashes;
}

test('a wrong password, an unknown and a disabled user cost the server one password hash each [S5]', async () => {
  const server = await startTestServer();
  const gone = await server.addUser('Gone');
  await markUserDisabled(server.storage().durable, gone.id, server.clock());
  const tries: [email: string, password: string][] = [
    [server.ada.email, 'not the password'],
    ['unknown@example.com', 'not the password'],
    ['unknown@example.com', ''],
    [gone.email, PASSWORD],
    ['no address at all', 'x'],
  ];

  for (const [email, password] of tries) {
    assert.equal(await countHashes(() => server.browse().signIn(email, password)), 1, email);
  }
});

test('an attempt to create an account costs one password hash, whether or not the address has an account [E6]', async () => {
  const server = await startTestServer();
  const owner = await server.signedIn();
  const known = await server.addUser('Known');

  for (const email of [known.email, 'unknown@example.com']) {
    const link = await inviteInBrowser(owner, { email });
    const browser = server.browse();
    const page = await browser.open(link);
    const typed = { name: 'Someone', password: 'a whole new drawbridge' };
    assert.equal(await countHashes(() => browser.submit(page, `${link}/account`, typed)), 1, email);
  }
});

test('of 100 simultaneous wrong passwords, no more are hashed than the limit allows [S10]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '5' });
  const browser = server.browse();
  const form = await browser.open('/sign-in');
  const guess = (password: string) => browser.submit(form, '/sign-in', { email: server.ada.email, password });

  const hashes = await countHashes(() =>
    Promise.all(Array.from({ length: 100 }, (_, nth) => guess(`wrong password ${nth}`))),
  );

  assert.equal(hashes, 5);
});

test('the dummy hash for an unknown user costs as much as a real one [S5]', async () => {
  const source = readFileSync(new URL('../../src/lib/passwords.ts', import.meta.url), 'utf8');
  const [, dummyCost] = /const DUMMY_HASH = `\$argon2id\$v=19\$(m=\d+,t=\d+,p=\d+)\$/.exec(source) ?? [];
  const [, real] = /^\$argon2id\$v=19\$(m=\d+,t=\d+,p=\d+)\$/.exec(await hashPassword('correct horse')) ?? [];

  assert.ok(real);
  assert.equal(dummyCost, real);
});
