import { mkdirSync } from 'node:fs';
import { OVERLOAD_LIMIT, type OverloadLimit, SERVER_TIMEOUTS, type ServerTimeouts } from './http/timeouts.ts';
import { DAY, SECOND } from './lib/clock.ts';
import { isId } from './lib/ids.ts';
import { fsyncDirectory, isWeakKey, MIN_KEY_LENGTH, readKeyFile, splitKeys, writeKeyFile } from './lib/keyring.ts';
import { newSecret } from './lib/secrets.ts';
import {
  type Address,
  type Environment,
  InvalidSetting,
  isPublic,
  readAddress,
  readNumber,
  readOneOf,
  readOrigin,
  readOrigins,
  readSmtp,
  type SmtpSettings,
} from './lib/setting-values.ts';

export { type Address, InvalidSetting } from './lib/setting-values.ts';

/** Everything that can be configured. Only this file reads the environment. */
export interface Settings {
  /** The API's public address; also the issuer. */
  baseUrl: string;
  /** The web surface's public address. */
  consentUrl: string;
  listen: Address;
  consentListen: Address;
  /** The listener for Prometheus, if there is one. */
  metricsListen: Address | undefined;
  /** The OTLP endpoint, and the share of new traces that is sampled. Undefined without tracing. */
  traces: { endpoint: string; ratio: number } | undefined;
  databaseUrl: string;
  secretKeys: string[];
  /** In milliseconds. */
  retryWindow: number;
  /** Proxies whose X-Forwarded-For is trusted: addresses and ranges, separated by commas. */
  trustProxy: string | false;
  /** Shown on the pages. */
  platformName: string;
  /** False if the platform's data is served by an API of its own. */
  servesResources: boolean;
  /** Whether AI agents can connect, by the Model Context Protocol. */
  servesMcp: boolean;
  /** Origins whose pages may call the MCP server, besides our own. */
  mcpAllowedOrigins: string[];
  /** Ids of apps that may introspect the access tokens of every app. */
  introspectionClients: ReadonlySet<string>;
  /** Undefined: mail is off. */
  smtp: SmtpSettings | undefined;
  logLevel: string;
  /** How long audit log entries are kept, in milliseconds. Undefined: they are never removed. */
  auditRetention: number | undefined;
  /** For development: allows webhooks to loopback addresses. */
  webhooksToLoopback: boolean;
  /** The number of worker processes, from the command line. */
  workers: number;
  limits: Limits;
  /** These three are constants; tests shorten them. */
  timeouts: ServerTimeouts;
  overload: OverloadLimit;
  /** For the whole delivery attempt of a webhook, from the DNS lookup on, in milliseconds. */
  webhookTimeout: number;
}

export interface Limits {
  /** Wrong passwords for one account, from anywhere, in 15 minutes. */
  signInPerAccount: number;
  /** Wrong passwords and passkeys, and rejected registrations, from one address in 15 minutes. */
  signInPerAddress: number;
  /** Token, revoke and introspect requests of one app in a minute. */
  perApp: number;
  /** Wrong client secrets from one network in a minute. */
  wrongSecrets: number;
  /** Business API requests under one grant in a minute. */
  perGrant: number;
  /** Requests of one signed-in user to the pages in a minute. */
  perUser: number;
  /** Of these, forms sent and authorizations without a consent screen; also sign-ins. */
  changesPerUser: number;
}

const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'];

export function readSettings(env: Environment): Settings {
  const baseUrl = readOrigin(env, 'BASE_URL', 'http://localhost:4000');
  const consentUrl = readConsentUrl(env);
  const settings: Settings = {
    baseUrl,
    consentUrl,
    listen: readAddress(env, 'LISTEN', baseUrl, 4000),
    consentListen: readAddress(env, 'CONSENT_LISTEN', consentUrl, 4001),
    metricsListen: env.METRICS_LISTEN ? readAddress(env, 'METRICS_LISTEN', baseUrl, 0) : undefined,
    traces: readTraces(env),
    databaseUrl: readDatabaseUrl(env),
    secretKeys: readSecretKeys(env).keys,
    retryWindow: readNumber(env, 'REFRESH_RETRY_SECONDS', 30, { min: 0, max: 300 }) * SECOND,
    trustProxy: env.TRUST_PROXY && env.TRUST_PROXY !== 'off' ? env.TRUST_PROXY : false,
    platformName: readPlatformName(env),
    servesResources: readServesResources(env),
    servesMcp: readServesMcp(env),
    mcpAllowedOrigins: readOrigins(env, 'MCP_ALLOWED_ORIGINS'),
    introspectionClients: readIntrospectionClients(env),
    webhooksToLoopback: readOneOf(env, 'WEBHOOKS_TO_LOOPBACK', 'no', ['yes', 'no']) === 'yes',
    smtp: readSmtp({ smtpUrl: env.SMTP_URL, from: env.MAIL_FROM, platformName: readPlatformName(env) }),
    logLevel: readOneOf(env, 'LOG_LEVEL', 'info', LOG_LEVELS),
    auditRetention: readAuditRetention(env),
    workers: 1,
    limits: readLimits(env),
    timeouts: SERVER_TIMEOUTS,
    overload: OVERLOAD_LIMIT,
    webhookTimeout: 15 * SECOND,
  };
  if ([baseUrl, consentUrl].some(isPublic)) rejectUnsafeInPublic(settings, env);
  return settings;
}

