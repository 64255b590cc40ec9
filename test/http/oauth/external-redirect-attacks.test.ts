import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decideRequest, setAppPolicy } from '../../support/app-rules.ts';
import type { Browser } from '../../support/browser.ts';
import { CALLBACK, externalRequest, startDocumentHost } from '../../support/client-document-host.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { submitConfirmed } from '../../support/questions.ts';
import { startTestServer, type TestServer } from '../../support/test-server.ts';
import { setUpTwoStep } from '../../support/two-step.ts';

const ON = { WEBHOOKS_TO_LOOPBACK: 'yes', LIMIT_EXTERNAL_CLIENTS: '1000000' };
const host = await startDocumentHost();
const server = await startTestServer(ON);

const urlOf = (at: TestServer, clientId: string, changes: Record<string, string> = {}) =>
  at.authorizeUrl({ ...externalRequest(at, clientId), ...changes });
const silent = { prompt: 'none' };
const FOREIGN: Record<string, string>[] = [{}, { origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }];

async function assertStays(browser: Browser, at: TestServer, clientId: string): Promise<void> {
  for (const changes of [silent, { ...silent, scope: 'unknown' }, { ...silent, state: 'x'.repeat(9000) }]) {
    const { leftTo, status } = await browser.open(urlOf(at, clientId, changes));
    assert.deepEqual([leftTo, status], [undefined, 400], JSON.stringify(changes).slice(0, 60));
  }
}

test('a person who still has to set up two-step sign-in is led to no external app [G5]', async () => {
  const at = await startTestServer(ON);
  const owner = await at.signedIn();
  await submitConfirmed(owner, await owner.open('/settings/business'), '/settings/business/two-step');
  const member = await at.signedIn(await at.addUser('Mia', [[at.acme, 'member']]));

  await assertStays(member, at, host.newClientId());
  await setUpTwoStep(at, owner);
  await assertStays(owner, at, host.newClientId());
});

test('an approval of owners is no click of the person: it leads nobody to an external app [G5]', async () => {
  const at = await startTestServer(ON);
  const [owner, mia] = [await at.signedIn(), await at.addUser('Mia', [[at.acme, 'member']])];
  await setAppPolicy(owner, 'approved');
  const [member, clientId] = [await at.signedIn(mia), host.newClientId()];
  await member.submit(await member.open(urlOf(at, clientId)), '/consent', { decision: 'ask', note: '' });
  await assertStays(member, at, clientId);
  const app = await at
    .storage()
    .durable.selectFrom('apps')
    .select('id')
    .where('external_client_id', '=', clientId)
    .executeTakeFirstOrThrow();

  await decideRequest(owner, { app, user: mia }, 'approve_person');

  await assertStays(member, at, clientId);
});

test('an external app that an owner has disconnected for everyone leads nobody away any more [G5]', async () => {
  const [owner, clientId] = [await server.signedIn(), host.newClientId()];
  const mia = await server.signedIn(await server.addUser('Mia', [[server.acme, 'member']]));
  await mia.submit(await mia.open(urlOf(server, clientId)), '/consent', { decision: 'allow' });
  const [, path = ''] =
    /href="\/businesses\/[\w-]+\/connected-apps\/([\w-]+)\/[\w-]+"/.exec(
      (await owner.open('/settings/connected-apps')).text,
    ) ?? [];
  const before = await mia.open(urlOf(server, clientId, silent));

  const end = server.acmePath(`connected-apps/${path}/disconnect`);
  await owner.submit(await owner.open(end), end);

  assert.equal(before.leftTo?.host, new URL(CALLBACK).host, 'allowed before');
  await assertStays(mia, server, clientId);
});

test('no form that a stranger makes leads to an external app, whatever it says was decided [G5]', async () => {
  const browser = await server.signedIn();
  const clientId = host.newClientId();
  const page = await browser.open(urlOf(server, clientId));
  const [, state = ''] = /name="consent_state" value="([^"]*)"/.exec(page.text) ?? [];
  assert.notEqual(state, '');

  for (const decision of ['deny', 'back', 'allow', '']) {
    for (const headers of FOREIGN) {
      const { leftTo, status } = await browser.post('/consent', { decision, consent_state: state }, headers);
      assert.deepEqual([leftTo, status], [undefined, 403], decision);
    }
  }
});

test('no address that a person returns to after signing in or out is foreign, with an external app in it, too [G5]', async () => {
  const query = urlOf(server, host.newClientId(), silent).split('?')[1];
  const targets = [
    CALLBACK,
    `//${new URL(CALLBACK).host}/`,
    `/\\${new URL(CALLBACK).host}/`,
    `/consent?${query}`,
    `/consent/..//${new URL(CALLBACK).host}/`,
    `${server.api}/api/v1/oauth/authorize?${query}`,
  ];
  for (const target of targets) {
    const browser = server.browse();
    const form = await browser.open(`/sign-in?${new URLSearchParams({ return_to: target })}`);
    const signedIn = await browser.signIn(server.ada.email, PASSWORD, form);
    const out = await browser.submit(await browser.open(`/sign-out?return_to=${target}`), '/sign-out', {
      return_to: target,
      redirect_uri: CALLBACK,
    });
    assert.deepEqual([signedIn.leftTo, out.leftTo], [undefined, undefined], target);
  }
});
