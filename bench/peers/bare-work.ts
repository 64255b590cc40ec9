import type { Grant } from '../../src/grants/grants.ts';
import { REFRESH_LIFETIME } from '../../src/grants/lifetimes.ts';
import { DAY, MINUTE, SECOND } from '../../src/lib/clock.ts';
import { newId } from '../../src/lib/ids.ts';
import { type Keyring, sign } from '../../src/lib/keyring.ts';
import { formatAmount } from '../../src/lib/money.ts';
import { parseScopes } from '../../src/lib/scope-lists.ts';
import { hashSecret, newSalt, sameText } from '../../src/lib/secrets.ts';
import { appendTimestamp, readTimestamp } from '../../src/oauth/authorize/timestamp.ts';
import { matchesChallenge } from '../../src/oauth/pkce.ts';
import {
  type DecodedToken,
  decodeToken,
  encodeToken,
  issueTokens,
  NO_SCOPE_BITS,
  type TokenKind,
  verifyToken,
} from '../../src/oauth/tokens.ts';
import type { BareDatabase, Row } from './bare-database.ts';
import { ANY } from './bare-statements.ts';

export interface Bare {
  db: BareDatabase;
  keys: Keyring;
}

export type Fields = Record<string, string>;

/** Invalid requests are rejected without an explanation. */
export class Rejected extends Error {}

const INVOICES_SHOWN = 100;
const IDLE_LIFETIME = DAY / 2;

export function exchange(bare: Bare, fields: Fields, now: number) {
  const { row } = authenticate(bare, ['code', fields.code], fields, now);
  if (!matchesChallenge(fields.code_verifier ?? '', row.code_challenge)) throw new Rejected();
  const expires = now + REFRESH_LIFETIME;
  bare.db.write('durable', 'markExchanged', now, now, expires, removableOn(expires), null, null, row.id);
  return issueTokens(
    bare.keys,
    {
      id: row.id,
      salt: row.salt,
      rotation: 0,
      rotatedAt: now,
      grantedScopes: parseScopes(row.scopes),
      expiresAt: null,
    },
    parseScopes(row.scopes),
    now,
  );
}

export function refresh(bare: Bare, fields: Fields, now: number) {
  const { token, row } = authenticate(bare, ['refresh', fields.refresh_token], fields, now);
  const rotation = token.rotation + 1;
  // Without the one refresh per day that also updates `removable_on`.
  const values = [rotation, row.exchanged_at, now, now + REFRESH_LIFETIME, row.id, row.rotation];
  bare.db.write('relaxed', 'rotate', ...values);
  return issueTokens(
    bare.keys,
    { id: row.id, salt: row.salt, rotation, rotatedAt: now, grantedScopes: parseScopes(row.scopes), expiresAt: null },
    parseScopes(row.scopes),
    now,
  );
}

export function listInvoices(bare: Bare, authorization: string, now: number) {
  const { row } = verify(bare, 'access', authorization.slice('Bearer '.length), now);
  return bare.db.all('invoices', row.business_id, INVOICES_SHOWN + 1).map((invoice) => ({
    id: invoice.id,
    number: invoice.number,
    status: invoice.status,
    total: formatAmount(invoice.total, invoice.currency),
    currency: invoice.currency,
    customerId: invoice.customerId,
    issueDate: invoice.issueDate,
    dueDate: invoice.dueDate,
    subtotal: formatAmount(invoice.subtotal, invoice.currency),
    tax: formatAmount(invoice.tax, invoice.currency),
    amountPaid: formatAmount(invoice.amountPaid, invoice.currency),
    amountDue: formatAmount(invoice.amountDue, invoice.currency),
    createdAt: new Date(invoice.createdAt).toISOString(),
    updatedAt: new Date(invoice.updatedAt).toISOString(),
  }));
}

export function introspect(bare: Bare, fields: Fields, issuer: string, now: number) {
  const { token, row } = authenticate(bare, ['access', fields.token], fields, now);
  return {
    active: true,
    scope: row.scopes,
    client_id: row.app_id,
    token_type: 'bearer',
    exp: token.expiresAt / SECOND,
    iat: Math.floor(row.rotated_at / SECOND),
    sub: row.user_id,
    iss: issuer,
    business_id: row.business_id,
  };
}

export function revoke(bare: Bare, fields: Fields, address: string, now: number) {
  const { row } = authenticate(bare, ['refresh', fields.token], fields, now);
  const { db } = bare;
  return db.atomically(() => {
    const reason = 'revoked_by_app';
    const [ended] = db.all('endGrant', now, reason, row.id);
    const changed = [ended.grantId, ended.appId, ended.businessId, ended.userId];
    db.write('durable', 'addRevokedEvent', ...changed, newId(now), 'grant.revoked', reason, now, now);
    const actor = ['app', 'A deleted app', null, address];
    const subject = ['app', 'A deleted app', ''];
    db.write('durable', 'addRevokedEntry', ...changed, newId(now), now, 'grant.revoked', ...actor, ...subject);
    return {};
  });
}

