import type { FastifyInstance } from 'fastify';
import type { Involved } from './request-context.ts';
import type { Activity } from './request-recorder.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** On the API host. */
    involved: Involved;
  }
}

/** Every answer of this host is noted, if it became known for which app it was. */
export function recordRequests(host: FastifyInstance, activity: Activity): void {
  host.decorateRequest('involved');
  host.addHook('onRequest', (request, _, done) => {
    request.involved = {};
    done();
  });
  host.watchers.push(({ id: requestId, involved }, { method, route, status, reason = null, took }) => {
    // There is none where no route of the API was met: with a page, where both hosts are one, or with nothing at all.
    if (involved) activity.note({ method, route, status, reason, requestId, took: Math.round(took) }, involved);
  });
}
