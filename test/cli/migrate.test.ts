import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createCommandLine } from '../support/command-line.ts';
import { listMigrations } from '../support/migrations.ts';

const cli = createCommandLine();
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, 'gatehouse.db');
const env = { DATABASE_URL: `sqlite:${file}` };

test('migrate --plan creates no database', async () => {
  const { status, stderr } = await cli.run(['migrate', '--plan'], { env });

  assert.equal(status, 1);
  assert.match(stderr, /does not exist/);
  assert.equal(existsSync(file), false);
});

test('migrate prints what it applied, and then that nothing is left', async () => {
  const first = await cli.run(['migrate'], { env });
  const second = await cli.run(['migrate'], { env });
  const plan = await cli.run(['migrate', '--plan'], { env });
  const json = await cli.json(['migrate', '--plan'], { env });

  assert.equal(first.stdout.trim(), `Applied: ${listMigrations().join(', ')}.`);
  assert.equal(second.stdout.trim(), 'The database is up to date.');
  assert.equal(plan.stdout.trim(), 'The database is up to date.');
  assert.deepEqual(json, { steps: [], seconds: 0, older_nodes: [] });
});
