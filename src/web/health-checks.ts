import type { FastifyInstance } from 'fastify';
import { EVEN_IF_OVERLOADED } from '../http/host.ts';
import { SERVER_ERRORS } from '../http/openapi.ts';
import { type Storage, StorageUnavailable } from '../storage/storage.ts';
import { describeCheck } from './reference/openapi.ts';

export const LIVENESS = '/healthz';

export function mountHealthChecks(host: FastifyInstance, { storage }: { storage: Storage }): void {
  const live = { ...describeCheck('healthz', 'Is the process alive?'), ...EVEN_IF_OVERLOADED };
  const ready = { ...describeCheck('readyz', 'Can it serve?', SERVER_ERRORS), ...EVEN_IF_OVERLOADED };
  host.get(LIVENESS, live, async () => ({ status: 'ok' }));
  host.get('/readyz', ready, async () => {
    if (host.draining) throw new StorageUnavailable('This node is about to stop.');
    await storage.check();
    return { status: 'ok' };
  });
}
