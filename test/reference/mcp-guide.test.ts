import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { listEndpoints } from '../../src/business/routes.ts';
import { toolsOf } from '../../src/mcp/tools.ts';

const guide = readFileSync(new URL('../../docs/reference/mcp.md', import.meta.url), 'utf8');

test('the page about the MCP server lists every tool with its scope and hints', () => {
  const [, section = ''] = guide.split('## Tools\n');
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));

  const tools = [...toolsOf(listEndpoints(true)).values()].map(({ name, endpoint, definition }) => {
    const { readOnlyHint, destructiveHint, idempotentHint } = definition.annotations ?? {};
    const writes = [destructiveHint && 'destructive', idempotentHint && 'idempotent'].filter(Boolean).join(', ');
    const cells = [`\`${name}\``, endpoint.summary, endpoint.scope ? `\`${endpoint.scope}\`` : ''];
    return `| ${[...cells, readOnlyHint ? 'reads' : writes].join(' | ')} |`;
  });

  assert.deepEqual(rows.map(squeezed), tools.map(squeezed));
});

/** The table may be aligned. */
function squeezed(row: string): string {
  return row.replace(/ +/g, ' ');
}
