import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Settings } from '../../config/settings.ts';
import { READINESS } from '../../http/health-paths.ts';
import { DAY, SECOND } from '../../lib/clock.ts';
import { type Address, withoutBrackets } from '../../lib/ip-addresses.ts';
import { errorMessage, type Finding, findingsAbout } from './finding.ts';

const { ok, warning, problem } = findingsAbout('addresses');
const TIMEOUT = 3 * SECOND;
const RENEWAL_PERIOD = 14 * DAY;

/** Whether each host listens on this machine and responds at its public URL. */
export async function checkAddresses(
  { baseUrl, consentUrl, listen, consentListen }: Settings,
  now: number,
): Promise<Finding[]> {
  const hosts = [
    { setting: 'BASE_URL', url: baseUrl, listensOn: listen, path: READINESS },
    { setting: 'CONSENT_URL', url: consentUrl, listensOn: consentListen, path: '/sign-in' },
  ];
  const findings = await Promise.all(hosts.map((host) => checkHost(host, now)));
  return [...findings.flat(), ...(await checkIssuer(baseUrl))];
}

interface Host {
  setting: string;
  url: string;
  listensOn: Address;
  path: string;
}

async function checkHost({ setting, url, listensOn, path }: Host, now: number): Promise<Finding[]> {
  const { hostname, protocol } = new URL(url);
  try {
    await lookup(withoutBrackets(hostname));
  } catch {
    return [
      problem(`${setting}: no address was found for ${hostname}.`, 'Add it to your DNS, or correct the setting.'),
    ];
  }
  const findings = protocol === 'https:' ? await checkCertificate(setting, url, now) : [];
  if (!(await isListening(listensOn))) {
    const fix = 'Start it: gatehouse serve. If it runs on another machine, run gatehouse doctor there.';
    return [
      ...findings,
      warning(`${setting}: nothing listens on ${listensOn.host}:${listensOn.port} on this machine.`, fix),
    ];
  }
  return [...findings, await checkResponse(setting, url + path)];
}

async function isListening({ host, port }: Address): Promise<boolean> {
  const socket = connect({ host, port, timeout: TIMEOUT });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(TIMEOUT) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function checkResponse(setting: string, address: string): Promise<Finding> {
  try {
    const { status } = await fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT) });
    if (status === 200) return ok(`${setting}: ${address} responds.`);
    const message = `${setting}: ${address} responds with ${status}.`;
    if (status === 503) return problem(message, 'The server cannot use its database, or is about to stop.');
    return problem(message, 'Another program responds there. Check the proxy.');
  } catch (error) {
    const reason = errorMessage((error as Error).cause ?? error);
    return problem(
      `${setting}: ${address} cannot be reached (${reason}).`,
      'Check the proxy, the firewall and the DNS.',
    );
  }
}

async function checkCertificate(setting: string, url: string, now: number): Promise<Finding[]> {
  const { hostname, port } = new URL(url);
  const host = withoutBrackets(hostname);
  // RFC 6066 §3: an IP address is not sent as the server name.
  const named = isIP(host) === 0 ? { servername: host } : {};
  const socket = connectTls({ host, ...named, port: Number(port || 443), timeout: TIMEOUT });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(TIMEOUT) });
    const end = Date.parse(socket.getPeerCertificate().valid_to);
    if (end - now > RENEWAL_PERIOD) return [ok(`${setting}: its certificate is valid.`)];
    return [warning(`${setting}: its certificate expires on ${new Date(end).toISOString()}.`, 'Renew it.')];
  } catch (error) {
    return [
      problem(
        `${setting}: the TLS connection to ${hostname} failed (${errorMessage(error)}).`,
        'Check the proxy and its certificate.',
      ),
    ];
  } finally {
    socket.destroy();
  }
}

/** An old server, or that of another environment, may respond at this URL. */
async function checkIssuer(baseUrl: string): Promise<Finding[]> {
  try {
    const address = `${baseUrl}/.well-known/oauth-authorization-server`;
    const response = await fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT) });
    if (response.status !== 200) return [];
    const { issuer } = (await response.json()) as { issuer?: unknown };
    if (issuer === baseUrl) return [];
    return [
      problem(
        `BASE_URL: the server there has the issuer ${JSON.stringify(issuer)}.`,
        'Another server responds there. Check the proxy.',
      ),
    ];
  } catch {
    // `checkHost` reports that it cannot be reached.
    return [];
  }
}
