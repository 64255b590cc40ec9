import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readBusinessPolicy } from '../../../src/grants/app-policies.ts';
import { setAppPolicy } from '../../support/app-rules.ts';
import type { Fields } from '../../support/browser.ts';
import { startTestServer } from '../../support/test-server.ts';

const QUESTION = /May any member let an app read data about staff and money\?/;
const ANSWER = '/settings/business/apps/staff-and-money';

async function newWorld() {
  const server = await startTestServer();
  const owner = await server.signedIn();
  const policy = async () => {
    const { who, reservesSensitive, isOwn } = await readBusinessPolicy(server.storage().durable, server.acme.id);
    return { who, reservesSensitive, isOwn };
  };
  return { server, owner, policy };
}

test('an owner is asked where they land after a sign-in, with nothing preselected, and the default stays until they answer', async () => {
  const { owner, policy } = await newWorld();

  const page = await owner.open('/');

  assert.match(page.text, QUESTION);
  assert.doesNotMatch(page.text, /name="members_may"[^>]*checked/);
  assert.equal(page.text.match(/name="members_may" value="(?:yes|no)" required/g)?.length, 2);
  assert.deepEqual(await policy(), { who: 'anyone', reservesSensitive: false, isOwn: false });
});

for (const [answer, reservesSensitive] of [
  ['yes', false],
  ['no', true],
] as const) {
  test(`the answer ${answer} is the box on the page about apps, and nobody is asked again`, async () => {
    const { server, owner, policy } = await newWorld();
    const second = await server.signedIn(await server.addUser('Sue', [[server.acme, 'owner']]));

    const answered = await owner.submit(await owner.open('/'), ANSWER, { members_may: answer });

    assert.match(answered.text, /Saved\./);
    assert.deepEqual(await policy(), { who: 'anyone', reservesSensitive, isOwn: true });
    for (const browser of [owner, second]) assert.doesNotMatch((await browser.open('/')).text, QUESTION);
    const box = /name="reserves" value="yes" checked/;
    assert.equal(box.test((await owner.open('/settings/business/apps')).text), reservesSensitive);
  });
}

test('an owner who has decided on the page about apps is not asked, and nobody but owners is', async () => {
  const { server, owner, policy } = await newWorld();
  const admin = await server.signedIn(await server.addUser('Ann', [[server.acme, 'admin']]));

  assert.doesNotMatch((await admin.open('/')).text, QUESTION);
  await setAppPolicy(owner, 'admins');

  assert.doesNotMatch((await owner.open('/')).text, QUESTION);
  assert.equal((await policy()).who, 'admins');
});

test('no answer and another answer than the two change nothing', async () => {
  const { owner, policy } = await newWorld();
  const page = await owner.open('/');

  for (const fields of [{}, { members_may: 'perhaps' }] as Fields[]) {
    assert.equal((await owner.submit(page, ANSWER, fields)).status, 400);
  }
  assert.equal((await policy()).isOwn, false);
});
