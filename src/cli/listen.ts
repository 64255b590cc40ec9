import { setTimeout } from 'node:timers/promises';
import { findApp } from '../apps/apps.ts';
import { type Event, LISTED_AFTER, listRecentEvents } from '../events/events.ts';
import { listLongTransactions } from '../events/long-transactions.ts';
import { type Clock, SECOND, systemClock } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { postToPublicAddress } from '../lib/outbound-http.ts';
import type { Database } from '../storage/storage.ts';
import { newSigningSecret, signMessage, toMessage } from '../webhooks/signatures.ts';
import { visibleTo } from '../webhooks/visibility.ts';
import { type Command, required, withStorage } from './command.ts';
import { untilStopped } from './serve.ts';

const POLL_INTERVAL = SECOND / 2;

export const listenCommand: Command = {
  name: 'listen',
  summary: 'Forward an app’s new events to a URL on your machine, until stopped',
  hasNoResult: true,
  options: {
    app: { value: 'ID', help: 'The app’s client_id', required: true },
    'forward-to': {
      value: 'URL',
      help: 'The URL of your receiver, such as http://localhost:3000/hook',
      required: true,
      example: 'http://localhost:3000/hook',
    },
  },
  run: (options, env) =>
    withStorage(env, async ({ durable: db }) => {
      const app = required(await findApp(db, options.text('app')), 'app', 'app');
      const url = URL.parse(options.text('forward-to'))?.href;
      if (!url) throw new FormError('forward-to', 'This is not a complete URL.');
      const secret = newSigningSecret();
      const stopped = new AbortController();
      const stopping = untilStopped().then(() => stopped.abort());
      const nextEvents = await watchEvents(db, app.id, systemClock);
      // Printed only now: every event after this line is forwarded.
      console.error(`Forwarding events of ${app.name} to ${url}, signed with ${secret}. Press Ctrl+C to stop.`);
      while (!stopped.signal.aborted) {
        for (const event of await visibleTo(db, app.id, await nextEvents(), systemClock())) {
          if (!stopped.signal.aborted) console.log(await forward(event, url, secret));
        }
        await setTimeout(POLL_INTERVAL, undefined, { signal: stopped.signal }).catch(() => {});
      }
      await stopping;
      return undefined;
    }),
};

/**
 * Each call of the returned function returns the events since the previous call. A transaction that commits late adds an
 * event with an earlier time, so each poll overlaps the previous one and skips the events that were returned already.
 */
export async function watchEvents(db: Database, appId: string, clock: Clock): Promise<() => Promise<Event[]>> {
  let since = clock() - 2 * LISTED_AFTER;
  let seen = new Set<string>();
  const poll = async () => {
    const polledAt = clock();
    const recent = await listRecentEvents(db, appId, since);
    const fresh = recent.filter(({ id }) => !seen.has(id));
    seen = new Set(recent.map(({ id }) => id));
    const [running] = await listLongTransactions(db);
    since = Math.min(polledAt - 2 * LISTED_AFTER, running?.started_at ?? polledAt);
    return fresh;
  };
  await poll();
  return poll;
}

/** Returns a line with the result. Does not retry. */
async function forward(event: Event, url: string, secret: string): Promise<string> {
  const message = toMessage(event);
  const headers = { 'content-type': 'application/json', ...signMessage(message, [secret], systemClock()) };
  try {
    const post = { url, headers, body: message.body, timeout: 15 * SECOND, allowsLoopback: true };
    return `${event.type} ${event.id} → ${(await postToPublicAddress(post)).status}`;
  } catch (error) {
    return `${event.type} ${event.id} → ${error instanceof Error ? error.message : error}`;
  }
}
