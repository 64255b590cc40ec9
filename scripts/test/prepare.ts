// What the tests of a run share: compiled sources, the bundle, and the data folder of a new PostgreSQL.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const COMPILE_CACHE = join(ROOT, 'node_modules/.cache/gatehouse');

/**
 * A process stores what it has compiled when it exits, and a server that a test kills stores nothing. So the first run
 * would compile everything in each process. A server has a cache of its own, because it runs with other flags of V8.
 */
export async function fillCompileCache(env: NodeJS.ProcessEnv, folder: string): Promise<void> {
  const cached = { ...env, NODE_COMPILE_CACHE: COMPILE_CACHE };
  await Promise.all([
    load(join(ROOT, 'src/cli/main.js'), cached, folder),
    runQuietly(['--input-type=module', '--eval', "await import('./test/support/test-server.ts')"], cached, ROOT),
  ]);
}

/** The package of operators, in a temporary folder. Returns its command, with a compile cache of its own. */
export async function buildBundle(env: NodeJS.ProcessEnv, folder: string): Promise<string> {
  const out = join(folder, 'bundle');
  execFileSync(process.execPath, [join(ROOT, 'scripts/build.ts'), '--out', out], { stdio: 'inherit' });
  const program = join(out, 'gatehouse.js');
  await load(program, env, folder);
  return program;
}

/** This database cannot be opened, so the server exits once it is loaded. */
function load(program: string, env: NodeJS.ProcessEnv, folder: string) {
  const unusable = { DATABASE_URL: 'sqlite:/', SECRET_KEYS: 'a-key-for-a-server-that-does-not-start' };
  return runQuietly([program, 'serve'], { ...unusable, ...env }, folder);
}

function runQuietly(args: string[], env: NodeJS.ProcessEnv, cwd: string) {
  return once(spawn(process.execPath, args, { cwd, env, stdio: 'ignore' }), 'close');
}
