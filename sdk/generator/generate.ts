import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pythonFiles } from './python.ts';
import { typescriptFiles } from './typescript.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The generated files of both client libraries, by path. */
export function generateSdk(): Record<string, string> {
  const typescript = Object.entries(typescriptFiles());
  const python = Object.entries(pythonFiles());
  return Object.fromEntries([
    ...typescript.map(([name, text]) => [`sdk/typescript/src/${name}`, format(text)]),
    ...python.map(([name, text]) => [`sdk/python/src/gatehouse_client/${name}`, text]),
  ]);
}

function format(text: string): string {
  const biome = join(ROOT, 'node_modules/.bin/biome');
  const args = ['check', '--write', '--stdin-file-path=sdk/typescript/src/x.ts'];
  return execFileSync(biome, args, { cwd: ROOT, input: text, encoding: 'utf8' });
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(generateSdk())) writeFileSync(join(ROOT, path), text);
}
