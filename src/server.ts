import cookies from '@fastify/cookie';
import type { FastifyInstance } from 'fastify';
import { mountAccounting } from './accounting/routes.ts';
import { keepClean } from './clean-up.ts';
import type { Settings } from './config.ts';
import { listen, newHost, readForms, readJsonAndForms } from './host.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { openKeyring } from './lib/keyring.ts';
import { newRateLimit } from './lib/rate-limit.ts';
import { mountOAuth } from './oauth/routes.ts';
import { openStorage, type Storage } from './storage/database.ts';
import { migrate } from './storage/migrate.ts';
import { mountErrorDocs } from './web/error-docs.ts';
import { mountWeb } from './web/routes.ts';

export interface RunningServer {
  storage: Storage;
  close(): Promise<void>;
}

/** Every part, plugged in by name. */
export async function startServer(settings: Settings, clock: Clock = systemClock): Promise<RunningServer> {
  const api = newHost(settings, settings.baseUrl);
  const web = settings.baseUrl === settings.consentUrl ? api : newHost(settings, settings.consentUrl);
  const storage = openStorage(settings.databaseUrl);
  await migrate(storage);
  const parts = assemble(settings, storage, clock);
  api.register(async (scope) => serveApi(scope, parts));
  web.register(async (scope) => serveWeb(scope, parts));

  const stopCleaning = keepClean(storage.durable, clock, (error) => api.log.error(error));
  const close = async () => {
    await Promise.all([api.close(), web.close()]);
    await stopCleaning();
    await storage.close();
  };
  try {
    await listen(api, settings.listen, 'BASE_URL or LISTEN');
    if (web !== api) await listen(web, settings.consentListen, 'CONSENT_URL or CONSENT_LISTEN');
  } catch (error) {
    await close();
    throw error;
  }
  return { storage, close };
}

type Parts = ReturnType<typeof assemble>;

function assemble(settings: Settings, storage: Storage, clock: Clock) {
  const { limits, baseUrl, consentUrl, secretKeys, retryWindow, platformName } = settings;
  const minute = 60;
  const quarterHour = 15 * minute;
  return {
    storage,
    clock,
    keys: openKeyring(secretKeys),
    issuer: baseUrl,
    consentUrl,
    platformName,
    retryWindow,
    limits: {
      perApp: newRateLimit(limits.perApp, minute),
      wrongSecrets: newRateLimit(limits.wrongSecrets, minute),
      perGrant: newRateLimit(limits.perGrant, minute),
      signInPerAccount: newRateLimit(limits.signInPerAccount, quarterHour),
      signInPerAddress: newRateLimit(limits.signInPerAddress, quarterHour),
    },
  };
}

/** It never reads a cookie. */
async function serveApi(host: FastifyInstance, parts: Parts): Promise<void> {
  readJsonAndForms(host);
  mountOAuth(host, parts);
  mountAccounting(host, parts);
  mountErrorDocs(host, parts);
  host.get('/healthz', async () => ({ status: 'ok' }));
  host.get('/readyz', async () => {
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
