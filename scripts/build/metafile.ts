import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Metafile, Plugin } from 'esbuild';
import { extractScalar } from '../../src/web/reference/scalar.ts';
import { findLicenceFiles, MIT } from './licences.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Files of the package that are copied or generated from other packages, and that no import leads to. */
const COPIED = {
  'src/web/assets/scalar.js': '@scalar/fastify-api-reference',
  'src/web/assets/geist-latin.woff2': '@fontsource-variable/geist',
  'src/web/components/icons.ts': 'lucide-static',
};

/** Where a package contains a version of another one that npm did not install, this folder gets its manifest. */
const EMBEDDED = 'node_modules/.cache/embedded';

/** esbuild's metafile lists the files that it bundled. This adds the other packages whose content they have. */
export const completeMetafile: Plugin = {
  name: 'complete-metafile',
  setup({ onEnd }) {
    onEnd(async ({ metafile }) => {
      if (!metafile) return;
      addCopied(metafile);
      addNamed(metafile, await extractScalar());
      addEmbedded(metafile);
    });
  },
};

function addCopied({ inputs, outputs }: Metafile): void {
  for (const [file, name] of Object.entries(COPIED)) {
    const manifest = `node_modules/${name}/package.json`;
    inputs[manifest] = { bytes: 0, imports: [] };
    outputs[file] = { bytes: 0, exports: [], imports: [], inputs: { [manifest]: { bytesInOutput: 1 } } };
  }
}

/** Scalar's script was bundled by its authors. Comments in it name the packages, and their licences. */
function addNamed({ inputs, outputs }: Metafile, script: string): void {
  const file = 'src/web/assets/scalar.js' satisfies keyof typeof COPIED;
  for (const [comment] of script.matchAll(/\/\*[!*][\s\S]*?\*\//g)) {
    const [, name, version] = /^[/!* \n]*(@?[\w./-]+) v?(\d+\.\d+\.\d+)\s/.exec(comment) ?? [];
    if (!name || !version || !/\bMIT\b/.test(comment)) continue;
    const folder = join(ROOT, EMBEDDED, `${name}@${version}`);
    if (!existsSync(folder))
      writePackage(folder, { name, version, license: 'MIT' }, { 'LICENSE.txt': standardLicence(comment) });
    const manifest = relative(ROOT, join(folder, 'package.json'));
    inputs[manifest] = { bytes: 0, imports: [] };
    inputs[`node_modules/${COPIED[file]}/package.json`]?.imports.push({ path: manifest, kind: 'import-statement' });
    const output = outputs[file];
    if (output) output.inputs[manifest] = { bytesInOutput: 1 };
  }
}

function standardLicence(comment: string): string {
  const lines = comment.split('\n').map((line) => line.replace(/^[/!* ]+|[/* ]+$/g, ''));
  const copyright = lines.find((line) => line.startsWith('(c)')) ?? lines.filter(Boolean).join(' ');
  return MIT.replace(/^Copyright .*$/m, copyright.replace('(c)', 'Copyright (c)'));
}

/** Some packages contain others, which their authors bundled. */
function addEmbedded({ inputs, outputs }: Metafile): void {
  for (const output of Object.values(outputs)) {
    for (const [file, bytes] of Object.entries(output.inputs)) {
      for (const manifest of findEmbedded(file)) {
        inputs[manifest] ??= { bytes: 0, imports: [] };
        inputs[file]?.imports.push({ path: manifest, kind: 'import-statement' });
        output.inputs[manifest] = bytes;
      }
    }
  }
}

/** The manifests of packages in the source map of a library. */
function findEmbedded(file: string): Set<string> {
  const map = join(ROOT, `${file}.map`);
  if (!file.includes('node_modules/') || !existsSync(map)) return new Set();
  const { sources } = JSON.parse(readFileSync(map, 'utf8')) as { sources: string[] };
  return new Set(
    sources.flatMap((source) => {
      const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source) ?? [];
      // pnpm's folders name the version.
      const [, version] = /\.pnpm\/[^/]+?@(\d[^/_(]*)[^/]*\/node_modules\//.exec(source) ?? [];
      return name ? [findManifest(file, name, version)] : [];
    }),
  );
}

/** Without a version, it is the installed one. */
function findManifest(file: string, name: string, version?: string): string {
  const folders = createRequire(join(ROOT, file)).resolve.paths(name) ?? [];
  const installed = folders.map((folder) => join(folder, name)).find((folder) => existsSync(folder));
  if (!installed) {
    throw new Error(
      `${file} contains ${name}, which is not installed, so its licence is unknown. Add ${name} to devDependencies.`,
    );
  }
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  if (!version || version === manifest.version) return relative(ROOT, join(installed, 'package.json'));
  const folder = join(ROOT, EMBEDDED, `${name}@${version}`);
  if (!existsSync(folder)) writePackage(folder, { ...manifest, version }, readLicences(installed));
  return relative(ROOT, join(folder, 'package.json'));
}

function readLicences(folder: string): Record<string, string> {
  return Object.fromEntries(findLicenceFiles(folder).map((file) => [file, readFileSync(join(folder, file), 'utf8')]));
}

/** Atomic: several builds can run at the same time. */
function writePackage(to: string, manifest: object, licences: Record<string, string>): void {
  mkdirSync(dirname(to), { recursive: true });
  const copy = mkdtempSync(`${to}-`);
  for (const [name, text] of Object.entries(licences)) writeFileSync(join(copy, name), text);
  writeFileSync(join(copy, 'package.json'), JSON.stringify(manifest));
  try {
    renameSync(copy, to);
  } catch (error) {
    rmSync(copy, { recursive: true });
    if (!existsSync(to)) throw error;
  }
}
