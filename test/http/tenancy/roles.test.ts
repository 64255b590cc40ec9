import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Role } from '../../../src/accounts/memberships.ts';
import type { User } from '../../../src/accounts/users.ts';
import { createCommandRunner } from '../../support/command-runner.ts';
import { startTestServer } from '../../support/test-server.ts';
import type { Case } from './cases.ts';
import { readDeclaredAccess } from './declared.ts';
import { dump, withoutSending } from './dump.ts';
import { isSetUpFirst, listPages, ROLES, type RoleName, renderRoleMatrix, visitorsAllowedBy } from './role-matrix.ts';
import { createValues, readConsentState } from './route-values.ts';
import { ownStatus, RULES, VISITORS } from './routes.ts';
import { csrfOf, listCases, type Person, send, tryChange } from './visits.ts';

const limits = { LIMIT_SIGN_IN_PER_ADDRESS: '100000', LIMIT_SIGN_IN_PER_ACCOUNT: '100000' };
// Commands use the system clock. What they record must not have expired on the clock of the server.
const server = await startTestServer(limits, Date.now());
const business = await server.addBusiness('Zanzibar Ltd');
const theirs = await server.addUser('Zanzibar', [[business, 'owner']]);
const other = await createValues(server, { business, owner: theirs, user: theirs, word: 'Zanzibar' });
const operator = createCommandRunner(server);
let userCount = 0;

/** A user who has a role in Acme until an event. */
const addUna = (role: Role) => server.addUser(`Una${++userCount}`, [[server.acme, role]]);

/** A change of the user's account or role after their sign-in. */
const EVENTS = {
  suspended: ['owner', ({ id }) => operator('user disable', { user: id })],
  former: ['owner', ({ id }) => operator('member remove', { user: id, business: server.acme.id })],
  demoted: ['owner', ({ id }) => operator('member set-role', { user: id, business: server.acme.id, role: 'member' })],
} satisfies Partial<Record<RoleName, [Role, (user: User) => Promise<unknown>]>>;

function personOf(role: RoleName, user: User): Person {
  return { visitor: ROLES[role].as, user, enter: () => server.signedIn(user) };
}

test('no rule of a page allows more than the page declares, and the declarations are those of the server', async () => {
  const wider = (await listPages()).flatMap((page) =>
    VISITORS.filter((visitor) => ownStatus(page.rule, visitor, page.method) !== undefined)
      .filter((visitor) => !visitorsAllowedBy(page.declared).includes(visitor))
      .map((visitor) => `${page.method} ${page.route} for ${visitor}`),
  );
  const ruled = Object.entries(RULES)
    .filter(([route]) => !/^\/(?:assets\/|logos\/|healthz|readyz)/.test(route))
    .flatMap(([route, rule]) =>
      (['GET', 'POST'] as const).filter((method) => rule[method]).map((m) => `${m} ${route}`),
    );

  assert.deepEqual(wider, []);
  assert.deepEqual([...declared.keys()].sort(), ruled.sort());
});

test('the page about roles is up to date', async () => {
  const page = readFileSync(new URL('../../../docs/reference/roles.md', import.meta.url), 'utf8');

  assert.ok(
    page === (await renderRoleMatrix()),
    'Run `npm run role-matrix`: docs/reference/roles.md is not up to date.',
  );
});

for (const [role, [had, change]] of Object.entries(EVENTS) as [keyof typeof EVENTS, (typeof EVENTS)['former']][]) {
  const { title, as } = ROLES[role];

  test(`${title}, in a session from before: every page and form responds as to the visitor ${as}, and rejects without a change [D5]`, async () => {
    const user = await addUna(had);
    const person = personOf(role, user);
    const browser = await person.enter();
    const all = await listCases(server, person, other);
    const cases = all.filter(({ whose, isChange }) => whose === 'own' && !isChange);
    await change(user);
    const from = { browser, csrf: await csrfOf(browser) };
    const before = await dump(server);

    const wrong = await findWrong(from, cases);

    assert.ok(cases.length > 200, String(cases.length));
    assert.deepEqual(wrong, []);
    assert.deepEqual(changedRows(before, await dump(server)), []);
  });

  test(`${title}: what the visitor ${as} may change changes, and nothing else [D5]`, async () => {
    const user = await addUna(had);
    await change(user);
    const person = personOf(role, user);

    const wrong: string[] = [];
    for (const [route, rule] of Object.entries(RULES)) {
      if (ownStatus(rule, person.visitor, 'POST') === undefined) continue;
      const problem = await tryChange(server, person, { route, other, check: () => undefined });
      if (problem) wrong.push(`POST ${route} ${problem}`);
    }

    assert.deepEqual(wrong, []);
  });
}

const UNFACTORED = {
  'an owner': { role: 'unfactored', rule: ['business change', 'business'], atLeast: 110 },
  'a platform admin': { role: 'platform', rule: ['platform change'], atLeast: 80 },
} as const;

for (const [who, { role, rule, atLeast }] of Object.entries(UNFACTORED)) {
  test(`without the second factor that is required, ${who} sees and changes nothing before the set-up, in a session from before [D5] [E5]`, async (t) => {
    const user = role === 'platform' ? await server.addUser('Root', [], true) : await addUna('owner');
    const person = personOf(role, user);
    const browser = await person.enter();
    const all = await listCases(server, person, other);
    for (const { route, values } of all) {
      if (route === '/consent') values.consentState = await readConsentState(browser, values.consentQuery);
    }
    await server.storage().durable.deleteFrom('passkeys').where('user_id', '=', user.id).execute();
    const [command, business] = rule;
    const about: Record<string, string> = business ? { business: server.acme.id } : {};
    await operator(command, { ...about, 'require-second-factor': 'yes' });
    t.after(() => operator(command, { ...about, 'require-second-factor': 'no' }));
    const from = { browser, csrf: await csrfOf(browser) };
    const before = await dump(server);

    const tried = all.filter((each) => each.whose === 'own' && isMounted(each));
    const others = tried.filter((each) => !each.isChange && !isFirst(each, role));
    const wrong = await findWrong(from, others);
    const redirected = tried.filter((each) => isFirst(each, role));
    for (const each of redirected) {
      const { status, headers } = await send(server, from, each);
      const isSentToSetUp = status === 303 && /\/two-step\?return_to=/.test(headers.location ?? '');
      if (!isSentToSetUp) wrong.push(`${each.method} ${each.path} gets ${status} ${headers.location}`);
    }

    assert.ok(redirected.length > atLeast, String(redirected.length));
    assert.deepEqual(wrong, []);
    assert.deepEqual(changedRows(before, await dump(server)), []);
  });
}

function isMounted({ method, route }: Case): boolean {
  return server.routes.web.get(route)?.has(method) ?? false;
}

const declared = await readDeclaredAccess();

function isFirst({ method, route }: Case, role: RoleName): boolean {
  const operation = `${method === 'HEAD' ? 'GET' : method} ${route}`;
  const found = declared.get(operation);
  return found !== undefined && isSetUpFirst(operation, found, role);
}

async function findWrong(from: Parameters<typeof send>[1], cases: Case[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const each of cases) {
    const { status } = await send(server, from, each);
    if (status !== each.expected) wrong.push(`${each.method} ${each.path} gets ${status}, not ${each.expected}`);
  }
  return wrong;
}

/** Rows that were added, changed or removed. */
function changedRows(before: string[], after: string[]): string[] {
  return [...new Set(withoutSending(before)).symmetricDifference(new Set(withoutSending(after)))];
}
