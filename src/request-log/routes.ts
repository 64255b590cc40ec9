import type { FastifyInstance } from 'fastify';
import '../http/host.ts';
import type { RequestContext } from './log.ts';
import type { RequestRecorder } from './recorder.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** On the API host. */
    requestContext: RequestContext;
  }
}

/** Records every request of this host whose app is known. */
export function recordRequests(host: FastifyInstance, requestLog: RequestRecorder): void {
  host.decorateRequest('requestContext');
  host.addHook('onRequest', (request, _, done) => {
    request.requestContext = {};
    request.subject = request.requestContext;
    done();
  });
  host.responseListeners.push(({ method, route, status, reason = null, took = 0 }, request) => {
    // Missing without a route of the API: on a page, where both hosts are one, and on an unknown path.
    const context = request?.requestContext;
    if (context)
      requestLog.record({ method, route, status, reason, requestId: request.id, took: Math.round(took) }, context);
  });
}
