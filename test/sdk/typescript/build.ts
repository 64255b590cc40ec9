import { execFile } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
export const LIBRARY = join(ROOT, 'sdk/typescript');
export const TSC = join(ROOT, 'node_modules/.bin/tsc');

/** Runs a program without blocking this process, and returns its output. */
export async function run(program: string, args: string[], cwd: string): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(program, args, { cwd, env: plainEnvironment() }).catch(
    (error) => {
      throw new Error(`${program} ${args.join(' ')}:\n${error.stdout}${error.stderr}`);
    },
  );
  return stdout + stderr;
}

/** The environment without the variables of `npm test`, which would affect npm in another folder. */
function plainEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_TEST/i.test(name)));
}

export function createFolder(): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'gatehouse-client-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Builds the ES modules of the library into a temporary folder. */
export async function buildLibrary(): Promise<string> {
  const folder = createFolder();
  await run(process.execPath, ['build.mjs', folder], LIBRARY);
  return join(folder, 'esm');
}
