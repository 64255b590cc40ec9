import type { TestServer } from '../../support/test-server.ts';
import { type Belongings, malformed, nobodys, type Thing } from './belongings.ts';
import { ownStatus, RULES, type Rule, statusFor, type Visitor } from './routes.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** One request, and its expected response. */
export interface Case {
  rule: Rule;
  /** The route pattern of the server. */
  route: string;
  method: string;
  path: string;
  named: Belongings;
  expected: number;
  /** Whether it is a permitted change. */
  isChange: boolean;
}

interface Sides {
  own: Belongings;
  other: Belongings;
}

/** All methods of one page, with all ids that its path or form can contain. */
export function casesAt(server: TestServer, route: string, visitor: Visitor, sides: Sides): Case[] {
  const rule = RULES[route] ?? { who: 'anyone' };
  const aims = aimsAt(server, { route, rule }, sides);
  const isKnown = (method: string) => server.routes.web.get(route)?.has(method) ?? false;
  return METHODS.flatMap((method) => {
    // No page knows of a method that it has not: there it makes no difference what is named.
    const [wanted, isRight] = isKnown(method) ? [aims, true] : [aims.slice(0, 2).slice(-1), false];
    return wanted.map((aim) => {
      const asked = { route, rule, visitor, method, ...aim };
      const expected = isRight ? expectedOf(asked) : wrongMethod(server, asked);
      return { ...asked, expected, isChange: isRight && isChange(asked) };
    });
  });
}

function isChange(asked: Asked): boolean {
  return asked.method === 'POST' && isOwn(asked) && ownStatus(asked.rule, asked.visitor, 'POST') !== undefined;
}

interface Aim {
  target: 'own' | 'other' | 'nobodys' | 'malformed';
  path: string;
  named: Belongings;
}

/** Own ids first; then those of others, all and one at a time; then unknown and malformed ones. */
function aimsAt(server: TestServer, { route, rule }: Pick<Case, 'route' | 'rule'>, { own, other }: Sides): Aim[] {
  const things = thingsIn(route);
  const aim = (target: Aim['target'], named: Belongings) => ({ target, named, path: addressOf(route, rule, named) });
  const first = aim('own', own);
  if (things.length === 0 && !rule.fields?.length && !rule.query) return [first];
  // To have the link of an invitation is to be invited, so what others have of it is only its id.
  // The same goes for the link to set a password.
  const theirs = { ...other, token: other.invitation, passwordToken: other.user };
  const single = things.length > 1 ? things.map((thing) => aim('other', { ...own, [thing]: theirs[thing] })) : [];
  const strange = [...single, aim('nobodys', nobodys(server, own)), aim('malformed', malformed(own))];
  const isNew = ({ path }: Aim) => things.length === 0 || path !== first.path;
  return [first, aim('other', theirs), ...strange.filter(isNew)];
}

function addressOf(route: string, rule: Rule, named: Belongings): string {
  const things = thingsIn(route);
  const path = route.replace('*', 'gatehouse.css').replace(/:\w+/g, () => named[things.shift() ?? 'app']);
  return path + (rule.query?.(named) ?? '');
}

/** The kind of object that each parameter of a route names. */
function thingsIn(route: string): Thing[] {
  if (route === '/password/:token') return ['passwordToken'];
  return [...route.matchAll(/:(\w+)/g)].map(([, name]) => (name === 'id' ? kindIn(route) : (name as Thing)));
}

function kindIn(route: string): Thing {
  if (route.includes('/invitations/')) return 'invitation';
  if (route.includes('/passkeys/')) return 'passkey';
  if (route.startsWith('/platform/businesses/')) return 'business';
  return route.startsWith('/platform/users/') ? 'user' : 'app';
}

interface Asked extends Aim {
  route: string;
  rule: Rule;
  visitor: Visitor;
  method: string;
}

function isOwn({ rule, target }: Asked): boolean {
  return target === 'own' || (rule.isAll === true && target === 'other');
}

function expectedOf(asked: Asked): number {
  const { route, rule, visitor, method, target } = asked;
  if (/^\/platform(\/|$)/.test(route) && visitor !== 'platform') return 404;
  const isForm = method === 'POST';
  const own = ownStatus(rule, visitor, isForm ? 'POST' : 'GET');
  const refused = isForm ? (rule.refusedForm ?? rule.refused) : rule.refused;
  if (own === undefined) return refused?.[visitor] ?? (visitor === 'nobody' ? 303 : 404);
  // A list shows one's own, whatever place in it is asked for.
  const isNamed =
    thingsIn(route).length > 0 || (isForm ? rule.fields?.length : rule.foreign && !rule.POST) || route === '/consent';
  if (isOwn(asked) || !isNamed || target === 'own') return own;
  return statusFor((isForm && rule.foreignForm) || rule.foreign?.[target], visitor) ?? 404;
}

/** For most users these pages are 404, also for a wrong method. */
const HIDDEN = /^\/(?:platform(?:\/|$)|settings\/(?:audit-log|members\/|developer\/))/;

/** Another route may match instead: for `/apps/:id`, `new` is an unknown id. */
function wrongMethod(server: TestServer, { route, visitor, method, path }: Asked): number {
  const isTaken =
    method === 'POST' && /\/(new|try)(\?|$)/.test(path) && server.routes.web.get(toSibling(route))?.has(method);
  if (isTaken && visitor === 'nobody' && !route.startsWith('/platform')) return 303;
  return /[:*]/.test(route) || HIDDEN.test(route) ? 404 : 405;
}

function toSibling(route: string): string {
  return route.replace(/[^/]+$/, route.includes('/endpoints/') ? ':endpoint' : ':id');
}
