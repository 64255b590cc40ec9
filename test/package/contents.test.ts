import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { bundle } from '../../scripts/build/bundle.ts';
import { listPackages } from '../../scripts/build/licences.ts';
import { ROOT } from '../../scripts/build/metafile.ts';
import { renderNotices } from '../../scripts/build/notices.ts';
import { extractScalar } from '../../src/web/reference/scalar.ts';

interface Component {
  'bom-ref': string;
  group?: string;
  name: string;
  version: string;
  purl: string;
  licenses: { license: { id: string } }[];
}

interface Tree {
  version?: string;
  dependencies?: Record<string, Tree>;
}

/** The files that the build copies, or that are generated, come from these. */
const COPIED = ['@fontsource-variable/geist', '@scalar/fastify-api-reference', 'lucide-static'];
const OWN = { '@gatehouse/client': 'sdk/typescript' };

/** Their packages need these, and nothing in the bundle does. */
const UNUSED: Record<string, string> = {
  '@noble/hashes': 'the builds of otpauth for browsers',
  '@opentelemetry/sdk-logs': 'types',
  'openapi-types': 'types',
  'pino-abstract-transport': 'transports of pino, in threads of their own',
  'real-require': 'transports of pino, in threads of their own',
  'require-from-string': 'the command line of ajv',
};

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-contents-'));
after(() => rmSync(folder, { recursive: true }));

const build = async (out: string) => {
  const metafile = await bundle(join(folder, out));
  const sbom = readFileSync(join(folder, out, 'sbom.cdx.json'), 'utf8');
  return { metafile, sbom, notices: renderNotices(listPackages(metafile, ROOT)) };
};
const { metafile, sbom, notices } = await build('first');
const document = JSON.parse(sbom);
const components: Component[] = document.components;
const nameOf = ({ group, name }: Component) => (group ? `${group}/${name}` : name);
const idOf = (component: Component) => `${nameOf(component)}@${component.version}`;
const listed = new Set(components.map(idOf));

const manifestOf = (path: string) => JSON.parse(readFileSync(join(ROOT, path, 'package.json'), 'utf8'));
const idAt = (path: string) => `${manifestOf(path).name}@${manifestOf(path).version}`;
const { version, devDependencies, optionalDependencies } = manifestOf('');
/** esbuild names files by their path from the checkout. */
const packagesOf = (files: string[]) =>
  new Set(files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/.][^/]*(?=\/)/.exec(file)?.[0] ?? []));
const bundled = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs));
const libraryFiles = bundled.filter((file) => /node_modules\/.*\.[cm]?js$/.test(file));
/** Of those that pnpm installed where the package was made, a comment names the version. */
const embedded = new Set(
  libraryFiles.flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/^\/\/#region .*\.pnpm\/([^/]+?@\d[^/_(]*)/gm)].map(
      ([, id = '']) => id.replace('+', '/'),
    ),
  ),
);

/** Comments in Scalar's script name what is in it. */
const scalar = await extractScalar();
const named = ['vue@3', '@vue/runtime-dom@3', 'tailwindcss@4', 'focus-trap@', 'tabbable@'].map((start) => {
  const id = [...listed].find((each) => each.startsWith(start)) ?? '';
  assert.ok(scalar.includes(id.replace(/(?<=.)@/, ' v')) || scalar.includes(id.replace('@', ' ')), `${start}: ${id}`);
  return id;
});

const installed = new Map<string, Set<string>>();
const args = ['ls', '--omit=dev', '--all', '--json'];
collect(
  '',
  JSON.parse(execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })),
);

/** Each installed package, with those that need it. */
function collect(parent: string, { dependencies = {} }: Tree): void {
  for (const [name, tree] of Object.entries(dependencies)) {
    // npm lists optional packages that are not for this platform, without a version.
    if (!tree.version) continue;
    const id = `${name}@${tree.version}`;
    installed.set(id, (installed.get(id) ?? new Set()).add(parent));
    collect(id, tree);
  }
}

test('the SBOM lists every package that the bundle has code of, and what is copied', () => {
  const expected = [...packagesOf(libraryFiles)].map(idAt);

  assert.ok(expected.length > 120);
  assert.deepEqual(
    expected.filter((id) => !listed.has(id)),
    [],
  );
  for (const name of COPIED) assert.ok(listed.has(idAt(`node_modules/${name}`)), name);
  for (const folder of Object.values(OWN)) assert.ok(listed.has(idAt(folder)), folder);
});

test('the SBOM lists packages that another package contains, in the version that it contains', () => {
  assert.ok(embedded.size > 4);
  assert.deepEqual(
    [...embedded].filter((id) => !listed.has(id)),
    [],
  );
  assert.ok(components.some(({ name }) => name === 'minimatch'));
});

test('the SBOM lists nothing but what npm installs for the product, what these packages contain, and copies', () => {
  const isKnown = (id: string) => installed.has(id) || embedded.has(id) || named.includes(id) || id.startsWith('@vue/');
  const others = components.filter((component) => !isKnown(idOf(component)));
  const copies = others.filter((component) => devDependencies[nameOf(component)] === component.version);

  assert.deepEqual(
    copies.map(nameOf).sort(),
    COPIED.filter((name) => name in devDependencies),
  );
  assert.deepEqual(others.filter((component) => !copies.includes(component)).map(nameOf), Object.keys(OWN));
});

