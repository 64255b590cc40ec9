import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { test } from 'node:test';
import type { User } from '../../../src/accounts/users.ts';
import { newId } from '../../../src/lib/ids.ts';
import { startTestServer } from '../../support/test-server.ts';
import type { Case } from './cases.ts';
import { dump, rowsWith } from './dump.ts';
import { createValues, readConsentState } from './route-values.ts';
import { ownStatus, RULES, VISITORS, type Visitor } from './routes.ts';
import { csrfOf, listCases, type Person, send, tryChange } from './visits.ts';

/** All names of the other business contain this word; it must not be in any response. */
const WORD = 'Zanzibar';
const server = await startTestServer({ LIMIT_SIGN_IN_PER_ADDRESS: '100000', LIMIT_SIGN_IN_PER_ACCOUNT: '100000' });
const other = await server.addBusiness(`${WORD} Ltd`);
const theirs = await server.addUser(WORD, [[other, 'owner']]);
const others = await createValues(server, { business: other, owner: theirs, user: theirs, word: WORD });
await server.addInvoice(other, { number: WORD });
others.consentState = await readConsentState(await server.signedIn(theirs), others.consentQuery);
const OTHERS = [WORD.toLowerCase(), WORD, ...Object.values(others).filter((id) => id.length > 20)];

const PEOPLE: Record<Exclude<Visitor, 'anonymous'>, User> = {
  owner: server.ada,
  admin: await server.addUser('Amy', [[server.acme, 'admin']]),
  member: await server.addUser('Mia', [[server.acme, 'member']]),
  outsider: await server.addUser('Nora'),
  platform: await server.addUser('Root', [], true),
};
const NAMES: Record<Visitor, string> = {
  owner: 'an owner',
  admin: 'an admin',
  member: 'a member',
  outsider: 'someone of no business',
  platform: 'a platform admin',
  anonymous: 'someone who is not signed in',
};

function personOf(visitor: Visitor): Person {
  const user = visitor === 'anonymous' ? undefined : PEOPLE[visitor];
  return { visitor, user, enter: async () => (user ? server.signedIn(user) : server.browse()) };
}

test('every page of the server has a rule, and every rule a page', () => {
  assert.deepEqual([...server.routes.web.keys()].sort(), Object.keys(RULES).sort());
  for (const [route, methods] of server.routes.web) {
    const known = Object.keys(RULES[route] ?? {}).filter((name) => name === 'GET' || name === 'POST');
    assert.deepEqual([...methods].filter((method) => method !== 'HEAD').sort(), known.sort(), route);
  }
});

for (const visitor of VISITORS) {
  test(`no request by ${NAMES[visitor]} to any page reads or changes anything of another business, and every response has the security headers [D5] [C4] [C9]`, async () => {
    const person = personOf(visitor);
    const browser = await person.enter();
    const from = { browser, csrf: await csrfOf(browser) };
    const cases = (await listCases(server, person, others)).filter(({ isChange }) => !isChange);
    assert.ok(cases.length > 1000);
    const before = await dump(server);

    const wrong: string[] = [];
    for (const each of cases) {
      const { status, headers, content } = await send(server, from, each);
      const request = `${each.method} ${each.path}`;
      if (!isGuarded(headers)) wrong.push(`${request} lacks security headers: ${JSON.stringify(headers)}`);
      if (status !== each.expected) wrong.push(`${request} gets ${status}, not ${each.expected}`);
      if (leaks(visitor, each, content)) wrong.push(`${request} reveals the other business`);
    }

    assert.deepEqual(wrong, []);
    assert.deepEqual(await dump(server), before);
  });
}

for (const visitor of VISITORS) {
  test(`what ${NAMES[visitor]} may change changes, and everything of another business stays as it was [D5]`, async () => {
    const before = rowsWith(await dump(server), OTHERS);
    assert.ok(before.length > 15);
    const check = (request: Case, content: string) =>
      leaks(visitor, request, content) ? 'reveals the other business' : undefined;

    const wrong: string[] = [];
    for (const [route, rule] of Object.entries(RULES)) {
      if (ownStatus(rule, visitor, 'POST') === undefined) continue;
      const problem = await tryChange(server, personOf(visitor), { route, other: others, check });
      if (problem) wrong.push(`POST ${route} ${problem}`);
    }

    assert.deepEqual(wrong, []);
    assert.deepEqual(rowsWith(await dump(server), OTHERS), before);
  });
}

test('an unknown id gets the same response as one of another business [D5]', async () => {
  const browser = await personOf('owner').enter();
  const [theirs, unknown] = [others.app, newId(server.clock())].map((id) =>
    browser.open(server.acmePath(`developer/${id}`)),
  );

  assert.equal((await theirs)?.text, (await unknown)?.text);
});

const CLOSED = ['default-src', 'object-src', 'base-uri', 'frame-ancestors'];

/** Checks the security headers of a page. */
function isGuarded(headers: IncomingHttpHeaders): boolean {
  if (!headers['content-type']?.startsWith('text/html')) return true;
  const policy = String(headers['content-security-policy']).split('; ');
  return (
    CLOSED.every((name) => policy.includes(`${name} 'none'`)) &&
    policy.some((directive) => /^form-action 'self'( |$)/.test(directive)) &&
    headers['x-frame-options'] === 'DENY' &&
    headers['referrer-policy'] === 'same-origin'
  );
}

/** The platform sees every business on its pages, except for those about its own apps. */
function leaks(visitor: Visitor, { route }: Case, content: string): boolean {
  const seesAll = visitor === 'platform' && /^\/platform\/(?!developer\/)/.test(route);
  return !seesAll && content.toLowerCase().includes(WORD.toLowerCase());
}
