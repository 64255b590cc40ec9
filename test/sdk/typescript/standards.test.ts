import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LIBRARY, run, TSC } from './build.ts';

const sources = globSync('src/**/*.ts', { cwd: LIBRARY }).map((path) => {
  const text = readFileSync(join(LIBRARY, path), 'utf8');
  return { path, text, code: text.replace(/\/\*.*?\*\//gs, '').replace(/(^|\s)\/\/.*$/gm, '') };
});

function offenders(pattern: RegExp): string[] {
  return sources.filter(({ code }) => pattern.test(code)).map(({ path }) => path);
}

test('the library compiles with the types of the web platform alone, without those of Node', async () => {
  const { compilerOptions } = JSON.parse(readFileSync(join(LIBRARY, 'tsconfig.json'), 'utf8'));
  assert.deepEqual(compilerOptions.types, []);

  await run(TSC, ['--noEmit'], LIBRARY);
});

test('the library imports nothing but its own files', () => {
  assert.ok(sources.length > 5);
  const imports = sources.flatMap(({ code }) => [...code.matchAll(/(?:\bfrom\s+|\bimport\(?\s*)['"]([^'"]+)['"]/g)]);

  assert.ok(imports.length > 20);
  assert.deepEqual(
    imports.map(([, name = '']) => name).filter((name) => !/^\.\/[\w-]+\.ts$/.test(name)),
    [],
  );
});

test('the library uses no global that only some platforms have, and prints nothing', () => {
  assert.deepEqual(offenders(/\b(process|Buffer|global|require|__dirname|window|document|navigator|Deno|Bun)\b/), []);
  assert.deepEqual(offenders(/\bconsole\b/), []);
});

test('the library needs nothing newer of the web than Node 20 and the browsers of its day have', () => {
  const newer =
    /\b(?:URL\.(?:canParse|parse)|Promise\.(?:try|withResolvers)|Array\.fromAsync|AbortSignal\.any)\b|\.toBase64\(/;

  assert.deepEqual(offenders(newer), []);
});

test('the only class is the error', () => {
  const classes = sources.flatMap(({ code }) => code.match(/\bclass \w+/g) ?? []);

  assert.deepEqual(classes, ['class GatehouseError']);
});

test('every export of the library has a doc comment', () => {
  const index = sources.find(({ path }) => path === join('src', 'index.ts'))?.code ?? '';
  const names = [...index.matchAll(/\{([^}]*)\}/g)].flatMap(([, list = '']) =>
    list.split(',').map((name) => name.trim().replace(/^type /, '')),
  );
  const all = sources.map(({ text }) => text).join('\n');

  assert.ok(names.length > 10);
  const unexplained = names.filter(
    (name) => !new RegExp(`\\*/\\nexport (?:interface|type|class|const|function|async function) ${name}\\b`).test(all),
  );
  assert.deepEqual(unexplained, []);
});

test('no file is over 250 lines', () => {
  const long = sources.filter(({ text }) => text.trimEnd().split('\n').length > 250);

  assert.deepEqual(long, []);
});
