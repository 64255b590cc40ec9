import { type Expression, type SqlBool, sql } from 'kysely';

/** A page of a long list: what matches a search, newest first, after the last row of the page before. */
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

/** True where one of the columns holds the text, in small letters or capitals. A wildcard in the text is only a letter. */
export function contains(columns: (string | Expression<unknown>)[], text: string): Expression<SqlBool> {
  const pattern = `%${text.normalize('NFC').replace(/[!%_]/g, '!$&')}%`;
  // Looked through as one text: on SQLite, putting a row into small letters is the larger part of the work.
  const texts = columns.map((column) => sql`coalesce(${typeof column === 'string' ? sql.ref(column) : column}, '')`);
  return sql<SqlBool>`lower(${sql.join(texts, sql` || '\n' || `)}) like lower(${pattern}) escape '!'`;
}