/** The redirect of the authorize endpoint. */
export function authorize({ db, keys }: Bare, query: string, now: number): string {
  db.one('app', new URLSearchParams(query).get('client_id'));
  return `/consent?${appendTimestamp(keys, query, now)}`;
}

/** The redirect of the consent page if consent exists. */
export function allow({ db, keys }: Bare, stamped: string, cookies: Fields, from: From, now: number): string {
  const user = resumeSession(db, cookies['__Host-session'] ?? '', now);
  sign(keys, 'csrf', cookies['__Host-visitor'] ?? '');
  const params = new URLSearchParams(readTimestamp(keys, stamped, now).query);
  const app = db.one('app', params.get('client_id'));
  const [{ businessId }] = db.all('memberships', user.id) as [Row];
  db.one('appRules', app.id, app.id, user.id, businessId);
  db.one('consent', now, user.id, app.id, businessId);
  const [id, salt, expiresAt] = [newId(now), newSalt(), now + 10 * MINUTE];
  db.atomically(() => {
    db.all('stops', app.id, ANY, ANY, app.id, businessId, ANY, ANY, ANY, user.id);
    db.one('lockSession', user.id_hash);
    db.one('lockBusiness', businessId);
    db.one('appRules', app.id, app.id, user.id, businessId);
    const { scopes: scope } = db.one('consent', now, user.id, app.id, businessId);
    db.one('thousandthGrant', businessId, app.id, user.id);
    const key = `grant.allowed ${app.id} ${businessId} ${user.id} ${scope}`;
    const hasGrant = () => db.one('unrevokedGrant', businessId, app.id, user.id) !== undefined;
    const isRepeat = [db.one('isRepeat', key, now - DAY) !== undefined, hasGrant()].every(Boolean);
    if (!isRepeat) {
      db.write('durable', 'countRepeat', key, now, 1, now - DAY, 1, now - DAY, now);
      if (!hasGrant()) addAllowed(db, { app, user, businessId, scope, address: from.address }, now);
    }
    const request = [
      'user',
      scope,
      null,
      null,
      params.get('redirect_uri'),
      params.get('code_challenge'),
      now,
      expiresAt,
      0,
    ];
    const [changed] = db.all('addGrant', id, salt, app.id, user.id, businessId, ...request, removableOn(expiresAt), 0);
    const data = JSON.stringify({ grantId: id, userId: user.id, scopes: scope.split(' ') });
    const event = [newId(now), 'grant.created', data, now, now];
    db.write('durable', 'addCreatedEvent', changed.appId, changed.businessId, ...event);
  });
  const code = encodeToken(keys, salt, { kind: 'code', grantId: id, rotation: 0, expiresAt, scopeBits: NO_SCOPE_BITS });
  const response = new URLSearchParams({ code, state: params.get('state') ?? '', iss: from.issuer });
  return `${params.get('redirect_uri')}?${response}`;
}

function addAllowed(db: Bare['db'], { app, user, businessId, scope, address }: Row, now: number): void {
  const actor = ['user', user.id, user.id, user.name, user.email, address];
  const about = [businessId, 'app', app.id, app.name, JSON.stringify({ scope, how: 'without asking' })];
  db.write('durable', 'addEntry', newId(now), now, 'grant.allowed', ...actor, ...about);
}

interface From {
  address: string;
  issuer: string;
}

/** The session and its user in one row. */
function resumeSession(db: BareDatabase, id: string, now: number): Row {
  const found = db.one('session', hashSecret(id), now);
  if (now - found.last_seen_at >= MINUTE) db.write('durable', 'touchSession', now, now + IDLE_LIFETIME, found.id_hash);
  return found;
}

/** The app and its token, by one statement. */
function authenticate({ db, keys }: Bare, [kind, text]: [TokenKind, string | undefined], fields: Fields, now: number) {
  const hash = hashSecret(fields.client_secret ?? '');
  const token = decode(keys, kind, text);
  const rows = db.all('clientAndGrant', now, token.rotation, fields.client_id ?? '', token.grantId);
  const used = rows.find(({ secret_hash }) => sameText(secret_hash, hash));
  if (!used) throw new Rejected();
  if (now - (used.secret_used_at ?? 0) >= MINUTE) db.write('durable', 'useSecret', now, used.secret_id);
  return { token, row: verifyGrant(token, rows[0]) };
}

function verify({ db, keys }: Bare, kind: TokenKind, text: string, now: number) {
  const token = decode(keys, kind, text);
  return { token, row: verifyGrant(token, db.one('grant', now, token.rotation, token.grantId)) };
}

function decode(keys: Keyring, kind: TokenKind, text = ''): DecodedToken {
  const token = decodeToken(keys, kind, text);
  if (!token) throw new Rejected();
  return token;
}

function verifyGrant(token: DecodedToken, row: Row): Row {
  if (!row || !verifyToken(token, row as Grant) || row.inactive_reason !== null) throw new Rejected();
  return row;
}

function removableOn(expiresAt: number): number {
  return Math.ceil((expiresAt + DAY) / DAY);
}
