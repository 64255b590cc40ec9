// `npm run build` makes dist/: `node dist/gatehouse.js serve` needs Node and nothing else. `npm run package` packs it for operators.
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { brotliCompressSync, constants } from 'node:zlib';
import { extractScalar } from '../src/web/reference/scalar.ts';
import { bundle } from './build/bundle.ts';
import { listPackages } from './build/licences.ts';
import { linkToRepository } from './build/links.ts';
import { ROOT } from './build/metafile.ts';
import { renderNotices } from './build/notices.ts';

const { values } = parseArgs({ options: { out: { type: 'string', default: join(ROOT, 'dist') } } });
const out = values.out;

/** At the same paths below the package's root as in a checkout: the first three are read at runtime, the others by people. */
const FILES = [
  'src/web/{assets,styles}/*',
  'docs/{guides,reference,decisions}/*.md',
  'sdk/{typescript,python,guard}/README.md',
  'deploy/**/{*.*,Caddyfile}',
  '{CHANGELOG,README}.md',
  'LICENSE',
];
const SECRETS = 'deploy/secrets/**';

rmSync(out, { recursive: true, force: true });
const metafile = await bundle(out);
writeFileSync(join(out, 'THIRD-PARTY-NOTICES.txt'), renderNotices(listPackages(metafile, ROOT)));
cpSync(join(ROOT, 'src/cli/launcher.js'), join(out, 'gatehouse.js'));
cpSync(join(ROOT, 'src/cli/source-maps.js'), join(out, 'source-maps.js'));
chmodSync(join(out, 'gatehouse.js'), 0o755);
const files = globSync(FILES, { cwd: ROOT, exclude: [SECRETS] });
for (const file of files) {
  mkdirSync(dirname(join(out, file)), { recursive: true });
  cpSync(join(ROOT, file), join(out, file));
}
const { version, repository, ...manifest } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const published = { url: repository.url.replace(/^git\+|\.git$/g, ''), tag: `v${version}` };
for (const file of files.filter((file) => file.endsWith('.md'))) linkToRepository(out, file, published);
// @fastify/static sends the compressed file to browsers that accept it.
const scalar = await extractScalar();
writeFileSync(join(out, 'src/web/assets/scalar.js'), scalar);
// The best quality, 11, takes ten times as long and saves a tenth of the size.
const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
writeFileSync(join(out, 'src/web/assets/scalar.js.br'), brotliCompressSync(scalar, { params }));
writeFileSync(join(out, 'package.json'), `${JSON.stringify(describePackage(), null, 2)}\n`);

function describePackage() {
  const { name, description, license, optionalDependencies } = manifest;
  const [node] = Object.values<string>(optionalDependencies);
  const engines = { node: `>=${node?.split('.')[0]}` };
  const bin = { gatehouse: 'gatehouse.js' };
  return { name, version, description, license, type: 'module', engines, bin, optionalDependencies };
}
