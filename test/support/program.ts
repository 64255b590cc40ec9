import { fileURLToPath } from 'node:url';

/** The command that tests start as a process: the bundle that scripts/test.mjs has built for the run, or the sources. */
export const PROGRAM = process.env.TEST_PROGRAM ?? fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
