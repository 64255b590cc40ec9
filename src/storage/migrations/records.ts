import { notNull, primaryKey, references, type SchemaChange } from './migration.ts';

type ColumnType = 'text' | 'id' | 'amount';

export interface Records {
  table: string;
  columns: Record<string, ColumnType>;
  nullable: Record<string, ColumnType>;
  /** Lists are filtered by any combination of these, and sorted by id, by the last change or by one of `sorts`. */
  filters: string[];
  sorts: string[];
  unique?: string;
  /** By which files name a record. A unique column has an index already. */
  keys?: string[];
}

/** A table of records, with an index for each combination of filters and each order, so that every page is a range of one. */
export function createRecords({ table, columns, nullable, filters, sorts, unique, keys = [] }: Records): SchemaChange {
  return async (db, types) => {
    const { id, integer, time, amount } = types;
    const typeOf = { text: 'text', id, amount } as const;
    let definition = db.schema
      .createTable(table)
      .addColumn('id', id, primaryKey)
      .addColumn('business_id', id, references('businesses.id'));
    for (const [name, type] of Object.entries(columns)) definition = definition.addColumn(name, typeOf[type], notNull);
    for (const [name, type] of Object.entries(nullable)) definition = definition.addColumn(name, typeOf[type]);
    definition = definition
      .addColumn('version', integer, notNull)
      .addColumn('created_at', time, notNull)
      .addColumn('updated_at', time, notNull);
    if (unique) definition = definition.addUniqueConstraint(`${table}_${unique}`, ['business_id', unique as 'id']);
    await definition.execute();
    for (const key of keys) {
      await db.schema.createIndex(`${table}_by_${key}`).on(table).columns(['business_id', key]).execute();
    }
    for (const filter of combinationsOf(filters)) {
      for (const order of [['id'], ['updated_at', 'id'], ...sorts.map((sort) => [sort, 'id'])]) {
        const indexed = [...filter, ...order];
        await db.schema
          .createIndex(`${table}_by_${indexed.join('_')}`)
          .on(table)
          .columns(['business_id', ...indexed])
          .execute();
      }
    }
  };
}

/** The longest first: of two indexes that seem equally good to it, SQLite takes the older. */
function combinationsOf(names: string[]): string[][] {
  const [first, ...rest] = names;
  if (first === undefined) return [[]];
  const others = combinationsOf(rest);
  return [...others.map((each) => [first, ...each]), ...others];
}
