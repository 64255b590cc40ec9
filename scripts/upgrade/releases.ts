import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import releases from './releases.json' with { type: 'json' };

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, maxBuffer: 1 << 30, stdio: 'pipe' });

export interface Release {
  name: string;
  commit: string;
}

/** Those whose nodes may run beside this checkout, newest first, as far as the clone has them. */
export function findReleases(): Release[] {
  return releases.map(findRelease).filter((release) => release !== undefined);
}

/** By its tag, or by its recorded commit in a clone without tags. */
function findRelease({ tag, commit }: { tag: string; commit: string }): Release | undefined {
  for (const name of [`refs/tags/${tag}`, commit]) {
    try {
      return { name: tag, commit: git('rev-parse', '--verify', '--quiet', `${name}^{commit}`).toString().trim() };
    } catch {
      // Not in this clone.
    }
  }
  return undefined;
}

/** The files of a commit, without a build: Node runs the sources. */
export function checkOut({ commit }: Release, folder: string): string {
  mkdirSync(folder, { recursive: true });
  execFileSync('tar', ['-x', '-C', folder], { input: git('archive', commit) });
  linkPackages(folder);
  return folder;
}

/** What the next release could be: this checkout, and the sample migrations after its own. */
export function createNextRelease(folder: string): string {
  const files = git('ls-files', '-z', '--cached', '--others', '--exclude-standard', 'src', 'demo', 'package.json');
  for (const file of files.toString().split('\0').filter(Boolean)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(ROOT, file), join(folder, file));
  }
  linkPackages(folder);
  const migrations = join(folder, 'src/storage/migrations');
  renameSync(join(migrations, 'all.ts'), join(migrations, 'released.ts'));
  const sample = readFileSync(join(ROOT, 'test/support/sample-migrations.ts'), 'utf8');
  writeFileSync(join(migrations, 'sample.ts'), sample.replace('../../src/storage/migrations/', './'));
  writeFileSync(
    join(migrations, 'all.ts'),
    `import { MIGRATIONS as RELEASED } from './released.ts';
import { SAMPLE_CONTRACT, SAMPLE_EXPAND } from './sample.ts';

export const MIGRATIONS = [...RELEASED, SAMPLE_EXPAND, SAMPLE_CONTRACT];
`,
  );
  return folder;
}

function linkPackages(folder: string): void {
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
}
