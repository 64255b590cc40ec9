import { type Clock, MINUTE, SECOND } from '../lib/clock.ts';
import { startPolling } from '../lib/polling.ts';
import type { Storage } from '../storage/storage.ts';
import {
  areMailsDue,
  type ClaimedMail,
  claimMail,
  type Mailer,
  recordFailure,
  recordSent,
  renewClaim,
} from './mails.ts';
import { describeSmtpError, isPermanentError, MAX_CONNECTIONS, type MailTransport } from './transport.ts';

interface MailWorkerDeps {
  storage: Storage;
  clock: Clock;
  mailer: Mailer;
}

interface Log {
  error(error: unknown): void;
  warn(message: string): void;
}

/** How soon another node sends a mail whose sender has crashed. */
const LEASE = 2 * MINUTE;
/** A server may take ten minutes for one reply, so the claim is renewed while the mail is sent. */
const RENEWAL = 20 * SECOND;

/** Sends mail until the returned function is called, which waits for the mails that are being sent. */
export function startMailWorker(
  deps: MailWorkerDeps,
  transport: MailTransport,
  log: Log,
  renewal = RENEWAL,
): () => Promise<void> {
  const active = new Set<Promise<void>>();
  const report = (error: unknown) => log.error(error);
  const start = (mail: ClaimedMail) => {
    const work = sendOne(deps, transport, { mail, renewal }, log)
      .catch(report)
      .finally(() => {
        active.delete(work);
        polling.wake();
      });
    active.add(work);
  };
  // A node claims only what it can send at once: the rest is free for other nodes.
  const polling = startPolling(async (isStopped) => {
    let isBusy = false;
    while (active.size < MAX_CONNECTIONS && !isStopped()) {
      const mail = await claimDue(deps);
      if (!mail) break;
      start(mail);
      isBusy = true;
    }
    return isBusy;
  }, report);
  return async () => {
    await polling.stop();
    await Promise.all(active);
    transport.close();
  };
}

async function claimDue({ storage, clock, mailer }: MailWorkerDeps): Promise<ClaimedMail | undefined> {
  if (!(await areMailsDue(storage.durable, clock()))) return undefined;
  const mail = await storage.transaction((tx) => claimMail(tx, mailer.keys, clock() + LEASE, clock()));
  // Waits until the mail is on disk: a crash could still undo its change.
  await storage.flushed?.();
  return mail;
}

async function sendOne(
  { storage, clock, mailer }: MailWorkerDeps,
  transport: MailTransport,
  { mail, renewal }: { mail: ClaimedMail; renewal: number },
  log: Log,
): Promise<void> {
  const { message } = mail;
  try {
    if (!message) throw Object.assign(new Error('The key that encrypted this mail is missing.'), { code: 'EMESSAGE' });
    await whileRenewing(() => transport.send(message), {
      interval: renewal,
      renew: () => renewClaim(storage.durable, mail, clock() + LEASE),
    });
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

interface Renewal {
  interval: number;
  renew: () => Promise<void>;
}

/** No renewal is under way when it returns. One that fails is repeated after the interval. */
async function whileRenewing(work: () => Promise<void>, { interval, renew }: Renewal): Promise<void> {
  let renewed: Promise<void> | undefined;
  const timer = setInterval(() => {
    renewed ??= renew()
      .catch(() => {})
      .finally(() => {
        renewed = undefined;
      });
  }, interval).unref();
  try {
    await work();
  } finally {
    clearInterval(timer);
    await renewed;
  }
}
