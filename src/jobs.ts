import { oldInvitations } from './accounts/invitations.ts';
import { expiredMailLinks } from './accounts/mail-links.ts';
import { startNoticeMails } from './accounts/notice-mails.ts';
import { oldNotices } from './accounts/notices.ts';
import { expiredChallenges } from './accounts/passkeys.ts';
import { expiredSessions } from './accounts/sessions.ts';
import { unusedExternalApps } from './apps/apps.ts';
import { removeOldEntries } from './audit/entries.ts';
import { oldRepeats } from './audit/repeats.ts';
import { oldIdempotencyKeys } from './business/idempotency.ts';
import { oldEvents } from './events/events.ts';
import { oldLongTransactions } from './events/long-transactions.ts';
import { expiredAppRequests } from './grants/app-requests.ts';
import { expiredConsents } from './grants/consents.ts';
import { endExpiredGrants, warnOfExpiring } from './grants/expiry.ts';
import { startFollowUps } from './grants/follow-up-worker.ts';
import { inactiveGrants } from './grants/grants.ts';
import { oldHandovers } from './grants/handover-rows.ts';
import { type Mailer, oldMails } from './mail/mails.ts';
import type { MailTransport } from './mail/transport.ts';
import { startMailWorker } from './mail/worker.ts';
import { expiredRevocations } from './oauth/revoke.ts';
import { oldCounts, oldScopeUses } from './request-log/counts.ts';
import { oldRequests } from './request-log/log.ts';
import { expiredCounters } from './storage/rate-limits.ts';
import { type RetentionStep, startRetention } from './storage/retention.ts';
import type { Metrics } from './telemetry/metrics.ts';
import { oldAttempts, oldDeliveries } from './webhooks/deliveries.ts';
import { startSpreading } from './webhooks/spreading.ts';
import { startWebhooks, type WorkerDeps } from './webhooks/worker.ts';

interface JobDeps extends WorkerDeps {
  metrics: Metrics;
  auditRetention: number | undefined;
  mailer: Mailer;
  /** Undefined: mail is off. */
  mailTransport: MailTransport | undefined;
}

/**
 * Starts what runs in the background: the retention job, the follow-ups of stops, the workers that spread happenings and send webhooks,
 * and the mail worker. Returns a function that stops them.
 */
export function startJobs(
  deps: JobDeps,
  log: { error(error: unknown): void; warn(message: string): void },
): () => Promise<unknown> {
  const report = (error: unknown) => log.error(error);
  const stopRetention = startRetention(deps.storage, deps.clock, {
    steps: retentionSteps(deps.auditRetention),
    notifyExpiring: warnOfExpiring,
    meter: deps.metrics.retention,
    report,
    warn: (message) => log.warn(message),
  });
  const webhooks = startWebhooks(deps, report);
  const spreading = startSpreading(deps, webhooks.wake, report);
  const stopMail = deps.mailTransport && startMailWorker(deps, deps.mailTransport, log);
  const followUps = startFollowUps(deps, report);
  const stopNotices = deps.mailer.isOn ? startNoticeMails(deps, report) : undefined;
  return () =>
    Promise.all([stopRetention(), followUps.stop(), spreading.stop(), webhooks.stop(), stopMail?.(), stopNotices?.()]);
}

const STEPS: RetentionStep[] = [
  // Apps get an event when the time of a grant is over, and before its row is removed.
  { ...inactiveGrants, prepare: endExpiredGrants },
  oldRepeats,
  oldIdempotencyKeys,
  expiredConsents,
  expiredAppRequests,
  oldHandovers,
  unusedExternalApps,
  expiredRevocations,
  expiredSessions,
  oldInvitations,
  oldMails,
  oldNotices,
  expiredMailLinks,
  expiredChallenges,
  oldEvents,
  oldLongTransactions,
  oldDeliveries,
  oldAttempts,
  oldRequests,
  oldCounts,
  oldScopeUses,
  expiredCounters,
];

/** `auditRetention` in milliseconds; without it, audit entries are kept forever. */
export function retentionSteps(auditRetention?: number): RetentionStep[] {
  if (auditRetention === undefined) return STEPS;
  const remove: RetentionStep['remove'] = (db, limit, now) => removeOldEntries(db, limit, now - auditRetention);
  return [...STEPS, { table: 'audit_entries', remove }];
}
