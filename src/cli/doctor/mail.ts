import type { Settings } from '../../config/settings.ts';
import { createSmtpTransport, describeSmtpError } from '../../mail/transport.ts';
import { type Finding, findingsAbout } from './finding.ts';

const { ok, problem } = findingsAbout('mail');

/** Connects and signs in. Sends nothing. */
export async function checkMail({ smtp }: Settings): Promise<Finding[]> {
  if (!smtp) {
    return [ok('Mail is off. Forgotten passwords need a link from an owner or a platform admin.')];
  }
  const transport = createSmtpTransport(smtp);
  const { host } = new URL(smtp.smtpUrl);
  try {
    await transport.check();
    return [ok(`The mail server ${host} accepts mail from ${smtp.from.address}.`)];
  } catch (error) {
    const fix = 'Check SMTP_URL: host, port, user, password, and whether the server offers TLS.';
    return [problem(`The mail server ${host} cannot be used (${describeSmtpError(error)}).`, fix)];
  } finally {
    transport.close();
  }
}
