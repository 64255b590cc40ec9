import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { createReferenceResolver } from '../../src/business/import/references.ts';
import { keyNameOf } from '../../src/business/import/values.ts';
import { RESOURCES } from '../../src/resources/all.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { type ExecutedStatement, watchStatements } from '../../src/storage/statement-log.ts';

const ID = '0190b9a1-7d4c-7c5e-9a51-3c2f6f0e8d10';

const executed: ExecutedStatement[] = [];
const stopWatching = watchStatements((statement) => executed.push(statement));
const storage = await openStorage('sqlite::memory:');
after(() => {
  stopWatching();
  return storage.close();
});
await migrate(storage);

for (const resource of RESOURCES) {
  const fields = Object.keys(resource.fields).filter((name) => resource.fields[name]?.references);
  for (const field of fields) {
    test(`an import looks ${keyNameOf(field)} of ${resource.plural} up by an index, as id, name and e-mail address`, async () => {
      const resolve = createReferenceResolver(resource, ID);
      const texts = [ID, 'A name', 'Another', 'mara@northwind.example', 'ida@northwind.example'];
      executed.length = 0;

      await resolve(
        storage.durable,
        texts.map((text) => ({ values: { [keyNameOf(field)]: text }, problems: [] })),
      );

      const statements = executed.map(({ sql: text }) => text);
      assert.ok(statements.length > 1, String(statements.length));
      for (const statement of statements) {
        const { rows } = await sql.raw<{ detail: string }>(`explain query plan ${statement}`).execute(storage.durable);
        const [{ detail } = { detail: '' }] = rows;
        assert.match(detail, /\(business_id=\? AND (id|name|email)=\?/, `${statement}: ${detail}`);
      }
    });
  }
}
