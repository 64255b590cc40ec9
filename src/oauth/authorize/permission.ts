import type { Role } from '../../accounts/memberships.ts';
import type { App } from '../../apps/apps.ts';
import type { WhoConnects } from '../../grants/app-policies.ts';
import { lockAppRulesForShare } from '../../grants/app-policies.ts';
import { commonScopes, parseScopes, type Scopes, scopesBeyond } from '../../lib/scope-lists.ts';
import { batchedQuery } from '../../storage/batched-query.ts';
import type { Database } from '../../storage/storage.ts';
import { OAuthError } from '../errors.ts';
import { SCOPES } from '../scopes.ts';
import type { AuthorizationRequest } from './request.ts';

/** Why the rules of the business do not let a member allow an app. */
export type Restriction =
  | { kind: 'app_blocked' | 'app_refused'; reason: string }
  /** `requestedAt` is null unless the member has requested approval. */
  | { kind: 'approval_required'; requestedAt: number | null }
  | { kind: 'role_required'; role: 'owner' | 'admin' };

/** The request without the optional scopes that the member may not allow, or why the member may not allow it at all. */
type Permission =
  | { restriction: Restriction; request?: never; permit?: never; rules?: never }
  /** The rules are undefined if none apply. */
  | { restriction?: undefined; request: AuthorizationRequest; permit: Permit; rules: Rules | undefined };

/** Leaves out the scopes that the user may not allow. */
export type Permit = (scopes: Scopes) => Scopes;

interface PermissionRequest {
  request: AuthorizationRequest;
  userId: string;
  businessId: string;
}

const SENSITIVE_SCOPES: Scopes = SCOPES.filter(({ isSensitive }) => isSensitive).map(({ name }) => name);

/**
 * The rules do not apply to the platform's own apps, except to public ones: any program can present their `client_id`.
 */
function isExempt({ ownerScope, isPublic }: App): boolean {
  return ownerScope === 'platform' && !isPublic;
}

export async function findPermission(
  db: Database,
  { request, userId, businessId }: PermissionRequest,
): Promise<Permission> {
  if (isExempt(request.app)) return { request, permit: (scopes) => scopes, rules: undefined };
  const { rows } = await readRules(db, { appId: request.app.id, userId, businessId });
  const rules = rows[0];
  // Not a member any more, which the callers check: nothing is granted (`lockPermission`).
  if (!rules) return { request, permit: () => [], rules };
  const permit: Permit = (requested) => permittedScopes(rules, requested);
  const scopes = permit(request.scopes);
  const missing = scopesBeyond(scopesBeyond(request.scopes, request.optionalScopes), scopes);
  if (scopes.length === 0 || missing.length > 0) return { restriction: restrictionOf(rules, request) };
  const permitted = { ...request, scopes, optionalScopes: commonScopes(request.optionalScopes, scopes) };
  return { request: permitted, permit, rules };
}

/** Needs a transaction: until it ends, the rules of the business stay as they are. */
export async function lockPermission(
  tx: Database,
  { request: { app }, userId, businessId }: PermissionRequest,
): Promise<Permit> {
  if (isExempt(app)) return (scopes) => scopes;
  const [, { rows }] = await Promise.all([
    lockAppRulesForShare(tx, businessId),
    readRules(tx, { appId: app.id, userId, businessId }),
  ]);
  const rules = rows[0];
  return (scopes) => (rules ? permittedScopes(rules, scopes) : []);
}

/** As they are stored. */
export interface Rules {
  role: Role;
  ownWho: WhoConnects | null;
  ownReserves: number | null;
  platformWho: WhoConnects | null;
  platformReserves: number | null;
  isBinding: number | null;
  status: 'approved' | 'blocked' | null;
  scopes: string | null;
  blockReason: string | null;
  requestStatus: 'requested' | 'approved' | 'refused' | null;
  personalScopes: string | null;
  refusalReason: string | null;
  requestedAt: number | null;
}

const readRules = batchedQuery({ appId: 'uuid', userId: 'uuid', businessId: 'uuid' }, selectRules);

