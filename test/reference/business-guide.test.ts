import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { reportEndpoints } from '../../src/business/reports/endpoints.ts';
import { RESOURCES } from '../../src/resources/all.ts';
import { eventTypesOf, idNameOf } from '../../src/resources/resource.ts';

const guide = readFileSync(new URL('../../docs/reference/business-api.md', import.meta.url), 'utf8');

/** The rows of the tables of a section: the names in each other cell, keyed by the first cell. */
function rowsOf(heading: string): Map<string, string[][]> {
  const section = guide.split(/^##+ /m).find((each) => each.startsWith(`${heading}\n`)) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('|') && !line.startsWith('|-'));
  return new Map(
    rows.map((line) => {
      const [first = '', ...cells] = line.split('|').slice(1, -1);
      return [first.trim(), cells.map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))];
    }),
  );
}

const noun = (name: string) => name.replace('_', ' ');

test('the guide to the business API names the path, the scopes and the transitions of every resource', () => {
  const rows = rowsOf('Resources and scopes');

  for (const { plural, path, scopes, transitions } of RESOURCES) {
    const write = scopes.write ? [scopes.write] : [];
    assert.deepEqual(rows.get(plural), [[path], [scopes.read], write, Object.keys(transitions)], plural);
  }
});

test('the guide to the business API names the filters and orders of every list', () => {
  const rows = rowsOf('Lists');

  for (const { plural, filters, sorts } of RESOURCES) {
    if (filters.length + sorts.length > 0) assert.deepEqual(rows.get(plural), [[...filters], [...sorts]], plural);
  }
});

test('the guide to the business API names the events of every resource, with their fields', () => {
  const rows = rowsOf('Events');

  for (const resource of RESOURCES) {
    const fields = [idNameOf(resource.name), ...resource.eventFields];
    assert.deepEqual(rows.get(noun(resource.name)), [eventTypesOf(resource), fields], resource.name);
  }
});

test('the guide to the business API names every report with its parameters', () => {
  const rows = rowsOf('Reports');

  for (const { path, query } of reportEndpoints) {
    const { properties } = query as { properties: object };
    assert.deepEqual(rows.get(`\`${path}\``)?.[0], Object.keys(properties), path);
  }
});
