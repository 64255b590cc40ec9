import { removeSpentChallenges } from './accounts/challenges.ts';
import { removeOldInvitations } from './accounts/invitations.ts';
import { removeExpiredSessions } from './accounts/sessions.ts';
import { removeOldEntries } from './audit/entries.ts';
import { removeOldRepeats } from './audit/repeats.ts';
import { removeOldEvents } from './events/events.ts';
import { removeInactiveGrants } from './grants/grants.ts';
import { removeExpiredRevocations } from './oauth/revoke.ts';
import { removeOldCounts, removeOldScopeUses } from './request-log/counts.ts';
import { removeOldRequests } from './request-log/log.ts';
import { removeExpiredCounters } from './storage/rate-limits.ts';
import type { RetentionStep } from './storage/retention.ts';
import { removeOldAttempts, removeOldDeliveries } from './webhooks/deliveries.ts';

const STEPS: RetentionStep[] = [
  { table: 'audit_repeats', remove: removeOldRepeats },
  { table: 'grants', remove: removeInactiveGrants },
  { table: 'revoked_access_tokens', remove: removeExpiredRevocations },
  { table: 'sessions', remove: removeExpiredSessions },
  { table: 'invitations', remove: removeOldInvitations },
  { table: 'used_challenges', remove: removeSpentChallenges },
  { table: 'events', remove: removeOldEvents },
  { table: 'deliveries', remove: removeOldDeliveries },
  { table: 'attempts', remove: removeOldAttempts },
  { table: 'logged_requests', remove: removeOldRequests },
  { table: 'request_counts', remove: removeOldCounts },
  { table: 'scope_uses', remove: removeOldScopeUses },
  { table: 'rate_limits', remove: removeExpiredCounters },
];

/** `auditRetention` in milliseconds; without it, audit entries are kept for ever. */
export function retentionSteps(auditRetention?: number): RetentionStep[] {
  if (auditRetention === undefined) return STEPS;
  const remove: RetentionStep['remove'] = (db, limit, now) => removeOldEntries(db, limit, now - auditRetention);
  return [...STEPS, { table: 'audit_entries', remove }];
}
