import { SECOND } from '../lib/clock.ts';
import type { TraceContext } from './trace-context.ts';

/** One piece of work that is done. Times are milliseconds since 1970. */
export interface Span {
  context: TraceContext;
  parentId: string | undefined;
  name: string;
  kind: 'server' | 'client';
  start: number;
  end: number;
  attributes: Record<string, string | number | undefined>;
  failed: boolean;
}

interface Exporting {
  /** Where the collector is; its own path comes behind it. */
  endpoint: string;
  version: string;
  /** How many reached it, or did not. */
  count(outcome: 'sent' | 'dropped', spans: number): void;
}

const MOST_WAITING = 2048;
const AT_ONCE = 512;
const SENT_EVERY = 2 * SECOND;
const TIME_LIMIT = 10 * SECOND;
const KINDS = { server: 2, client: 3 };
const FAILED = 2;

/** Sends what was traced, by OTLP over HTTP in JSON. It is in nobody's way: what does not fit or arrive is counted, and gone. */
export function newExporter({ endpoint, version, count }: Exporting) {
  const waiting: Span[] = [];
  let sending: Promise<void> | undefined;

  async function send(): Promise<void> {
    while (waiting.length > 0) {
      const spans = waiting.splice(0, AT_ONCE);
      const isSent = await post(`${endpoint}/v1/traces`, toRequest(spans, version));
      count(isSent ? 'sent' : 'dropped', spans.length);
    }
  }
  const flush = () => {
    sending ??= send().finally(() => {
      sending = undefined;
    });
    return sending;
  };
  const timer = setInterval(flush, SENT_EVERY);
  timer.unref();
  return {
    add(span: Span): void {
      if (waiting.length < MOST_WAITING) waiting.push(span);
      else count('dropped', 1);
      if (waiting.length === AT_ONCE) flush();
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      await flush();
      await flush();
    },
  };
}

async function post(url: string, body: object): Promise<boolean> {
  const headers = { 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(TIME_LIMIT);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      signal,
      redirect: 'manual',
    });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

/** https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding */
function toRequest(spans: Span[], version: string): object {
  const resource = { attributes: toAttributes({ 'service.name': 'gatehouse', 'service.version': version }) };
  return {
    resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'gatehouse', version }, spans: spans.map(toJson) }] }],
  };
}

function toJson({ context, parentId, name, kind, start, end, attributes, failed }: Span): object {
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    ...(parentId && { parentSpanId: parentId }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: toNanoseconds(start),
    endTimeUnixNano: toNanoseconds(end),
    attributes: toAttributes(attributes),
    status: failed ? { code: FAILED } : {},
  };
}

function toAttributes(attributes: Span['attributes']): object[] {
  return Object.entries(attributes).flatMap(([key, value]) => {
    if (value === undefined) return [];
    return { key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value } };
  });
}

function toNanoseconds(milliseconds: number): string {
  return `${Math.round(milliseconds * 1000)}000`;
}
