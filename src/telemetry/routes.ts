import type { FastifyInstance } from 'fastify';
import '../http/host.ts';
import type { RequestTrace, Tracing } from './tracing.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set while requests are traced. */
    trace: RequestTrace | undefined;
  }
}

/** Traces every request of a host. */
export function traceRequests(host: FastifyInstance, tracing: Tracing): void {
  host.decorateRequest('trace', undefined);
  host.addHook('onRequest', (request, _, done) => {
    request.trace = tracing.startRequest(request.headers.traceparent);
    request.traceId = request.trace.traceId;
    tracing.run(request.trace.context, done);
  });
  // Again, because reading the body loses the async context.
  host.addHook('preValidation', ({ trace }, _, done) => (trace ? tracing.run(trace.context, done) : done()));
  host.responseListeners.push((response, request) => {
    if (request?.trace) tracing.endRequest(request.trace, response);
  });
}
