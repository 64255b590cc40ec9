import cookies from '@fastify/cookie';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { mountBusinessApi } from './business/routes.ts';
import type { Settings } from './config/settings.ts';
import { isPublic } from './config/values.ts';
import { createTokenUses, type TokenUses } from './grants/token-uses.ts';
import { isApiAddress, isJsonPath } from './http/api-paths.ts';
import { parseForms, parseJsonAndForms } from './http/body-parsers.ts';
import type { ErrorOptions } from './http/error-handler.ts';
import { mountHealthChecks } from './http/health-checks.ts';
import { createHost, delayUntilFlushed, type MethodsByPath } from './http/host.ts';
import { cannotListen, close as closeHosts, drain, listen } from './http/lifecycle.ts';
import { startJobs } from './jobs.ts';
import { LANGUAGES, type Languages } from './languages/languages.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { createKeyring, idsOf, type Keyring } from './lib/keyring.ts';
import { openStandardOutput } from './lib/log-output.ts';
import { VERSION } from './lib/package.ts';
import { createLimits } from './limits.ts';
import { mailBrand } from './mail/render.ts';
import { createSmtpTransport, type MailTransport } from './mail/transport.ts';
import { mountMcp } from './mcp/routes.ts';
import { createExternalClients } from './oauth/authorize/external-client.ts';
import { mountOAuth } from './oauth/routes.ts';
import { createRequestRecorder, type RequestRecorder } from './request-log/recorder.ts';
import { recordRequests } from './request-log/routes.ts';
import { openNodeStorage } from './storage/open-node.ts';
import type { Storage } from './storage/storage.ts';
import { serveMetrics } from './telemetry/listener.ts';
import { createMetrics, type Metrics } from './telemetry/metrics.ts';
import { traceRequests } from './telemetry/routes.ts';
import { startTracing, type Tracing } from './telemetry/tracing.ts';
import { mountAssets } from './web/assets.ts';
import { type Branding, createBranding, mountBranding } from './web/branding.ts';
import { createErrorPages, type ErrorNavigation } from './web/errors.ts';
import { mountLogos } from './web/logos.ts';
import { loadErrorNavigation } from './web/page-context.ts';
import { mountErrorPages } from './web/reference/error-pages.ts';
import { mountGuides } from './web/reference/guides.ts';
import { describeRoutes, mountOpenApi } from './web/reference/openapi.ts';
import { mountApiHome, mountReference } from './web/reference/page.ts';
import { isHiddenPath, mountWeb } from './web/routes.ts';
import { mountEvents } from './webhooks/routes.ts';

interface RunningServer {
  storage: Storage;
  /** Both are one map if one listener serves both hosts. */
  routes: { api: MethodsByPath; web: MethodsByPath };
  /** Rejects if a newer release has removed what this one needs from the database. The server must then stop. */
  outdated: Promise<never>;
  /** Finishes open requests. With a drain timeout, in milliseconds, clients can first close their connections themselves. */
  close(drainTimeout?: number): Promise<void>;
}

export interface ServerOverrides {
  /** Can be replaced to measure the cost of the request log. */
  createRecorder?: typeof createRequestRecorder;
  /** Instead of SMTP. */
  mailTransport?: MailTransport | undefined;
  /** The languages of the hosted pages and mails. Tests add made-up ones. */
  languages?: Languages;
}

/** Creates everything and starts to listen. */
export async function startServer(
  settings: Settings,
  clock: Clock = systemClock,
  overrides: ServerOverrides = {},
): Promise<RunningServer> {
  const { createRecorder = createRequestRecorder, languages = LANGUAGES } = overrides;
  const branding = await createBranding(settings.branding);
  const mailTransport = overrides.mailTransport ?? (settings.smtp && createSmtpTransport(settings.smtp, branding.logo));
  const metrics = createMetrics();
  const tracing = await openTracing(settings, metrics);
  const { api, web, errors } = createHosts(settings, { metrics, tracing, branding, languages }, (request) =>
    loadErrorNavigation(deps, request),
  );
  const { promise: outdated, reject: onOutdated } = Promise.withResolvers<never>();
  // Only `gatehouse serve` and `gatehouse demo` await it: elsewhere, its rejection must not be an unhandled error.
  outdated.catch(() => {});
  const keys = createKeyring(settings.secretKeys);
  const storage = await openNodeStorage({ ...settings, keyIds: idsOf(keys) }, onOutdated, clock());
  const report = (error: unknown) => api.log.error(error);
  const requestLog = createRecorder(storage, clock, report);
  const uses = createTokenUses(storage, report);
  const deps: Deps = {
    ...createDeps(settings, { storage, clock, keys, metrics, mailTransport, languages }),
    requestLog,
    uses,
    metrics,
    errors,
  };
  api.register(async (scope) => serveApi(scope, deps));
  web.register(async (scope) => serveWeb(scope, deps));
  web.register(async (scope) => mountLogos(scope, deps));
  if (web !== api) web.register(async (scope) => mountHealthChecks(scope, deps));
  const stopJobs = startJobs(deps, api.log);
  let stopMetrics = async () => {};
  const close = async (drainTimeout = 0) => {
    const hosts = [...new Set([api, web])];
    if (drainTimeout > 0) await drain(hosts, drainTimeout);
    await closeHosts(hosts);
    await Promise.all([stopJobs(), requestLog.stop(), uses.stop(), stopMetrics()]);
    await storage.close();
    await tracing?.stop();
  };
  try {
    await listen(api, settings.listen, settingOf('LISTEN', 'BASE_URL', settings.baseUrl));
    if (web !== api) {
      await listen(web, settings.consentListen, settingOf('CONSENT_LISTEN', 'CONSENT_URL', settings.consentUrl));
    }
    stopMetrics = await openMetrics(settings, deps);
  } catch (error) {
    await close();
    throw error;
  }
  return { storage, routes: { api: api.methodsByPath, web: web.methodsByPath }, outdated, close };
}

