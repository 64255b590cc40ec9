import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { type Storage, StorageUnavailable } from '../storage/storage.ts';
import { LIVENESS, READINESS } from './health-paths.ts';
import { EVEN_IF_OVERLOADED } from './load-shedding.ts';
import { REQUEST_ID, SERVER_ERRORS } from './openapi.ts';

const OK = Type.Object({ status: Type.Literal('ok', { description: 'Always `ok`.' }) });

const LIVE = { summary: 'Liveness check', description: 'Whether the process responds.' };
const READY = {
  summary: 'Readiness check',
  description: 'Whether this node can reach the database and serve requests.',
};

export function mountHealthChecks(host: FastifyInstance, { storage }: { storage: Storage }): void {
  const live = { ...describeCheck('healthz', LIVE), ...EVEN_IF_OVERLOADED };
  const ready = { ...describeCheck('readyz', READY, SERVER_ERRORS), ...EVEN_IF_OVERLOADED };
  host.get(LIVENESS, live, async () => ({ status: 'ok' }));
  host.get(READINESS, ready, async () => {
    if (host.draining) throw new StorageUnavailable('This node is about to stop.');
    await storage.check();
    return { status: 'ok' };
  });
}

function describeCheck(operationId: string, texts: typeof LIVE, errors: Record<number, object> = {}) {
  const headers = { 'x-request-id': REQUEST_ID };
  const content = { 'application/json': { schema: OK, example: { status: 'ok' } } };
  const response = { 200: { description: 'Healthy.', headers, content }, ...errors };
  return { schema: { operationId, tags: ['Operations'], ...texts, security: [], response } };
}
