import { gzipSync } from 'node:zlib';
import type { Sent } from './connection.ts';
import type { Pair } from './crawl.ts';
import type { Draft, Encoding } from './draft.ts';
import { ODD_NAMES, oddValue } from './odd.ts';
import type { Random } from './random.ts';

const BOUNDARY = 'the-boundary';

const TYPES: Partial<Record<Encoding, string>> = {
  form: 'application/x-www-form-urlencoded',
  gzip: 'application/x-www-form-urlencoded',
  json: 'application/json',
  'odd json': 'application/json',
  'utf-16': 'application/json',
  multipart: `multipart/form-data; boundary=${BOUNDARY}`,
  noise: 'application/octet-stream',
};

/** The bytes that go over the wire. */
export function render(random: Random, draft: Draft): Sent {
  const body = encodeBody(random, draft);
  const headers = [...draft.headers];
  const type = TYPES[draft.encoding];
  if (type && !headers.some(([name]) => name.toLowerCase() === 'content-type')) headers.push(['Content-Type', type]);
  const framed = frame(draft, body);
  const version = draft.version === '' ? '' : ` HTTP/${draft.version}`;
  const lines = [
    `${draft.method} ${draft.path}${draft.query.length > 0 ? `?${encodeForm(draft.query)}` : ''}${version}`,
    ...[...headers, ...framed.headers].map(([name, value]) => `${name}: ${value}`),
  ];
  const head = Buffer.from(`${lines.join('\r\n')}\r\n${draft.framing === 'cut' ? '' : '\r\n'}`);
  return {
    bytes: Buffer.concat([head, framed.body]),
    isHead: draft.method === 'HEAD',
    isTorn: framed.isTorn || isTornElsewhere(draft, lines),
  };
}

function encodeBody(random: Random, { encoding, fields }: Draft): Buffer {
  if (encoding === 'nothing') return Buffer.alloc(0);
  if (encoding === 'form') return Buffer.from(encodeForm(fields));
  if (encoding === 'gzip') return gzipSync(encodeForm(fields));
  if (encoding === 'json') return Buffer.from(encodeJson(fields));
  if (encoding === 'utf-16') return Buffer.from(`\ufeff${encodeJson(fields)}`, 'utf16le');
  if (encoding === 'odd json') return Buffer.from(oddJson(random, fields));
  if (encoding === 'noise') return Buffer.from(Array.from({ length: random.below(200) }, () => random.below(256)));
  const parts = fields.map(
    ([name, value]) => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return Buffer.from(`${parts.join('')}--${BOUNDARY}--\r\n`);
}

/** Keeps lone surrogates and malformed percent-encoding. */
function encodeForm(pairs: Pair[]): string {
  const encode = (text: string) =>
    /^%|^\+/.test(text) ? text.replace(/[^\x21-\x7e]|[&#]/g, '') : encodeURIComponent(text.toWellFormed());
  return pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
}

/** By hand, since an object cannot repeat a name. */
function encodeJson(pairs: Pair[]): string {
  return `{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`;
}

function oddJson(random: Random, fields: Pair[]): string {
  const valued = fields.map(([name, value]) => [name, random.chance(0.4) ? oddValue(random) : value] as const);
  return random.pick([
    () => `{${valued.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`,
    () => JSON.stringify(oddValue(random)),
    () => `[${encodeJson(fields)}]`,
    () => '['.repeat(5000),
    () => '{"a":'.repeat(3000),
    () => `{"${random.pick(ODD_NAMES)}":{"${random.pick(['__proto__', 'constructor'])}":{"prototype":{"x":1}}}}`,
    () => encodeJson(fields).slice(0, -1),
    () => `${encodeJson(fields)} x`,
    () => `${' '.repeat(1000)}${encodeJson(fields)}`,
    () => '{"token":1e999,"token":"\\ud800","\\u0074oken":"x"}',
  ])();
}

interface Framed {
  headers: Pair[];
  body: Buffer;
  isTorn: boolean;
}

function frame({ framing, method, encoding }: Draft, body: Buffer): Framed {
  const length = (claimed: unknown): Pair => ['Content-Length', String(claimed)];
  const chunked: Pair = ['Transfer-Encoding', 'chunked'];
  const isEmpty = encoding === 'nothing' && method !== 'POST';
  const whole = (headers: Pair[], sent = body): Framed => ({ headers, body: sent, isTorn: false });
  const torn = (headers: Pair[], sent = body): Framed => ({ headers, body: sent, isTorn: true });
  switch (framing) {
    case 'length':
      return whole(isEmpty ? [] : [length(body.length)]);
    case 'chunks':
      return whole([chunked], inChunks(body));
    case 'none':
      return body.length === 0 ? whole([]) : torn([]);
    case 'more':
      return torn([length(body.length + 7)]);
    case 'less':
      return torn([length(Math.max(0, body.length - 7))]);
    case 'twice':
      return torn([length(body.length), length(body.length + 1)]);
    case 'nonsense':
      return torn([length(['abc', '-1', '+5', '1e3', '0x10', '99999999999999999999', ''][body.length % 7])]);
    case 'bad chunks':
      return torn([chunked], Buffer.concat([Buffer.from('zz\r\n'), body]));
    case 'both':
      return torn([chunked, length(body.length)], inChunks(body));
    case 'cut':
      return torn([], Buffer.alloc(0));
  }
}

function inChunks(body: Buffer): Buffer {
  const half = Math.floor(body.length / 2);
  const chunks = [body.subarray(0, half), body.subarray(half)].filter((chunk) => chunk.length > 0);
  const parts = chunks.map((chunk) =>
    Buffer.concat([Buffer.from(`${chunk.length.toString(16)};x=y\r\n`), chunk, Buffer.from('\r\n')]),
  );
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

/** Headers that corrupt the framing of the request. */
function isTornElsewhere({ method, version, headers }: Draft, lines: string[]): boolean {
  if (version !== '1.1' || method === 'CONNECT' || method === '' || /[\0\s]/.test(method)) return true;
  if (lines.some((line) => /[\r\n\0]/.test(line))) return true;
  return headers.some(([name]) => /^(content-length|transfer-encoding|connection|upgrade)\s*$/i.test(name));
}
