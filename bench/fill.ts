import { DAY, HOUR, MINUTE, SECOND } from '../src/lib/clock.ts';
import { readId } from '../src/lib/ids.ts';
import { hashSecret } from '../src/lib/secrets.ts';
import { openSink, type Row, type Sink } from './bulk-insert.ts';
import { REDIRECT_URI, SCOPE, type SeededUser } from './seed.ts';

/** The first grant of each user is for the measured app. */
export const GRANTS_PER_USER = 4;
const USERS_PER_BUSINESS = 5;
const OTHER_APPS = 200;
const INVOICES = 20;
const MAX_SEEDED_USERS = 2048;
/** Coprime to the sizes: counting in steps of it visits every row once, in an order unlike that of the indexes. */
const STRIDE = 7_368_787;

export interface FillOptions {
  grants: number;
  appId: string;
  /** The insertion order of the grants. */
  order: 'of time' | 'none';
  /** Additional grants that the retention job will remove. */
  expired?: number;
}

/** Inserts rows directly into a migrated database: Gatehouse's own functions would take hours. */
export async function fill(url: string, options: FillOptions): Promise<SeededUser[]> {
  const sink = await openSink(url);
  const now = Date.now();
  const users = Math.ceil(options.grants / GRANTS_PER_USER);
  const businesses = Math.ceil(users / USERS_PER_BUSINESS);
  try {
    await sink.insert('businesses', businesses, (n) => businessRow(n, now));
    await sink.insert('apps', OTHER_APPS, (n) => appRow(n, now));
    await sink.insert('users', users, (n) => userRow(n, now));
    await sink.insert('memberships', users, (n) => membershipRow(n, now));
    const step = options.order === 'none' ? STRIDE : 1;
    const shuffled = (n: number) => (n * step) % options.grants;
    await sink.insert('grants', options.grants, (n) => grantRow(shuffled(n), options, now));
    await sink.insert('consents', options.grants, (n) => consentRow(shuffled(n), options, now));
    await sink.insert('grants', options.expired ?? 0, (n) => expiredRow(n, options, now));
    return await addSeededUsers(sink, businesses, now);
  } finally {
    await sink.close();
  }
}

/** The id and salt of a grant, for its tokens. Deterministic. */
export function grantAt(n: number): { id: string; salt: Buffer } {
  return { id: idAt('grant', n), salt: digest('salt', n).subarray(0, 16) };
}

export function ledgerGrantOf(user: number): number {
  return user * GRANTS_PER_USER;
}

/** The first member of a business. */
export function userOf(business: number): number {
  return business * USERS_PER_BUSINESS;
}

/** Adds invoices to some businesses, and a session for one member of each. */
async function addSeededUsers(sink: Sink, businesses: number, now: number): Promise<SeededUser[]> {
  const count = Math.min(businesses, MAX_SEEDED_USERS);
  const users = Array.from({ length: count }, (_, n): SeededUser => {
    const business = (n * STRIDE) % businesses;
    const invoiceIds = Array.from({ length: INVOICES }, (_, index) => idAt('invoice', n * INVOICES + index)).reverse();
    const [userId, businessId] = [idAt('user', userOf(business)), idAt('business', business)];
    return { userId, businessId, session: `session-${n}`, invoiceIds, business };
  });
  await sink.insert('sessions', count, (n) => sessionRow(users[n] as SeededUser, now));
  await sink.insert('invoices', count * INVOICES, (n) => {
    const { businessId, invoiceIds } = users[Math.floor(n / INVOICES)] as SeededUser;
    return invoiceRow(invoiceIds[n % INVOICES] as string, businessId, n, now);
  });
  return users;
}

function businessRow(n: number, now: number): Row {
  return { id: idAt('business', n), name: `Business ${n}`, created_at: now - 90 * DAY };
}

function appRow(n: number, now: number): Row {
  return {
    id: idAt('app', n),
    name: `App ${n}`,
    owner_scope: 'platform',
    owner_business_id: null,
    open_to_any_business: 1,
    requires_pkce: 0,
    allowed_scopes: SCOPE,
    redirect_uris: JSON.stringify([REDIRECT_URI]),
    created_by: null,
    created_at: now - 90 * DAY,
    disabled_at: null,
    paused_at: null,
    deleted_at: null,
  };
}

