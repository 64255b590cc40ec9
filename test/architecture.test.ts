import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { RESOURCES } from '../src/resources/all.ts';

const src = fileURLToPath(new URL('../src', import.meta.url));

/** A folder imports only itself and folders before it; this is also the reading order. `.` is the files on top. */
const ORDER = [
  'lib',
  'languages',
  'resources',
  'storage',
  'http',
  'events',
  'audit',
  'request-log',
  'mail',
  'accounts',
  'apps',
  'grants',
  'oauth',
  'webhooks',
  'business',
  'mcp',
  'telemetry',
  'web',
  'config',
  '.',
  'cli',
];

interface Source {
  path: string;
  folder: string;
  text: string;
  /** The source without comments. */
  code: string;
  imports: string[];
}

const sources: Source[] = globSync(['**/*.ts', 'cli/main.js'], { cwd: src })
  .sort()
  .map((path) => {
    const text = readFileSync(join(src, path), 'utf8');
    const code = text.replace(/\/\*.*?\*\//gs, '').replace(/(^|\s)\/\/.*$/gm, '');
    return { path, folder: folderOf(path), text, code, imports: importsOf(code) };
  });

function importsOf(code: string): string[] {
  return [...code.matchAll(/(?:\bfrom|\bimport\(?|^import)\s*'([^']+)'/gm)].map(([, name = '']) => name);
}

function folderOf(path: string): string {
  return path.includes('/') ? (path.split('/')[0] ?? '') : '.';
}

/** The files below src that a file imports. */
function ownImports({ path, imports }: Source): string[] {
  return imports.filter((name) => name.startsWith('.')).map((name) => normalize(join(dirname(path), name)));
}

function assertNone(violations: string[], rule: string): void {
  assert.deepEqual(violations, [], `${rule}:\n  ${violations.join('\n  ')}\n`);
}

function offenders(isWrong: (source: Source) => boolean): string[] {
  return sources.filter(isWrong).map(({ path }) => path);
}

test('these tests find the source files and their imports', () => {
  assert.ok(sources.length > 50);
  assert.ok(sources.flatMap(ownImports).length > 200);
});

test('every folder is in the import order', () => {
  assertNone(
    offenders(({ folder }) => !ORDER.includes(folder)),
    `A folder of src is one of ${ORDER.join(', ')}`,
  );
});

test('a folder imports only itself and the folders before it', () => {
  const violations = sources.flatMap((source) =>
    ownImports(source)
      .filter((target) => !target.startsWith('..'))
      .filter((target) => ORDER.indexOf(folderOf(target)) > ORDER.indexOf(source.folder))
      .map((target) => `${source.path} imports ${target}`),
  );

  assertNone(violations, `Imports point back along ${ORDER.join(' < ')}`);
});

test('config/ imports only lib and http, besides types', () => {
  const config = sources.filter(({ folder }) => folder === 'config');

  assert.ok(config.length > 1);
  assertNone(
    config
      .map((source) => ({ ...source, imports: importsOf(source.code.replace(/^import type .*$/gm, '')) }))
      .flatMap(ownImports)
      .filter((target) => !['lib', 'http', 'config'].includes(folderOf(target))),
    'config/ imports lib and http only',
  );
});

test('HTTP stays at the edge: only http/, web/, routes.ts and server.ts import Fastify', () => {
  const isEdge = ({ path, folder }: Source) =>
    ['http', 'web'].includes(folder) || path.endsWith('/routes.ts') || path === 'server.ts';

  assertNone(
    offenders((source) => !isEdge(source) && source.imports.some((name) => /^@?fastify\b/.test(name))),
    'These import Fastify',
  );
});

test('only cli/main.js reads the environment, once, and passes it on', () => {
  const uses = sources.flatMap(({ path, code }) =>
    (code.match(/process\s*\.\s*env\b|\benv\b(?=[^'\n]*'node:process')/g) ?? []).map(() => path),
  );

  assertNone(
    uses.filter((path) => path !== 'cli/main.js'),
    'These read process.env',
  );
  assert.equal(uses.length, 1);
});

test('time is a parameter: only lib/clock.ts and the command line read the clock', () => {
  assertNone(
    offenders(
      ({ path, folder, code }) =>
        /\bDate\.now\b|\bperformance\.now\b/.test(code) && path !== 'lib/clock.ts' && folder !== 'cli',
    ),
    'These call Date.now',
  );
  assertNone(
    offenders(({ code }) => /new Date(?:\(\s*\)|\b(?!\())|(?<!new )\bDate\(\)/.test(code)),
    'These read the time with new Date()',
  );
});

test('random values come from one file for secrets and one for ids, except for the salt of a grant', () => {
  const homes = ['lib/secrets.ts', 'lib/ids.ts', 'lib/passwords.ts', 'grants/grants.ts'];

  assertNone(
    offenders(({ path, code }) => /\brandom(?:Bytes|UUID|Int|FillSync)\b/.test(code) && !homes.includes(path)),
    'These make random values of their own',
  );
  assertNone(
    offenders(({ code }) => /Math\.random/.test(code)),
    'These use Math.random',
  );
});

test('only storage/ depends on the kind of database', () => {
  assertNone(
    offenders(
      ({ folder, imports }) => folder !== 'storage' && imports.some((name) => /^(?:node:sqlite|pg)\b/.test(name)),
    ),
    'These import a database driver',
  );
});

test('SQL is written with Kysely, except in storage/ and for one query of server.ts', () => {
  const raw = sources.filter(({ folder, code }) => folder !== 'storage' && /\bsql\s*(?:<[^>]*>\s*)?`/.test(code));

  assertNone(
    raw.flatMap(({ path, code }) =>
      (code.match(/\bsql\s*(?:<[^>]*>\s*)?`[^`]*`/g) ?? []).map((query) => `${path}: ${query}`),
    ),
    'These write SQL by hand',
  );
});

test('each table is written by exactly one file', () => {
  const writers = new Map<string, Set<string>>();
  for (const { path, code } of sources) {
    if (path.startsWith('storage/migrations/')) continue;
    for (const [, table = ''] of code.matchAll(/\.(?:insertInto|updateTable|deleteFrom|replaceInto)\(\s*'(\w+)/g)) {
      writers.set(table, (writers.get(table) ?? new Set()).add(path));
    }
  }
  // The tables of the resources: their name is a field of the declaration.
  for (const { table } of RESOURCES) writers.set(table, new Set(['business/records.ts']));
  // Only earlier releases add rows to it (`events/long-transactions.ts`).
  writers.set('long_transactions', new Set());
  const files = ['tables', 'account-tables', 'app-tables', 'upgrade/state'];
  const tables = files.map((name) => readFileSync(join(src, `storage/${name}.ts`), 'utf8'));
  const bodies = [...tables.join('').matchAll(/export interface (?:Account|App|Upgrade)?Tables\b[^{]*\{([^}]*)\}/g)];
  const declared = bodies.flatMap(([, body = '']) => [...body.matchAll(/(\w+): \w+;/g)].map(([, name = '']) => name));

  assert.deepEqual([...writers.keys()].sort(), declared.sort(), 'every table is written somewhere');
  assertNone(
    [...writers].filter(([, files]) => files.size > 1).map(([table, files]) => `${table}: ${[...files].join(', ')}`),
    'These tables have more than one owner',
  );
});

test('every retention step runs', () => {
  const declared = sources.flatMap(({ code }) =>
    [...code.matchAll(/export const (\w+) = retentionStep\(/g)].map(([, name = '']) => name),
  );
  const jobs = sources.find(({ path }) => path === 'jobs.ts')?.code ?? '';
  const [, steps = ''] = /const STEPS: RetentionStep\[\] = \[([^\]]*)\]/.exec(jobs) ?? [];

  assert.ok(declared.length > 5);
  assertNone(
    declared.filter((name) => !new RegExp(`\\b${name}\\b`).test(steps)),
    'These are declared, and missing in STEPS of jobs.ts',
  );
});

test('writes are in the domain: web/ and cli/ open no transaction and record no audit entry', () => {
  const writes = /\b(?:transaction|inTransaction|record\w*Audit)\(/;
  const writing = offenders(({ folder, code }) => (folder === 'web' || folder === 'cli') && writes.test(code));

  assertNone(writing, 'These call for a function of the domain that takes the actor');
});

test('no file is over 250 lines, except for the texts of a language', () => {
  assertNone(
    sources
      .filter(({ path }) => !/^languages\/[a-z]{2,3}(-\w+)*\.ts$/.test(path))
      .map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }))
      .filter(({ lines }) => lines > 250)
      .map(({ path, lines }) => `${path}: ${lines}`),
    'In these a noun is missing',
  );
});

test('only errors are classes', () => {
  assertNone(
    offenders(({ code }) =>
      /\bclass \w+(?! extends (?:Error|ApiError|OAuthError|PageError|StorageUnavailable|StorageError)\b)\s*(?:extends|\{)/.test(
        code,
      ),
    ),
    'These have a class that is no error',
  );
});

test('dependencies with upstream fixes are recent enough: SQLite 3.51.3 and Fastify 5.12.1 [X6]', () => {
  const read = (file: string) => JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'));
  const installed = read('node_modules/fastify/package.json').version;
  const locked = read('package-lock.json').packages['node_modules/fastify'].version;

  const { sqlite = '' } = process.versions;
  assert.ok(isAtLeast(sqlite, '3.51.3'), sqlite);
  for (const version of [installed, locked]) assert.ok(isAtLeast(version, '5.12.1'), version);
});

function isAtLeast(version: string, least: string): boolean {
  return version.localeCompare(least, 'en', { numeric: true }) >= 0;
}

test('one file decides whether a grant is active, for tokens, lists and counts', () => {
  const deciding =
    /'(?:grants\.)?(?:revoked_at|refresh_expires_at)', '(?:is|[<>]=?)|'apps\.(?:paused_at|disabled_at|open_to_any_business)'|'memberships\.created_at', 'is/;
  // Writes repeat the condition; the metric and the retention of apps look at rows.
  const allowed = ['grants/status.ts', 'grants/grants.ts', 'apps/apps.ts', 'telemetry/database-counts.ts'];

  assert.ok(sources.some(({ path, code }) => path === 'grants/status.ts' && deciding.test(code)));
  assertNone(
    offenders(({ path, code }) => !allowed.includes(path) && deciding.test(code)),
    'grants/status.ts has the conditions: use selectLiveGrants',
  );
});
