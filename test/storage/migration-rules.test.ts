import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from 'kysely';
import { MIGRATIONS } from '../../src/storage/migrations/all.ts';
import type { Migration, Step } from '../../src/storage/migrations/migration.ts';
import { createRecords } from '../../src/storage/migrations/records.ts';
import { openStorage } from '../../src/storage/open.ts';
import { addCheck, createIndex, fillRows } from '../../src/storage/upgrade/statements.ts';
import { listMigrations } from '../support/migrations.ts';
import { SAMPLE_CONTRACT, SAMPLE_EXPAND } from '../support/sample-migrations.ts';

/** Kysely does not connect before the first statement. */
const { types, close } = await openStorage('postgres://nobody@127.0.0.1:1/none');
after(close);

/** The statements of a step, without a database. */
async function statementsOf(step: Step): Promise<string[]> {
  const texts: string[] = [];
  const db = new Kysely<unknown>({
    dialect: {
      createDriver: () => new DummyDriver(),
      createAdapter: () => new PostgresAdapter(),
      createQueryCompiler: () => new PostgresQueryCompiler(),
      createIntrospector: (of) => new PostgresIntrospector(of),
    },
    log: ({ query }) => void texts.push(query.sql),
  });
  if (step.kind === 'change') await step.change(db, types);
  if (step.kind === 'index') await createIndex(step, 'concurrently').execute(db);
  if (step.kind === 'drop index') await sql`drop index concurrently ${sql.ref(step.name)}`.execute(db);
  if (step.kind === 'backfill') await fillRows(step, undefined).execute(db);
  if (step.kind === 'check') await addCheck(step).execute(db);
  return texts;
}

/** Statements that remove something an older node needs, or lock a table while they read or write its rows. */
const FORBIDDEN_IN_EXPAND: [what: string, pattern: RegExp][] = [
  ['drops something', /\bdrop\b/i],
  ['renames something', /\brename\b/i],
  ['changes the type of a column', /\balter column\b.*\btype\b/i],
  ['makes a column required', /\bset not null\b/i],
  ['adds a required column without a default', /\badd column\b(?=.*\bnot null\b)(?!.*\bdefault\b)/i],
  ['adds a column with a computed default, which rewrites the table', /\badd column\b.*\bdefault\b[^,]*\(/i],
  ['adds a unique or primary key, which older nodes may violate', /\badd constraint\b.*\b(unique|primary key)\b/i],
  ['removes rows', /\b(delete from|truncate)\b/i],
];

/** Statements for which there is a kind of step that does not block requests. */
const FORBIDDEN_IN_CHANGE: [what: string, pattern: RegExp][] = [
  ['builds an index on an existing table', /^create (unique )?index\b/i],
  ['validates a constraint at once', /\badd constraint\b(?!.*\bnot valid\b)/i],
  ['updates rows', /^update\b/i],
];

async function findFaults({ name, phase, steps }: Migration): Promise<string[]> {
  const faults: string[] = [];
  for (const step of steps) {
    const rules = [
      ...(phase === 'expand' ? FORBIDDEN_IN_EXPAND : []),
      ...(step.kind === 'change' ? FORBIDDEN_IN_CHANGE : []),
    ];
    const statements = await statementsOf(step);
    const created = statements.map((text) => /^create table "(\w+)"/.exec(text)?.[1]);
    for (const text of statements) {
      const isOnNewTable = created.some((table) => table !== undefined && text.includes(`on "${table}"`));
      const broken = rules.filter(([, pattern]) => !isOnNewTable && pattern.test(text));
      faults.push(...broken.map(([what]) => `${name} ${what}: ${text}`));
    }
  }
  return faults;
}

const LATER = MIGRATIONS.slice(1);

test('every migration is a file, in the order of its number', () => {
  assert.deepEqual(
    MIGRATIONS.map(({ name }) => name),
    listMigrations(),
  );
});

test('every migration after the first declares that it expands or contracts', () => {
  assert.equal(MIGRATIONS[0]?.phase, 'initial');
  for (const { name, phase, steps } of LATER) {
    assert.ok(phase === 'expand' || phase === 'contract', name);
    assert.ok(steps.length > 0, name);
  }
});

test('no migration removes what running older nodes need, or locks a table for long', async () => {
  for (const migration of LATER) assert.deepEqual(await findFaults(migration), []);
});

test('the sample migrations keep these rules', async () => {
  for (const migration of [SAMPLE_EXPAND, SAMPLE_CONTRACT]) assert.deepEqual(await findFaults(migration), []);
});

test('an expand migration can create the table of a new resource of the business API', async () => {
  const suppliers = { table: 'suppliers', columns: { name: 'text' }, nullable: { notes: 'text' } } as const;
  const change = createRecords({ ...suppliers, filters: ['name'], sorts: [] });
  const step: Step = { kind: 'change', title: 'create suppliers', table: undefined, change };

  assert.deepEqual(await findFaults({ name: '999-suppliers', phase: 'expand', steps: [step] }), []);
  assert.match(
    (await statementsOf(step)).join('\n'),
    /^create table "suppliers".*create index "suppliers_by_name_id"/s,
  );
});

const BROKEN: [statement: string, fault: RegExp][] = [
  ['alter table grants drop column scopes', /drops something/],
  ['alter table grants rename column scopes to permissions', /renames something/],
  ['alter table grants alter column rotation type integer', /changes the type/],
  ['alter table grants alter column expires_at set not null', /makes a column required/],
  ['alter table grants add column region text not null', /without a default/],
  ['alter table grants add column added_at bigint not null default random()', /computed default/],
  ['alter table grants add constraint one unique (app_id)', /unique or primary key/],
  ['create index some_index on grants (region)', /builds an index/],
  ['alter table grants add constraint some check (rotation > 0)', /validates a constraint/],
  ['update grants set rotation = 1', /updates rows/],
];

for (const [statement, fault] of BROKEN) {
  test(`an expand migration may not contain: ${statement}`, async () => {
    const change = async (db: Kysely<unknown>) => {
      await sql.raw(statement).execute(db);
    };
    const step: Step = { kind: 'change', title: 'break it', table: 'grants', change };

    const faults = await findFaults({ name: '999-broken', phase: 'expand', steps: [step] });

    assert.match(faults.join('\n'), fault);
  });
}
