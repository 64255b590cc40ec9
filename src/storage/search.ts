import { type Expression, type SqlBool, sql } from 'kysely';

/** One page of the rows that match a search, newest first. `after` is the last id of the previous page. */
export interface SearchTerm {
  search: string;
  after: string | undefined;
  limit: number;
}

/** True where a column of names, separated by spaces, holds this one. */
export function containsName(column: string, name: string): Expression<SqlBool> {
  const pattern = `% ${name.replace(/[!%_]/g, '!$&')} %`;
  return sql<SqlBool>`' ' || ${sql.ref(column)} || ' ' like ${pattern} escape '!'`;
}

/** True if one of the columns contains the text, in any case. Wildcards in the text are escaped. */
export function contains(columns: (string | Expression<unknown>)[], text: string): Expression<SqlBool> {
  const pattern = `%${text.normalize('NFC').replace(/[!%_]/g, '!$&')}%`;
  // The columns are searched as one text: on SQLite, `lower` is the larger part of the work.
  const texts = columns.map((column) => sql`coalesce(${typeof column === 'string' ? sql.ref(column) : column}, '')`);
  return sql<SqlBool>`lower(${sql.join(texts, sql` || '\n' || `)}) like lower(${pattern}) escape '!'`;
}
