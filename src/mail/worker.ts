import { setTimeout } from 'node:timers/promises';
import { type Clock, MINUTE } from '../lib/clock.ts';
import type { Storage } from '../storage/storage.ts';
import { areMailsDue, type ClaimedMail, claimMails, type Mailer, recordFailure, recordSent } from './mails.ts';
import { describeSmtpError, isPermanentError, type MailTransport } from './transport.ts';

interface MailWorkerDeps {
  storage: Storage;
  clock: Clock;
  mailer: Mailer;
}

interface Log {
  error(error: unknown): void;
  warn(message: string): void;
}

/** Milliseconds between two polls. The interval doubles while there is nothing to do. */
const MIN_POLL_INTERVAL = 50;
const MAX_POLL_INTERVAL = 1000;
const BATCH = 10;
/** Longer than the timeouts of a whole batch. */
const LEASE = 5 * MINUTE;

/** Sends mail until the returned function is called. */
export function startMailWorker(deps: MailWorkerDeps, transport: MailTransport, log: Log): () => Promise<void> {
  const stopped = new AbortController();
  const polling = (async () => {
    for (let interval = MIN_POLL_INTERVAL; !stopped.signal.aborted; ) {
      const sent = await sendDue(deps, transport, log).catch((error) => log.error(error));
      interval = sent ? MIN_POLL_INTERVAL : Math.min(2 * interval, MAX_POLL_INTERVAL);
      await setTimeout(interval, undefined, { signal: stopped.signal, ref: false }).catch(() => {});
    }
  })();
  return async () => {
    stopped.abort();
    await polling;
    transport.close();
  };
}

/** Returns the number of mails that were tried. */
async function sendDue(deps: MailWorkerDeps, transport: MailTransport, log: Log): Promise<number> {
  const { storage, clock, mailer } = deps;
  if (!(await areMailsDue(storage.durable, clock()))) return 0;
  const claim = { limit: BATCH, lease: clock() + LEASE };
  const claimed = await storage.transaction((tx) => claimMails(tx, mailer.keys, claim, clock()));
  // Waits until the mail is on disk: a crash could still undo its change.
  await storage.flushed?.();
  await Promise.all(claimed.map((mail) => sendOne(deps, transport, mail, log)));
  return claimed.length;
}

async function sendOne(
  { storage, clock, mailer }: MailWorkerDeps,
  transport: MailTransport,
  mail: ClaimedMail,
  log: Log,
): Promise<void> {
  try {
    if (!mail.message)
      throw Object.assign(new Error('The key that encrypted this mail is missing.'), { code: 'EMESSAGE' });
    await transport.send(mail.message);
  } catch (error) {
    const isRetried = await recordFailure(storage.durable, mail, { isPermanent: isPermanentError(error) }, clock());
    const outcome = isRetried ? 'will be retried' : 'will not be retried';
    log.warn(`A mail of kind ${mail.kind} was not sent and ${outcome}: ${describeSmtpError(error)}`);
    if (!isRetried) mailer.count('failed');
    return;
  }
  await recordSent(storage.durable, mail, clock());
  mailer.count('sent');
}
