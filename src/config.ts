import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { SECOND } from './lib/clock.ts';
import { isLoopbackHost } from './lib/loopback.ts';
import { newSecret } from './lib/secrets.ts';

/** Everything that can be set from outside. This file is the only one that reads the environment. */
export interface Settings {
  /** The API's public address; also the issuer. */
  baseUrl: string;
  /** The web surface's public address. */
  consentUrl: string;
  listen: Address;
  consentListen: Address;
  databaseUrl: string;
  secretKeys: string[];
  /** In milliseconds. */
  retryWindow: number;
  /** Whose X-Forwarded-For to believe: addresses and ranges, with commas. */
  trustProxy: string | false;
  /** What the pages call the platform. */
  platformName: string;
  logLevel: string;
  /** For development: whether webhooks may be sent to this very machine. */
  webhooksToLoopback: boolean;
  limits: Limits;
}

export interface Limits {
  /** Wrong passwords for one account, from anywhere, in 15 minutes. */
  signInPerAccount: number;
  /** Wrong passwords and passkeys, and newcomers who were refused, from one address in 15 minutes. */
  signInPerAddress: number;
  /** Token, revoke and introspect requests of one app in a minute. */
  perApp: number;
  /** Wrong client secrets for one app from one address in a minute. */
  wrongSecrets: number;
  /** Business API requests under one grant in a minute. */
  perGrant: number;
}

export interface Address {
  host: string;
  port: number;
}

/** Its sentence names the setting to change. */
export class SettingRefused extends Error {}

type Environment = Record<string, string | undefined>;

const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'];

export function readSettings(env: Environment): Settings {
  const baseUrl = readOrigin(env, 'BASE_URL', 'http://localhost:4000');
  const consentUrl = readConsentUrl(env);
  return {
    baseUrl,
    consentUrl,
    listen: readAddress(env, 'LISTEN', baseUrl, 4000),
    consentListen: readAddress(env, 'CONSENT_LISTEN', consentUrl, 4001),
    databaseUrl: readDatabaseUrl(env),
    secretKeys: readSecretKeys(env, baseUrl),
    retryWindow: readNumber(env, 'REFRESH_RETRY_SECONDS', 30, { least: 0, most: 300 }) * SECOND,
    trustProxy: env.TRUST_PROXY && env.TRUST_PROXY !== 'off' ? env.TRUST_PROXY : false,
    platformName: env.PLATFORM_NAME || 'Gatehouse',
    webhooksToLoopback: readOneOf(env, 'WEBHOOKS_TO_LOOPBACK', 'no', ['yes', 'no']) === 'yes',
    logLevel: readOneOf(env, 'LOG_LEVEL', 'info', LOG_LEVELS),
    limits: readLimits(env),
  };
}

export function readConsentUrl(env: Environment): string {
  return readOrigin(env, 'CONSENT_URL', 'http://localhost:4001');
}

export function readDatabaseUrl(env: Environment): string {
  return env.DATABASE_URL || 'sqlite:data/gatehouse.db';
}

function readLimits(env: Environment): Limits {
  const read = (name: string, usual: number) => readNumber(env, name, usual, { least: 1, most: 1_000_000_000 });
  return {
    signInPerAccount: read('LIMIT_SIGN_IN_PER_ACCOUNT', 20),
    signInPerAddress: read('LIMIT_SIGN_IN_PER_ADDRESS', 300),
    perApp: read('LIMIT_PER_APP', 100_000),
    wrongSecrets: read('LIMIT_WRONG_SECRETS', 300),
    perGrant: read('LIMIT_PER_GRANT', 100_000),
  };
}

function readOrigin(env: Environment, name: string, usual: string): string {
  const text = env[name] || usual;
  const url = URL.parse(text);
  if (!url || !['http:', 'https:'].includes(url.protocol) || (url.origin !== text && `${url.origin}/` !== text)) {
    throw new SettingRefused(`${name} must be an origin like https://auth.example.com, with no path; it is ${text}.`);
  }
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) {
    throw new SettingRefused(`${name} must start with https:// unless its host is localhost; it is ${text}.`);
  }
  return url.origin;
}

/** Where the address is public, a proxy stands in front: then this listens on loopback, on a port of its own. */
function readAddress(env: Environment, name: string, publicUrl: string, usualPort: number): Address {
  const text = env[name];
  const { hostname, port, protocol } = new URL(publicUrl);
  if (!text) {
    const local = isLoopbackHost(hostname) && protocol === 'http:';
    return { host: local ? bare(hostname) : '127.0.0.1', port: local ? Number(port || 80) : usualPort };
  }
  const [, host = '', digits = ''] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  if (digits === '' || Number(digits) > 65535) {
    throw new SettingRefused(`${name} must be host:port, like 127.0.0.1:4000; it is ${text}.`);
  }
  return { host: bare(host) || '127.0.0.1', port: Number(digits) };
}

function readSecretKeys(env: Environment, baseUrl: string): string[] {
  const keys = (env.SECRET_KEYS ?? '').split(',').map((key) => key.trim());
  if (keys.every((key) => key === '')) {
    if (isLoopbackHost(new URL(baseUrl).hostname)) return [keepLocalKey()];
    throw new SettingRefused('SECRET_KEYS must be set when BASE_URL is public. Make one with: openssl rand -base64 32');
  }
  if (keys.some((key) => key.length < 32)) {
    throw new SettingRefused('SECRET_KEYS must be one or more keys of at least 32 characters, separated by commas.');
  }
  return keys;
}

/** For a machine of one's own: made once, readable by its owner alone. */
function keepLocalKey(): string {
  const file = 'data/secret-key';
  try {
    mkdirSync('data', { recursive: true });
    writeFileSync(file, newSecret(), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
      throw new SettingRefused(`SECRET_KEYS is not set, and no key can be kept in ${file}: ${error}.`);
    }
  }
  return readFileSync(file, 'utf8').trim();
}

function readNumber(env: Environment, name: string, usual: number, { least, most }: { least: number; most: number }) {
  const text = env[name];
  if (!text) return usual;
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < least || number > most) {
    throw new SettingRefused(`${name} must be a whole number from ${least} to ${most}; it is ${text}.`);
  }
  return number;
}

function readOneOf(env: Environment, name: string, usual: string, values: readonly string[]): string {
  const text = env[name] || usual;
  if (!values.includes(text)) throw new SettingRefused(`${name} must be one of ${values.join(', ')}; it is ${text}.`);
  return text;
}

function bare(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}
