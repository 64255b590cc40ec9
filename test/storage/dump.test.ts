import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { addUser } from '../../src/accounts/joining.ts';
import { OPERATOR } from '../../src/audit/entries.ts';
import { DEVELOPER, registerInBrowser, shownCredentials } from '../support/app-pages.ts';
import { createClient } from '../support/client.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { inviteInBrowser } from '../support/invitations.ts';
import { startTestServer } from '../support/test-server.ts';

/** The secrets that users and apps receive: passwords, cookies, client secrets, tokens. */
async function live() {
  const server = await startTestServer();
  const browser = await server.signedInByPassword();
  const { id, secret } = shownCredentials(await registerInBrowser(browser, DEVELOPER));
  const path = `${DEVELOPER}/${id}`;
  const second = shownCredentials(await browser.submit(await browser.open(path), `${path}/secrets`)).secret;
  const webhooks = await browser.open(`${path}/endpoints/new`);
  const listening = { url: 'https://hooks.example/', events: ['grant.created'] };
  const added = await browser.submit(webhooks, `${path}/endpoints`, listening);
  const [signingSecret = ''] = /whsec_[\w+/]{32,}=*/.exec(added.text) ?? [];
  const client = createClient({
    ...server,
    user: server.ada,
    app: { ...server.ledger, id, secret },
    business: server.acme,
  });
  const unused = await client.allow({}, browser);
  const used = await client.allow({}, browser);
  const tokens = (await client.exchange(used)).body;
  const refreshed = (await client.refresh(tokens.refresh_token)).body;
  const revoked = await client.connect({}, browser);
  await client.revoke(revoked.access_token);
  const held = {
    password: PASSWORD,
    session: browser.cookies.get('__Host-session') ?? '',
    visitor: browser.cookies.get('__Host-visitor') ?? '',
    csrf: await browser.csrf(),
    'first client secret': secret,
    'second client secret': second,
    'signing secret of a webhook': signingSecret,
    'link of an invitation': (await inviteInBrowser(browser)).replace('/invitation/', ''),
    'unused code': unused,
    'used code': used,
    'access token': tokens.access_token,
    'refresh token': tokens.refresh_token,
    'refreshed access token': refreshed.access_token,
    'refreshed refresh token': refreshed.refresh_token,
    'revoked access token': revoked.access_token,
    key: server.settings.secretKeys[0] ?? '',
  };
  return { server, held };
}

const { server, held } = await live();

function readAllRows(): { table: string; values: unknown[] }[] {
  const file = new DatabaseSync(join(server.folder, 'gatehouse.db'), { readOnly: true });
  const tables = file.prepare("select name from sqlite_master where type = 'table'").all();
  const rows = tables.flatMap(({ name }) =>
    file
      .prepare(`select * from "${name}"`)
      .all()
      .map((row) => ({ table: String(name), values: Object.values(row) })),
  );
  file.close();
  return rows;
}

/** A text in other encodings: as bytes, in hexadecimal, or without its prefix. */
function encodings(text: string): Buffer[] {
  const body = text.replace(/^(?:g[a-z]{2}|whsec)_/, '');
  const raw = Buffer.from(body, 'base64url');
  return [Buffer.from(body), raw, Buffer.from(raw.toString('hex')), Buffer.from(raw.toString('base64'))];
}

test('the flow before the dump wrote to all tables with secrets', () => {
  const tables = new Set(readAllRows().map(({ table }) => table));

  for (const table of [
    'users',
    'sessions',
    'apps',
    'app_secrets',
    'grants',
    'consents',
    'revoked_access_tokens',
    'events',
    'endpoints',
    'invitations',
  ]) {
    assert.ok(tables.has(table), table);
  }
});

for (const [what, text] of Object.entries(held)) {
  test(`no table contains the ${what}, in any encoding [T28]`, () => {
    assert.ok(text.length > 15, 'the secret is long enough to search for');
    for (const { table, values } of readAllRows()) {
      for (const value of values) {
        const bytes = value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value));
        for (const encoded of encodings(text)) assert.ok(!bytes.includes(encoded), `${table}: ${bytes}`);
      }
    }
  });
}

test('the database files contain no secret, not even in free pages and the log [T28]', () => {
  const files = readdirSync(server.folder).map((name) => readFileSync(join(server.folder, name)));

  assert.ok(files.length > 0);
  for (const [what, text] of Object.entries(held)) {
    for (const file of files) assert.ok(!file.includes(Buffer.from(text.replace(/^(?:g[a-z]{2}|whsec)_/, ''))), what);
  }
});

test('no stored value works as a session cookie, a client secret or a token [T28]', async () => {
  const texts = new Set(
    readAllRows().flatMap(({ values }) =>
      values.map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('base64url') : String(value))),
    ),
  );

  for (const text of texts) {
    const headers = { authorization: `Bearer ${text}`, 'x-business-id': server.acme.id };
    if (!/^[\x21-\x7e]+$/.test(text)) continue;
    const bearer = await fetch(`${server.api}/api/v1/accounting/invoices`, { headers });
    const cookie = `__Host-session=${text}`;
    const visit = await fetch(`${server.web}/settings/account`, { headers: { cookie }, redirect: 'manual' });
    const app = await server.introspect('x', { client_secret: text });
    assert.deepEqual([bearer.status, visit.status, app.status], [401, 303, 401], text);
  }
});

test('a password is stored as an argon2id hash with its cost and its own salt [S14]', async () => {
  const { durable } = server.storage();
  for (const name of ['twin', 'sister']) {
    const user = { email: `${name}@example.com`, name, password: PASSWORD, isPlatformAdmin: false };
    await addUser(OPERATOR, durable, user, server.clock());
  }

  const theirs = durable.selectFrom('users').select('password_hash').where('name', 'in', ['twin', 'sister']);
  const rows = await theirs.execute();
  assert.equal(rows.length, 2);

  for (const { password_hash } of rows) {
    assert.match(password_hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w-]{22}\$[\w-]{43}$/);
  }
  assert.equal(new Set(rows.map(({ password_hash }) => password_hash)).size, rows.length);
});
