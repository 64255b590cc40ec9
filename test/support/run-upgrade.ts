// Migrates the database of its first argument to the sample release, and prints its progress.
import { upgrade } from '../../src/storage/migrate.ts';
import { MIGRATIONS } from '../../src/storage/migrations/all.ts';
import { openStorage } from '../../src/storage/open.ts';
import { SAMPLE_CONTRACT, SAMPLE_EXPAND } from './sample-migrations.ts';

const storage = await openStorage(process.argv[2] ?? '', 'migrating');
const migrations = [...MIGRATIONS, SAMPLE_EXPAND, SAMPLE_CONTRACT];
await upgrade(storage, { migrations, onProgress: (message) => console.log(message) });
await storage.close();
