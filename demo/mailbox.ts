import fastify from 'fastify';
import { type Html, html, toText } from '../src/lib/html.ts';
import type { MailTransport, OutgoingMail } from '../src/mail/transport.ts';

export type Mailbox = ReturnType<typeof createMailbox>;

interface KeptMail extends OutgoingMail {
  at: number;
}

const MAX_KEPT = 100;

/** Keeps the mail of the demo in memory instead of sending it. */
export function createMailbox() {
  const mails: KeptMail[] = [];
  const transport: MailTransport = {
    async send(mail) {
      mails.unshift({ ...mail, at: Date.now() });
      mails.splice(MAX_KEPT);
    },
    async check() {},
    close() {},
  };
  return { transport, mails: mails as readonly KeptMail[] };
}

const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
};

/** A page with all mail, newest first. It listens on loopback only. */
export async function startMailboxPage({ mails }: Mailbox, port: number): Promise<{ close(): Promise<void> }> {
  const server = fastify({ forceCloseConnections: true });
  server.get('/', async (_, reply) =>
    reply
      .headers(HEADERS)
      .type('text/html; charset=utf-8')
      .send(toText(mailboxPage(mails))),
  );
  await server.listen({ host: '127.0.0.1', port });
  return server;
}

function mailboxPage(mails: readonly KeptMail[]): Html {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Mail of the demo</title><style>${styles}</style></head>
<body><main><h1>Mail of the demo</h1>
<p>The demo does not send email. What it would send is kept here until it stops.</p>
${mails.length === 0 && html`<p>There is none yet. Reload this page after you request a new password, or invite someone.</p>`}
${mails.map(mailSection)}</main></body></html>`;
}

function mailSection({ at, to, subject, text }: KeptMail): Html {
  const parts = text.split(/(https?:\/\/\S+)/);
  return html`<section><h2>${subject}</h2>
<p class="muted">To ${to.name ? `${to.name} <${to.address}>` : to.address}, ${new Date(at).toISOString().slice(11, 19)} UTC</p>
<pre>${parts.map((part, i) => (i % 2 === 1 ? html`<a href="${part}">${part}</a>` : part))}</pre></section>`;
}

const styles = html`
body { margin: 0; font: 17px/1.55 system-ui, sans-serif; color: #1b1f24; background: #f6f8fa; }
main { max-width: 44rem; margin: 2rem auto; padding: 0 1.5rem; }
section { margin: 1.5rem 0; padding: 1rem 1.25rem; border: 1px solid #d0d7de; border-radius: 6px; background: #fff; }
h2 { margin: 0; font-size: 1.1rem; }
.muted { margin: .25rem 0 1rem; color: #59636e; }
pre { margin: 0; font: inherit; white-space: pre-wrap; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { body { background: #1b1f24; color: #e6edf3; } section { background: #22272e; border-color: #444c56; } .muted { color: #9198a1; } a { color: #6cb6ff; } }
`;
