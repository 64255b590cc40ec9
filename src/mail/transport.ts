import type { SMTPTransportOptions } from 'nodemailer';
import { MINUTE, SECOND } from '../lib/clock.ts';
import { isLoopbackHost, withoutBrackets } from '../lib/ip-addresses.ts';
import { LOGO_ID } from './render.ts';

export interface Recipient {
  address: string;
  name?: string;
}

/** A mail as it is sent. */
export interface OutgoingMail {
  id: string;
  to: Recipient;
  subject: string;
  text: string;
  html: string;
}

/** Where mail is sent, and from which address. */
export interface SmtpSettings {
  smtpUrl: string;
  from: { name: string; address: string };
}

/** Sends mail. The demo has one of its own, which keeps mail in memory. */
export interface MailTransport {
  send(mail: OutgoingMail): Promise<void>;
  /** Throws if the server cannot be used. */
  check(): Promise<void>;
  close(): void;
}

export const MAX_CONNECTIONS = 2;

/**
 * A server may take ten minutes to accept a mail that it has received (RFC 5321 §4.5.3.2.6). A client that gives up earlier
 * sends the mail again.
 */
const TIMEOUTS = { connectionTimeout: 10 * SECOND, greetingTimeout: 10 * SECOND, socketTimeout: 10 * MINUTE };

/** While the server is only checked, no mail can be sent twice. */
const CHECK_TIMEOUTS = { ...TIMEOUTS, socketTimeout: 30 * SECOND };

/** The pool would send a mail again at once if the connection ends before the reply; the queue waits first. */
const POOL = { pool: true as const, maxConnections: MAX_CONNECTIONS, maxRequeues: 0 };

/** The logo of the platform. */
interface Logo {
  type: string;
  content: Buffer;
}

/** Connections are kept and used again. The library is loaded with the first mail: most starts send none. */
export function createSmtpTransport({ smtpUrl, from }: SmtpSettings, logo?: Logo): MailTransport {
  const server = connectionOptions(smtpUrl);
  const open = async () => (await import('nodemailer')).createTransport({ ...server, ...TIMEOUTS, ...POOL });
  let opened: ReturnType<typeof open> | undefined;
  const connection = () => {
    opened ??= open();
    return opened;
  };
  return {
    async send({ id, to, subject, text, html }) {
      const transport = await connection();
      await transport.sendMail({
        from,
        to: { address: to.address, name: to.name ?? '' },
        subject,
        text,
        html,
        attachments: logo && html.includes(`cid:${LOGO_ID}`) ? [inlineLogo(logo)] : [],
        // Equal for every attempt, so that a receiver can recognize a mail that was sent twice.
        messageId: `<${id}@${from.address.split('@')[1]}>`,
        headers: { 'Auto-Submitted': 'auto-generated' },
        disableFileAccess: true,
        disableUrlAccess: true,
      });
    },
    async check() {
      await (await import('nodemailer')).createTransport({ ...server, ...CHECK_TIMEOUTS }).verify();
    },
    close() {
      opened?.then((transport) => transport.close()).catch(() => {});
    },
  };
}

function inlineLogo({ type, content }: Logo) {
  return { cid: LOGO_ID, content, contentType: type, contentDisposition: 'inline' as const, filename: false as const };
}

/** Mail contains links that are secrets: to another machine, TLS is required unless the URL says otherwise. */
function connectionOptions(smtpUrl: string): SMTPTransportOptions {
  const url = new URL(smtpUrl);
  const requireTLS = url.searchParams.get('requireTLS') ?? String(!isLoopbackHost(url.hostname));
  return {
    host: withoutBrackets(url.hostname),
    secure: url.protocol === 'smtps:',
    requireTLS: requireTLS === 'true',
    ...(url.port && { port: Number(url.port) }),
    ...(url.username && {
      auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) },
    }),
  };
}

/** Whether another attempt would fail as well: the server rejects this recipient or this message. */
export function isPermanentError(error: unknown): boolean {
  const { code, responseCode = 0 } = error as { code?: string; responseCode?: number };
  return (code === 'EENVELOPE' || code === 'EMESSAGE') && (responseCode === 0 || responseCode >= 500);
}

/** For the log. The message of the server is left out, since it may contain the recipient. */
export function describeSmtpError(error: unknown): string {
  const { code, responseCode, command } = error as { code?: string; responseCode?: number; command?: string };
  return [code ?? 'unknown error', responseCode, command].filter(Boolean).join(' ');
}
