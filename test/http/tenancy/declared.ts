import fastify from 'fastify';
import type { Access } from '../../../src/web/access.ts';
import type { WebDeps } from '../../../src/web/deps.ts';
import { mountWeb } from '../../../src/web/routes.ts';

export interface Declared {
  access: Access;
  isBeforeSecondFactor: boolean;
}

/** The declared access of each page, by method and path, in the order of the router. Sends no request. */
export async function readDeclaredAccess(): Promise<Map<string, Declared>> {
  const host = fastify({ exposeHeadRoutes: false });
  const declared = new Map<string, Declared>();
  host.addHook('onRoute', ({ method, url, config }) => {
    if (!config?.access) return;
    const { access, isBeforeSecondFactor = false } = config;
    for (const each of [method].flat()) declared.set(`${each} ${url}`, { access, isBeforeSecondFactor });
  });
  // Mounting reads from its dependencies, and calls none of them.
  mountWeb(host, { storage: {}, limits: {}, externalClients: {} } as WebDeps);
  await host.ready();
  return declared;
}
