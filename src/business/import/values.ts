import { type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { ApiError } from '../../http/errors.ts';
import { isId, timeOfId } from '../../lib/ids.ts';
import { type Field, FieldError, type Resource, type Values } from '../../resources/resource.ts';
import type { Columns } from '../record-files.ts';
import { dayOf } from '../records.ts';
import { bodySchema, createValidator, type FieldProblem } from '../validation.ts';
import { linesFromTotal, settleInvoice } from './invoices.ts';

/** Fields that an export writes and an import accepts, besides those that clients may send. */
const TIMES = ['createdAt', 'updatedAt'];

/** A reference by name or e-mail has the field's name without `Id`: `company` in place of `companyId`. */
export const keyNameOf = (field: string) => field.replace(/Id$/, '');

/** Every name that a record in a file may have. */
export function importableColumns({ fields }: Resource): Columns {
  const entries = Object.entries(fields);
  const keys = entries.flatMap(([name, { references }]) => (references ? [keyNameOf(name)] : []));
  const texts = entries.filter(([, { stored, schema }]) => stored === 'text' && Compile(schema).Check(''));
  return { names: ['id', ...Object.keys(fields), ...keys, ...TIMES], texts: texts.map(([name]) => name) };
}

/** States and payments are stored as the file has them. Sums are computed again, and must match those in the file. */
const isDerived = (field: Field) => !field.isWritable && field.initial === undefined && !field.isNullable;

export interface ImportedRecord {
  /** As the file names it. */
  id: string | undefined;
  values: Values;
  /** The derived fields that the file has. */
  derived: Values;
}

/** Reads one record of a file whose references are ids already. Throws `FieldProblems`. */
export function createRecordReader(resource: Resource): (given: Values, now: number) => ImportedRecord {
  const entries = Object.entries(resource.fields);
  const stored = Object.fromEntries(entries.filter(([, field]) => !isDerived(field)).map(toImported));
  const derivedNames = entries.filter(([, field]) => isDerived(field)).map(([name]) => name);
  const validate = createValidator(bodySchema(stored, { example: {} }));
  return (given, now) => {
    const { id, createdAt, updatedAt, ...rest } = parseTexts(resource, given);
    if (id !== undefined && !isUsableId(id, now)) throw new FieldProblems([{ field: 'id', message: BAD_ID }]);
    const derived = Object.fromEntries(derivedNames.map((name) => [name, rest[name]]));
    for (const name of derivedNames) delete rest[name];
    const isInvoice = resource.name === 'invoice';
    const values = reportProblems(() => {
      const valid = validate(isInvoice ? linesFromTotal(rest, derived.total) : rest);
      return isInvoice ? settleInvoice(valid, dayOf(now)) : valid;
    });
    return { id: id as string | undefined, values, derived };
  };
}

const BAD_ID = 'must be an id from an export. Leave it out to get a new one';

/** The time in it decides where the record is in lists. */
function isUsableId(id: unknown, now: number): boolean {
  return typeof id === 'string' && isId(id) && (timeOfId(id) ?? Number.POSITIVE_INFINITY) <= now;
}

/** A field as files have it: the server's own fields can be given, and states are checked. */
function toImported([name, field]: [string, Field]): [string, Field] {
  const { 'x-extensible-enum': states } = field.schema as { 'x-extensible-enum'?: string[] };
  const schema: TSchema = states ? Type.Unsafe({ type: 'string', enum: states }) : (field.input ?? field.schema);
  return [name, { ...field, schema, input: schema, isWritable: true }];
}

/** Lists and flags are JSON in a CSV file. Null is the same as nothing. */
function parseTexts({ fields }: Resource, given: Values): Values {
  const values: Values = {};
  for (const [name, value] of Object.entries(given)) {
    const field = fields[name];
    if (value === null) continue;
    values[name] = field?.stored === 'json' ? withoutComputed(field, parseList(name, value)) : value;
    if (field?.stored === 'flag' && typeof value === 'string') values[name] = value === 'true';
  }
  return values;
}

function parseList(name: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    throw new FieldProblems([{ field: name, message: 'is not a JSON list' }]);
  }
}

interface ListSchema {
  items?: { properties?: Record<string, unknown> };
}

/** The items of an export have amounts that clients do not send. */
function withoutComputed({ schema, input }: Field, value: unknown): unknown {
  const sent = (input as ListSchema | undefined)?.items?.properties;
  const shown = Object.keys((schema as ListSchema).items?.properties ?? {});
  if (!sent || !Array.isArray(value)) return value;
  const computed = shown.filter((name) => !(name in sent));
  return value.map((item) => {
    if (typeof item !== 'object' || item === null) return item;
    return Object.fromEntries(Object.entries(item).filter(([name]) => !computed.includes(name)));
  });
}

/** Everything that is wrong with one record. */
export class FieldProblems extends Error {
  readonly problems: FieldProblem[];

  constructor(problems: FieldProblem[]) {
    super(problems.map(({ field, message }) => `${field} ${message}`).join('; '));
    this.problems = problems;
  }
}

/** The errors of the API as `FieldProblems`. */
export function reportProblems<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof FieldError) throw new FieldProblems([{ field: error.field, message: error.message }]);
    if (error instanceof ApiError) throw new FieldProblems(error.details?.errors as FieldProblem[]);
    throw error;
  }
}
