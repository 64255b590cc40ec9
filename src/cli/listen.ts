import { setTimeout } from 'node:timers/promises';
import { findApp } from '../apps/apps.ts';
import { type Event, LISTED_AFTER, listRecentEvents } from '../events/events.ts';
import { type Clock, SECOND, systemClock } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { postToPublicAddress } from '../lib/outbound-http.ts';
import type { Database } from '../storage/storage.ts';
import { newSigningSecret, signMessage, toMessage } from '../webhooks/signatures.ts';
import { visibleTo } from '../webhooks/visibility.ts';
import { type Command, required, withStorage } from './command.ts';
import { untilStopped } from './serve.ts';

const LOOK_EVERY = SECOND / 2;

export const listenCommand: Command = {
  name: 'listen',
  summary: 'Send an app’s events to your own machine, as they happen, until stopped',
  options: {
    app: { value: 'ID', help: 'The app’s client_id', required: true },
    'forward-to': {
      value: 'URL',
      help: 'Where your receiver listens, like http://localhost:3000/hook',
      required: true,
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
      console.error(`What happens to ${app.name} goes to ${url}, signed with ${secret} until you press Ctrl+C.`);
      const nextEvents = await watchEvents(db, app.id, systemClock);
      while (!stopped.signal.aborted) {
        for (const event of await visibleTo(db, app.id, await nextEvents(), systemClock())) {
          if (!stopped.signal.aborted) console.log(await forward(event, url, secret));
        }
        await setTimeout(LOOK_EVERY, undefined, { signal: stopped.signal }).catch(() => {});
      }
      await stopping;
      return undefined;
    }),
};

/**
 * What has happened since it was last asked, however long ago that was. A transaction may still bring in what happened a
 * little earlier, so a look begins well before the last one; what was seen before that never comes back, and is forgotten.
 */
export async function watchEvents(db: Database, appId: string, clock: Clock): Promise<() => Promise<Event[]>> {
  let since = clock() - 2 * LISTED_AFTER;
  let seen = new Set<string>();
  const look = async () => {
    const lookedAt = clock();
    const recent = await listRecentEvents(db, appId, since);
    const fresh = recent.filter(({ id }) => !seen.has(id));
    seen = new Set(recent.map(({ id }) => id));
    since = lookedAt - 2 * LISTED_AFTER;
    return fresh;
  };
  await look();
  return look;
}

/** Says in a line how it went. Nothing is sent twice: this is for looking on. */
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
