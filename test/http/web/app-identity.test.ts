import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_IDENTITY } from '../../../src/apps/app.ts';
import { changeApp, changeIdentity } from '../../../src/apps/app-changes.ts';
import { findApp } from '../../../src/apps/apps.ts';
import { checkedFingerprint, verifyPublisher } from '../../../src/apps/verification.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { DEVELOPER, PLATFORM } from '../../support/app-pages.ts';
import type { Fields } from '../../support/browser.ts';
import { createCommandRunner } from '../../support/command-runner.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const operator = createCommandRunner(server);
const owner = await server.signedIn();
const root = await server.signedIn(await server.addUser('Root', [], true));

const IDENTITY = {
  publisher: 'Ledger Incorporated',
  homepage: 'https://ledger.example/',
  support: 'https://ledger.example/help',
  privacy: 'https://ledger.example/privacy',
  terms: 'https://legal.example/terms?of=ledger',
};

const addApp = () => server.addApp({ ownerBusinessId: server.acme.id });
type TestApp = Awaited<ReturnType<typeof addApp>>;

async function save({ id }: TestApp, fields: Fields = IDENTITY) {
  const path = `${DEVELOPER}/${id}/identity`;
  return owner.submit(await owner.open(path), path, fields);
}

const load = async ({ id }: TestApp) =>
  (await findApp(server.storage().durable, id)) ?? assert.fail('the app is still there');

async function verify({ id }: TestApp) {
  const path = `/platform/apps/${id}`;
  return root.submit(await root.open(path), `${path}/verify`);
}

async function openConsent({ id }: TestApp): Promise<string> {
  return (await owner.open(server.authorizeUrl({ client_id: id }))).text;
}

const entriesOf = ({ id }: TestApp) =>
  server.storage().durable.selectFrom('audit_entries').selectAll().where('subject_id', '=', id).orderBy('id').execute();

test('the owner enters the publisher and the addresses of an app, and the consent screen links to them', async () => {
  const app = await addApp();

  assert.match((await save(app)).text, /Saved\./);
  const text = await openConsent(app);

  const link = (url: string, name: string) => `<a href="${url}" target="_blank" rel="noreferrer noopener">${name}</a>`;
  assert.ok(text.includes(link(IDENTITY.homepage, 'ledger.example')));
  assert.ok(text.includes(link(IDENTITY.support, 'Support')));
  assert.ok(text.includes(link(IDENTITY.privacy, 'Privacy policy')));
  assert.ok(text.includes(link(IDENTITY.terms, 'Terms of service')));
});

test('a field that is left empty is removed', async () => {
  const app = await addApp();
  await save(app);

  await save(app, { publisher: ' ', homepage: '' });

  assert.deepEqual((await load(app)).identity, NO_IDENTITY);
});

for (const [name, address] of Object.entries({
  'without https': 'http://ledger.example/',
  'of a script': 'javascript:alert(1)',
  'of a script, in disguise': 'java\tscript:alert(1)',
  'with data': 'data:text/html,<script>alert(1)</script>',
  'with a password': 'https://user:secret@ledger.example/',
  'of this network': 'https://intranet/',
  'that is a number': 'https://127.0.0.1/',
  'without a scheme': 'ledger.example',
  'that is too long': `https://ledger.example/${'x'.repeat(500)}`,
})) {
  test(`an address ${name} is rejected at its field, and nothing is stored`, async () => {
    const app = await addApp();
    for (const field of ['homepage', 'support', 'privacy', 'terms']) {
      const { status, text } = await save(app, { publisher: 'Ledger', [field]: address });

      assert.equal(status, 400);
      assert.match(text, new RegExp(`id="${field}-problem">Enter a complete address that starts with https`));
    }
    assert.deepEqual((await load(app)).identity, NO_IDENTITY);
  });
}

test('until the platform has verified the publisher, users see the business that registered the app instead', async () => {
  const app = await addApp();
  await save(app);

  const text = await openConsent(app);

  assert.match(text, /It was registered by a business called <bdi>“Acme”<\/bdi>\./);
  assert.doesNotMatch(text, /Incorporated|Verified publisher/);
});

test('a platform admin verifies the publisher; users see it, and the audit log of the business says so', async () => {
  const app = await addApp();
  await save(app);

  assert.match((await verify(app)).text, /The publisher is verified/);

  const text = await openConsent(app);
  assert.match(
    text,
    /Ledger<\/bdi> is an app by <bdi>Ledger Incorporated<\/bdi>\. It is not made by <bdi>Gatehouse<\/bdi>\./,
  );
  assert.match(text, /Verified publisher<\/span>/);
  const entry = (await entriesOf(app)).at(-1);
  assert.deepEqual([entry?.action, entry?.actor_kind, entry?.actor_name], ['app.verified', 'platform', 'Root']);
  assert.equal(entry?.business_id, server.acme.id);
});

