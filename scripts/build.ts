// `npm run build` makes dist/, the package for operators: `node dist/gatehouse.js serve` needs Node and nothing else.
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { brotliCompressSync } from 'node:zlib';
import { build, type Plugin } from 'esbuild';
import { extractScalar } from '../src/web/reference/scalar.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({ options: { out: { type: 'string', default: join(root, 'dist') } } });
const out = values.out;

/** Read at runtime, at the same paths below the package's root as in a checkout. */
const FILES = [
  'src/web/{assets,styles}/*',
  'docs/{guides,reference,decisions}/*.md',
  'sdk/{typescript,python,guard}/README.md',
  'LICENSE',
];

/** A worker thread is an entry point of its own, beside the file that starts it. */
const THREADS = globSync('src/**/*-thread.ts', { cwd: root });
const threadUrls: Plugin = {
  name: 'thread-urls',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      const contents = readFileSync(path, 'utf8').replace(/new URL\('\.\/([\w-]+-thread)\.ts'/g, "new URL('./$1.js'");
      return { contents, loader: 'ts' };
    });
  },
};

rmSync(out, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: [
    { in: 'src/cli/main.js', out: 'gatehouse' },
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
  keepNames: true,
  external: ['pg-native', 'cloudflare:sockets', '@scalar/fastify-api-reference'],
  plugins: [threadUrls],
  // Packages in CommonJS call require for modules of Node.
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  logLevel: 'warning',
});
for (const file of globSync(FILES, { cwd: root })) {
  mkdirSync(dirname(join(out, file)), { recursive: true });
  cpSync(join(root, file), join(out, file));
}
// @fastify/static sends the compressed file to browsers that accept it.
const scalar = await extractScalar();
writeFileSync(join(out, 'src/web/assets/scalar.js'), scalar);
writeFileSync(join(out, 'src/web/assets/scalar.js.br'), brotliCompressSync(scalar));
cpSync(
  join(root, 'node_modules/@scalar/fastify-api-reference/LICENSE'),
  join(out, 'src/web/assets/scalar-license.txt'),
);
writeFileSync(join(out, 'package.json'), `${JSON.stringify(describePackage(), null, 2)}\n`);

function describePackage() {
  const { name, version, description, license, optionalDependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  const [node] = Object.values<string>(optionalDependencies);
  const engines = { node: `>=${node?.split('.')[0]}` };
  return { name, version, description, license, type: 'module', engines, bin: { gatehouse: 'gatehouse.js' } };
}
