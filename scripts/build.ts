// `npm run build` makes dist/: `node dist/gatehouse.js serve` needs Node and nothing else. `npm run package` packs it for operators.
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { brotliCompressSync, constants } from 'node:zlib';
import { build, type Metafile, type Plugin } from 'esbuild';
import { extractScalar } from '../src/web/reference/scalar.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({ options: { out: { type: 'string', default: join(root, 'dist') } } });
const out = values.out;

/** At the same paths below the package's root as in a checkout: the first three are read at runtime, the others by people. */
const FILES = [
  'src/web/{assets,styles}/*',
  'docs/{guides,reference,decisions}/*.md',
  'sdk/{typescript,python,guard}/README.md',
  'deploy/**/*.*',
  '{CHANGELOG,README}.md',
  'LICENSE',
];
const SECRETS = 'deploy/secrets/**';

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

rmSync(out, { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: root,
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
  plugins: [threadUrls, namedLibraries],
  // Packages in CommonJS call require for modules of Node.
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  logLevel: 'warning',
});
assertNamedExports(metafile);
cpSync(join(root, 'src/cli/launcher.js'), join(out, 'gatehouse.js'));
cpSync(join(root, 'src/cli/source-maps.js'), join(out, 'source-maps.js'));
chmodSync(join(out, 'gatehouse.js'), 0o755);
for (const file of globSync(FILES, { cwd: root, exclude: [SECRETS] })) {
  mkdirSync(dirname(join(out, file)), { recursive: true });
  cpSync(join(root, file), join(out, file));
}
// @fastify/static sends the compressed file to browsers that accept it.
const scalar = await extractScalar();
writeFileSync(join(out, 'src/web/assets/scalar.js'), scalar);
// The best quality, 11, takes ten times as long and saves a tenth of the size.
const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
writeFileSync(join(out, 'src/web/assets/scalar.js.br'), brotliCompressSync(scalar, { params }));
cpSync(
  join(root, 'node_modules/@scalar/fastify-api-reference/LICENSE'),
  join(out, 'src/web/assets/scalar-license.txt'),
);
writeFileSync(join(out, 'package.json'), `${JSON.stringify(describePackage(), null, 2)}\n`);

function assertNamedExports({ inputs }: Metafile): void {
  for (const [file, { imports }] of Object.entries(inputs)) {
    const failing = imports.find(({ path, kind }) => kind === 'dynamic-import' && inputs[path]?.format === 'cjs');
    if (failing) throw new Error(`${file} imports ${failing.path}, which is CommonJS: its exports would be missing.`);
  }
}

function describePackage() {
  const { name, version, description, license, optionalDependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  const [node] = Object.values<string>(optionalDependencies);
  const engines = { node: `>=${node?.split('.')[0]}` };
  const bin = { gatehouse: 'gatehouse.js' };
  return { name, version, description, license, type: 'module', engines, bin, optionalDependencies };
}
