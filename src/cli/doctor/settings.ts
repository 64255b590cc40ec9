import { existsSync } from 'node:fs';
import { isIP } from 'node:net';
import { type Address, InvalidSetting, readSettings, type Settings } from '../../config.ts';
import { isLoopbackHost } from '../../lib/ip-addresses.ts';
import { about, type Finding } from './finding.ts';

const { ok, warning, problem } = about('settings');

const PLACEHOLDER = 'a-key-that-stands-for-one-which-is-not-there-yet';

/** Whether the first start would make a key. */
export function isWithoutKeys(env: NodeJS.ProcessEnv): boolean {
  return !env.SECRET_KEYS && !env.SECRET_KEYS_FILE && !existsSync('data/secret-key');
}

/** The settings as far as they make sense, and what does not. */
export function readForDoctor(env: NodeJS.ProcessEnv): { settings: Settings; findings: Finding[] } {
  const findings: Finding[] = [];
  let rest = env;
  // Reading the settings would make this file, and a doctor changes nothing.
  if (isWithoutKeys(env) && !(env.BASE_URL ?? '').startsWith('https:')) rest = { ...env, SECRET_KEYS: PLACEHOLDER };
  for (;;) {
    try {
      return { settings: readSettings(rest), findings };
    } catch (error) {
      if (!(error instanceof InvalidSetting)) throw error;
      const [name = ''] = /^[A-Z_]+/.exec(error.message) ?? [];
      if (!Object.hasOwn(rest, name) && name !== 'SECRET_KEYS') throw error;
      findings.push(problem(error.message, `Change ${name}; docs/reference/settings.md says what it can be.`));
      // Without it the others can be looked at all the same.
      rest = {
        ...rest,
        [name]: '',
        ...(name.startsWith('SECRET_KEYS') && { SECRET_KEYS: PLACEHOLDER, SECRET_KEYS_FILE: '' }),
      };
    }
  }
}

export function checkSettings(settings: Settings, refused: Finding[]): Finding[] {
  const { baseUrl, consentUrl, trustProxy, logLevel } = settings;
  const isPublic = baseUrl.startsWith('https:');
  const findings = [...refused, ...checkListeners(settings), ...checkProxies(trustProxy)];
  if (baseUrl === consentUrl) {
    const mend = 'Give the pages a host of their own, so that no cookie ever reaches the API.';
    findings.push(warning('BASE_URL and CONSENT_URL are the same origin.', mend));
  }
  if (isPublic && trustProxy === false) {
    const mend = 'Set it to the address of the proxy, or everyone shares one limit on wrong passwords.';
    findings.push(warning('TRUST_PROXY is off, while BASE_URL is public.', mend));
  }
  if (logLevel === 'silent')
    findings.push(warning('LOG_LEVEL is silent.', 'Set it to info, or nobody will know what failed.'));
  if (findings.length === 0) findings.push(ok('Every setting makes sense.'));
  return findings;
}

/** These speak plain HTTP, and the last one tells everyone who asks. */
function checkListeners({ listen, consentListen, metricsListen }: Settings): Finding[] {
  const open = ([, address]: [string, Address | undefined]) =>
    address && !isLoopbackHost(address.host) && address.host !== '::1';
  return Object.entries({ LISTEN: listen, CONSENT_LISTEN: consentListen, METRICS_LISTEN: metricsListen })
    .filter(open)
    .map(([name, address]) => {
      const mend = `See that only ${name === 'METRICS_LISTEN' ? 'your monitoring' : 'the proxy'} can reach it.`;
      return warning(`${name} binds ${address?.host}, which others can reach without TLS.`, mend);
    });
}

function checkProxies(trustProxy: string | false): Finding[] {
  const parts = trustProxy === false ? [] : trustProxy.split(',').map((part) => part.trim());
  const isAddress = (part: string) => isIP(part.split('/')[0] ?? '') !== 0;
  const wrong = parts.filter((part) => !isAddress(part) && !['loopback', 'linklocal', 'uniquelocal'].includes(part));
  if (wrong.length === 0) return [];
  return [
    problem(`TRUST_PROXY lists what is no address: ${wrong.join(', ')}.`, 'List addresses, like 127.0.0.1,10.0.0.0/8.'),
  ];
}
