import { DAY, HOUR, MINUTE, SECOND } from '../src/lib/clock.ts';
import { readId } from '../src/lib/ids.ts';
import { hashSecret } from '../src/lib/secrets.ts';
import { type Person, REDIRECT_URI, SCOPE } from './seed.ts';
import { openSink, type Row, type Sink } from './sink.ts';

/** Everyone has four grants, the first of them for the app that is measured; five people are one business. */
export const GRANTS_EACH = 4;
const BUSINESS_OF = 5;
const OTHER_APPS = 200;
const INVOICES = 20;
const MOST_PEOPLE = 2048;
/** Shares no factor with the sizes, so that counting in steps of it visits all, in no order that an index would like. */
const STRIDE = 7_368_787;

export interface Wanted {
  grants: number;
  appId: string;
  /** Of the grants: as they would come, or in no order at all. */
  order: 'of time' | 'none';
  /** Grants that ended so long ago that they should be gone. */
  dead?: number;
}

/** Fills a database that Gatehouse has made, past its own statements, since those would take hours. */
export async function fill(url: string, wanted: Wanted): Promise<Person[]> {
  const sink = await openSink(url);
  const now = Date.now();
  const users = Math.ceil(wanted.grants / GRANTS_EACH);
  const businesses = Math.ceil(users / BUSINESS_OF);
  try {
    await sink.insert('businesses', businesses, (n) => businessRow(n, now));
    await sink.insert('apps', OTHER_APPS, (n) => appRow(n, now));
    await sink.insert('users', users, (n) => userRow(n, now));
    await sink.insert('memberships', users, (n) => membershipRow(n, now));
    const step = wanted.order === 'none' ? STRIDE : 1;
    const shuffled = (n: number) => (n * step) % wanted.grants;
    await sink.insert('grants', wanted.grants, (n) => grantRow(shuffled(n), wanted, now));
    await sink.insert('consents', wanted.grants, (n) => consentRow(shuffled(n), wanted, now));
    await sink.insert('grants', wanted.dead ?? 0, (n) => deadRow(n, wanted, now));
    return await addPeople(sink, businesses, now);
  } finally {
    await sink.close();
  }
}

/** What a grant's tokens are made of: the same every time it is asked. */
export function grantAt(n: number): { id: string; salt: Buffer } {
  return { id: idAt('grant', n), salt: digest('salt', n).subarray(0, 16) };
}

export function ledgerGrantOf(user: number): number {
  return user * GRANTS_EACH;
}

/** The first member of a business. */
export function userOf(business: number): number {
  return business * BUSINESS_OF;
}

/** Some businesses have invoices, and a member with a signed-in browser. */
async function addPeople(sink: Sink, businesses: number, now: number): Promise<Person[]> {
  const count = Math.min(businesses, MOST_PEOPLE);
  const people = Array.from({ length: count }, (_, n): Person => {
    const business = (n * STRIDE) % businesses;
    const invoiceIds = Array.from({ length: INVOICES }, (_, place) => idAt('invoice', n * INVOICES + place)).reverse();
    const [userId, businessId] = [idAt('user', userOf(business)), idAt('business', business)];
    return { userId, businessId, session: `session-${n}`, invoiceIds, business };
  });
  await sink.insert('sessions', count, (n) => sessionRow(people[n] as Person, now));
  await sink.insert('invoices', count * INVOICES, (n) => {
    const { businessId, invoiceIds } = people[Math.floor(n / INVOICES)] as Person;
    return invoiceRow(invoiceIds[n % INVOICES] as string, businessId, n, now);
  });
  return people;
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
    current_business_id: idAt('business', Math.floor(n / BUSINESS_OF)),
    last_signed_in_at: now - HOUR,
    created_at: now - 90 * DAY,
    disabled_at: null,
  };
}

function membershipRow(n: number, now: number): Row {
  const [user_id, business_id] = [idAt('user', n), idAt('business', Math.floor(n / BUSINESS_OF))];
  return { user_id, business_id, role: n % BUSINESS_OF === 0 ? 'owner' : 'member', created_at: now - 90 * DAY };
}

function partiesOf(n: number, appId: string) {
  const user = Math.floor(n / GRANTS_EACH);
  return {
    user_id: idAt('user', user),
    app_id: n % GRANTS_EACH === 0 ? appId : idAt('app', (user + 61 * (n % GRANTS_EACH)) % OTHER_APPS),
    business_id: idAt('business', Math.floor(user / BUSINESS_OF)),
    scopes: SCOPE,
  };
}

function grantRow(n: number, { appId }: Wanted, now: number): Row {
  const made = now - 20 * DAY;
  const rotated = lastRefresh(n, now);
  return {
    ...grantAt(n),
    ...partiesOf(n, appId),
    redirect_uri: null,
    code_challenge: null,
    created_at: made,
    code_expires_at: made + 10 * MINUTE,
    exchanged_at: made,
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
 * An app in use refreshes every hour, so one refresh in 24 is the first of its day and moves the day on which its grant may
 * go. That share is the same at whatever hour this runs.
 */
function lastRefresh(n: number, now: number): number {
  const today = Math.floor(now / DAY) * DAY;
  return n % 24 === 0 ? today - HOUR : today + (n % 24) * SECOND;
}

function deadRow(n: number, wanted: Wanted, now: number): Row {
  const { id, salt } = grantAt(wanted.grants + n);
  return { ...grantRow(n, wanted, now - 40 * DAY), id, salt };
}

function consentRow(n: number, { appId }: Wanted, now: number): Row {
  return { ...partiesOf(n, appId), declined: '', allowed_at: now - 20 * DAY };
}

function sessionRow({ userId, session }: Person, now: number): Row {
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
    created_at: now,
  };
}

/** Like the ids that Gatehouse makes: they grow with time. */
function idAt(kind: string, n: number): string {
  const bytes = digest(kind, n).subarray(0, 16);
  bytes.writeUIntBE(1_700_000_000_000 + n * 100, 0, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return readId(bytes);
}

/** 32 bytes that look random and are the same each time. Millions are needed, so no true hash (murmur3's last step). */
function digest(kind: string, n: number): Buffer {
  const bytes = Buffer.allocUnsafe(32);
  const seed = Math.imul(kind.charCodeAt(0) * 31 + kind.charCodeAt(1), 0x9e3779b1);
  for (let place = 0; place < 32; place += 4) {
    let word = seed ^ Math.imul(n + 1, 0x85ebca6b + place * 2);
    word = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
    word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
    bytes.writeInt32LE(word ^ (word >>> 16), place);
  }
  return bytes;
}
