import { monitorEventLoopDelay } from 'node:perf_hooks';
import { SECOND, systemClock } from '../lib/clock.ts';
import type { Metric, Sample } from './registry.ts';

/** In milliseconds: so often the event loop is looked at. */
const RESOLUTION = 20;
const WINDOW = 15 * SECOND;

/** What Prometheus' own libraries tell of a process, under the names that they use. Returns how to stop looking. */
export function newProcessMetrics(): { metrics: Metric[]; stop(): void } {
  const startedAt = (systemClock() - process.uptime() * SECOND) / SECOND;
  const gauge = (name: string, help: string, value: () => number): Metric => ({
    name,
    help,
    type: 'gauge',
    read: () => [{ value: value() }],
  });
  const loop = watchEventLoop();
  return {
    metrics: [
      {
        name: 'process_cpu_seconds_total',
        help: 'Processor time used, in the program and in the system for it.',
        type: 'counter',
        read: readCpu,
      },
      gauge('process_resident_memory_bytes', 'Memory that the process takes up.', () => process.memoryUsage.rss()),
      gauge('nodejs_heap_size_used_bytes', 'Of it, what JavaScript uses.', () => process.memoryUsage().heapUsed),
      gauge('process_start_time_seconds', 'When the process began, in seconds since 1970.', () => startedAt),
      {
        name: 'gatehouse_event_loop_delay_seconds',
        help: 'How late the event loop was in the last full window of 15 seconds.',
        type: 'gauge',
        read: loop.read,
      },
    ],
    stop: loop.stop,
  };
}

function readCpu(): Sample[] {
  const { user, system } = process.cpuUsage();
  return [{ value: (user + system) / 1_000_000 }];
}

/** In windows, and not since somebody last asked: two who ask would each see half of it. */
function watchEventLoop() {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION });
  histogram.enable();
  let window: Sample[] | undefined;
  const timer = setInterval(() => {
    window = readDelays(histogram);
    histogram.reset();
  }, WINDOW);
  timer.unref();
  return {
    read: () => window ?? readDelays(histogram),
    stop() {
      clearInterval(timer);
      histogram.disable();
    },
  };
}

/** What is measured is the time from one look to the next, so the part that is always there is taken off. */
function readDelays(histogram: ReturnType<typeof monitorEventLoopDelay>): Sample[] {
  const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - RESOLUTION / 1000);
  return [
    { labels: { quantile: '0.5' }, value: late(histogram.percentile(50)) },
    { labels: { quantile: '0.99' }, value: late(histogram.percentile(99)) },
    { labels: { quantile: '1' }, value: late(histogram.max) },
  ];
}
