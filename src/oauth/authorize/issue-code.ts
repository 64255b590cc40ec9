import { lockSession } from '../../accounts/sessions.ts';
import type { Actor } from '../../audit/entries.ts';
import {
  type Consent,
  findConsentForShare,
  recordAllowed,
  recordSilentlyAllowed,
  saveConsent,
  scopesAllowedBefore,
} from '../../grants/consents.ts';
import { type CodeParts, createGrant, findGrant } from '../../grants/grants.ts';
import type { Keyring } from '../../lib/keyring.ts';
import type { Scopes } from '../../lib/scope-lists.ts';
import type { Database, Storage } from '../../storage/storage.ts';
import { encodeToken, NO_SCOPE_BITS } from '../tokens.ts';
import type { AuthorizationRequest } from './request.ts';

/** Who allows it, and where. */
interface Allowance {
  /** Chosen before the screen was shown, so that allowing twice allows once. */
  grantId: string;
  userId: string;
  /** A password reset ends it, and then every grant: so a grant is created only while its session is locked. */
  sessionId: string;
  businessId: string;
  /** Whom to name in the audit log. */
  actor: Actor;
}

/** What was said on the consent screen. */
interface Answer extends Allowance {
  choice: Consent;
}

interface Parts {
  storage: Storage;
  keys: Keyring;
}

/**
 * The user said so on the consent screen: it is remembered. Undefined if this very answer has been given, and its code
 * used or expired, before; or if the session has ended meanwhile.
 */
export async function allow(
  { storage, keys }: Parts,
  request: AuthorizationRequest,
  answer: Answer,
  now: number,
): Promise<string | undefined> {
  await storage.transaction(async (db) => {
    if (!(await lockSession(db, answer.sessionId))) return;
    const isFirst = await createGrant(db, grantOf(request, answer, answer.choice.allowed), now);
    if (!isFirst) return;
    const { userId, businessId, choice } = answer;
    await saveConsent(db, { userId, appId: request.app.id, businessId }, choice, now);
    await recordAllowed(db, request.app, { ...answer, scopes: choice.allowed }, now);
  });
  const grant = await findGrant(storage.durable, { grantId: answer.grantId, rotation: 0 });
  const isOpen = grant && grant.exchangedAt === null && !grant.inactiveReason && now < grant.codeExpiresAt;
  return isOpen ? codeOf(keys, grant) : undefined;
}

/**
 * The app belongs to the platform, or the user has allowed it before: no one needs to be asked. Undefined if the user
 * has taken that back, or the session has ended, in this very moment.
 */
export async function allowSilently(
  { storage, keys }: Parts,
  request: AuthorizationRequest,
  allowance: Allowance,
  now: number,
): Promise<string | undefined> {
  const grant = await storage.transaction(async (db) => {
    if (!(await lockSession(db, allowance.sessionId))) return undefined;
    const scopes = await findSilentScopes(db, request, allowance);
    if (scopes.length === 0) return undefined;
    await recordSilentlyAllowed(db, request.app, { ...allowance, scopes }, now);
    return createGrant(db, grantOf(request, allowance, scopes), now);
  });
  return grant && codeOf(keys, grant);
}

async function findSilentScopes(
  db: Database,
  request: AuthorizationRequest,
  { userId, businessId }: Allowance,
): Promise<Scopes> {
  if (request.app.ownerScope === 'platform') return request.scopes;
  const consent = await findConsentForShare(db, { userId, appId: request.app.id, businessId });
  return scopesAllowedBefore(request, consent);
}

/** Derived from the row, so that allowing twice yields the same code twice. */
function codeOf(keys: Keyring, { id, salt, codeExpiresAt }: CodeParts): string {
  return encodeToken(keys, salt, {
    kind: 'code',
    grantId: id,
    rotation: 0,
    expiresAt: codeExpiresAt,
    scopeBits: NO_SCOPE_BITS,
  });
}

function grantOf(request: AuthorizationRequest, allowance: Allowance, scopes: Scopes) {
  const { app, sentRedirectUri: redirectUri, codeChallenge } = request;
  const { grantId: id, userId, businessId } = allowance;
  return { id, appId: app.id, userId, businessId, scopes, redirectUri, codeChallenge };
}
