// A worker thread that creates and fills databases, which takes minutes.
import { parentPort, workerData } from 'node:worker_threads';
import { fill } from './fill.ts';
import type { EmptyDatabase, FilledDatabase } from './filling.ts';
import { seed } from './seed.ts';

const filled: FilledDatabase[] = [];
for (const { url, grants } of workerData as EmptyDatabase[]) {
  const { app } = await seed(url, 1);
  const users = await fill(url, { grants, appId: app.id, order: 'none' });
  filled.push({ url, grants, seeded: { app, users } });
}
parentPort?.postMessage(filled);
