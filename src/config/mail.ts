import { readEmail } from '../lib/email-addresses.ts';
import { FormError, InvalidSetting } from '../lib/errors.ts';
import type { SmtpSettings } from '../mail/transport.ts';
import { type Environment, readTextOrFile } from './values.ts';

/** Undefined without SMTP_URL and MAIL_FROM: mail is off. */
export function readSmtp(env: Environment, platformName: string): SmtpSettings | undefined {
  const smtpUrl = readTextOrFile(env, 'SMTP_URL');
  const from = env.MAIL_FROM;
  if (!smtpUrl && !from) return undefined;
  if (!from)
    throw new InvalidSetting('MAIL_FROM must be set together with SMTP_URL, like Acme <no-reply@example.com>.');
  if (!smtpUrl) throw new InvalidSetting('SMTP_URL must be set together with MAIL_FROM.');
  const url = URL.parse(smtpUrl);
  if (!url?.hostname || !['smtp:', 'smtps:'].includes(url.protocol)) {
    // The URL may contain a password, so it is not repeated.
    throw new InvalidSetting('SMTP_URL must be a URL like smtps://user:password@mail.example.com.');
  }
  const [, name = '', address = from] = /^([^<>]*)<([^<>]+)>$/.exec(from) ?? [];
  return { smtpUrl, from: { name: name.trim() || platformName, address: readSender(address) } };
}

function readSender(address: string): string {
  try {
    return readEmail(address);
  } catch (error) {
    if (!(error instanceof FormError)) throw error;
    throw new InvalidSetting(`MAIL_FROM must be an address like Acme <no-reply@example.com>; it is ${address}.`);
  }
}
