import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import type { User } from '../../../src/accounts/users.ts';
import { type Browser, hiddenFields, toBody } from '../../support/browser.ts';
import type { TestServer } from '../../support/test-server.ts';
import { type Case, casesAt } from './cases.ts';
import { hasChangedSince, takeSnapshot } from './dump.ts';
import { sendRequest } from './requests.ts';
import { createValues, type RouteValues, readConsentState } from './route-values.ts';
import { RULES, type Visitor } from './routes.ts';

export interface Person {
  visitor: Visitor;
  user: User | undefined;
  /** A new browser, signed in if the visitor has an account. */
  enter(): Promise<Browser>;
}

interface VisitResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /** Headers and body, without the values of the request. */
  content: string;
}

const SECTION = '/platform/developer/';

export async function csrfOf(browser: Browser): Promise<string> {
  return hiddenFields((await browser.open('/sign-in')).text, '/sign-in').csrf ?? '';
}

/** The own objects of a visitor: for the platform its apps; for visitors without any, those of Acme. */
async function createValuesFor(
  server: TestServer,
  { visitor, user }: Person,
  { route = '', isInSection = false }: { route?: string; isInSection?: boolean },
): Promise<RouteValues> {
  const isPlatforms = visitor === 'platform' && (isInSection || route.startsWith(SECTION));
  const business = isPlatforms ? null : server.acme;
  return createValues(server, { business, owner: server.ada, user: user ?? server.ada, word: 'Acme' }, route);
}

/** Every request that the visitor can send. */
export async function listCases(server: TestServer, person: Person, other: RouteValues): Promise<Case[]> {
  // A second invitation of the same address withdraws the first, so those of the section come first.
  const platforms = person.visitor === 'platform' && (await createValuesFor(server, person, { isInSection: true }));
  const own = await createValuesFor(server, person, {});
  const inSection = platforms || own;
  return Object.keys(RULES).flatMap((route) =>
    casesAt(server, route, person.visitor, { own: route.startsWith(SECTION) ? inSection : own, other }),
  );
}

export async function send(
  server: TestServer,
  { browser, csrf }: { browser: Browser; csrf: string },
  { rule, method, path, values }: Case,
): Promise<VisitResponse> {
  const isReading = method === 'GET' || method === 'HEAD';
  const fields = { csrf, ...rule.fields?.(values) };
  const body = isReading ? null : `${toBody(fields)}`;
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const type: Record<string, string> = isReading ? {} : { 'content-type': 'application/x-www-form-urlencoded' };
  const response = await sendRequest({ url: server.web + path, method, headers: { cookie, ...type }, body });
  const typed = Object.values(fields).flat();
  const content = typed.reduce(
    (left, value) => left.replaceAll(value || ' ', ''),
    `${JSON.stringify(response.headers)} ${response.text}`,
  );
  return { status: response.status, headers: response.headers, content };
}

/** Runs one permitted change on new objects, and returns what is wrong with the outcome. */
export async function tryChange(
  server: TestServer,
  person: Person,
  {
    route,
    other,
    check,
  }: { route: string; other: RouteValues; check: (request: Case, content: string) => string | undefined },
): Promise<string | undefined> {
  const own = await createValuesFor(server, person, { route });
  const browser = await person.enter();
  const from = { browser, csrf: await csrfOf(browser) };
  if (route === '/consent') own.consentState = await readConsentState(browser, own.consentQuery);
  const find = (at: string) => casesAt(server, at, person.visitor, { own, other }).find(({ isChange }) => isChange);
  const [request, first] = [find(route), find(RULES[route]?.after ?? '')];
  assert.ok(request);
  if (first) await send(server, from, first);
  const before = await takeSnapshot(server);

  const { status, content } = await send(server, from, request);

  if (status !== request.expected) return `gets ${status}, not ${request.expected}`;
  const problem = check(request, content);
  if (problem) return problem;
  const isKept = request.rule.unchangedFor?.includes(person.visitor) ?? false;
  const isChanged = await hasChangedSince(server, before, { sending: !isKept });
  if (isChanged === isKept) return isKept ? 'changes something' : 'changes nothing';
  return undefined;
}
