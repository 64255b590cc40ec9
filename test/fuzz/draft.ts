import { PASSWORD } from '../support/fixtures.ts';
import type { Pair } from './crawl.ts';
import type { Actor, Material } from './material.ts';
import { ODD_NAMES, ODD_TEXTS, spoil } from './odd.ts';
import type { Product, Route } from './product.ts';
import type { Random } from './random.ts';

/** A structured request, whose parts can be corrupted. */
export interface Draft {
  host: 'api' | 'web';
  /** Its route pattern. */
  route: string;
  /** The sender, and the ids they know. */
  ids: string[];
  method: string;
  path: string;
  query: Pair[];
  version: string;
  headers: Pair[];
  fields: Pair[];
  encoding: Encoding;
  framing: Framing;
}

export const ENCODINGS = ['form', 'json', 'odd json', 'multipart', 'noise', 'utf-16', 'gzip', 'nothing'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** How the length of the body is declared. All but the first two are wrong. */
export const FRAMINGS = [
  'length',
  'chunks',
  'none',
  'more',
  'less',
  'twice',
  'nonsense',
  'bad chunks',
  'both',
] as const;
type Framing = (typeof FRAMINGS)[number] | 'cut';

/** A mostly valid request, usually to an existing resource. */
export function draftRequest(random: Random, product: Product, material: Material): Draft {
  const host = random.chance(0.35) ? 'api' : 'web';
  const route = random.pick(product.routes.filter((each) => each.host === host));
  if (route.host === 'api') return draftCall(random, product, material, route);
  const { owner, admin, anonymous } = material;
  const actor = route.url.startsWith('/platform') ? admin : owner;
  return draftVisit(random, product, route, random.chance(0.2) ? anonymous : actor, material);
}

function draftVisit(
  random: Random,
  { origins, ports }: Product,
  route: Route,
  actor: Actor,
  material: Material,
): Draft {
  const method = random.pick(route.methods);
  const path = pathOf(random, route, actor);
  const headers: Pair[] = [['Host', `localhost:${ports.web}`]];
  if (actor.cookie) headers.push(['Cookie', actor.cookie]);
  const draft: Draft = {
    host: 'web',
    route: route.url,
    ids: actor.ids,
    method,
    ...splitQuery(route.url === '/consent' && method !== 'POST' ? material.stamped : path),
    headers,
    ...withoutBody(),
  };
  if (method !== 'POST') return draft;
  const known = actor.forms.filter(({ action }) => patternOf(route).test(action.split('?')[0] ?? ''));
  const fields: Pair[] =
    known.length > 0 ? fillIn(random.pick(known).fields, material) : [['csrf', actor.csrf], ...someFields(random)];
  return { ...draft, headers: [...headers, ['Origin', origins.web]], fields, encoding: 'form' };
}

/** Values of the visible fields of a form. */
function fillIn(fields: Pair[], { owner }: Material): Pair[] {
  const typed: Record<string, string> = {
    email: owner.user?.email ?? '',
    password: PASSWORD,
    current_password: PASSWORD,
    name: 'A name',
    url: 'https://hooks.fuzzed.example/',
    redirect_uris: 'https://fuzzed.example/callback',
    decision: 'allow',
  };
  return fields.map(([name, value]) => [name, value === '' ? (typed[name] ?? '') : value]);
}

function draftCall(random: Random, { ports }: Product, material: Material, route: Route): Draft {
  const method = random.pick(route.methods);
  const { accessToken, businessId, authorizeParams, anonymous, owner } = material;
  const headers: Pair[] = [['Host', `127.0.0.1:${ports.api}`]];
  if (/accounting|businesses|events/.test(route.url)) {
    headers.push(['Authorization', `Bearer ${accessToken}`], ['x-business-id', businessId]);
  }
  const draft: Draft = {
    host: 'api',
    route: route.url,
    ids: owner.ids,
    method,
    path: pathOf(random, route, random.chance(0.5) ? anonymous : owner),
    query: route.url.endsWith('/authorize') ? [...authorizeParams] : [],
    headers,
    ...withoutBody(),
  };
  if (method !== 'POST') return draft;
  return { ...draft, fields: callFields(random, material), encoding: random.pick(['json', 'form']) };
}

function callFields(random: Random, { app, code, accessToken, refreshToken, authorizeParams }: Material): Pair[] {
  const credentials: Pair[] = [
    ['client_id', app.id],
    ['client_secret', app.secret],
  ];
  const redirectUri = authorizeParams.find(([name]) => name === 'redirect_uri')?.[1] ?? '';
  return random.pick<Pair[]>([
    [['grant_type', 'authorization_code'], ['code', code], ['redirect_uri', redirectUri], ...credentials],
    [['grant_type', 'refresh_token'], ['refresh_token', refreshToken], ...credentials],
    [['token', random.pick([accessToken, refreshToken, code])], ...credentials],
    [['token', random.pick([accessToken, refreshToken, code])]],
  ]);
}

/** Fields for a form that is on no page. */
function someFields(random: Random): Pair[] {
  const names = [
    'name',
    'email',
    'password',
    'return_to',
    'business',
    'form_key',
    'decision',
    'url',
    'events',
    'reason',
  ];
  return Array.from({ length: random.below(5) }, () => [random.pick(names), random.pick(ODD_TEXTS)]);
}

/** A URL of a link, or the filled-in pattern. */
function pathOf(random: Random, route: Route, actor: Actor): string {
  const pattern = patternOf(route);
  const actions = actor.forms.map(({ action }) => action);
  const known = [...actor.paths, ...actions].filter((path) => pattern.test(path.split('?')[0] ?? ''));
  if (known.length > 0 && random.chance(0.7)) return random.pick(known);
  return route.url.replace(/:\w+|\*/g, () => {
    if (random.chance(0.6)) return random.pick([...actor.ids, 'oauth', 'invalid_grant', 'token', 'gatehouse.css']);
    return asSegment(
      random.chance(0.5) ? spoil(random, random.pick(actor.ids)) : random.pick([...ODD_TEXTS, ...ODD_NAMES]),
    );
  });
}

/** Encodes a value, since it would otherwise corrupt the request line. */
function asSegment(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : '%ed%a0%80';
}

function patternOf({ url }: Route): RegExp {
  return new RegExp(`^${url.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+').replace('*', '.*')}$`);
}

function splitQuery(address: string): Pick<Draft, 'path' | 'query'> {
  const [path = '', query = ''] = address.split(/\?(.*)/s);
  return { path, query: [...new URLSearchParams(query)] };
}

function withoutBody(): Pick<Draft, 'version' | 'fields' | 'encoding' | 'framing'> {
  return { version: '1.1', fields: [], encoding: 'nothing', framing: 'length' };
}
