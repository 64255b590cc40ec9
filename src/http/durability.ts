import type { FastifyInstance } from 'fastify';
import type { Storage } from '../storage/storage.ts';
import { type ErrorOptions, sendError } from './error-handler.ts';

interface FlushDeps {
  storage: Storage;
  errors: ErrorOptions;
  /** The path of the liveness check, which depends on no database. */
  liveness: string;
}

/**
 * A response may report commits that a power cut could still undo: it is sent once they are on disk, and replaced by a
 * 503 if the disk takes too long. A 503 reports no commit.
 */
export function delayUntilFlushed(host: FastifyInstance, { storage, errors, liveness }: FlushDeps): void {
  const { flushed } = storage;
  if (!flushed) return;
  host.addHook('onSend', (request, reply, payload, done) => {
    const send = () => done(null, payload);
    const isExempt = reply.statusCode === 503 || request.routeOptions.url === liveness;
    const pending = isExempt ? undefined : flushed();
    if (!pending) return send();
    pending.then(send, (error) => {
      for (const name of Object.keys(reply.getHeaders())) if (!ON_EVERY_RESPONSE.test(name)) reply.removeHeader(name);
      sendError(errors, error, request, reply).catch(done);
    });
  });
}

/** The other headers belong to the response that is not sent. */
const ON_EVERY_RESPONSE = /^(?:x-|access-control-|strict-transport-security$)/;
