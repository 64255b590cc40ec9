// `node scripts/measure-sign-in.ts`: whether the time of a refused sign-in tells if there is such a user.
// Pairs of tries, one after the other and in either order, so that whatever else the machine does meets both alike.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { authenticateUser } from '../src/accounts/passwords.ts';
import { insertUser, newUserRow } from '../src/accounts/users.ts';
import { hashPassword } from '../src/lib/passwords.ts';
import { ensureMigrated } from '../src/storage/migrate.ts';
import { openStorage } from '../src/storage/open.ts';

const TRIES = 200;

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-measure-'));
const storage = await openStorage(`sqlite:${join(folder, 'gatehouse.db')}`);
await ensureMigrated(storage);
const passwordHash = await hashPassword('correct horse battery');
const user = { email: 'known@example.com', name: 'Known', passwordHash, isPlatformAdmin: false };
await insertUser(storage.durable, newUserRow(user, 0));

const times: Record<string, number[]> = { 'known@example.com': [], 'unknown@example.com': [] };
for (let round = 0; round < TRIES; round++) {
  const order = Object.keys(times);
  for (const email of round % 2 === 0 ? order : order.reverse()) {
    const began = performance.now();
    await authenticateUser(storage.durable, email, 'not the password');
    times[email]?.push(performance.now() - began);
  }
}
await storage.close();
rmSync(folder, { recursive: true });

const [known = 0, unknown = 0] = Object.values(times).map(median);
const apart = (Math.abs(known - unknown) / known) * 100;
console.log(
  `A wrong password takes ${known.toFixed(2)} ms and an unknown user ${unknown.toFixed(2)} ms: ${apart.toFixed(1)} % apart.`,
);
process.exitCode = apart < 5 ? 0 : 1;

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}
