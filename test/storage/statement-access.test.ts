import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openConnection } from '../../src/storage/sqlite/connection.ts';

const { file, prepare } = openConnection(':memory:');
after(() => file.close());
file.exec('create table t (a); create table u (a)');

const STATEMENTS = {
  read: [
    'select 1',
    ' SELECT "a" as "update" from t',
    'values (1)',
    "with v as (select replace('a', 'b', 'c')) select * from v",
    'with recursive v (n) as (select 1 union all select n + 1 from v where n < 3) select * from v',
  ],
  write: [
    'insert into t values (1)',
    'insert into t values (1) returning a',
    'Update t set a = 1',
    'delete from t',
    'replace into t values (1)',
    'create table v (a)',
    'alter table t add b',
    'drop table t',
    'with v as (select 1) insert into u select * from v',
    'with v as (select 1) update u set a = 1',
    'with v as (select 1) delete from u',
    'with v as (select 1) replace into u select * from v',
  ],
  other: ['pragma foreign_keys', 'vacuum', 'begin immediate', 'rollback', 'savepoint work'],
};

for (const [access, texts] of Object.entries(STATEMENTS)) {
  test(`SQLite reports which statements are of the kind: ${access}`, () => {
    for (const text of texts) assert.equal(prepare(text).access, access, text);
  });
}