interface HostDeps {
  metrics: Metrics;
  tracing: Tracing | undefined;
  branding: Branding;
  languages: Languages;
}

/** One host, if both URLs have the same origin. */
function createHosts(
  settings: Settings,
  { metrics, tracing, branding, languages }: HostDeps,
  loadNavigation: (request: FastifyRequest) => Promise<ErrorNavigation>,
) {
  const { baseUrl, consentUrl, platformName } = settings;
  const isOneHost = baseUrl === consentUrl;
  const log = openStandardOutput();
  const create = (name: 'api' | 'web', publicUrl: string, knowsSessions: boolean) => {
    const servesApi = name === 'api';
    const pages = { platformName, issuer: baseUrl, languages, ...(knowsSessions && { loadNavigation }) };
    const isApiPath = servesApi ? isJsonPath : isApiAddress;
    const errors = { issuer: baseUrl, servesApi, isApiPath, isHiddenPath, sendErrorPage: createErrorPages(pages) };
    const host = createHost({ ...settings, publicUrl, log, errors });
    host.responseListeners.push(metrics.responseListener(name));
    if (tracing) traceRequests(host, tracing);
    mountAssets(host);
    mountBranding(host, branding);
    return { host, errors };
  };
  const { host: api, errors } = create('api', baseUrl, isOneHost);
  const web = isOneHost ? api : create('web', consentUrl, true).host;
  return { api, web, errors };
}

async function openTracing({ traces, databaseUrl }: Settings, metrics: Metrics): Promise<Tracing | undefined> {
  const database = databaseUrl.startsWith('sqlite:') ? 'sqlite' : 'postgresql';
  return traces && startTracing({ ...traces, version: VERSION, database, countSpans: metrics.countSpans });
}

/** The port of a public URL is that of the proxy. */
function settingOf(listenSetting: string, urlSetting: string, url: string): string {
  return isPublic(url) ? listenSetting : `${urlSetting} or ${listenSetting}`;
}

async function openMetrics({ metricsListen, workers }: Settings, deps: Deps): Promise<() => Promise<void>> {
  if (!metricsListen) return async () => {};
  try {
    return await serveMetrics({ ...deps, version: VERSION }, { ...metricsListen, ports: workers });
  } catch (error) {
    throw cannotListen(metricsListen, error, 'METRICS_LISTEN');
  }
}

type Deps = ReturnType<typeof createDeps> & {
  requestLog: RequestRecorder;
  uses: TokenUses;
  metrics: Metrics;
  errors: ErrorOptions;
};

interface BaseDeps {
  storage: Storage;
  clock: Clock;
  keys: Keyring;
  metrics: Metrics;
  mailTransport: MailTransport | undefined;
  languages: Languages;
}

function createDeps(settings: Settings, { storage, clock, keys, metrics, mailTransport, languages }: BaseDeps) {
  const { baseUrl, consentUrl, retryWindow, platformName, servesResources, introspectionClients } = settings;
  const limits = createLimits(settings, storage, metrics);
  const [isOn, brand] = [mailTransport !== undefined, mailBrand(settings.branding)];
  return {
    storage,
    clock,
    keys,
    mailTransport,
    mailer: { isOn, keys, origin: consentUrl, platformName, languages, brand, count: metrics.countMail },
    issuer: baseUrl,
    consentUrl,
    platformName,
    languages,
    servesResources,
    servesMcp: settings.servesMcp,
    mcpAllowedOrigins: settings.mcpAllowedOrigins,
    introspectionClients,
    documentHosts: settings.externalClients.documentHosts,
    externalClients: createExternalClients({
      ...settings.externalClients,
      ownUrls: [baseUrl, consentUrl],
      allowsLoopback: settings.webhooksToLoopback,
      timeout: settings.clientMetadataTimeout,
      limit: limits.clientDocuments,
      clock,
    }),
    retryWindow,
    auditRetention: settings.auditRetention,
    allowsLoopback: settings.webhooksToLoopback,
    timeLimit: settings.webhookTimeout,
    limits,
  };
}

/** Reads no cookies. */
async function serveApi(host: FastifyInstance, deps: Deps): Promise<void> {
  delayUntilFlushed(host, deps);
  parseJsonAndForms(host);
  recordRequests(host, deps.requestLog);
  await describeRoutes(host, deps);
  mountOAuth(host, deps);
  mountEvents(host, deps);
  mountBusinessApi(host, deps);
  if (deps.servesMcp) mountMcp(host, deps);
  // With one host, / belongs to the web pages.
  if (deps.issuer !== deps.consentUrl) mountApiHome(host, deps);
  mountOpenApi(host);
  mountReference(host, deps);
  mountErrorPages(host, deps);
  mountGuides(host, deps);
  mountHealthChecks(host, deps);
}

/** Reads no bearer tokens. */
async function serveWeb(host: FastifyInstance, deps: Deps): Promise<void> {
  delayUntilFlushed(host, deps);
  parseForms(host);
  await host.register(cookies);
  mountWeb(host, deps);
}
