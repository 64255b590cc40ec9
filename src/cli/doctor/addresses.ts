import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, isIP } from 'node:net';
import { connect as connectSafely } from 'node:tls';
import type { Address, Settings } from '../../config.ts';
import { DAY, SECOND } from '../../lib/clock.ts';
import { about, type Finding, sentenceOf } from './finding.ts';

const { ok, warning, problem } = about('addresses');
const PATIENCE = 3 * SECOND;
const RENEWED_BEFORE = 14 * DAY;

/** Whether each host is served here, and can be reached where everyone else looks for it. */
export async function checkAddresses(
  { baseUrl, consentUrl, listen, consentListen }: Settings,
  now: number,
): Promise<Finding[]> {
  const hosts = [
    { setting: 'BASE_URL', url: baseUrl, at: listen, path: '/readyz' },
    { setting: 'CONSENT_URL', url: consentUrl, at: consentListen, path: '/sign-in' },
  ];
  const findings = await Promise.all(hosts.map((host) => checkHost(host, now)));
  return [...findings.flat(), ...(await checkIssuer(baseUrl))];
}

interface Host {
  setting: string;
  url: string;
  at: Address;
  path: string;
}

async function checkHost({ setting, url, at, path }: Host, now: number): Promise<Finding[]> {
  const { hostname, protocol } = new URL(url);
  try {
    await lookup(withoutBrackets(hostname));
  } catch {
    return [problem(`${setting}: there is no address for ${hostname}.`, 'Add it to your DNS, or mend the setting.')];
  }
  const findings = protocol === 'https:' ? await checkCertificate(setting, url, now) : [];
  if (!(await isServed(at))) {
    const mend = 'Start it: gatehouse serve. If it runs elsewhere, run the doctor there.';
    return [...findings, warning(`${setting}: nothing listens on ${at.host}:${at.port} here.`, mend)];
  }
  return [...findings, await checkAnswer(setting, url + path)];
}

/** An IPv6 address stands in brackets in a URL, and nowhere else. */
function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}

async function isServed({ host, port }: Address): Promise<boolean> {
  const socket = connect({ host, port, timeout: PATIENCE });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(PATIENCE) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function checkAnswer(setting: string, address: string): Promise<Finding> {
  try {
    const { status } = await fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(PATIENCE) });
    if (status === 200) return ok(`${setting}: ${address} answers.`);
    const says = `${setting}: ${address} answers with ${status}.`;
    if (status === 503) return problem(says, 'The server cannot use its database, or is about to stop.');
    return problem(says, 'Something else answers there: look at the proxy.');
  } catch (error) {
    const reason = sentenceOf((error as Error).cause ?? error);
    return problem(
      `${setting}: ${address} cannot be reached (${reason}).`,
      'Look at the proxy, the firewall and the DNS.',
    );
  }
}

async function checkCertificate(setting: string, url: string, now: number): Promise<Finding[]> {
  const { hostname, port } = new URL(url);
  const host = withoutBrackets(hostname);
  // RFC 6066 §3: only a name is sent as the name of the server.
  const named = isIP(host) === 0 ? { servername: host } : {};
  const socket = connectSafely({ host, ...named, port: Number(port || 443), timeout: PATIENCE });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(PATIENCE) });
    const end = Date.parse(socket.getPeerCertificate().valid_to);
    if (end - now > RENEWED_BEFORE) return [ok(`${setting}: its certificate is good.`)];
    return [warning(`${setting}: its certificate ends on ${new Date(end).toISOString()}.`, 'Have it renewed.')];
  } catch (error) {
    return [
      problem(`${setting}: no TLS at ${hostname} (${sentenceOf(error)}).`, 'Look at the proxy and its certificate.'),
    ];
  } finally {
    socket.destroy();
  }
}

/** Another server of the same kind may answer there: an old one, or that of another environment. */
async function checkIssuer(baseUrl: string): Promise<Finding[]> {
  try {
    const address = `${baseUrl}/.well-known/oauth-authorization-server`;
    const response = await fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(PATIENCE) });
    if (response.status !== 200) return [];
    const { issuer } = (await response.json()) as { issuer?: unknown };
    if (issuer === baseUrl) return [];
    return [
      problem(`BASE_URL: the server there calls itself ${JSON.stringify(issuer)}.`, 'Another server answers there.'),
    ];
  } catch {
    // Whether it can be reached has been told already.
    return [];
  }
}
