import cookies from '@fastify/cookie';
import type { FastifyInstance } from 'fastify';
import { mountBusinessApi } from './business/routes.ts';
import { keepClean } from './clean-up.ts';
import type { Limits, Settings } from './config.ts';
import { openTokenUses, type TokenUses } from './grants/token-uses.ts';
import { cannotListen, drain, finish, listen, newHost, type Routes } from './host.ts';
import { readForms, readJsonAndForms } from './http/body-parsers.ts';
import { BROKEN } from './http/error-schemas.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { createKeyring } from './lib/keyring.ts';
import { openStandardOutput } from './lib/log-output.ts';
import { newRateLimit } from './lib/rate-limit.ts';
import { VERSION } from './lib/version.ts';
import { mountOAuth } from './oauth/routes.ts';
import { refuse } from './refusing.ts';
import { openActivity, type RequestRecorder } from './request-log/request-recorder.ts';
import { recordRequests } from './request-log/routes.ts';
import { ensureMigrated } from './storage/migrate.ts';
import { openSharedStorage, openStorage } from './storage/open.ts';
import { type Storage, StorageUnavailable } from './storage/storage.ts';
import { type Meters, newMeters } from './telemetry/meters.ts';
import { serveMetrics } from './telemetry/metrics.ts';
import { startTracing, type Tracing } from './telemetry/tracing.ts';
import { mountApiHome } from './web/api-home.ts';
import { loadErrorNavigation } from './web/page-context.ts';
import { mountErrorPages } from './web/reference/error-pages.ts';
import { mountGuides } from './web/reference/guides.ts';
import { describeCheck, describeRoutes, mountOpenApi } from './web/reference/openapi.ts';
import { mountReference } from './web/reference/page.ts';
import { mountWeb } from './web/routes.ts';
import { mountEvents } from './webhooks/routes.ts';
import { startWebhooks } from './webhooks/worker.ts';

interface RunningServer {
  storage: Storage;
  /** What each host answers to; where both are one, the two lists are one. */
  routes: { api: Routes; web: Routes };
  /** Finishes what has begun. With patience, in milliseconds, it also lets clients that keep connections go in peace. */
  close(patience?: number): Promise<void>;
}

/** Every part, plugged in by name. What remembers the requests of apps can be replaced, to measure what it costs. */
export async function startServer(
  settings: Settings,
  clock: Clock = systemClock,
  remember: typeof openActivity = openActivity,
): Promise<RunningServer> {
  const meters = newMeters();
  const isOneHost = settings.baseUrl === settings.consentUrl;
  const tracing = openTracing(settings, meters);
  const log = openStandardOutput();
  const api = newHost(settings, settings.baseUrl, { countAnswer: meters.ofHost('api'), tracing, log });
  const forWeb = { countAnswer: meters.ofHost('web'), tracing, log };
  const web = isOneHost ? api : newHost(settings, settings.consentUrl, forWeb);
  const storage = await openPrepared(settings);
  const report = (error: unknown) => api.log.error(error);
  const activity = remember(storage, clock, report);
  const uses = openTokenUses(storage, report);
  const parts = { ...assemble(settings, storage, clock, meters), activity, uses, meters };
  api.register(async (scope) => serveApi(scope, settings, parts));
  web.register(async (scope) => serveWeb(scope, settings, parts));
  web.findWayOn = (request) => loadErrorNavigation(parts, request);

  const warn = (message: string) => api.log.warn(message);
  const stopCleaning = keepClean(storage, clock, {
    report,
    warn,
    cleaning: meters.cleaning,
    auditRetention: settings.auditRetention,
  });
  const stopWebhooks = startWebhooks(parts, report);
  let stopMetrics = async () => {};
  const close = async (patience = 0) => {
    const hosts = [...new Set([api, web])];
    if (patience > 0) await drain(hosts, patience);
    await finish(hosts);
    await Promise.all([stopCleaning(), stopWebhooks(), activity.stop(), uses.stop(), stopMetrics()]);
    await storage.close();
    await tracing?.stop();
  };
  try {
    await listen(api, settings.listen, 'BASE_URL or LISTEN');
    if (web !== api) await listen(web, settings.consentListen, 'CONSENT_URL or CONSENT_LISTEN');
    stopMetrics = await openMetrics(settings, parts);
  } catch (error) {
    await close();
    throw error;
  }
  return { storage, routes: { api: api.routes, web: web.routes }, close };
}

async function openPrepared({ databaseUrl, workers }: Settings): Promise<Storage> {
  const storage = await (workers > 1 ? openSharedStorage : openStorage)(databaseUrl);
  try {
    await ensureMigrated(storage);
    return storage;
  } catch (error) {
    await storage.close();
    throw error;
  }
}

