import type { Clock } from '../lib/clock.ts';
import type { Keyring } from '../lib/keyring.ts';
import { openStandardOutput } from '../lib/log-output.ts';
import type { RequestRecorder } from '../request-log/request-recorder.ts';
import type { Storage } from '../storage/storage.ts';
import { watchDatabase } from './database-gauges.ts';
import { listenForScrapes } from './listener.ts';
import type { Meters } from './meters.ts';
import { newProcessMetrics } from './process-gauges.ts';
import type { Metric } from './registry.ts';

interface MetricsParts {
  meters: Meters;
  storage: Storage;
  clock: Clock;
  keys: Keyring;
  activity: RequestRecorder;
  version: string;
}

/** Tells whoever asks how the server is doing. Returns how to stop. */
export async function serveMetrics(
  parts: MetricsParts,
  place: Parameters<typeof listenForScrapes>[1],
): Promise<() => Promise<void>> {
  const [ofProcess, ofDatabase] = [newProcessMetrics(), watchDatabase(parts)];
  const stopWatching = async () => {
    ofProcess.stop();
    await ofDatabase.stop();
  };
  const metrics = [...parts.meters.metrics, ...ofDatabase.metrics, ...describeServer(parts), ...ofProcess.metrics];
  try {
    const stopListening = await listenForScrapes(metrics, place);
    return async () => {
      await stopListening();
      await stopWatching();
    };
  } catch (error) {
    await stopWatching();
    throw error;
  }
}

function describeServer({ activity, keys, version, storage }: MetricsParts): Metric[] {
  const database = storage.migratesItself ? 'sqlite' : 'postgres';
  return [
    {
      name: 'gatehouse_activity_dropped_total',
      help: 'Requests of apps that there was no room to remember.',
      type: 'counter',
      read: () => [{ value: activity.dropped() }],
    },
    {
      name: 'gatehouse_log_dropped_lines_total',
      help: 'Log lines that were dropped because standard output could not be written.',
      type: 'counter',
      read: () => [{ value: openStandardOutput().dropped() }],
    },
    {
      name: 'gatehouse_keys',
      help: 'Keys in use: the first signs, all verify.',
      type: 'gauge',
      read: () => [{ value: keys.all.length }],
    },
    {
      name: 'gatehouse_build_info',
      help: 'Always 1; its labels say what runs.',
      type: 'gauge',
      read: () => [{ labels: { version, node: process.versions.node, database }, value: 1 }],
    },
  ];
}
