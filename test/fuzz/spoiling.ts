import type { Pair } from './crawl.ts';
import { type Draft, ENCODINGS, FRAMINGS } from './draft.ts';
import { type Material, trueTexts } from './material.ts';
import { ODD_NAMES, ODD_TEXTS, spoil } from './odd.ts';
import type { Random } from './random.ts';

/** One corruption of a request. */
type Spoiling = (random: Random, draft: Draft, material: Material) => void;

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT', 'PROPFIND', 'QUERY'];
const ODD_METHODS = ['get', 'FOO', 'M-SEARCH', 'POST\0', 'GE T', '', 'X'.repeat(300), 'PRI'];

const TYPES = [
  'application/json',
  'application/json; charset=utf-16',
  'application/json;charset="',
  'APPLICATION/JSON',
  'application/x-www-form-urlencoded',
  'application/x-www-form-urlencoded; charset=iso-8859-1',
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'text/plain',
  'application/vnd.api+json',
  'application/json, text/html',
  'application/',
  '/',
  '*/*',
  '',
  'x'.repeat(5000),
  '__proto__',
  'constructor/prototype',
];

const HEADERS: Pair[] = [
  ['X-Forwarded-For', '203.0.113.1, 198.51.100.1'],
  ['X-Forwarded-For', '::ffff:203.0.113.1%eth0'],
  ['X-Forwarded-For', 'nonsense'],
  ['X-Forwarded-For', ','.repeat(2000)],
  ['X-Forwarded-Host', 'evil.example'],
  ['X-Forwarded-Proto', 'http'],
  ['Forwarded', 'for="[2001:db8::1]";host=evil.example'],
  ['Range', 'bytes=0-0'],
  ['Range', 'bytes=-'],
  ['Range', 'bytes=9999999999-,0-0,-1'],
  ['Range', `bytes=${'0-0,'.repeat(500)}0-0`],
  ['If-None-Match', '*'],
  ['If-None-Match', '"'],
  ['If-Match', 'W/"x"'],
  ['If-Modified-Since', 'nonsense'],
  ['If-Unmodified-Since', 'Thu, 01 Jan 1970 00:00:00 GMT'],
  ['If-Range', '"x"'],
  ['Expect', '100-continue'],
  ['Expect', 'the unexpected'],
  ['Connection', 'close'],
  ['Connection', 'upgrade'],
  ['Upgrade', 'h2c'],
  ['Upgrade', 'websocket'],
  ['HTTP2-Settings', 'AAMAAABkAAQAAP__'],
  ['TE', 'trailers'],
  ['Trailer', 'Authorization'],
  ['Transfer-Encoding', 'identity'],
  ['Transfer-Encoding', 'chunked, chunked'],
  ['Transfer-Encoding', 'xchunked'],
  ['Transfer-Encoding', 'gzip, chunked'],
  ['Transfer-Encoding ', 'chunked'],
  ['Content-Encoding', 'gzip'],
  ['Content-Length', '0'],
  ['Accept', '*/*;q=nonsense'],
  ['Accept-Encoding', 'gzip;q=2, *;q=-1'],
  ['Accept-Version', '9.9.9'],
  ['Origin', 'null'],
  ['Origin', 'https://evil.example'],
  ['Sec-Fetch-Site', 'cross-site'],
  ['Referer', 'https://evil.example/settings/'],
  ['Referer', '%'],
  ['Authorization', 'Bearer'],
  ['Authorization', 'Basic Og=='],
  ['Authorization', 'Basic \u00ff'],
  ['Authorization', 'Digest username="x"'],
  ['Cookie', '__Host-session='],
  ['Cookie', '__Host-visitor=%'],
  ['Cookie', '__proto__=x; constructor=y; =; ;'],
  ['Cookie', '__Host-known=a.b.c'],
  ['x-business-id', 'nonsense'],
  ['x-request-id', 'mine\u0000'],
  ['User-Agent', '\u0001\u0002'],
  ['User-Agent', 'x'.repeat(8000)],
  ['__proto__', 'x'],
  ['constructor', 'x'],
  [' Folded', 'x'],
  ['No Name', 'x'],
  ['', 'x'],
  ['X-Long', 'x'.repeat(15_000)],
  ['X-Longer', 'x'.repeat(20_000)],
  ['X-Bytes', '\u0080\u00ff'],
  ['Host', 'evil.example'],
  ['Host', ''],
  ['Host', 'a b'],
  ['Host', 'localhost:99999'],
];

const spoilMethod: Spoiling = (random, draft) => {
  draft.method = random.pick(random.chance(0.8) ? METHODS : ODD_METHODS);
};

const spoilVersion: Spoiling = (random, draft) => {
  draft.version = random.pick(['1.0', '1.1', '1.9', '2.0', '0.9', '']);
};

