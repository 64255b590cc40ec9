import type { StatementSync } from 'node:sqlite';

/** Makes rows of what a statement has found. */
export type ReadRows = <Row>(found: unknown) => Row[];

/**
 * From now on it returns arrays. Gives how to make rows of them; undefined for a statement that returns none. This is
 * quicker than the objects that SQLite's binding makes, since an object that is written out in full is made several times as
 * fast as one that is filled in name by name. The names are those that our own statements give their columns.
 */
export function returnArrays(statement: StatementSync): ReadRows | undefined {
  statement.setReturnArrays(true);
  let reader = newReader(statement);
  if (reader.columns === 0) return undefined;
  return <Row>(found: unknown) => {
    const arrays = found as unknown[][];
    // Another process may have added a column meanwhile, as a newer version does: SQLite then finds it, too.
    if (arrays[0] && arrays[0].length !== reader.columns) reader = newReader(statement);
    return arrays.map(reader.toRow) as Row[];
  };
}

function newReader(statement: StatementSync) {
  const fields = statement.columns().map(({ name }, place) => `${JSON.stringify(name)}: values[${place}]`);
  const toRow = new Function('values', `return { ${fields.join(', ')} };`) as (values: unknown[]) => object;
  return { columns: fields.length, toRow };
}
