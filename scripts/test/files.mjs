// Runs test files one after the other in this process. The servers of a file close before the next file is loaded.
// Processes with the same folder in TEST_TAKEN share the files: each takes the next one that no other has taken.
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

const { TEST_TAKEN: taken } = process.env;
/** In milliseconds. */
const TIME_TO_END = 10_000;
let hasFailedToLoad = false;

for (const [index, file] of process.argv.slice(2).entries()) {
  if (!takes(index)) continue;
  await test(file, () => load(file));
  if (taken) mkdirSync(join(taken, 'ended', `${index}`));
}
if (hasFailedToLoad) setTimeout(process.exit, TIME_TO_END).unref();

/** A file that fails here may leave a server open, which would keep the process running for ever. */
async function load(file) {
  try {
    await import(pathToFileURL(resolve(file)).href);
  } catch (error) {
    hasFailedToLoad = true;
    throw error;
  }
}

/** Only one process can create the folder of a file. */
function takes(index) {
  if (!taken) return true;
  try {
    mkdirSync(join(taken, 'begun', `${index}`));
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}
