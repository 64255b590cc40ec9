import type { FastifyInstance, FastifyRequest } from 'fastify';
import '../http/host.ts';
import { readTraceparent, type TraceContext } from './trace-context.ts';
import type { Tracing } from './tracing.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set while requests are traced. */
    trace: TraceContext | undefined;
  }
}

/** Makes a span of every request. */
export function traceRequests(host: FastifyInstance, tracing: Tracing): void {
  host.decorateRequest('trace', undefined);
  host.addHook('onRequest', (request, _, done) => {
    request.trace = tracing.begin(request.headers.traceparent);
    tracing.within(request.trace, done);
  });
  // Again, because reading the body loses the async context.
  host.addHook('preValidation', (request, _, done) => (request.trace ? tracing.within(request.trace, done) : done()));
  host.responseListeners.push((response, request) => {
    if (request?.trace) tracing.end(request.trace, request.headers.traceparent, response);
  });
}

/** Of the request's own trace, or of the client's. */
export function readTraceId({ trace, headers }: FastifyRequest): string | undefined {
  return (trace ?? readTraceparent(headers.traceparent))?.traceId;
}