const spoilPath: Spoiling = (random, draft) => {
  const parts = draft.path.split('/');
  const index = 1 + random.below(parts.length);
  const odd = random.pick([...ODD_TEXTS, ...draft.ids]);
  parts[index] = random.pick([odd, spoil(random, parts[index] ?? ''), encodeURIComponent(odd.toWellFormed())]);
  draft.path = random.chance(0.1) ? `http://evil.example${draft.path}` : parts.join('/');
};

const spoilQuery: Spoiling = (random, draft) => {
  draft.query = spoilPairs(random, draft.query);
};

const spoilFields: Spoiling = (random, draft, material) => {
  draft.fields = spoilPairs(random, draft.fields, [...draft.ids, ...trueTexts(material)]);
  if (draft.encoding === 'nothing') draft.encoding = 'form';
};

function spoilPairs(random: Random, pairs: Pair[], known: string[] = []): Pair[] {
  const added: Pair = [random.pick(ODD_NAMES), random.pick(ODD_TEXTS)];
  if (pairs.length === 0) return [added];
  const index = random.below(pairs.length);
  const [name, value] = pairs[index] as Pair;
  const put = replacingAt(pairs, index);
  return random.pick([
    ...waysWithPair(random, put, [name, value]),
    () => put([name, known.length > 0 ? random.pick(known) : '']),
    () => put([random.pick(ODD_NAMES), value]),
    () => put([`${name}[]`, value]),
    () => [...pairs, added],
    () => [...pairs].reverse(),
  ])();
}

type Put = (...instead: Pair[]) => Pair[];

function replacingAt(pairs: Pair[], index: number): Put {
  return (...instead) => [...pairs.slice(0, index), ...instead, ...pairs.slice(index + 1)];
}

/** Corruptions of a field or a header. */
function waysWithPair(random: Random, put: Put, [name, value]: Pair): (() => Pair[])[] {
  return [
    () => put(),
    () => put([name, value], [name, value]),
    () => put([name, value], [name, random.pick(ODD_TEXTS)]),
    () => put([name, spoil(random, value)]),
    () => put([name, spoil(random, value)]),
    () => put([name, random.pick(ODD_TEXTS)]),
  ];
}

const spoilHeader: Spoiling = (random, draft) => {
  if (draft.headers.length === 0) return;
  const index = random.below(draft.headers.length);
  const [name, value] = draft.headers[index] as Pair;
  const put = replacingAt(draft.headers, index);
  draft.headers = random.pick([...waysWithPair(random, put, [name, value]), () => put([name.toUpperCase(), value])])();
};

const addHeader: Spoiling = (random, draft, { accessToken, owner }) => {
  const odd = random.pick(HEADERS);
  const foreign: Pair = draft.host === 'web' ? ['Authorization', `Bearer ${accessToken}`] : ['Cookie', owner.cookie];
  draft.headers.push(random.chance(0.9) ? odd : foreign);
};

const addManyHeaders: Spoiling = (random, draft) => {
  const count = random.pick([100, 500, 3000]);
  draft.headers.push(...Array.from({ length: count }, (_, i): Pair => [`X-${i}`, 'x']));
};

const spoilType: Spoiling = (random, draft) => {
  draft.headers.push(['Content-Type', random.pick(TYPES)]);
};

const spoilEncoding: Spoiling = (random, draft) => {
  draft.encoding = random.pick(ENCODINGS);
};

const spoilFraming: Spoiling = (random, draft) => {
  draft.framing = random.chance(0.1) ? 'cut' : random.pick(FRAMINGS);
};

/** Sizes around the body limit. */
const fillBody: Spoiling = (random, draft) => {
  const limit = 64 * 1024;
  const length = random.pick([0, 1, limit - 1, limit, limit + 1, 10 * limit]);
  const taken = draft.fields.reduce((sum, [name, value]) => sum + name.length + value.length + 2, 'fill='.length);
  draft.fields.push(['fill', 'x'.repeat(Math.max(0, length - taken))]);
  if (draft.encoding === 'nothing') draft.encoding = 'form';
};

/** Repeated by weight. */
const SPOILINGS: Spoiling[] = [
  ...Array<Spoiling>(8).fill(spoilFields),
  ...Array<Spoiling>(5).fill(spoilQuery),
  ...Array<Spoiling>(4).fill(addHeader),
  ...Array<Spoiling>(3).fill(spoilHeader),
  ...Array<Spoiling>(3).fill(spoilPath),
  ...Array<Spoiling>(2).fill(spoilType),
  ...Array<Spoiling>(2).fill(spoilEncoding),
  spoilMethod,
  spoilFraming,
  spoilVersion,
  fillBody,
  addManyHeaders,
];

/** Sends some requests unchanged, to notice the effect of earlier ones. */
export function spoilDraft(random: Random, draft: Draft, material: Material): void {
  const times = random.pick([0, 1, 1, 1, 2, 2, 3, 5]);
  for (let i = 0; i < times; i++) random.pick(SPOILINGS)(random, draft, material);
}
