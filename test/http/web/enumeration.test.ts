import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markUserDisabled } from '../../../src/accounts/users.ts';
import { type Browser, type Fields, toBody } from '../../support/browser.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { invitationLink, MEMBERS } from '../../support/invitations.ts';
import { startMailServer } from '../../support/mail-server.ts';
import { addUserWithPasskey } from '../../support/passkeys.ts';
import { startTestServer } from '../../support/test-server.ts';
import { addTwoStepUser, enterPassword, SECOND_STEP } from '../../support/two-step.ts';
import { registerByInvitation } from '../../support/unverified.ts';

const smtp = await startMailServer();
const server = await startTestServer({
  ...smtp.env,
  LIMIT_SIGN_IN_PER_ADDRESS: '100000',
  LIMIT_SIGN_IN_PER_ACCOUNT: '100000',
});
const owner = await server.signedIn();
const UNKNOWN = 'unknown@example.com';

/** Accounts that differ in how they sign in. */
const twoStep = await addTwoStepUser(server, 'Tess');
const passkey = await addUserWithPasskey(server, 'Petra');
const plain = await server.addUser('Paul');
const { user: unverified } = await registerByInvitation(server, { owner, name: 'Una', email: 'una@example.net' });
const disabled = await addTwoStepUser(server, 'Dora');
await markUserDisabled(server.storage().durable, disabled.user.id, server.clock());
const ACCOUNTS = [twoStep.user, passkey.user, plain, unverified, disabled.user];

/** Removes values that differ in every response, or depend on the length of the address. */
const VARYING = ['date', 'x-request-id', 'content-length'];

/** Status, headers and page of a form. */
async function submit(browser: Browser, path: string, fields: Fields) {
  const body = toBody({ csrf: await browser.csrf(), ...fields });
  const response = await browser.fetch(path, { method: 'POST', body });
  const headers = [...response.headers].filter(([name]) => !VARYING.includes(name));
  const page = (await response.text()).replace(/name="csrf" value="[^"]*"/g, '');
  return { status: response.status, headers, page: page.replaceAll(String(fields.email), 'EMAIL') };
}

test('a wrong password gets the same response, whichever factors the account has, or if there is none [S4] [E6]', async () => {
  const browser = server.browse();
  const attempt = (email: string, password: string) => submit(browser, '/sign-in', { email, password });

  const unknown = await attempt(UNKNOWN, 'not the password');
  const others = [];
  for (const { email } of ACCOUNTS) others.push(await attempt(email, 'not the password'));
  const rightButDisabled = await attempt(disabled.user.email, PASSWORD);

  assert.equal(unknown.status, 401);
  for (const other of [...others, rightButDisabled]) assert.deepEqual(other, unknown);
});

test('a request for a new password gets the same response for every account, and for none [E6]', async () => {
  const unknown = await submit(server.browse(), '/password', { email: UNKNOWN });

  assert.equal(unknown.status, 303);
  for (const { email } of ACCOUNTS) {
    const { status, headers, page } = await submit(server.browse(), '/password', { email });
    const names = (all: [string, string][]) => all.map(([name]) => name).sort();
    assert.deepEqual([status, names(headers), page], [unknown.status, names(unknown.headers), unknown.page], email);
  }
});

test('every wrong second step gets the same response: a wrong, a used, a malformed and a foreign code [E6]', async () => {
  const { user, code } = await addTwoStepUser(server, 'Theo');
  const browser = server.browse();
  await enterPassword(browser, user);
  const used = code();

  const wrong = await submit(browser, SECOND_STEP, { code: code(40) });
  const others = [];
  for (const guess of [used, twoStep.code(), '12345', '', '1234567', 'abcdef']) {
    others.push(await submit(browser, SECOND_STEP, { code: guess }));
  }
  const wrongRecovery = await submit(browser, SECOND_STEP, { recovery_code: 'aaaa-bbbb-cccc-dddd' });
  const foreign = await submit(browser, SECOND_STEP, { recovery_code: twoStep.recoveryCodes[0] ?? '' });

  assert.equal(wrong.status, 401);
  for (const other of others) assert.deepEqual(other, wrong);
  assert.equal(wrongRecovery.status, 401);
  assert.deepEqual(foreign, wrongRecovery);
});

test('without a password that was right there is no second step, for any account [E6]', async () => {
  const browser = server.browse();
  const first = await submit(browser, SECOND_STEP, { code: '123456' });
  await browser.signIn(twoStep.user.email, 'not the password');
  const second = await submit(browser, SECOND_STEP, { code: twoStep.code(2) });

  assert.equal(first.status, 303);
  assert.deepEqual(second, first);
});

test('an owner who invites an address sees the same page, whether or not it has an account [E6]', async () => {
  const pages = [];
  for (const email of ['nobody@example.org', plain.email, disabled.user.email, unverified.email]) {
    const form = await owner.open(`${MEMBERS}/invite`);
    const shown = await owner.submit(form, `${MEMBERS}/invite`, { role: 'member', email });
    const token = invitationLink(shown).split('/').at(-1) ?? '';
    pages.push([shown.status, shown.text.replaceAll(email, 'EMAIL').replaceAll(token, 'TOKEN')]);
  }

  for (const page of pages) assert.deepEqual(page, pages[0]);
});
