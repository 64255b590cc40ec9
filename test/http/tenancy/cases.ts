import type { TestServer } from '../../support/test-server.ts';
import { malformedValues, type RouteValues, unknownValues, type ValueName } from './route-values.ts';
import { ownStatus, RULES, type Rule, statusFor, type Visitor } from './routes.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** One request, and its expected response. */
export interface Case {
  rule: Rule;
  /** The route pattern of the server. */
  route: string;
  method: string;
  path: string;
  values: RouteValues;
  whose: 'own' | 'other' | 'unknown' | 'malformed';
  expected: number;
  /** Whether it is a permitted change. */
  isChange: boolean;
}

interface Sides {
  own: RouteValues;
  other: RouteValues;
}

/** All methods of one page, with all ids that its path or form can contain. */
export function casesAt(server: TestServer, route: string, visitor: Visitor, sides: Sides): Case[] {
  const rule = RULES[route] ?? { who: 'anyone' };
  const targets = targetsAt(server, { route, rule }, sides);
  const isKnown = (method: string) => server.routes.web.get(route)?.has(method) ?? false;
  return METHODS.flatMap((method) => {
    const isMounted = isKnown(method);
    return targetsFor(method, isMounted, targets).map((target) => {
      const request = { route, rule, visitor, method, ...target };
      const expected = isMounted ? expectedOf(request) : wrongMethod(server, request);
      return { ...request, expected, isChange: isMounted && isChange(request) };
    });
  });
}

/**
 * HEAD runs the handler of GET, so own objects and those of others are enough. For a method that the route does not have, one
 * set of values is enough: the response does not depend on them.
 */
function targetsFor(method: string, isMounted: boolean, targets: Target[]): Target[] {
  if (!isMounted) return targets.slice(0, 2).slice(-1);
  return method === 'HEAD' ? targets.slice(0, 2) : targets;
}

function isChange(request: PageRequest): boolean {
  return request.method === 'POST' && isOwn(request) && ownStatus(request.rule, request.visitor, 'POST') !== undefined;
}

type Target = Pick<Case, 'whose' | 'path' | 'values'>;

/** Own ids first; then those of others, all and one at a time; then unknown and malformed ones. */
function targetsAt(server: TestServer, { route, rule }: Pick<Case, 'route' | 'rule'>, { own, other }: Sides): Target[] {
  const names = valueNamesIn(route);
  const target = (whose: Target['whose'], values: RouteValues) => ({
    whose,
    values,
    path: addressOf(route, rule, values),
  });
  const first = target('own', own);
  if (names.length === 0 && !rule.fields?.length && !rule.query) return [first];
  // Anyone with the link of an invitation may use it, so the other business's id is tried instead of its token. The same
  // holds for a link to set a password.
  const theirs = { ...other, token: other.invitation, passwordToken: other.user };
  const single = names.length > 1 ? names.map((name) => target('other', { ...own, [name]: theirs[name] })) : [];
  const invalid = [...single, target('unknown', unknownValues(server, own)), target('malformed', malformedValues(own))];
  const isNew = ({ path }: Target) => names.length === 0 || path !== first.path;
  return [first, target('other', theirs), ...invalid.filter(isNew)];
}

function addressOf(route: string, rule: Rule, values: RouteValues): string {
  const names = valueNamesIn(route);
  const path = route.replace('*', 'icon.svg').replace(/:\w+/g, () => values[names.shift() ?? 'app']);
  return path + (rule.query?.(values) ?? '');
}

/** The value that each parameter of a route stands for. */
function valueNamesIn(route: string): ValueName[] {
  if (route === '/password/:token') return ['passwordToken'];
  return [...route.matchAll(/:(\w+)/g)].map(([, name]) => (name === 'id' ? idNameIn(route) : (name as ValueName)));
}

function idNameIn(route: string): ValueName {
  if (route.includes('/invitations/')) return 'invitation';
  if (route.includes('/passkeys/')) return 'passkey';
  if (route.startsWith('/platform/businesses/')) return 'business';
  return route.startsWith('/platform/users/') ? 'user' : 'app';
}

interface PageRequest extends Pick<Case, 'route' | 'rule' | 'method' | 'whose'> {
  visitor: Visitor;
}

function isOwn({ rule, whose }: PageRequest): boolean {
  return whose === 'own' || (rule.isAll === true && whose === 'other');
}

export function expectedOf(request: PageRequest): number {
  const { route, rule, visitor, method, whose } = request;
  if (/^\/platform(\/|$)/.test(route) && visitor !== 'platform') return 404;
  const isForm = method === 'POST';
  const own = ownStatus(rule, visitor, isForm ? 'POST' : 'GET');
  const rejected = isForm ? (rule.refusedForm ?? rule.rejected) : rule.rejected;
  if (own === undefined) return rejected?.[visitor] ?? (visitor === 'anonymous' ? 303 : 404);
  if (isOwn(request) || !namesObject(request) || whose === 'own') return own;
  return statusFor((isForm && rule.foreignForm) || rule.foreign?.[whose], visitor) ?? 404;
}

/** Whether the address or the form names an object. A list shows the visitor's own objects, whatever the cursor is. */
export function namesObject({ route, rule, method }: Pick<Case, 'route' | 'rule' | 'method'>): boolean {
  const isInQuery = rule.foreign !== undefined && !rule.POST;
  const isInForm = method === 'POST' ? Boolean(rule.fields?.length) : isInQuery;
  return valueNamesIn(route).length > 0 || isInForm || route === '/consent';
}

/** For most users these pages are 404, also for a wrong method. */
const HIDDEN = /^\/(?:platform(?:\/|$)|businesses\/|settings\/(?:audit-log|business|members\/|developer\/))/;

/** Another route may match instead: for `/apps/:id`, `new` is an unknown id. */
function wrongMethod(server: TestServer, { route, visitor, method, path }: PageRequest & Target): number {
  const isTaken =
    method === 'POST' && /\/(new|try)(\?|$)/.test(path) && server.routes.web.get(toSibling(route))?.has(method);
  if (isTaken && visitor === 'anonymous' && !route.startsWith('/platform')) return 303;
  return /[:*]/.test(route) || HIDDEN.test(route) ? 404 : 405;
}

function toSibling(route: string): string {
  return route.replace(/[^/]+$/, route.includes('/endpoints/') ? ':endpoint' : ':id');
}
