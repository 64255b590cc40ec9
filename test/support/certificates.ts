import { execFileSync, spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The reason to skip tests that need a certificate, or false. */
export const NO_CERTIFICATES =
  spawnSync('openssl', ['version']).status === 0 ? false : 'needs openssl to create a certificate';

/** Self-signed, for localhost only. */
export function makeCertificate(): { cert: string; key: string; ends: number } {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
  const [cert, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '60'];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  execFileSync('openssl', ['req', ...kind, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  const made = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
  rmSync(folder, { recursive: true });
  return { ...made, ends: new X509Certificate(made.cert).validToDate.getTime() };
}