/** Settings for development that are not safe on a public server. */
function rejectUnsafeInPublic({ secretKeys, webhooksToLoopback }: Settings, env: Environment): void {
  if (secretKeys.some(isWeakKey)) {
    const name = env.SECRET_KEYS_FILE ? 'SECRET_KEYS_FILE' : 'SECRET_KEYS';
    throw new InvalidSetting(
      `${name} holds a key that can be guessed, and BASE_URL or CONSENT_URL is public. Make one with: openssl rand -base64 32`,
    );
  }
  if (webhooksToLoopback) {
    throw new InvalidSetting(
      'WEBHOOKS_TO_LOOPBACK must be no when BASE_URL or CONSENT_URL is public: webhooks could reach services that only this machine should.',
    );
  }
}

export function readConsentUrl(env: Environment): string {
  return readOrigin(env, 'CONSENT_URL', 'http://localhost:4001');
}

export function readDatabaseUrl(env: Environment): string {
  return env.DATABASE_URL || 'sqlite:data/gatehouse.db';
}

function readAuditRetention(env: Environment): number | undefined {
  const days = readNumber(env, 'AUDIT_RETENTION_DAYS', 0, { min: 1, max: 36_500 });
  return days === 0 ? undefined : days * DAY;
}

export function readServesResources(env: Environment): boolean {
  return readOneOf(env, 'BUSINESS_API', 'on', ['on', 'off']) === 'on';
}

function readIntrospectionClients(env: Environment): ReadonlySet<string> {
  const text = env.INTROSPECTION_CLIENTS;
  const ids = text ? text.split(',').map((id) => id.trim().toLowerCase()) : [];
  if (ids.every(isId)) return new Set(ids);
  throw new InvalidSetting(`INTROSPECTION_CLIENTS must be ids of apps, separated by commas; it is ${text}.`);
}

/** Without the resources, only one tool would be left. */
function readServesMcp(env: Environment): boolean {
  return readOneOf(env, 'MCP', readServesResources(env) ? 'on' : 'off', ['on', 'off']) === 'on';
}

export function readPlatformName(env: Environment): string {
  return env.PLATFORM_NAME || 'Gatehouse';
}

/** The variables are OpenTelemetry's. */
function readTraces(env: Environment): Settings['traces'] {
  const text = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const ratio = Number(env.OTEL_TRACES_SAMPLER_ARG || 1);
  if (!(ratio >= 0 && ratio <= 1)) {
    throw new InvalidSetting(`OTEL_TRACES_SAMPLER_ARG must be from 0 to 1; it is ${env.OTEL_TRACES_SAMPLER_ARG}.`);
  }
  if (!text) return undefined;
  const url = URL.parse(text);
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    throw new InvalidSetting(
      `OTEL_EXPORTER_OTLP_ENDPOINT must be an address like http://127.0.0.1:4318; it is ${text}.`,
    );
  }
  return { endpoint: text.replace(/\/+$/, ''), ratio };
}

function readLimits(env: Environment): Limits {
  const read = (name: string, fallback: number) => readNumber(env, name, fallback, { min: 1, max: 1_000_000_000 });
  return {
    signInPerAccount: read('LIMIT_SIGN_IN_PER_ACCOUNT', 20),
    signInPerAddress: read('LIMIT_SIGN_IN_PER_ADDRESS', 300),
    perApp: read('LIMIT_PER_APP', 100_000),
    wrongSecrets: read('LIMIT_WRONG_SECRETS', 300),
    perGrant: read('LIMIT_PER_GRANT', 100_000),
    perUser: read('LIMIT_PER_USER', 1000),
    changesPerUser: read('LIMIT_CHANGES_PER_USER', 120),
  };
}

/** The file is undefined if the keys are in a variable. */
export interface KeySource {
  keys: string[];
  file: string | undefined;
}

/** From SECRET_KEYS, from SECRET_KEYS_FILE, or for development from a file that is created at the first start. */
export function readSecretKeys(env: Environment): KeySource {
  const baseUrl = readOrigin(env, 'BASE_URL', 'http://localhost:4000');
  const given = splitKeys(env.SECRET_KEYS ?? '');
  const isGiven = given.some((key) => key !== '');
  if (isGiven && env.SECRET_KEYS_FILE) {
    throw new InvalidSetting('SECRET_KEYS_FILE and SECRET_KEYS are both set. Keep one of them.');
  }
  if (isGiven) return { keys: checkKeys(given, 'SECRET_KEYS'), file: undefined };
  const file = env.SECRET_KEYS_FILE || ensureLocalKey(baseUrl);
  return { keys: checkKeys(readKeysFile(file), 'SECRET_KEYS_FILE'), file };
}

function checkKeys(keys: string[], setting: string): string[] {
  if (keys.every((key) => key.length >= MIN_KEY_LENGTH)) return keys;
  const what = `one or more keys of at least ${MIN_KEY_LENGTH} characters, separated by commas`;
  throw new InvalidSetting(
    setting === 'SECRET_KEYS' ? `SECRET_KEYS must be ${what}.` : `${setting} must name a file with ${what} or lines.`,
  );
}

function readKeysFile(file: string): string[] {
  try {
    return readKeyFile(file);
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? error.code : error;
    throw new InvalidSetting(`SECRET_KEYS_FILE names ${file}, which cannot be read: ${reason}.`);
  }
}

/** For development: created once, readable by its owner only. */
function ensureLocalKey(baseUrl: string): string {
  if (isPublic(baseUrl)) {
    throw new InvalidSetting('SECRET_KEYS must be set when BASE_URL is public. Make one with: openssl rand -base64 32');
  }
  const file = 'data/secret-key';
  try {
    if (mkdirSync('data', { recursive: true })) fsyncDirectory('.');
    writeKeyFile(file, [newSecret()]);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
      throw new InvalidSetting(`SECRET_KEYS is not set, and no key can be kept in ${file}: ${error}.`);
    }
  }
  return file;
}
