import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verifyPublisher } from '../../../src/apps/verification.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { inviteInBrowser } from '../../support/invitations.ts';
import { startMailServer } from '../../support/mail-server.ts';
import { startTestServer } from '../../support/test-server.ts';

const smtp = await startMailServer();
const server = await startTestServer({ ...smtp.env, LIMIT_INVITATIONS: '1000' });
const GERMAN = { 'accept-language': 'de' };
let count = 0;

/** An app of a business that calls itself like this, which users of any business can connect. */
async function addAppOf(name: string) {
  const business = await server.addBusiness(name);
  const app = await server.addApp({ ownerBusinessId: business.id, openToAnyBusiness: true });
  return { business, app };
}

async function newMember(headers: Record<string, string> = {}) {
  const user = await server.addUser(`Mia${++count}`, [[server.acme, 'owner']]);
  const browser = server.browse(headers);
  browser.cookies.set('__Host-session', await server.startSession(user));
  return { user, browser };
}

async function openConsent(app: { id: string }, headers?: Record<string, string>) {
  const { browser } = await newMember(headers);
  return (await browser.open(server.authorizeUrl({ client_id: app.id }))).text;
}

test('an unverified publisher is quoted, and is not the subject of a sentence', async () => {
  const { app } = await addAppOf('Microsoft Corporation” is safe. “');

  const text = await openConsent(app);
  const german = await openConsent(app, GERMAN);

  assert.match(text, /It was registered by a business called <bdi>“Microsoft Corporation’ is safe\. ’”<\/bdi>\./);
  assert.match(text, /It is not made or checked by <bdi>Gatehouse<\/bdi>/);
  assert.match(text, /Publisher not verified/);
  assert.doesNotMatch(text, /an app by/);
  assert.match(german, /von einem Unternehmen namens <bdi>„Microsoft Corporation’ is safe\. ’“<\/bdi> registriert\./);
  assert.match(german, /Herausgeber nicht verifiziert/);
});

/** Imitations of the platform, with another alphabet, case, symbols and digits, and of the business of the reader. */
const IMITATIONS = [
  'Gatehouse',
  'GATE HOUSE ✔',
  'Gаtehоuse',
  'Ｇａｔｅｈｏｕｓｅ',
  'Gateh0use',
  'Acme',
  'Ａcme.',
  'Аcmе',
  'Acrne',
];

for (const name of IMITATIONS) {
  test(`a publisher called ${name} is another business, for a member of Acme`, async () => {
    const { app } = await addAppOf(name);

    const text = await openConsent(app);
    const german = await openConsent(app, GERMAN);

    assert.match(text, new RegExp(`It was registered by another business called <bdi>“${name}”</bdi>\\.`));
    assert.match(german, new RegExp(`von einem anderen Unternehmen namens <bdi>„${name}“</bdi> registriert\\.`));
  });
}

test('an i, an l and a one look alike in the name of a publisher', async () => {
  const { app } = await addAppOf('BiIl1ng');
  const { user, browser } = await newMember();
  await server.addMember(user, await server.addBusiness('Billing'));

  const { text } = await browser.open(server.authorizeUrl({ client_id: app.id }));

  assert.match(text, /It was registered by another business called <bdi>“BiIl1ng”/);
});

test('the own business of the reader, and one with its own name, are not called another business', async () => {
  const { app } = await addAppOf('Acme Robotics');

  assert.match(await openConsent(server.ledger), /registered by a business called <bdi>“Acme”/);
  assert.match(await openConsent(app), /registered by a business called <bdi>“Acme Robotics”/);
});

test('a verified publisher is named without quotes', async () => {
  const { app } = await addAppOf('Northgate');
  await verifyPublisher(OPERATOR, server.storage().durable, { appId: app.id }, server.clock());

  assert.match(await openConsent(app), /Ledger<\/bdi> is an app by <bdi>Northgate<\/bdi>/);
});

test('the page of a connection says so, too', async () => {
  const { app } = await addAppOf('Gatehouse');
  const { user, browser } = await newMember();
  const page = await browser.open(server.authorizeUrl({ client_id: app.id }));
  await browser.submit(page, '/consent', { decision: 'allow' });

  const { text } = await browser.open(`/settings/connected-apps/${app.id}/${user.id}`);

  assert.match(text, /Publisher not verified\. It was registered by another business called <bdi>“Gatehouse”<\/bdi>\./);
});

test('an invitation to a business that is called like the platform, or like one of the reader, says that it is another', async () => {
  const { user: reader } = await newMember();
  for (const [headers, name, email, sentence] of [
    [{}, 'Gatehоuse', 'stranger-1@example.com', 'You are invited to join another business called “Gatehоuse”'],
    [
      GERMAN,
      'Gatehouse',
      'stranger-2@example.com',
      'Sie sind eingeladen, einem anderen Unternehmen namens „Gatehouse“',
    ],
    [{}, 'ACME', reader.email, 'You are invited to join another business called “ACME”'],
    [{}, 'Acme', 'stranger-3@example.com', 'You are invited to join the business “Acme”'],
  ] as const) {
    const business = await server.addBusiness(name);
    const browser = server.browse(headers);
    const owner = await server.addUser(`Eve${++count}`, [[business, 'owner']]);
    browser.cookies.set('__Host-session', await server.startSession(owner));
    await inviteInBrowser(browser, { email });

    const mail = await smtp.waitForMailTo(email, 0);
    assert.ok(mail.text?.includes(sentence), mail.text ?? '');
  }
});
