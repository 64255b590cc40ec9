import { copyId, isId } from '../../lib/ids.ts';
import { findResource } from '../../resources/all.ts';
import type { Resource, Values } from '../../resources/resource.ts';
import type { Database } from '../../storage/storage.ts';
import { recordsIn } from '../rows.ts';
import type { FieldProblem } from '../validation.ts';
import { keyNameOf } from './values.ts';

/** The cache of references is cleared beyond this size, so that memory stays bounded. */
const MAX_REMEMBERED = 50_000;

/** The result of looking up a key: an id, nothing, or more than one record. */
type Found = string | 'none' | 'ambiguous';

interface UnresolvedRecord {
  values: Values;
  problems: FieldProblem[];
}

type ResolveReferences = (db: Database, records: UnresolvedRecord[]) => Promise<void>;

/**
 * Replaces the references of records by ids of the business. A file names a record by its id, by its id in the business
 * that it was exported from, by its name or by its e-mail address.
 */
export function createReferenceResolver(resource: Resource, businessId: string): ResolveReferences {
  const references = Object.entries(resource.fields).flatMap(([field, { references: name }]) =>
    name ? [{ field, key: keyNameOf(field), target: findResource(name), found: new Map<string, Found>() }] : [],
  );
  return async (db, records) => {
    for (const reference of references) await resolve(db, reference, businessId, records);
  };
}

interface Reference {
  field: string;
  key: string;
  target: Resource;
  found: Map<string, Found>;
}

async function resolve(
  db: Database,
  reference: Reference,
  businessId: string,
  records: UnresolvedRecord[],
): Promise<void> {
  const { field, key, target, found } = reference;
  const named = records.flatMap((record) => {
    const name = [key, field].find((each) => typeof record.values[each] === 'string');
    return name ? [{ record, name, text: String(record.values[name]) }] : [];
  });
  if (found.size > MAX_REMEMBERED) found.clear();
  await lookUp(
    db,
    reference,
    businessId,
    [...new Set(named.map(({ text }) => text))].filter((text) => !found.has(text)),
  );
  for (const { record, name, text } of named) {
    const id = found.get(text) ?? 'none';
    delete record.values[key];
    record.values[field] = id;
    if (id !== 'none' && id !== 'ambiguous') continue;
    delete record.values[field];
    const noun = target.name.replace('_', ' ');
    const message =
      id === 'ambiguous'
        ? `is the name of more than one ${noun}: use ${field}`
        : `is not a ${noun} of this business: ${text}`;
    record.problems.push({ field: name, message });
  }
}

async function lookUp(db: Database, { target, found }: Reference, businessId: string, texts: string[]): Promise<void> {
  if (texts.length === 0) return;
  const copies = new Map(texts.filter(isId).map((id) => [copyId(id, businessId), id]));
  const ids = [...copies.keys(), ...copies.values()];
  for (const { value } of await list(db, target, { businessId, column: 'id', values: ids })) {
    found.set(copies.get(value) ?? value, value);
  }
  for (const column of ['name', 'email'].filter((name) => name in target.fields)) {
    const canMatch = (text: string) =>
      !isId(text) && (column === 'email') === ('email' in target.fields && text.includes('@'));
    const matches = await list(db, target, { businessId, column, values: texts.filter(canMatch) });
    for (const { id, value } of matches) found.set(value, found.has(value) ? 'ambiguous' : id);
  }
  for (const text of texts) if (!found.has(text)) found.set(text, 'none');
}

async function list(
  db: Database,
  { table }: Resource,
  { businessId, column, values }: { businessId: string; column: string; values: string[] },
): Promise<{ id: string; value: string }[]> {
  if (values.length === 0) return [];
  const rows = await recordsIn(db)
    .selectFrom(table)
    .select(['id', `${column} as value`])
    .where('business_id', '=', businessId)
    .where(column, 'in', values)
    .execute();
  return rows.map(({ id, value }) => ({ id: String(id), value: String(value) }));
}
