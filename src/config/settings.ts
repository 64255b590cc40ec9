import { OVERLOAD_LIMIT, type OverloadLimit, SERVER_TIMEOUTS, type ServerTimeouts } from '../http/timeouts.ts';
import type { BrandingSettings } from '../lib/branding.ts';
import { DAY, SECOND } from '../lib/clock.ts';
import { InvalidSetting } from '../lib/errors.ts';
import { isId } from '../lib/ids.ts';
import type { Address } from '../lib/ip-addresses.ts';
import { isWeakKey } from '../lib/keyring.ts';
import type { SmtpSettings } from '../mail/transport.ts';
import { readBranding } from './branding.ts';
import { type ExternalClientSettings, readExternalClients } from './external-clients.ts';
import { readSecretKeys } from './keys.ts';
import { type Limits, readLimits } from './limits.ts';
import { readSmtp } from './mail.ts';
import {
  type Environment,
  isPublic,
  readAddress,
  readNumber,
  readOneOf,
  readOrigin,
  readOrigins,
  readTextOrFile,
} from './values.ts';

/** Everything that can be configured. */
export interface Settings {
  /** Public URL of the API; also the issuer. */
  baseUrl: string;
  /** Public URL of the pages. */
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
  /** Whether browsers use https for the subdomains of both hosts, too. */
  hstsIncludesSubdomains: boolean;
  /** Shown on the pages. */
  platformName: string;
  branding: BrandingSettings;
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
  /** For development: allows webhooks to loopback addresses, and client metadata documents from them. */
  webhooksToLoopback: boolean;
  externalClients: ExternalClientSettings;
  /** The number of worker processes, from the command line. */
  workers: number;
  limits: Limits;
  /** These four are constants; tests shorten them. */
  timeouts: ServerTimeouts;
  overload: OverloadLimit;
  /** For the whole delivery attempt of a webhook, from the DNS lookup on, in milliseconds. */
  webhookTimeout: number;
  /** For fetching a client metadata document, from the DNS lookup on, in milliseconds. */
  clientMetadataTimeout: number;
}

const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'];

export function readSettings(env: Environment): Settings {
  const baseUrl = readOrigin(env, 'BASE_URL', 'http://localhost:4000');
  const consentUrl = readConsentUrl(env);
  const settings: Settings = {
    baseUrl,
    consentUrl,
    listen: readListen(env),
    consentListen: readConsentListen(env),
    metricsListen: env.METRICS_LISTEN ? readAddress(env, 'METRICS_LISTEN', baseUrl, 0) : undefined,
    traces: readTraces(env),
    databaseUrl: readDatabaseUrl(env),
    secretKeys: readSecretKeys(env).keys,
    retryWindow: readNumber(env, 'REFRESH_RETRY_SECONDS', 30, { min: 0, max: 300 }) * SECOND,
    trustProxy: env.TRUST_PROXY && env.TRUST_PROXY !== 'off' ? env.TRUST_PROXY : false,
    hstsIncludesSubdomains: readOneOf(env, 'HSTS_INCLUDE_SUBDOMAINS', 'on', ['on', 'off']) === 'on',
    platformName: readPlatformName(env),
    branding: readBranding(env),
    servesResources: readServesResources(env),
    servesMcp: readServesMcp(env),
    mcpAllowedOrigins: readOrigins(env, 'MCP_ALLOWED_ORIGINS'),
    introspectionClients: readIntrospectionClients(env),
    webhooksToLoopback: readWebhooksToLoopback(env),
    smtp: readSmtp(env, readPlatformName(env)),
    logLevel: readOneOf(env, 'LOG_LEVEL', 'info', LOG_LEVELS),
    auditRetention: readAuditRetention(env),
    externalClients: readExternalClients(env, { servesMcp: readServesMcp(env) }),
    workers: 1,
    limits: readLimits(env),
    timeouts: SERVER_TIMEOUTS,
    overload: OVERLOAD_LIMIT,
    webhookTimeout: 15 * SECOND,
    clientMetadataTimeout: 5 * SECOND,
  };
  if ([baseUrl, consentUrl].some(isPublic)) rejectUnsafeInPublic(settings, env);
  return settings;
}

/** Settings for development that are not safe on a public server. */
function rejectUnsafeInPublic({ secretKeys, webhooksToLoopback }: Settings, env: Environment): void {
  if (secretKeys.some(isWeakKey)) {
    const name = env.SECRET_KEYS_FILE ? 'SECRET_KEYS_FILE' : 'SECRET_KEYS';
    throw new InvalidSetting(
      `${name} contains a key that can be guessed, and BASE_URL or CONSENT_URL is public. Make one with: openssl rand -base64 32`,
    );
  }
  if (webhooksToLoopback) {
    throw new InvalidSetting(
      'WEBHOOKS_TO_LOOPBACK must be no when BASE_URL or CONSENT_URL is public: webhooks and client metadata documents could reach services that only this machine should.',
    );
  }
}

/** Where the API listens. */
export function readListen(env: Environment): Address {
  return readAddress(env, 'LISTEN', readOrigin(env, 'BASE_URL', 'http://localhost:4000'), 4000);
}

export function readConsentUrl(env: Environment): string {
  return readOrigin(env, 'CONSENT_URL', 'http://localhost:4001');
}

/** Where the pages listen. */
export function readConsentListen(env: Environment): Address {
  return readAddress(env, 'CONSENT_LISTEN', readConsentUrl(env), 4001);
}

export function readDatabaseUrl(env: Environment): string {
  return readTextOrFile(env, 'DATABASE_URL') || 'sqlite:data/gatehouse.db';
}

function readAuditRetention(env: Environment): number | undefined {
  const days = readNumber(env, 'AUDIT_RETENTION_DAYS', 0, { min: 1, max: 36_500 });
  return days === 0 ? undefined : days * DAY;
}

export function readServesResources(env: Environment): boolean {
  return readOneOf(env, 'BUSINESS_API', 'on', ['on', 'off']) === 'on';
}

export function readWebhooksToLoopback(env: Environment): boolean {
  return readOneOf(env, 'WEBHOOKS_TO_LOOPBACK', 'no', ['yes', 'no']) === 'yes';
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
