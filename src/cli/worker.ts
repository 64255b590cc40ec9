import cluster from 'node:cluster';
import { flushCompileCache } from 'node:module';
import { inspect } from 'node:util';
import type { Settings } from '../config.ts';
import { SECOND } from '../lib/clock.ts';
import { explainServing } from './explain.ts';
import { DRAIN_TIMEOUT, exitSoon } from './serve.ts';

/** How long a worker that was told to stop may take: longer than anything that it waits for. */
export const ENDS_WITHIN = 30 * SECOND;

/** What a worker tells whoever started it. */
export type Report = { isReady: true } | { refusal: string };

/** One of several processes that serve together. */
export async function serveAsWorker(settings: Settings): Promise<void> {
  const toldToStop = untilToldToStop();
  try {
    const { startServer } = await import('../server.ts');
    const server = await startServer(settings);
    await tell({ isReady: true });
    flushCompileCache();
    await toldToStop;
    await server.close(DRAIN_TIMEOUT);
  } catch (error) {
    const sentence = explainServing(error);
    await tell({ refusal: typeof sentence === 'string' ? sentence : inspect(error) });
  }
  exitSoon();
  if (process.connected) process.disconnect?.();
}

/**
 * A worker ends by SIGTERM, in order and however often it comes, and when whoever started it is gone. Ctrl+C reaches every
 * process in the terminal, so it is left to the one that started them all.
 */
function untilToldToStop(): Promise<void> {
  process.on('SIGINT', () => {});
  return new Promise((resolve) => {
    process.on('SIGTERM', () => resolve());
    cluster.worker?.once('disconnect', () => {
      // Without this, Node would end the process on the spot.
      if (cluster.worker) cluster.worker.exitedAfterDisconnect = true;
      setTimeout(() => process.exit(1), ENDS_WITHIN).unref();
      resolve();
    });
  });
}

/** If nobody is there to hear it, nobody needs to. */
function tell(report: Report): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(report, undefined, undefined, () => resolve());
  });
}
