// Loaded into a server before anything else: while the file that STALL_FILE names exists, no flush to the disk returns.
import fs, { existsSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const LOOK_EVERY = 10;
const { fdatasync } = fs;

function flush(file: number, done: (error: Error | null) => void): void {
  if (existsSync(process.env.STALL_FILE ?? '')) setTimeout(flush, LOOK_EVERY, file, done);
  else fdatasync(file, done);
}

fs.fdatasync = flush as typeof fdatasync;
syncBuiltinESMExports();