export function selectRules(
  db: Database,
  { appId, userId, businessId }: Omit<PermissionRequest, 'request'> & { appId: string },
) {
  return db
    .selectFrom('memberships')
    .leftJoin('app_policies as own', 'own.business_id', 'memberships.business_id')
    .leftJoin('platform_app_policy as platform', (join) => join.onTrue())
    .leftJoin('app_approvals as approval', (join) =>
      join.onRef('approval.business_id', '=', 'memberships.business_id').on('approval.app_id', '=', appId),
    )
    .leftJoin('app_requests as request', (join) =>
      join
        .onRef('request.business_id', '=', 'memberships.business_id')
        .onRef('request.user_id', '=', 'memberships.user_id')
        .on('request.app_id', '=', appId),
    )
    .select(['memberships.role', 'own.who as ownWho', 'own.reserves_sensitive as ownReserves'])
    .select(['platform.who as platformWho', 'platform.reserves_sensitive as platformReserves'])
    .select([
      'platform.is_binding as isBinding',
      'approval.status',
      'approval.scopes',
      'approval.reason as blockReason',
    ])
    .select(['request.status as requestStatus', 'request.approved_scopes as personalScopes'])
    .select(['request.reason as refusalReason', 'request.requested_at as requestedAt'])
    .where('memberships.user_id', '=', userId)
    .where('memberships.business_id', '=', businessId);
}

function policyOf(rules: Rules): { who: WhoConnects; reservesSensitive: boolean } {
  const isOwn = rules.ownWho !== null && rules.isBinding !== 1;
  const who = isOwn ? rules.ownWho : rules.platformWho;
  const reserves = isOwn ? rules.ownReserves : rules.platformReserves;
  return { who: who ?? 'anyone', reservesSensitive: reserves === 1 };
}

/** A block applies to everyone, everything else to members and admins: owners decide for themselves. */
export function permittedScopes(rules: Rules, scopes: Scopes): Scopes {
  if (rules.status === 'blocked') return [];
  if (rules.role === 'owner') return scopes;
  const { who, reservesSensitive } = policyOf(rules);
  const unreserved = reservesSensitive ? scopesBeyond(scopes, SENSITIVE_SCOPES) : scopes;
  if (who === 'anyone') return unreserved;
  if (who === 'admins') return rules.role === 'admin' ? unreserved : [];
  return commonScopes(unreserved, [...parseScopes(rules.scopes ?? ''), ...parseScopes(rules.personalScopes ?? '')]);
}

function restrictionOf(rules: Rules, { scopes, optionalScopes }: AuthorizationRequest): Restriction {
  if (rules.status === 'blocked') return { kind: 'app_blocked', reason: rules.blockReason ?? '' };
  const { who, reservesSensitive } = policyOf(rules);
  const required = scopesBeyond(scopes, optionalScopes);
  const isReserved = (name: string) => SENSITIVE_SCOPES.includes(name);
  const lacksReserved = required.length > 0 ? required.some(isReserved) : scopes.every(isReserved);
  if (reservesSensitive && lacksReserved) return { kind: 'role_required', role: 'owner' };
  if (who === 'admins') return { kind: 'role_required', role: 'admin' };
  if (rules.requestStatus === 'refused') return { kind: 'app_refused', reason: rules.refusalReason ?? '' };
  return { kind: 'approval_required', requestedAt: rules.requestStatus === 'requested' ? rules.requestedAt : null };
}

/** The error for the app. Only the member sees the reason that an owner gave. */
export function restrictionError(restriction: Restriction): OAuthError {
  return new OAuthError('access_denied', restriction.kind, DESCRIPTIONS[restriction.kind]);
}

const DESCRIPTIONS: Record<Restriction['kind'], string> = {
  app_blocked: 'An owner of the business has blocked this app.',
  app_refused: 'An owner of the business has refused to let this user connect the app.',
  approval_required: 'An owner of the business has to approve this app first. The user can ask for it.',
  role_required: 'The business lets only owners, or owners and admins, allow this. One of them has to connect the app.',
};