const CHANGES: Record<string, (app: TestApp) => Promise<unknown>> = {
  name: ({ id }) => operator('app change', { app: id, name: 'Another name' }),
  publisher: (app) => save(app, { ...IDENTITY, publisher: 'Someone else', confirmed: 'yes' }),
  homepage: (app) => save(app, { ...IDENTITY, homepage: 'https://else.example/', confirmed: 'yes' }),
};

for (const [name, change] of Object.entries(CHANGES)) {
  test(`a change of the ${name} removes the Verified publisher badge, in the same transaction`, async () => {
    const app = await addApp();
    await save(app);
    await verify(app);

    await change(app);

    assert.equal((await load(app)).verifiedAt, null);
    const actions = (await entriesOf(app)).map(({ action }) => action);
    assert.deepEqual(actions.sort(), ['app.changed', 'app.changed', 'app.verification_removed', 'app.verified']);
  });
}

test('a change of anything else keeps the badge', async () => {
  const app = await addApp();
  await save(app);
  await verify(app);

  await save(app, { ...IDENTITY, support: 'https://else.example/help', privacy: '', terms: '' });
  await operator('app change', { app: app.id, 'redirect-uri': 'https://else.example/callback' });

  assert.notEqual((await load(app)).verifiedAt, null);
});

test('a platform admin can remove the badge', async () => {
  const app = await addApp();
  await verify(app);
  const path = `/platform/apps/${app.id}`;

  await root.submit(await root.open(path), `${path}/unverify`);

  assert.equal((await load(app)).verifiedAt, null);
  assert.equal((await entriesOf(app)).at(-1)?.action, 'app.verification_removed');
});

test('an app that its owner changes while a platform admin checks it is not verified', async () => {
  const app = await addApp();
  await save(app);
  const path = `/platform/apps/${app.id}`;
  const page = await root.open(path);

  await save(app, { ...IDENTITY, publisher: 'A famous company' });
  const { status, text } = await root.submit(page, `${path}/verify`);

  assert.equal(status, 400);
  assert.match(text, /The app has changed since you opened this page\. Check it again\./);
  assert.match(text, /A famous company/);
  assert.equal((await load(app)).verifiedAt, null);
});

test('of a verification and a change at the same time, the badge never survives beside a name that was not checked', async () => {
  const db = server.storage().durable;
  for (let round = 0; round < 10; round += 1) {
    const app = await addApp();
    const seen = checkedFingerprint(await load(app), server.acme.name);
    await Promise.allSettled([
      verifyPublisher(OPERATOR, db, { appId: app.id, seen }, server.clock()),
      changeApp(
        OPERATOR,
        db,
        { appId: app.id, change: (before) => ({ ...before, name: 'Another name' }) },
        server.clock(),
      ),
    ]);

    const after = await load(app);
    assert.deepEqual([after.name, after.verifiedAt], ['Another name', null]);
  }
});

test('an owner cannot verify their own app [D5]', async () => {
  const app = await addApp();
  const csrf = await owner.csrf();

  const page = await owner.post(`/platform/apps/${app.id}/verify`, {
    csrf,
    seen: checkedFingerprint(await load(app), server.acme.name),
  });
  await save(app, { ...IDENTITY, verified_at: '1', verifiedAt: '1' });

  assert.equal(page.status, 404);
  assert.equal((await load(app)).verifiedAt, null);
});

test('a first-party app has a publisher and addresses, and needs no verification mark', async () => {
  const app = await server.addApp({ ownerBusinessId: null });
  const path = `${PLATFORM}/${app.id}/identity`;

  await root.submit(await root.open(path), path, IDENTITY);

  assert.equal((await load(app)).identity.homepageUrl, IDENTITY.homepage);
  assert.doesNotMatch((await root.open(`/platform/apps/${app.id}`)).text, /Verify publisher/);
  await assert.rejects(operator('app verify', { app: app.id }), /Only an app that a business has registered/);
});

test('the command line sets, changes and removes the same, and leaves the same audit entries', async () => {
  const [onPage, byCommand] = [await addApp(), await addApp()];
  await save(onPage);
  await verify(onPage);

  await operator('app identity', { app: byCommand.id, ...IDENTITY });
  await operator('app verify', { app: byCommand.id });

  const auditDetails = async (app: TestApp) =>
    (await entriesOf(app)).map(({ action, business_id, subject_name, detail }) => [
      action,
      business_id,
      subject_name,
      detail,
    ]);
  assert.deepEqual(await auditDetails(byCommand), await auditDetails(onPage));
  assert.deepEqual((await load(byCommand)).identity, (await load(onPage)).identity);
  const printed = await operator('app identity', { app: byCommand.id, terms: 'none' });
  assert.deepEqual([printed.termsUrl, printed.homepageUrl], [null, IDENTITY.homepage]);
});

test('a publisher name with hidden characters is rejected', async () => {
  const app = await addApp();
  const change = { appId: app.id, change: () => ({ ...NO_IDENTITY, publisherName: 'Led\u202eger' }) };

  await assert.rejects(
    changeIdentity(OPERATOR, server.storage().durable, change, server.clock()),
    /visible characters/,
  );
});
