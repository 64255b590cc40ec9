// Compiles src into dist, once as ES modules and once as CommonJS.
import { execSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const [out = 'dist'] = process.argv.slice(2).map((folder) => resolve(folder));
process.chdir(import.meta.dirname);
rmSync(out, { recursive: true, force: true });

for (const [folder, project] of [
  ['esm', 'tsconfig.json'],
  ['cjs', 'tsconfig.cjs.json'],
]) {
  const target = join(out, folder);
  execSync(`tsc --project ${project} --outDir "${target}"`, { stdio: 'inherit' });
  nameBuiltFiles(target);
}
writeFileSync(join(out, 'cjs/package.json'), '{ "type": "commonjs" }\n');

/** tsc writes `.js` into the imports of its JavaScript, but leaves `.ts` in those of its declarations. */
function nameBuiltFiles(folder) {
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.d.ts'))) {
    const file = join(folder, name);
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'"));
  }
}
