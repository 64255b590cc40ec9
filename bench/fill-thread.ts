// A thread of its own: makes one database after the other and fills it, which takes minutes.
import { parentPort, workerData } from 'node:worker_threads';
import { fill } from './fill.ts';
import type { Grown, Unfilled } from './filling.ts';
import { seed } from './seed.ts';

const filled: Grown[] = [];
for (const { url, grants } of workerData as Unfilled[]) {
  const { app } = await seed(url, 1);
  const people = await fill(url, { grants, appId: app.id, order: 'none' });
  filled.push({ url, grants, seeded: { app, people } });
}
parentPort?.postMessage(filled);
