import cookies from '@fastify/cookie';
import type { FastifyInstance } from 'fastify';
import { mountAccounting } from './accounting/routes.ts';
import { type Activity, openActivity } from './activity/activity.ts';
import { recordRequests } from './activity/routes.ts';
import { readForms, readJsonAndForms } from './bodies.ts';
import { keepClean } from './clean-up.ts';
import type { Limits, Settings } from './config.ts';
import { drain, finish, listen, newHost, type Routes } from './host.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { openKeyring } from './lib/keyring.ts';
import { newRateLimit } from './lib/rate-limit.ts';
import { BROKEN } from './oauth/refusal-schemas.ts';
import { mountOAuth } from './oauth/routes.ts';
import { openStorage } from './storage/database.ts';
import { StorageUnavailable } from './storage/errors.ts';
import { prepare } from './storage/migrate.ts';
import type { Storage } from './storage/storage.ts';
import { mountApiHome } from './web/api-home.ts';
import { findWayOn } from './web/place.ts';
import { mountErrorPages } from './web/reference/error-pages.ts';
import { describeCheck, describeRoutes, mountOpenApi } from './web/reference/openapi.ts';
import { mountReference } from './web/reference/page.ts';
import { mountWeb } from './web/routes.ts';
import { mountEvents } from './webhooks/routes.ts';
import { startWebhooks } from './webhooks/worker.ts';

export interface RunningServer {
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
  const api = newHost(settings, settings.baseUrl);
  const web = settings.baseUrl === settings.consentUrl ? api : newHost(settings, settings.consentUrl);
  const storage = await openPrepared(settings.databaseUrl);
  const report = (error: unknown) => api.log.error(error);
  const activity = remember(storage, clock, report);
  const parts = { ...assemble(settings, storage, clock), activity };
  api.register(async (scope) => serveApi(scope, parts));
  web.register(async (scope) => serveWeb(scope, parts));
  web.findWayOn = (request) => findWayOn(parts, request);

  const stopCleaning = keepClean(storage, clock, report);
  const stopWebhooks = startWebhooks(parts, report);
  const close = async (patience = 0) => {
    const hosts = [...new Set([api, web])];
    if (patience > 0) await drain(hosts, patience);
    await finish(hosts);
    await Promise.all([stopCleaning(), stopWebhooks(), activity.stop()]);
    await storage.close();
  };
  try {
    await listen(api, settings.listen, 'BASE_URL or LISTEN');
    if (web !== api) await listen(web, settings.consentListen, 'CONSENT_URL or CONSENT_LISTEN');
  } catch (error) {
    await close();
    throw error;
  }
  return { storage, routes: { api: api.routes, web: web.routes }, close };
}

async function openPrepared(url: string): Promise<Storage> {
  const storage = openStorage(url);
  try {
    await prepare(storage);
    return storage;
  } catch (error) {
    await storage.close();
    throw error;
  }
}

type Parts = ReturnType<typeof assemble> & { activity: Activity };

function assemble(settings: Settings, storage: Storage, clock: Clock) {
  const { limits, baseUrl, consentUrl, secretKeys, retryWindow, platformName } = settings;
  const minute = 60;
  const quarterHour = 15 * minute;
  const limit = (name: keyof Limits, seconds: number) => {
    const points = limits[name];
    return newRateLimit({ points, seconds }, storage.newSharedCounter?.({ name, points, seconds }));
  };
  return {
    storage,
    clock,
    keys: openKeyring(secretKeys),
    issuer: baseUrl,
    consentUrl,
    platformName,
    retryWindow,
    allowsLoopback: settings.webhooksToLoopback,
    limits: {
      perApp: limit('perApp', minute),
      wrongSecrets: limit('wrongSecrets', minute),
      perGrant: limit('perGrant', minute),
      signInPerAccount: limit('signInPerAccount', quarterHour),
      signInPerAddress: limit('signInPerAddress', quarterHour),
    },
  };
}

/** It never reads a cookie. */
async function serveApi(host: FastifyInstance, parts: Parts): Promise<void> {
  readJsonAndForms(host);
  recordRequests(host, parts.activity);
  await describeRoutes(host, parts);
  mountOAuth(host, parts);
  mountEvents(host, parts);
  mountAccounting(host, parts);
  // Where both hosts are one, its front page is the people's.
  if (parts.issuer !== parts.consentUrl) mountApiHome(host, parts);
  mountOpenApi(host);
  mountReference(host, parts);
  mountErrorPages(host, parts);
  host.get('/healthz', describeCheck('healthz', 'Is the process alive?'), async () => ({ status: 'ok' }));
  host.get('/readyz', describeCheck('readyz', 'Can it serve?', BROKEN), async () => {
    if (host.draining) throw new StorageUnavailable('This node is about to stop.');
    await parts.storage.check();
    return { status: 'ok' };
  });
}

/** It never reads a bearer token. */
async function serveWeb(host: FastifyInstance, parts: Parts): Promise<void> {
  readForms(host);
  await host.register(cookies);
  mountWeb(host, parts);
}
