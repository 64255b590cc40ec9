import assert from 'node:assert/strict';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { after } from 'node:test';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { rememberSecret } from './leaks.ts';

/** Keyed by the first segment of the link's path. */
const LINK_KINDS: Record<string, string> = {
  password: 'link to set a password',
  invitation: 'link of an invitation',
  address: 'link to confirm an address',
};

/** A mail as it arrived: parsed, with the recipients of the envelope and the raw message. */
export interface ReceivedMail extends Email {
  recipients: string[];
  raw: string;
}

export type MailServer = Awaited<ReturnType<typeof startMailServer>>;

/**
 * A real SMTP server on a free port. `reject` can make it fail with a status, and `hold` delays the replies after mails. It
 * discards notices, which most tests cause, unless `wantsNotices` is set.
 */
export async function startMailServer({ wantsNotices = false } = {}) {
  const received: ReceivedMail[] = [];
  let waiting: (() => void)[] = [];
  let status: number | undefined;
  let attempts = 0;
  let accepted: Promise<unknown> = Promise.resolve();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    onRcptTo(_, __, callback) {
      attempts += 1;
      callback(
        status === undefined ? null : Object.assign(new Error('Rejected by the test'), { responseCode: status }),
      );
    },
    async onData(stream, { envelope }, callback) {
      const bytes = await buffer(stream);
      const parsed = await PostalMime.parse(bytes);
      const recipients = envelope.rcptTo.map(({ address }) => address);
      const isNotice = /\/(?:settings\/account|businesses\/[\w-]+|platform\/developer)\S*\s/.test(parsed.text ?? '');
      if (wantsNotices || !isNotice) received.push({ ...parsed, recipients, raw: bytes.toString('latin1') });
      for (const [, kind = '', token] of parsed.text?.matchAll(/\/(password|invitation|address)\/([\w-]{43})/g) ?? []) {
        rememberSecret(LINK_KINDS[kind] ?? kind, token);
      }
      for (const resolve of waiting.splice(0)) resolve();
      await accepted;
      callback();
    },
  });
  server.on('error', () => {});
  const listener = server.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  after(() => server.close());
  const address = listener.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  /** Waits until this many mails have arrived in total, and returns the last one. */
  async function waitFor(count: number): Promise<ReceivedMail> {
    while (received.length < count) await new Promise<void>((resolve) => (waiting = [...waiting, resolve]));
    const last = received[count - 1];
    assert.ok(last);
    return last;
  }

  return {
    received,
    /** Settings that turn mail on. */
    env: { SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'Gatehouse <no-reply@gatehouse.example>' },
    attempts: () => attempts,
    /** Rejects every recipient with this status until it is called without one. */
    reject(next?: number) {
      status = next;
    },
    /** Replies after a mail when this promise is resolved. */
    hold(until: Promise<unknown>) {
      accepted = until;
    },
    waitFor,
    /** Waits for the first mail to this address, not counting the first `since` mails. */
    async waitForMailTo(address: string, since: number): Promise<ReceivedMail> {
      for (let count = since + 1; ; count += 1) {
        const mail = await waitFor(count);
        if (mail.recipients.includes(address)) return mail;
      }
    },
  };
}

/** The path of the link in a mail. Text and HTML contain the same one. */
export function linkInMail({ text = '', html = '' }: ReceivedMail, origin: string): string {
  const [link = ''] = /https?:\/\/\S+/.exec(text) ?? [];
  assert.ok(link.startsWith(`${origin}/`), text);
  assert.ok(html.includes(`href="${link}"`), html);
  return link.slice(origin.length);
}