function openTracing({ traces, databaseUrl }: Settings, meters: Meters): Tracing | undefined {
  const database = databaseUrl.startsWith('sqlite:') ? 'sqlite' : 'postgresql';
  return traces && startTracing({ ...traces, version: VERSION, database, count: meters.countSpans });
}

async function openMetrics({ metricsListen, workers }: Settings, parts: Parts): Promise<() => Promise<void>> {
  if (!metricsListen) return async () => {};
  try {
    return await serveMetrics({ ...parts, version: VERSION }, { ...metricsListen, ports: workers });
  } catch (error) {
    throw cannotListen(metricsListen, error, 'METRICS_LISTEN');
  }
}

type Parts = ReturnType<typeof assemble> & { activity: RequestRecorder; uses: TokenUses; meters: Meters };

function assemble(settings: Settings, storage: Storage, clock: Clock, meters: Meters) {
  const { limits, baseUrl, consentUrl, secretKeys, retryWindow, platformName } = settings;
  const minute = 60;
  const quarterHour = 15 * minute;
  const newLimit = (
    setting: keyof Limits,
    { name, points, seconds }: { name: string; points: number; seconds: number },
  ) => {
    const shared = storage.newSharedCounter?.({ name, points, seconds });
    return newRateLimit({ points, seconds, shared, onRefusal: meters.refusalsOf(setting) });
  };
  const limit = (name: keyof Limits, seconds: number) => newLimit(name, { name, points: limits[name], seconds });
  const reserve = Math.max(1, Math.floor(limits.signInPerAccount / 4));
  return {
    storage,
    clock,
    keys: createKeyring(secretKeys),
    issuer: baseUrl,
    consentUrl,
    platformName,
    retryWindow,
    auditRetention: settings.auditRetention,
    allowsLoopback: settings.webhooksToLoopback,
    timeLimit: settings.patience.receiver,
    limits: {
      perApp: limit('perApp', minute),
      wrongSecrets: limit('wrongSecrets', minute),
      perGrant: limit('perGrant', minute),
      perUser: limit('perUser', minute),
      changesPerUser: limit('changesPerUser', minute),
      signInPerAccount: limit('signInPerAccount', quarterHour),
      signInReserve: newLimit('signInPerAccount', { name: 'signInReserve', points: reserve, seconds: quarterHour }),
      signInPerAddress: limit('signInPerAddress', quarterHour),
    },
  };
}

const ALIVE = '/healthz';

/**
 * A response may report commits that a power cut could still undo: it is sent once they are on disk, and replaced by a
 * 503 if the disk takes too long. A 503 reports no commit, and the liveness check depends on no database.
 */
function delayUntilFlushed(host: FastifyInstance, settings: Settings, { flushed: settled }: Storage): void {
  if (!settled) return;
  host.addHook('onSend', (request, reply, payload, done) => {
    const send = () => done(null, payload);
    const isExempt = reply.statusCode === 503 || request.routeOptions.url === ALIVE;
    const flushed = isExempt ? undefined : settled();
    if (!flushed) return send();
    flushed.then(send, (error) => {
      for (const name of Object.keys(reply.getHeaders())) if (!ON_EVERY_RESPONSE.test(name)) reply.removeHeader(name);
      refuse(settings, error, request, reply);
    });
  });
}

/** The other headers belong to the response that is not sent. */
const ON_EVERY_RESPONSE = /^(?:x-|access-control-|strict-transport-security$)/;

/** It never reads a cookie. */
async function serveApi(host: FastifyInstance, settings: Settings, parts: Parts): Promise<void> {
  delayUntilFlushed(host, settings, parts.storage);
  readJsonAndForms(host);
  recordRequests(host, parts.activity);
  describeRoutes(host, parts);
  mountOAuth(host, parts);
  mountEvents(host, parts);
  mountBusinessApi(host, parts);
  // Where both hosts are one, its front page is the people's.
  if (parts.issuer !== parts.consentUrl) mountApiHome(host, parts);
  mountOpenApi(host);
  mountReference(host, parts);
  mountErrorPages(host, parts);
  mountGuides(host, parts);
  host.get(ALIVE, describeCheck('healthz', 'Is the process alive?'), async () => ({ status: 'ok' }));
  host.get('/readyz', describeCheck('readyz', 'Can it serve?', BROKEN), async () => {
    if (host.draining) throw new StorageUnavailable('This node is about to stop.');
    await parts.storage.check();
    return { status: 'ok' };
  });
}

/** It never reads a bearer token. */
async function serveWeb(host: FastifyInstance, settings: Settings, parts: Parts): Promise<void> {
  delayUntilFlushed(host, settings, parts.storage);
  readForms(host);
  await host.register(cookies);
  mountWeb(host, parts);
}
