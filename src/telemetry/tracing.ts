import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attributes, Context, Span, SpanKind } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';
import type { ResponseSummary } from '../http/host.ts';
import { readTraceparent } from '../http/traceparent.ts';
import { preciseClock, SECOND } from '../lib/clock.ts';
import { type ExecutedStatement, watchStatements } from '../storage/statement-log.ts';
import { type ObservedAttempt, onAttempt } from '../webhooks/sender.ts';

export interface RequestTrace {
  traceId: string;
  span: Span;
  context: Context;
}

interface TracingOptions {
  /** The collector's base URL. */
  endpoint: string;
  /** The share of new traces to record, from 0 to 1. */
  ratio: number;
  version: string;
  database: 'sqlite' | 'postgresql';
  countSpans: CountSpans;
}

type CountSpans = (outcome: 'sent' | 'dropped', count: number) => void;

export type Tracing = Awaited<ReturnType<typeof startTracing>>;

const MAX_QUEUE = 2048;
const EXPORT_INTERVAL = 2 * SECOND;
/** Includes the exporter's retries. */
const EXPORT_TIMEOUT = 5 * SECOND;
/** A collector that does not respond delays the exit by no more than this. */
const SHUTDOWN_TIMEOUT = SECOND;

/** Traces requests, their SQL statements and webhook attempts. Start it before the database is opened. */
export async function startTracing({ endpoint, ratio, version, database, countSpans }: TracingOptions) {
  // Loaded here, so that a server without a collector does not load OpenTelemetry.
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = await import('@opentelemetry/api');
  const provider = await createProvider(endpoint, ratio, version, countSpans);
  const tracer = provider.getTracer('gatehouse', version);
  const current = new AsyncLocalStorage<Context>();
  const record = ({ name, took, attributes, failed }: Finished, kind: SpanKind, parent: Context) => {
    const end = preciseClock();
    const span = tracer.startSpan(name, { kind, startTime: end - took, attributes }, parent);
    if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(end);
  };
  const stopStatements = watchStatements((statement) => {
    const parent = current.getStore();
    if (parent && trace.getSpan(parent)?.isRecording())
      record(statementSpan(statement, database), SpanKind.CLIENT, parent);
  });
  const stopAttempts = onAttempt((attempt) => record(attemptSpan(attempt), SpanKind.CLIENT, ROOT_CONTEXT));
  return {
    startRequest(traceparent: unknown): RequestTrace {
      const client = readTraceparent(traceparent);
      const parent = client ? trace.setSpanContext(ROOT_CONTEXT, { ...client, isRemote: true }) : ROOT_CONTEXT;
      const span = tracer.startSpan('HTTP', { kind: SpanKind.SERVER, startTime: preciseClock() }, parent);
      return { traceId: span.spanContext().traceId, span, context: trace.setSpan(parent, span) };
    },
    run: (context: Context, work: () => void) => current.run(context, work),
    endRequest({ span }: RequestTrace, response: ResponseSummary): void {
      const { name, attributes, failed } = requestSpan(response);
      span.updateName(name).setAttributes(attributes);
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(preciseClock());
    },
    async stop(): Promise<void> {
      stopStatements();
      stopAttempts();
      await waitAtMost(SHUTDOWN_TIMEOUT, provider.shutdown());
    },
  };
}

async function waitAtMost(milliseconds: number, work: Promise<void>): Promise<void> {
  const { promise: timeout, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  await Promise.race([work, timeout]).finally(() => clearTimeout(timer));
}

async function createProvider(endpoint: string, ratio: number, version: string, countSpans: CountSpans) {
  const [sdk, { OTLPTraceExporter }, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]);
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: EXPORT_TIMEOUT });
  const queue = boundedQueue(exporter, countSpans);
  const batches = new sdk.BatchSpanProcessor({
    exporter: queue.exporter,
    maxQueueSize: MAX_QUEUE,
    scheduledDelayMillis: EXPORT_INTERVAL,
  });
  return new sdk.TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'gatehouse', 'service.version': version }),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [queue.limit(batches)],
  });
}

/** Counts spans that were sent, that the collector did not accept, and that did not fit into the queue. */
function boundedQueue(exporter: SpanExporter, countSpans: CountSpans) {
  let waiting = 0;
  return {
    exporter: {
      export(spans, done) {
        exporter.export(spans, (result) => {
          waiting -= spans.length;
          countSpans(result.code === 0 ? 'sent' : 'dropped', spans.length);
          done(result);
        });
      },
      shutdown: () => exporter.shutdown(),
    } satisfies SpanExporter,
    limit: (processor: SpanProcessor): SpanProcessor => ({
      onStart() {},
      onEnd(span: ReadableSpan) {
        if (waiting >= MAX_QUEUE) return countSpans('dropped', 1);
        waiting += 1;
        processor.onEnd(span);
      },
      forceFlush: () => processor.forceFlush(),
      shutdown: () => processor.shutdown(),
    }),
  };
}

/** Attribute names: https://opentelemetry.io/docs/specs/semconv/ */
interface Finished {
  name: string;
  /** In milliseconds. */
  took: number;
  attributes: Attributes;
  failed: boolean;
}

function requestSpan({ method, route, status, reason, took = 0 }: ResponseSummary): Finished {
  const isRouted = route !== 'none';
  return {
    name: isRouted ? `${method} ${route}` : method,
    took,
    attributes: {
      'http.request.method': method,
      'http.route': isRouted ? route : undefined,
      'http.response.status_code': status,
      'error.type': status >= 500 ? String(status) : undefined,
      'gatehouse.reason': reason,
    },
    failed: status >= 500,
  };
}

function statementSpan({ sql, took, failed }: ExecutedStatement, database: string): Finished {
  const [verb = ''] = /^\w+/.exec(sql.trimStart()) ?? [];
  return { name: verb.toUpperCase(), took, attributes: { 'db.system.name': database, 'db.query.text': sql }, failed };
}

function attemptSpan({ host, status, outcome, took }: ObservedAttempt): Finished {
  return {
    name: 'POST',
    took,
    attributes: {
      'http.request.method': 'POST',
      'server.address': host,
      'http.response.status_code': status ?? undefined,
      'error.type': outcome === 'delivered' ? undefined : outcome,
    },
    failed: outcome !== 'delivered',
  };
}
