import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kindOf } from '../../src/storage/sqlite/kinds.ts';

const KINDS = {
  read: [
    'select 1',
    ' SELECT "update" from t',
    'values (1)',
    "with t as (select replace('a', 'b', 'c')) select * from t",
  ],
  write: [
    'insert into t values (1)',
    'Update t set a = 1',
    'delete from t',
    'replace into t values (1)',
    'create table t (a)',
    'alter table t add b',
    'drop table t',
    'with t as (select 1) insert into u select * from t',
    'with t as (select 1) update u set a = 1',
    'with t as (select 1) delete from u',
    'with t as (select 1) replace into u select * from t',
  ],
  other: ['pragma foreign_keys', 'vacuum', 'begin immediate', 'rollback'],
};

for (const [kind, texts] of Object.entries(KINDS)) {
  test(`a statement of the kind ${kind} is known by its verb`, () => {
    for (const text of texts) assert.equal(kindOf(text), kind, text);
  });
}
