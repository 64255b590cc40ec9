import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Registry } from 'prom-client';
import { type Clock, SECOND, systemClock } from '../lib/clock.ts';
import type { Keyring } from '../lib/keyring.ts';
import { openStandardOutput } from '../lib/log-output.ts';
import type { RequestRecorder } from '../request-log/recorder.ts';
import type { Storage } from '../storage/storage.ts';
import { databaseGauges } from './database-gauges.ts';
import { type Metrics, readCounter, readGauge, type Sample } from './metrics.ts';

interface MetricsDeps {
  metrics: Metrics;
  storage: Storage;
  clock: Clock;
  keys: Keyring;
  requestLog: RequestRecorder;
  version: string;
}

interface ListenOptions {
  host: string;
  port: number;
  /** How many ports to try, from this one on: each worker of a node takes one. */
  ports: number;
}

/**
 * Serves GET /metrics on a listener of its own, so that no client of the two hosts can read it. Returns a function that
 * stops it.
 */
export async function serveMetrics(deps: MetricsDeps, options: ListenOptions): Promise<() => Promise<void>> {
  const { registry } = deps.metrics;
  const stopDatabase = databaseGauges(registry, deps);
  serverGauges(registry, deps);
  const stopProcess = processGauges(registry);
  const stopGauges = async () => {
    stopProcess();
    await stopDatabase();
  };
  try {
    const stopListening = await listenForScrapes(registry, options);
    return async () => {
      await stopListening();
      await stopGauges();
    };
  } catch (error) {
    await stopGauges();
    throw error;
  }
}

async function listenForScrapes(registry: Registry, options: ListenOptions): Promise<() => Promise<void>> {
  const server = createServer({ requestTimeout: 10 * SECOND, headersTimeout: 5 * SECOND }, scrapeHandler(registry));
  server.unref();
  await listenOnFreePort(server, options);
  return async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
}

function scrapeHandler(registry: Registry): RequestListener {
  return async ({ method, url }, response) => {
    response.setHeader('x-content-type-options', 'nosniff');
    response.setHeader('cache-control', 'no-store');
    if (url?.replace(/\?.*$/s, '') !== '/metrics') response.writeHead(404).end();
    else if (method !== 'GET' && method !== 'HEAD') response.writeHead(405, { allow: 'GET, HEAD' }).end();
    else response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics());
  };
}

/** Each worker takes the first free port; a new worker finds the port of the one it replaces. */
async function listenOnFreePort(server: Server, { host, port, ports }: ListenOptions): Promise<void> {
  for (let tried = 0; ; tried++) {
    try {
      // `exclusive`: cluster workers would otherwise share the port.
      server.listen({ host, port: port + tried, exclusive: true });
      await once(server, 'listening');
      return;
    } catch (error) {
      const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      if (!isTaken || tried + 1 >= ports) throw error;
    }
  }
}

function serverGauges(registry: Registry, { requestLog, keys, version, storage }: MetricsDeps): void {
  const labels = { version, node: process.versions.node, database: storage.engine };
  readCounter(
    registry,
    'gatehouse_activity_dropped_total',
    'Requests of apps that were not logged, because the buffers were full.',
    () => requestLog.dropped(),
  );
  readCounter(
    registry,
    'gatehouse_log_dropped_lines_total',
    'Log lines that were dropped because standard output could not be written.',
    () => openStandardOutput().dropped(),
  );
  readGauge(registry, 'gatehouse_keys', 'Keys in use: the first signs, all verify.', () => [
    { value: keys.all.length },
  ]);
  readGauge(
    registry,
    'gatehouse_build_info',
    'Always 1; its labels say what runs.',
    () => [{ labels, value: 1 }],
    Object.keys(labels),
  );
}

/** In milliseconds. */
const EVENT_LOOP_RESOLUTION = 20;
const EVENT_LOOP_WINDOW = 15 * SECOND;

/** The names are those of prom-client's default metrics; of these, only the ones that operators need. */
function processGauges(registry: Registry): () => void {
  const startedAt = (systemClock() - process.uptime() * SECOND) / SECOND;
  const gauge = (name: string, help: string, value: () => number) =>
    readGauge(registry, name, help, () => [{ value: value() }]);
  const cpuHelp = 'Processor time used, in the program and in the system for it.';
  readCounter(registry, 'process_cpu_seconds_total', cpuHelp, () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000_000;
  });
  gauge('process_resident_memory_bytes', 'Memory that the process takes up.', () => process.memoryUsage.rss());
  gauge('nodejs_heap_size_used_bytes', 'Of it, what JavaScript uses.', () => process.memoryUsage().heapUsed);
  gauge('process_start_time_seconds', 'When the process began, in seconds since 1970.', () => startedAt);
  return eventLoopGauge(registry);
}

/** Measures fixed windows instead of the time since the last scrape, so that two scrapers read the same values. */
function eventLoopGauge(registry: Registry): () => void {
  const histogram = monitorEventLoopDelay({ resolution: EVENT_LOOP_RESOLUTION });
  histogram.enable();
  let window: Sample[] | undefined;
  const timer = setInterval(() => {
    window = readDelays(histogram);
    histogram.reset();
  }, EVENT_LOOP_WINDOW);
  timer.unref();
  const help = 'How late the event loop was in the last full window of 15 seconds.';
  readGauge(registry, 'gatehouse_event_loop_delay_seconds', help, () => window ?? readDelays(histogram), ['quantile']);
  return () => {
    clearInterval(timer);
    histogram.disable();
  };
}

/** Node measures the time between two timers, so the interval itself is subtracted. */
function readDelays(histogram: ReturnType<typeof monitorEventLoopDelay>): Sample[] {
  const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - EVENT_LOOP_RESOLUTION / 1000);
  return [
    { labels: { quantile: '0.5' }, value: late(histogram.percentile(50)) },
    { labels: { quantile: '0.99' }, value: late(histogram.percentile(99)) },
    { labels: { quantile: '1' }, value: late(histogram.max) },
  ];
}
