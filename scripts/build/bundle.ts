import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { cyclonedxEsbuildPlugin } from '@cyclonedx/cyclonedx-esbuild';
import { build, type Metafile, type Plugin } from 'esbuild';
import { completeMetafile, ROOT } from './metafile.ts';

/** A worker thread is an entry point of its own, beside the file that starts it. */
const THREADS = globSync('src/**/*-thread.ts', { cwd: ROOT });
const threadUrls: Plugin = {
  name: 'thread-urls',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      const contents = readFileSync(path, 'utf8').replace(/new URL\('\.\/([\w-]+-thread)\.ts'/g, "new URL('./$1.js'");
      return { contents, loader: 'ts' };
    });
  },
};

/** In a stack trace, libraries have names of files and no lines: their full maps would take 3.5 MB. */
const namedLibraries: Plugin = {
  name: 'named-libraries',
  setup({ onLoad }) {
    onLoad({ filter: /\/node_modules\/.*\.[cm]?js$/ }, ({ path }) => {
      const map = JSON.stringify({ version: 3, sources: [basename(path)], mappings: 'AAAA' });
      const comment = `//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString('base64')}`;
      return { contents: `${readFileSync(path, 'utf8')}\n${comment}`, loader: 'js' };
    });
  },
};

/** Reproducible: without the time and a random number. */
const writeSbom = cyclonedxEsbuildPlugin({
  specVersion: '1.6',
  outputFile: 'sbom.cdx.json',
  outputReproducible: true,
  validate: true,
  logLevel: 'silent',
});

/** Writes the bundle and its SBOM. The metafile says which packages both contain. */
export async function bundle(out: string): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [
      { in: 'src/cli/main.js', out: 'main' },
      ...THREADS.map((file) => ({ in: file, out: basename(file, '.ts') })),
    ],
    outdir: out,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node26',
    minifySyntax: true,
    minifyWhitespace: true,
    // Node prints the line of an uncaught error.
    lineLimit: 200,
    keepNames: true,
    // An import() of CommonJS would have no named exports.
    mainFields: ['module', 'main'],
    metafile: true,
    external: ['pg-native', 'cloudflare:sockets', '@scalar/fastify-api-reference'],
    sourcemap: 'linked',
    sourcesContent: false,
    // The SBOM lists what is in the metafile, so it comes last.
    plugins: [threadUrls, namedLibraries, completeMetafile, writeSbom],
    // Packages in CommonJS call require for modules of Node.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    logLevel: 'warning',
  });
  assertNamedExports(metafile);
  const sbom = join(out, 'sbom.cdx.json');
  writeFileSync(sbom, ownAddresses(readFileSync(sbom, 'utf8')));
  return metafile;
}

/** Packages of other people may have these names on the npm registry. */
function ownAddresses(sbom: string): string {
  return sbom
    .replace(/"pkg:npm\/(gatehouse@[\d.]+)[^"]*"/, '"pkg:generic/$1"')
    .replace(/"pkg:npm\/%40gatehouse\/(client@[\d.]+)[^"]*"/, '"pkg:generic/gatehouse-$1"');
}

function assertNamedExports({ inputs }: Metafile): void {
  for (const [file, { imports }] of Object.entries(inputs)) {
    const failing = imports.find(({ path, kind }) => kind === 'dynamic-import' && inputs[path]?.format === 'cjs');
    if (failing) throw new Error(`${file} imports ${failing.path}, which is CommonJS: its exports would be missing.`);
  }
}