function userRow(n: number, now: number): Row {
  return {
    id: idAt('user', n),
    email: `user-${n}@example.com`,
    email_skeleton: `user-${n}@example.com`,
    name: `User ${n}`,
    password_hash: digest('password', n).toString('base64url').repeat(2),
    platform_admin: 0,
    current_business_id: idAt('business', Math.floor(n / USERS_PER_BUSINESS)),
    last_signed_in_at: now - HOUR,
    created_at: now - 90 * DAY,
    disabled_at: null,
  };
}

function membershipRow(n: number, now: number): Row {
  const [user_id, business_id] = [idAt('user', n), idAt('business', Math.floor(n / USERS_PER_BUSINESS))];
  return { user_id, business_id, role: n % USERS_PER_BUSINESS === 0 ? 'owner' : 'member', created_at: now - 90 * DAY };
}

function partiesOf(n: number, appId: string) {
  const user = Math.floor(n / GRANTS_PER_USER);
  return {
    user_id: idAt('user', user),
    app_id: n % GRANTS_PER_USER === 0 ? appId : idAt('app', (user + 61 * (n % GRANTS_PER_USER)) % OTHER_APPS),
    business_id: idAt('business', Math.floor(user / USERS_PER_BUSINESS)),
    scopes: SCOPE,
  };
}

function grantRow(n: number, { appId }: FillOptions, now: number): Row {
  const createdAt = now - 20 * DAY;
  const rotated = lastRefresh(n, now);
  return {
    ...grantAt(n),
    ...partiesOf(n, appId),
    redirect_uri: null,
    code_challenge: null,
    created_at: createdAt,
    code_expires_at: createdAt + 10 * MINUTE,
    exchanged_at: createdAt,
    rotation: 5,
    rotated_at: rotated,
    refresh_expires_at: rotated + 30 * DAY,
    revoked_at: null,
    revoked_reason: null,
    removable_on: Math.ceil((rotated + 31 * DAY) / DAY),
    warned_at: null,
  };
}

/**
 * An active app refreshes every hour, so one refresh in 24 is the first of its day and updates `removable_on`. This share
 * does not depend on the hour at which the benchmark runs.
 */
function lastRefresh(n: number, now: number): number {
  const today = Math.floor(now / DAY) * DAY;
  return n % 24 === 0 ? today - HOUR : today + (n % 24) * SECOND;
}

function expiredRow(n: number, options: FillOptions, now: number): Row {
  const { id, salt } = grantAt(options.grants + n);
  return { ...grantRow(n, options, now - 40 * DAY), id, salt };
}

function consentRow(n: number, { appId }: FillOptions, now: number): Row {
  return { ...partiesOf(n, appId), declined: '', allowed_at: now - 20 * DAY };
}

function sessionRow({ userId, session }: SeededUser, now: number): Row {
  return {
    id_hash: hashSecret(session),
    user_id: userId,
    browser: 'bench',
    address: '127.0.0.1',
    signed_in_at: now,
    last_seen_at: now,
    expires_at: now + 12 * HOUR,
  };
}

function invoiceRow(id: string, businessId: string, n: number, now: number): Row {
  return {
    id,
    business_id: businessId,
    number: `INV-${n}`,
    status: 'SENT',
    total: '123450',
    currency: 'GBP',
    customer_id: `contact-${n}`,
    issue_date: '2026-07-01',
    due_date: '2026-07-31',
    subtotal: '123450',
    tax: '0',
    amount_paid: '0',
    amount_due: '123450',
    lines: '[]',
    payments: '[]',
    notes: null,
    version: 1,
    created_at: now,
    updated_at: now,
  };
}

/** Ordered by time, like Gatehouse's ids (UUIDv7). */
function idAt(kind: string, n: number): string {
  const bytes = digest(kind, n).subarray(0, 16);
  bytes.writeUIntBE(1_700_000_000_000 + n * 100, 0, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return readId(bytes);
}

/** 32 deterministic pseudorandom bytes. Faster than a cryptographic hash (the finalizer of MurmurHash3). */
function digest(kind: string, n: number): Buffer {
  const bytes = Buffer.allocUnsafe(32);
  const seed = Math.imul(kind.charCodeAt(0) * 31 + kind.charCodeAt(1), 0x9e3779b1);
  for (let index = 0; index < 32; index += 4) {
    let word = seed ^ Math.imul(n + 1, 0x85ebca6b + index * 2);
    word = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
    word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
    bytes.writeInt32LE(word ^ (word >>> 16), index);
  }
  return bytes;
}
