import { isIP } from 'node:net';
import { hasNoKeys } from '../../config/keys.ts';
import { findMisspelled } from '../../config/misspelled.ts';
import { readSettings, type Settings } from '../../config/settings.ts';
import { InvalidSetting } from '../../lib/errors.ts';
import { type Address, isLoopbackHost } from '../../lib/ip-addresses.ts';
import { type Finding, findingsAbout } from './finding.ts';

const { ok, warning, problem } = findingsAbout('settings');

const PLACEHOLDER = 'placeholder-for-a-key-that-does-not-exist-yet';

/** The valid settings, with defaults instead of invalid ones, and a finding for each invalid one. */
export function readValidSettings(env: NodeJS.ProcessEnv): { settings: Settings; findings: Finding[] } {
  const findings: Finding[] = [];
  let remaining = env;
  // The first start creates it.
  if (hasNoKeys(env) && !(env.BASE_URL ?? '').startsWith('https:')) remaining = { ...env, SECRET_KEYS: PLACEHOLDER };
  for (;;) {
    try {
      return { settings: readSettings(remaining), findings };
    } catch (error) {
      if (!(error instanceof InvalidSetting)) throw error;
      const [name = ''] = /^[A-Z_]+/.exec(error.message) ?? [];
      if (!Object.hasOwn(remaining, name) && name !== 'SECRET_KEYS') throw error;
      findings.push(problem(error.message, `Change ${name}. docs/reference/settings.md lists the allowed values.`));
      // The next attempt reads the other settings.
      remaining = {
        ...remaining,
        [name]: '',
        ...(name.startsWith('SECRET_KEYS') && { SECRET_KEYS: PLACEHOLDER, SECRET_KEYS_FILE: '' }),
      };
    }
  }
}

export function checkSettings(settings: Settings, invalid: Finding[], env: NodeJS.ProcessEnv): Finding[] {
  const { baseUrl, consentUrl, trustProxy, logLevel } = settings;
  const isPublic = baseUrl.startsWith('https:');
  const misspelled = findMisspelled(env).map(({ name, setting }) =>
    warning(
      `${name} is not a setting.`,
      `Did you mean ${setting}? Otherwise ignore this: another program may read it.`,
    ),
  );
  const findings = [...invalid, ...misspelled, ...checkListeners(settings), ...checkProxies(trustProxy)];
  if (baseUrl === consentUrl) {
    const fix = 'Give the web pages their own host, so that no cookie reaches the API.';
    findings.push(warning('BASE_URL and CONSENT_URL are the same origin.', fix));
  }
  if (isPublic && trustProxy === false) {
    const fix = 'Set it to the address of the proxy. Otherwise all users share one limit on wrong passwords.';
    findings.push(warning('TRUST_PROXY is off, while BASE_URL is public.', fix));
  }
  if (logLevel === 'silent')
    findings.push(warning('LOG_LEVEL is silent.', 'Set it to info. Otherwise errors are not logged.'));
  if (findings.length === 0) findings.push(ok('All settings are valid.'));
  return findings;
}

/** All listeners use plain HTTP, and metrics need no authentication. */
function checkListeners({ listen, consentListen, metricsListen }: Settings): Finding[] {
  const isPublic = ([, address]: [string, Address | undefined]) =>
    address && !isLoopbackHost(address.host) && address.host !== '::1';
  return Object.entries({ LISTEN: listen, CONSENT_LISTEN: consentListen, METRICS_LISTEN: metricsListen })
    .filter(isPublic)
    .map(([name, address]) => {
      const fix = `Make sure that only ${name === 'METRICS_LISTEN' ? 'your monitoring' : 'the proxy'} can reach it.`;
      return warning(`${name} binds ${address?.host}, which other machines can reach without TLS.`, fix);
    });
}

function checkProxies(trustProxy: string | false): Finding[] {
  const proxies = trustProxy === false ? [] : trustProxy.split(',').map((address) => address.trim());
  const isAddress = (address: string) => isIP(address.split('/')[0] ?? '') !== 0;
  const invalid = proxies.filter(
    (address) => !isAddress(address) && !['loopback', 'linklocal', 'uniquelocal'].includes(address),
  );
  if (invalid.length === 0) return [];
  return [
    problem(
      `TRUST_PROXY contains invalid addresses: ${invalid.join(', ')}.`,
      'List IP addresses or networks, such as 127.0.0.1,10.0.0.0/8.',
    ),
  ];
}
