import { type Clock, SECOND } from '../lib/clock.ts';
import type { Mailer } from '../mail/mails.ts';
import type { Storage } from '../storage/storage.ts';
import { areNoticesDue, mailNotices } from './notices.ts';

interface NoticeMailDeps {
  storage: Storage;
  clock: Clock;
  mailer: Mailer;
}

const INTERVAL = SECOND;

/** Queues mails for new notices, until the returned function is called. */
export function startNoticeMails(
  { storage, clock, mailer }: NoticeMailDeps,
  report: (error: unknown) => void,
): () => Promise<void> {
  let running: Promise<void> | undefined;
  const run = async () => {
    if (await areNoticesDue(storage.durable)) await storage.transaction((tx) => mailNotices(tx, mailer, clock()));
  };
  const timer = setInterval(() => {
    running ??= run()
      .catch(report)
      .finally(() => {
        running = undefined;
      });
  }, INTERVAL);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}
