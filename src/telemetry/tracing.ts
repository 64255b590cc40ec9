import { AsyncLocalStorage } from 'node:async_hooks';
import { preciseClock } from '../lib/clock.ts';
import { type SeenStatement, watchStatements } from '../storage/statement-log.ts';
import { type SeenAttempt, watchAttempts } from '../webhooks/seen-attempts.ts';
import { newExporter, type Span } from './otlp.ts';
import { newCounter } from './registry.ts';
import type { Answered } from './requests.ts';
import { continueTrace, newSpanId, readTraceparent, type TraceContext } from './trace-context.ts';

export interface Tracing {
  /** Of a request that has just come. */
  begin(traceparent: unknown): TraceContext;
  /** What is done meanwhile belongs to it. */
  within(context: TraceContext, work: () => void): void;
  end(context: TraceContext, parent: unknown, answered: Answered): void;
  stop(): Promise<void>;
}

export function newTraceMetrics() {
  return newCounter('gatehouse_trace_spans_total', 'Spans sent to the collector of traces, or dropped.', 'outcome', [
    'sent',
    'dropped',
  ]);
}

interface Following {
  endpoint: string;
  ratio: number;
  version: string;
  database: 'sqlite' | 'postgresql';
  count(outcome: 'sent' | 'dropped', spans: number): void;
}

/** Follows requests, what they ask the database, and webhooks, and tells a collector. It has to be there first. */
export function startTracing({ endpoint, ratio, version, database, count }: Following): Tracing {
  const exporter = newExporter({ endpoint, version, count });
  const current = new AsyncLocalStorage<TraceContext>();
  const stopStatements = watchStatements((statement) => {
    const parent = current.getStore();
    if (parent?.isSampled) exporter.add(statementSpan(parent, statement, database));
  });
  const stopAttempts = watchAttempts((attempt) => {
    const context = continueTrace(undefined, ratio);
    if (context.isSampled) exporter.add(attemptSpan(context, attempt));
  });
  return {
    begin: (traceparent) => continueTrace(readTraceparent(traceparent), ratio),
    within: (context, work) => current.run(context, work),
    end(context, traceparent, answered) {
      if (context.isSampled) exporter.add(requestSpan(context, readTraceparent(traceparent), answered));
    },
    async stop() {
      stopStatements();
      stopAttempts();
      await exporter.stop();
    },
  };
}

/** Names are those of https://opentelemetry.io/docs/specs/semconv/http/http-spans/ */
function requestSpan(context: TraceContext, parent: TraceContext | undefined, answered: Answered): Span {
  const { method, route, status, reason, took = 0 } = answered;
  const isRouted = route !== 'none';
  return {
    context,
    parentId: parent?.spanId,
    name: isRouted ? `${method} ${route}` : method,
    kind: 'server',
    ...ending(took),
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

function statementSpan(parent: TraceContext, { sql, took, failed }: SeenStatement, database: string): Span {
  const [verb = ''] = /^\w+/.exec(sql.trimStart()) ?? [];
  return {
    context: { ...parent, spanId: newSpanId() },
    parentId: parent.spanId,
    name: verb.toUpperCase(),
    kind: 'client',
    ...ending(took),
    attributes: { 'db.system.name': database, 'db.query.text': sql },
    failed,
  };
}

function attemptSpan(context: TraceContext, { host, status, outcome, took }: SeenAttempt): Span {
  return {
    context,
    parentId: undefined,
    name: 'POST',
    kind: 'client',
    ...ending(took),
    attributes: {
      'http.request.method': 'POST',
      'server.address': host,
      'http.response.status_code': status ?? undefined,
      'error.type': outcome === 'delivered' ? undefined : outcome,
    },
    failed: outcome !== 'delivered',
  };
}

/** It has just ended. */
function ending(took: number): Pick<Span, 'start' | 'end'> {
  const end = preciseClock();
  return { start: end - took, end };
}
