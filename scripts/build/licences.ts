import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Metafile } from 'esbuild';

/** All of them allow distribution under Gatehouse's own licence, if their text comes along. */
const ALLOWED = ['0BSD', 'Apache-2.0', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT', 'MIT-0', 'OFL-1.1'];

/** The copyright of packages that declare the MIT licence, and have no file with its text. */
const MIT_COPYRIGHTS: Record<string, string> = {
  'abstract-logging': 'Copyright (c) James Sumners',
  'pg-types': 'Copyright (c) 2014 Brian M. Carlson',
  pgpass: 'Copyright (c) 2013-2016 Hannes Hörl',
};
/** The standard text, of Gatehouse's own licence. */
export const MIT = readFileSync(new URL('../../LICENSE', import.meta.url), 'utf8');

const LICENCE_FILE = /^(?:licen[sc]e|copying|copyright|notice|third-?party)/i;
const CODE = /\.(?:[cm]?[jt]s|json|map)$/i;

export interface LicensedPackage {
  name: string;
  version: string;
  /** An identifier of SPDX. */
  licence: string;
  homepage: string;
  text: string;
}

/** The packages of other authors whose content the outputs have. Throws for one that may not be distributed. */
export function listPackages({ outputs }: Pick<Metafile, 'outputs'>, root: string): LicensedPackage[] {
  const files = Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs));
  const folders = new Set(files.filter((file) => file.includes('node_modules/')).map((file) => findFolder(root, file)));
  const packages = new Map([...folders].map(readPackage).map((found) => [`${found.name} ${found.version}`, found]));
  return [...packages.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, found]) => found);
}

/** A package can have further manifests, without a name, which only say how its files are loaded. */
function findFolder(root: string, file: string): string {
  let folder = dirname(join(root, file));
  while (!isPackage(folder)) folder = dirname(folder);
  return folder;
}

function isPackage(folder: string): boolean {
  if (dirname(folder) === folder) throw new Error('A file below node_modules belongs to no package.');
  const manifest = join(folder, 'package.json');
  if (!existsSync(manifest)) return false;
  const { name, version } = JSON.parse(readFileSync(manifest, 'utf8'));
  return Boolean(name && version);
}

export function readPackage(folder: string): LicensedPackage {
  const { name, version, license, homepage, repository } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  );
  if (typeof license !== 'string') {
    throw new Error(`${name} ${version} declares no licence, so nobody may distribute it. Use another package.`);
  }
  if (!ALLOWED.includes(license)) {
    throw new Error(
      `${name} ${version} has the licence ${license}, which is not in ALLOWED in scripts/build/licences.ts. ` +
        'Add it there if it is permissive, and otherwise use another package.',
    );
  }
  const text = readText(folder) || (license === 'MIT' && standardText(name));
  if (!text) {
    throw new Error(
      `${name} ${version} has no file with the text of its licence, ${license}, which every copy needs. ` +
        'If it is MIT, add its copyright to MIT_COPYRIGHTS in scripts/build/licences.ts; otherwise use another package.',
    );
  }
  const url: string = homepage ?? repository?.url ?? repository ?? '';
  return { name, version, licence: license, homepage: url.replace(/^git\+/, ''), text };
}

export function findLicenceFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((file) => file.isFile() && LICENCE_FILE.test(file.name) && !CODE.test(file.name))
    .map(({ name }) => name)
    .sort();
}

function readText(folder: string): string {
  return findLicenceFiles(folder)
    .map((file) => readFileSync(join(folder, file), 'utf8').replaceAll('\r\n', '\n').trim())
    .filter(Boolean)
    .join('\n\n');
}

/** Gatehouse's own licence is the standard text. */
function standardText(name: string): string {
  const copyright = MIT_COPYRIGHTS[name];
  if (!copyright) return '';
  const text = MIT.replace(/^Copyright .*$/m, copyright).trim();
  return `(The package has no file with its licence: this is the standard text, with the package's copyright.)\n\n${text}`;
}
