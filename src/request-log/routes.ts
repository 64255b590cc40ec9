import type { FastifyInstance } from 'fastify';
import type { RequestContext } from './request-context.ts';
import type { RequestRecorder } from './request-recorder.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** On the API host. */
    requestContext: RequestContext;
  }
}

/** Every answer of this host is noted, if it became known for which app it was. */
export function recordRequests(host: FastifyInstance, activity: RequestRecorder): void {
  host.decorateRequest('requestContext');
  host.addHook('onRequest', (request, _, done) => {
    request.requestContext = {};
    done();
  });
  host.watchers.push(({ id: requestId, requestContext: context }, { method, route, status, reason = null, took }) => {
    // There is none where no route of the API was met: with a page, where both hosts are one, or with nothing at all.
    if (context) activity.note({ method, route, status, reason, requestId, took: Math.round(took) }, context);
  });
}