test('every package of npm ls --omit=dev --all is in the SBOM, or there is a reason why not', () => {
  const resolved = new Set([...packagesOf(Object.keys(metafile.inputs))].map(idAt));
  const scalar = idAt('node_modules/@scalar/fastify-api-reference');
  const missing = [...installed.keys()].filter((id) => !listed.has(id));
  const reasons = Map.groupBy(missing, (id) => {
    const name = id.replace(/@[^@]+$/, '');
    if (name in optionalDependencies) return 'Node';
    if (resolved.has(id)) return 'removed by tree shaking';
    if (isOnlyFor(scalar, id)) return 'Scalar, of which only the script is copied';
    return name in UNUSED ? name : 'unexplained';
  });

  assert.deepEqual(reasons.get('unexplained'), undefined);
  assert.deepEqual(
    Object.keys(UNUSED).filter((name) => !reasons.has(name)),
    [],
  );
});

/** Whether `id` is installed for nothing else. */
function isOnlyFor(needing: string, id: string): boolean {
  return id === needing || [...(installed.get(id) ?? [])].every((parent) => parent && isOnlyFor(needing, parent));
}

test('every component of the SBOM has its licence, its text and an address that scanners know', () => {
  const [, ...sections] = notices.split(/^={80}\n/m);
  const texts = new Map(
    sections.flatMap((section, index) =>
      index % 2
        ? []
        : section
            .trim()
            .split('\n')
            .map((line) => [line, sections[index + 1]] as const),
    ),
  );

  for (const component of components.filter((component) => !(nameOf(component) in OWN))) {
    const licence = component.licenses[0]?.license.id;
    const [, text = ''] =
      [...texts].find(([line]) => line.startsWith(`${nameOf(component)} ${component.version}  ${licence}`)) ?? [];
    const purl = `pkg:npm/${nameOf(component).replace('@', '%40')}@${component.version}`;

    assert.ok(licence && text.trim().length > 500, `${idOf(component)}: ${licence}`);
    assert.ok(component.purl === purl || component.purl.startsWith(`${purl}?`), component.purl);
  }
  assert.match(notices, /Copyright \(c\) 2013-2016 Hannes Hörl/);
});

test('the SBOM describes this version, and says which package needs which', () => {
  const { component } = document.metadata;
  const references = new Map<string, string[]>(
    document.dependencies.map(({ ref, dependsOn = [] }: { ref: string; dependsOn?: string[] }) => [ref, dependsOn]),
  );
  const [glob] = components.filter(({ name }) => name === 'glob');

  assert.deepEqual([document.bomFormat, document.specVersion], ['CycloneDX', '1.6']);
  assert.deepEqual([component.type, component.name, component.version], ['application', 'gatehouse', version]);
  assert.ok(references.get(component['bom-ref'])?.some((ref) => ref.startsWith('fastify@')));
  assert.ok(references.get(glob?.['bom-ref'] ?? '')?.some((ref) => ref.startsWith('minimatch@')));
});

test('two builds give the same SBOM and the same notices', async () => {
  const second = await build('second');

  assert.equal(second.sbom, sbom);
  assert.equal(second.notices, notices);
  assert.deepEqual([document.serialNumber, document.metadata.timestamp], [undefined, undefined]);
});

const GOOD = { name: 'kettle', version: '1.2.3', license: 'MIT' };
const LICENSE = { LICENSE: 'MIT License\n\nCopyright (c) 2026 Ada Lovelace' };

/** Lists the packages of a checkout with one, which the bundle has code of. */
function listOne(manifest: object, files: Record<string, string>) {
  const checkout = mkdtempSync(join(folder, 'checkout-'));
  const kettle = join(checkout, 'node_modules', 'kettle');
  mkdirSync(join(kettle, 'dist'), { recursive: true });
  writeFileSync(join(kettle, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(kettle, 'dist', 'package.json'), '{ "type": "module" }');
  for (const [name, text] of Object.entries(files)) writeFileSync(join(kettle, name), text);
  const inputs = { 'src/cli/main.js': { bytesInOutput: 1 }, 'node_modules/kettle/dist/index.js': { bytesInOutput: 1 } };
  return listPackages({ outputs: { 'main.js': { bytes: 2, imports: [], exports: [], inputs } } }, checkout);
}

test('the notices have the licence of a package, and its notice', () => {
  const [kettle] = listOne(
    { ...GOOD, repository: { url: 'git+https://example.com/kettle.git' } },
    {
      ...LICENSE,
      'NOTICE.md': 'Kettle contains leaves.',
      'license.js': 'export {};',
    },
  );

  assert.deepEqual(kettle, {
    name: 'kettle',
    version: '1.2.3',
    licence: 'MIT',
    homepage: 'https://example.com/kettle.git',
    text: `${LICENSE.LICENSE}\n\nKettle contains leaves.`,
  });
});

test('the build fails for a package without a licence', () => {
  const message = /^Error: kettle 1\.2\.3 declares no licence, so nobody may distribute it/;

  assert.throws(() => listOne({ ...GOOD, license: undefined }, LICENSE), message);
});

test('the build fails for a package with a licence that nobody has allowed', () => {
  for (const license of ['GPL-3.0-only', 'UNLICENSED', 'SEE LICENSE IN LICENSE']) {
    assert.throws(() => listOne({ ...GOOD, license }, LICENSE), /kettle 1\.2\.3 has the licence .* not in ALLOWED/);
  }
});

test('the build fails for a package without the text of its licence', () => {
  const message =
    /kettle 1\.2\.3 has no file with the text of its licence, MIT, which every copy needs\. .*MIT_COPYRIGHTS/;

  assert.throws(() => listOne(GOOD, {}), message);
  assert.throws(() => listOne(GOOD, { LICENSE: ' \n' }), message);
});
