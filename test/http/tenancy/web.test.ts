import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { User } from '../../../src/accounts/users.ts';
import { newId } from '../../../src/lib/ids.ts';
import { type Browser, hiddenFields, toBody } from '../../support/browser.ts';
import { scanResponse, toHeaders } from '../../support/secret-scanner.ts';
import { startTestServer } from '../../support/test-server.ts';
import { type Case, casesAt } from './cases.ts';
import { dump, rowsWith, withoutSending } from './dump.ts';
import { createValues, type RouteValues, readConsentState } from './route-values.ts';
import { ownStatus, RULES, VISITORS, type Visitor } from './routes.ts';

/** All names of the other business contain this word; it must not be in any response. */
const WORD = 'Zanzibar';
const server = await startTestServer({ LIMIT_SIGN_IN_PER_ADDRESS: '100000', LIMIT_SIGN_IN_PER_ACCOUNT: '100000' });
const other = await server.addBusiness(`${WORD} Ltd`);
const theirs = await server.addUser(WORD, [[other, 'owner']]);
const others = await createValues(server, { business: other, owner: theirs, user: theirs, word: WORD });
await server.addInvoice(other, { number: WORD });
others.consentState = await readConsentState(await server.signedIn(theirs), others.consentQuery);
const OTHERS = [WORD.toLowerCase(), WORD, ...Object.values(others).filter((id) => id.length > 20)];

const PEOPLE: Record<Exclude<Visitor, 'nobody'>, User> = {
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
  nobody: 'someone who is not signed in',
};
const personOf = (visitor: Visitor): User | undefined => (visitor === 'nobody' ? undefined : PEOPLE[visitor]);

async function enter(visitor: Visitor): Promise<Browser> {
  const user = personOf(visitor);
  return user ? server.signedIn(user) : server.browse();
}

async function csrfOf(browser: Browser): Promise<string> {
  return hiddenFields((await browser.open('/sign-in')).text, '/sign-in').csrf ?? '';
}

/** The own objects of a visitor: for the platform its apps; for visitors without any, those of Acme. */
async function createValuesFor(visitor: Visitor, route = ''): Promise<RouteValues> {
  const user = personOf(visitor) ?? server.ada;
  const isPlatforms = visitor === 'platform' && route.startsWith('/platform/developer/');
  const business = isPlatforms ? null : server.acme;
  return createValues(server, { business, owner: server.ada, user, word: 'Acme' }, route);
}

const agent = new Agent({ keepAlive: true });
after(() => agent.destroy());

async function send(
  browser: Browser,
  { rule, method, path, values }: Case,
  csrf: string,
): Promise<{ status: number; headers: IncomingHttpHeaders; said: string }> {
  const isReading = method === 'GET' || method === 'HEAD';
  const fields = { csrf, ...rule.fields?.(values) };
  const body = isReading ? '' : `${toBody(fields)}`;
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const headers = {
    cookie,
    ...(!isReading && { 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length }),
  };
  const sent = request(server.web + path, { method, headers, agent });
  sent.end(body);
  const [answer] = await once(sent, 'response');
  const page = await text(answer);
  const { statusCode: status } = answer;
  scanResponse({ method, url: server.web + path, status, headers: toHeaders(answer.headers), text: page });
  const typed = Object.values(fields).flat();
  const said = typed.reduce(
    (left, value) => left.replaceAll(value || ' ', ''),
    `${JSON.stringify(answer.headers)} ${page}`,
  );
  return { status, headers: answer.headers, said };
}

test('every page of the server has a rule, and every rule a page', () => {
  assert.deepEqual([...server.routes.web.keys()].sort(), Object.keys(RULES).sort());
  for (const [route, methods] of server.routes.web) {
    const known = Object.keys(RULES[route] ?? {}).filter((name) => name === 'GET' || name === 'POST');
    assert.deepEqual([...methods].filter((method) => method !== 'HEAD').sort(), known.sort(), route);
  }
});

const SECTION = '/platform/developer/';

for (const visitor of VISITORS) {
  test(`no request by ${NAMES[visitor]} to any page reads or changes anything of another business, and every response has the security headers [D5] [C4] [C9]`, async () => {
    const browser = await enter(visitor);
    const csrf = await csrfOf(browser);
    const [own, inSection] = [await createValuesFor(visitor), await createValuesFor(visitor, `${SECTION}endpoints`)];
    const cases = Object.keys(RULES)
      .flatMap((route) =>
        casesAt(server, route, visitor, { own: route.startsWith(SECTION) ? inSection : own, other: others }),
      )
      .filter(({ isChange }) => !isChange);
    assert.ok(cases.length > 1000);
    const before = await dump(server);

    const wrong: string[] = [];
    for (const each of cases) {
      const { status, headers, said } = await send(browser, each, csrf);
      const asked = `${each.method} ${each.path}`;
      if (!isGuarded(headers)) wrong.push(`${asked} is not guarded: ${JSON.stringify(headers)}`);
      if (status !== each.expected) wrong.push(`${asked} is answered ${status}, not ${each.expected}`);
      if (tellsTooMuch(visitor, each, said)) wrong.push(`${asked} tells of the other business`);
    }

    assert.deepEqual(wrong, []);
    assert.deepEqual(await dump(server), before);
  });
}

for (const visitor of VISITORS) {
  test(`what ${NAMES[visitor]} may change changes, and everything of another business stays as it was [D5]`, async () => {
    const before = rowsWith(await dump(server), OTHERS);
    assert.ok(before.length > 15);

    const wrong: string[] = [];
    for (const [route, rule] of Object.entries(RULES)) {
      if (ownStatus(rule, visitor, 'POST') === undefined) continue;
      const problem = await tryChange(visitor, route);
      if (problem) wrong.push(`POST ${route} ${problem}`);
    }

    assert.deepEqual(wrong, []);
    assert.deepEqual(rowsWith(await dump(server), OTHERS), before);
  });
}

test('an unknown id looks like one of another business [D5]', async () => {
  const browser = await enter('owner');
  const [theirs, unknown] = [others.app, newId(server.clock())].map((id) => browser.open(`/settings/developer/${id}`));

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

/** Runs one permitted change on new objects, and returns what is wrong with the outcome. */
async function tryChange(visitor: Visitor, route: string): Promise<string | undefined> {
  const own = await createValuesFor(visitor, route);
  const browser = await enter(visitor);
  const csrf = await csrfOf(browser);
  if (route === '/consent') own.consentState = await readConsentState(browser, own.consentQuery);
  const find = (at: string) => casesAt(server, at, visitor, { own, other: others }).find(({ isChange }) => isChange);
  const [asked, first] = [find(route), find(RULES[route]?.after ?? '')];
  assert.ok(asked);
  if (first) await send(browser, first, csrf);
  const before = await dump(server);

  const { status, said } = await send(browser, asked, csrf);

  if (status !== asked.expected) return `is answered ${status}, not ${asked.expected}`;
  if (tellsTooMuch(visitor, asked, said)) return 'tells of the other business';
  const after = await dump(server);
  const isKept = asked.rule.unchangedFor?.includes(visitor);
  if (isKept) return isDeepStrictEqual(withoutSending(after), withoutSending(before)) ? undefined : 'changes something';
  return isDeepStrictEqual(after, before) ? 'changes nothing' : undefined;
}

/** The platform sees every business on its pages, except for those about its own apps. */
function tellsTooMuch(visitor: Visitor, { route }: Case, said: string): boolean {
  const seesAll = visitor === 'platform' && /^\/platform\/(?!developer\/)/.test(route);
  return !seesAll && said.toLowerCase().includes(WORD.toLowerCase());
}
