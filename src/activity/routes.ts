import type { FastifyInstance } from 'fastify';
import type { Activity } from './activity.ts';
import type { Involved } from './involved.ts';

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
  host.addHook('onResponse', (request, reply, done) => {
    const { method, id: requestId, involved, routeOptions } = request;
    const { statusCode: status, reason = null, elapsedTime } = reply;
    activity.note(
      { method, route: routeOptions.url ?? 'none', status, reason, requestId, took: Math.round(elapsedTime) },
      involved,
    );
    done();
  });
}
