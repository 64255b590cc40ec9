import assert from 'node:assert/strict';
import type { Document } from '../../src/web/reference/document.ts';

/** The document as any client would fetch it. */
export async function fetchDocument(api: string): Promise<Document> {
  const response = await fetch(`${api}/openapi.json`);
  assert.equal(response.status, 200);
  return (await response.json()) as Document;
}

/** One object of a document, and the names that lead to it. */
export interface DocumentObject {
  path: string[];
  value: Record<string, unknown>;
}

/** Every object of a document, except for examples, whose names have no meaning in OpenAPI. */
export function listObjects(value: unknown, path: string[] = []): DocumentObject[] {
  if (typeof value !== 'object' || value === null) return [];
  const inside = Object.entries(value)
    .filter(([name]) => name !== 'example' && name !== 'examples')
    .flatMap(([name, each]) => listObjects(each, [...path, name]));
  return Array.isArray(value) ? inside : [{ path, value: value as Record<string, unknown> }, ...inside];
}

export function nameOf(path: string[]): string {
  return path.join(' › ');
}

export function assertNone(violations: string[], rule: string): void {
  assert.deepEqual(violations, [], `${rule}:\n  ${violations.join('\n  ')}\n`);
}
