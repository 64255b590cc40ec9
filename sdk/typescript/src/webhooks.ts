import { rejectArgument, requireObject } from './arguments.ts';
import { GatehouseError } from './errors.ts';
import type { GatehouseEvent } from './event-types.ts';
import { readPayload } from './events.ts';

/** An event that Gatehouse delivered. */
export type WebhookEvent = GatehouseEvent;

/** A `Headers`, or a plain object like Node's. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | { readonly [name: string]: string | readonly string[] | undefined };

/** One secret; or several, while one is being replaced. */
export type WebhookSecrets =
  | { secret: string; secrets?: undefined }
  | { secret?: undefined; secrets: readonly string[] };

/** The received message, and its signing secret. */
export type WebhookOptions = WebhookSecrets & {
  headers: WebhookHeaders;
  /** Exactly as it was received: text or bytes, and not yet parsed. */
  body: string | Uint8Array | ArrayBuffer;
  /** How many seconds the timestamp may differ from now: 300 by default. */
  tolerance?: number | undefined;
};

type Reason = 'signature_missing' | 'signature_wrong' | 'too_old' | 'too_new' | 'body_malformed';

const DEFAULT_TOLERANCE = 300;
const MAX_TOLERANCE = 86_400;
const SECRET = /^whsec_((?:[A-Za-z\d+/]{4})+(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?)$/;
const MIN_KEY = 24;
const MAX_KEY = 64;
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;
const SECONDS = /^\d{1,12}$/;

/** Verifies a message by the Standard Webhooks specification, and returns its event. Rejects any other message. */
export async function verifyWebhook(options: WebhookOptions): Promise<WebhookEvent> {
  const keys = requireKeys(requireObject(options, 'options'));
  const headers = requireHeaders(options.headers);
  const body = requireBody(options.body);
  const { tolerance = DEFAULT_TOLERANCE } = options;
  requireTolerance(tolerance);

  const [id, sentAt, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(
    (name) => only(headers, name) || reject('signature_missing', `It needs exactly one ${name} header.`),
  ) as [string, string, string];
  const isPlain = VISIBLE_ASCII.test(id) && SECONDS.test(sentAt);
  if (!isPlain || !(await isSigned(keys, joined(`${id}.${sentAt}.`, body), signatures))) {
    reject(
      'signature_wrong',
      'No v1 signature fits. Is this the secret of this endpoint, and the body as it was received?',
    );
  }
  // Checked last: only messages that Gatehouse has signed get these two reasons.
  checkAge(Math.floor(Date.now() / 1000) - Number(sentAt), tolerance);
  return { id, ...readBody(body) } as WebhookEvent;
}

async function isSigned(keys: Uint8Array<ArrayBuffer>[], content: Uint8Array<ArrayBuffer>, signatures: string) {
  const given = signatures.split(' ');
  for (const key of keys) {
    const expected = `v1,${await sign(key, content)}`;
    if (given.some((signature) => isSame(signature, expected))) return true;
  }
  return false;
}

async function sign(key: Uint8Array<ArrayBuffer>, content: Uint8Array<ArrayBuffer>): Promise<string> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['sign']);
  return btoa(String.fromCharCode(...new Uint8Array(await crypto.subtle.sign('HMAC', imported, content))));
}

/** Compares in constant time. */
function isSame(given: string, expected: string): boolean {
  if (given.length !== expected.length) return false;
  let difference = 0;
  for (let i = 0; i < expected.length; i += 1) difference |= given.charCodeAt(i) ^ expected.charCodeAt(i);
  return difference === 0;
}

function checkAge(age: number, tolerance: number): void {
  const rule = `and ${tolerance} s are allowed. Is the clock of this machine right?`;
  if (age > tolerance) reject('too_old', `It was sent ${age} s ago, ${rule}`);
  if (-age > tolerance) reject('too_new', `It was sent ${-age} s from now, ${rule}`);
}

function readBody(bytes: Uint8Array): Omit<WebhookEvent, 'id'> {
  const read = readPayload(parse(bytes));
  if (!read) {
    reject('body_malformed', 'It is signed, but it is not an event: a JSON object with type, timestamp and data.');
  }
  return read;
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

function reject(reason: Reason, description: string): never {
  throw new GatehouseError({ code: 'webhook_rejected', reason, description });
}

/** Undefined if there is none, or more than one. */
function only(headers: WebhookHeaders, name: string): string | undefined {
  if (isHeaders(headers)) return headers.get(name) ?? undefined;
  const named = Object.entries(headers).filter(([key]) => key.toLowerCase() === name);
  const [value, ...more] = named.flatMap(([, values]) => values ?? []);
  return more.length === 0 && typeof value === 'string' ? value : undefined;
}

function isHeaders(headers: WebhookHeaders): headers is { get(name: string): string | null } {
  return typeof headers.get === 'function';
}

function joined(before: string, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const start = new TextEncoder().encode(before);
  const whole = new Uint8Array(start.length + bytes.length);
  whole.set(start);
  whole.set(bytes, start.length);
  return whole;
}

function requireKeys({ secret, secrets }: WebhookSecrets): Uint8Array<ArrayBuffer>[] {
  if ((secret === undefined) === (secrets === undefined))
    rejectArgument('secret', 'given, or else secrets, and not both');
  if (secrets === undefined) return [requireKey(secret, 'secret')];
  if (!Array.isArray(secrets) || secrets.length === 0)
    rejectArgument('secrets', 'a list of one or more signing secrets');
  return secrets.map((each) => requireKey(each, 'each of secrets'));
}

function requireKey(value: unknown, name: string): Uint8Array<ArrayBuffer> {
  const [, text = ''] = (typeof value === 'string' && SECRET.exec(value)) || [];
  const key = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  if (key.length < MIN_KEY || key.length > MAX_KEY) {
    rejectArgument(name, `a signing secret as Gatehouse gave it: whsec_ and ${MIN_KEY} to ${MAX_KEY} bytes in base64`);
  }
  return key;
}

function requireHeaders(value: WebhookHeaders): WebhookHeaders {
  if (Array.isArray(value)) rejectArgument('headers', 'a Headers or a plain object, and no list');
  return requireObject(value, 'headers');
}

function requireBody(value: unknown): Uint8Array {
  if (typeof value === 'string') return new TextEncoder().encode(value);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (!ArrayBuffer.isView(value)) rejectArgument('body', 'text or bytes, exactly as received and not yet parsed');
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

function requireTolerance(value: unknown): void {
  const isValid = typeof value === 'number' && value > 0 && value <= MAX_TOLERANCE;
  if (!isValid) rejectArgument('tolerance', `a number of seconds, over 0 and at most ${MAX_TOLERANCE}`);
}
