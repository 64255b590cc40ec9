// JavaScript: this file is read before there is a cache, and as TypeScript it would be stripped of its types at each start.
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// The database holds what only its owner should read.
process.umask(0o077);

// What one start has read and compiled, the next need not. Where this folder cannot be written, each start does it anew.
enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/gatehouse', import.meta.url)));

const { runGatehouse } = await import('./gatehouse.ts');
process.exitCode = await runGatehouse(process.argv.slice(2), process.env);
