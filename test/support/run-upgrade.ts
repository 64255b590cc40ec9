// Migrates the database of its first argument to the sample release. Kills itself when it has begun as many steps as its
// second argument says, after the milliseconds of its third: immediately for 0, however busy the machine is.
import { upgrade } from '../../src/storage/migrate.ts';
import { MIGRATIONS } from '../../src/storage/migrations/all.ts';
import { openStorage } from '../../src/storage/open.ts';
import { SAMPLE_CONTRACT, SAMPLE_EXPAND } from './sample-migrations.ts';

const [url = '', nth, delay] = process.argv.slice(2);
let begun = 0;

function onProgress(message: string): void {
  if (!/step \d of \d: (add|build|fill rows|check|drop)/.test(message)) return;
  begun += 1;
  if (begun !== Number(nth)) return;
  if (Number(delay) === 0) die();
  else setTimeout(die, Number(delay)).unref();
}

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}

const storage = await openStorage(url, 'migrating');
await upgrade(storage, { migrations: [...MIGRATIONS, SAMPLE_EXPAND, SAMPLE_CONTRACT], onProgress });
await storage.close();
