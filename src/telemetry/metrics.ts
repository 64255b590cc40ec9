import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { REASONS } from '../http/errors.ts';
import type { ResponseSummary } from '../http/host.ts';
import { SECOND } from '../lib/clock.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** What is counted as it happens, whether or not anything scrapes it. */
export function createMetrics() {
  const registry = new Registry();
  const spans = labelledCounter(
    registry,
    'gatehouse_trace_spans_total',
    'Spans sent to the collector of traces, or dropped.',
    'outcome',
    ['sent', 'dropped'],
  );
  const mails = labelledCounter(
    registry,
    'gatehouse_mails_total',
    'Mails that were queued, sent, or given up as failed.',
    'outcome',
    ['queued', 'sent', 'failed'],
  );
  return {
    registry,
    countMail: (outcome: 'queued' | 'sent' | 'failed') => mails.inc({ outcome }),
    ...responseMetrics(registry),
    ...rateLimitMetrics(registry),
    retention: retentionMetrics(registry),
    countSpans: (outcome: 'sent' | 'dropped', count: number) => spans.inc({ outcome }, count),
  };
}

/** Lists these values of the label from the start, at 0. */
export function labelledCounter<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  label: Label,
  values: readonly string[] = [],
): Counter<Label> {
  const counter = new Counter({ name, help, labelNames: [label], registers: [registry] });
  for (const value of values) counter.inc({ [label]: value } as Record<Label, string>, 0);
  return counter;
}

/** In seconds. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'none']);
const KNOWN_REASONS: ReadonlySet<string> = new Set(['', ...Object.values(REASONS).flat()]);
const STATUS_CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'];

/** How many responses wait to be counted. Counting them together takes half the time. */
const MAX_UNCOUNTED = 100;

/** No label holds text that a client can choose, so the number of series is bounded. */
function responseMetrics(registry: Registry) {
  let uncounted: { host: string; response: ResponseSummary }[] = [];
  const collect = () => {
    const all = uncounted;
    uncounted = [];
    for (const { host, response } of all) {
      const { route, took, reason = '' } = response;
      const method = METHODS.has(response.method) ? response.method : 'other';
      const status = STATUS_CLASSES[Math.floor(response.status / 100) - 1] ?? 'other';
      responses.inc({ host, route, method, status, reason: KNOWN_REASONS.has(reason) ? reason : 'other' });
      if (took !== undefined) durations.observe({ host, route }, took / SECOND);
    }
  };
  const responses = new Counter({
    name: 'gatehouse_http_requests_total',
    help: 'Responses, by host, route, method, class of status and reason of the error.',
    labelNames: ['host', 'route', 'method', 'status', 'reason'],
    registers: [registry],
    collect,
  });
  const durations = new Histogram({
    name: 'gatehouse_http_request_duration_seconds',
    help: 'Time from the first line of a request to the last byte of its response.',
    labelNames: ['host', 'route'],
    buckets: DURATION_BUCKETS,
    registers: [registry],
    collect,
  });
  return {
    responseListener: (host: string) => (response: ResponseSummary) => {
      uncounted.push({ host, response });
      if (uncounted.length === MAX_UNCOUNTED) collect();
    },
  };
}

function rateLimitMetrics(registry: Registry) {
  const rejections = labelledCounter(
    registry,
    'gatehouse_rate_limit_refusals_total',
    'Requests rejected because a rate limit was reached, by limit.',
    'limit',
  );
  return {
    /** Lists the limit at 0. Its label is the name of the setting, without `LIMIT_`. */
    rateLimitListener(setting: string): () => void {
      const limit = setting.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      rejections.inc({ limit }, 0);
      return () => rejections.inc({ limit });
    },
  };
}

function retentionMetrics(registry: Registry) {
  const removed = labelledCounter(
    registry,
    'gatehouse_clean_up_removed_rows_total',
    'Expired rows that were removed, by table.',
    'table',
  );
  const finished = new Gauge({
    name: 'gatehouse_clean_up_finished_timestamp_seconds',
    help: 'When the clean-up last had nothing left to remove, in seconds since 1970; 0 if it never had.',
    registers: [registry],
  });
  const clockJump = new Gauge({
    name: 'gatehouse_clock_jump_seconds',
    help: 'How far the clock is ahead of the expected time after a jump, until an operator confirms it; otherwise 0.',
    registers: [registry],
  });
  return {
    removed: (table: string, rows: number) => removed.inc({ table }, rows),
    /** Nothing was left to remove. */
    finished: (now: number) => finished.set(now / SECOND),
    /** In milliseconds; 0 while the clock is plausible. */
    recordClockJump: (milliseconds: number) => clockJump.set(milliseconds / SECOND),
  };
}

export interface Sample {
  labels?: Record<string, string>;
  value: number;
}

/** A gauge that is read when it is scraped. Without samples, only its name is listed. */
export function readGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => Sample[],
  labelNames: string[] = [],
) {
  new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      if (labelNames.length === 0) this.remove({});
      for (const { labels = {}, value } of read()) this.set(labels, value);
    },
  });
}

/** A counter whose total is kept elsewhere. */
export function readCounter(registry: Registry, name: string, help: string, read: () => number): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}
