// Runs test files one after the other in this process. The servers of a file close before the next file is loaded.
import { resolve } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

for (const file of process.argv.slice(2)) test(file, () => import(pathToFileURL(resolve(file)).href));
