// Preloaded into a server: while the file STALL_FILE exists, no sync returns. Writes to that file when a sync begins.
import fs, { existsSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const POLL_INTERVAL = 10;
const STALL_FILE = process.env.STALL_FILE ?? '';
const { fdatasync } = fs;

function begin(file: number, done: (error: Error | null) => void): void {
  if (existsSync(STALL_FILE)) writeFileSync(STALL_FILE, 'syncing');
  finish(file, done);
}

function finish(file: number, done: (error: Error | null) => void): void {
  if (existsSync(STALL_FILE)) setTimeout(finish, POLL_INTERVAL, file, done);
  else fdatasync(file, done);
}

fs.fdatasync = begin as typeof fdatasync;
syncBuiltinESMExports();
