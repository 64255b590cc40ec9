import { type TSchema, Type } from 'typebox';

/** How a value is stored: amounts in minor units of the record's currency, lists as JSON, flags as 0 or 1. */
export type Stored = 'text' | 'id' | 'amount' | 'json' | 'flag';

/** One field of a resource. */
export interface Field {
  schema: TSchema;
  /** What clients send, where that differs from what they receive. */
  input?: TSchema;
  stored: Stored;
  /** Clients may send it; otherwise the server computes it. */
  isWritable: boolean;
  /** Clients must send it when they create a record. */
  isRequired: boolean;
  isNullable: boolean;
  /** In the response for one record, and not in lists. */
  isDetail: boolean;
  /** The resource to whose records it refers, in the same business. */
  references?: string;
  /** The value of a new record if the client sends none. */
  initial?: unknown;
}

/** The values of a record by field name, as the API shows them. */
export type Values = Record<string, unknown>;

/** A change of state with an endpoint of its own. */
export interface Transition {
  summary: string;
  description: string;
  /** The states in which it is possible. */
  from: readonly string[];
  /** Whether no other transition can undo it. */
  isDestructive?: boolean;
  /** What clients may send with it. */
  body?: Record<string, Field>;
  /** The changed values, computed from the record and the body. Throws `FieldError` for a body that this record does not allow. */
  change(record: Values, body: Values, today: string): Values;
}

/**
 * A resource of the business API, declared once. Its routes, schemas, OpenAPI operations, event types, import, export and
 * tools follow from this declaration. Declarations are data and pure functions; `src/business` runs them.
 */
export interface Resource {
  name: string;
  plural: string;
  /** `Contact`: in titles and as the name of the schema. */
  title: string;
  description: string;
  path: string;
  table: string;
  scopes: { read: string; write?: string };
  /** Without `id`, `createdAt` and `updatedAt`, which every record has. */
  fields: Record<string, Field>;
  /** Lists can be filtered by equality of these, alone or together. At most two: each combination has an index. */
  filters: readonly string[];
  /** Lists can be sorted by these, and by `createdAt` and `updatedAt`. Never null. */
  sorts: readonly string[];
  /** Unique in a business. */
  unique?: string;
  /** The prefix of the number that a record gets if the client sends none. */
  numbered?: string;
  /** The field with the state, and the states in which clients may update a record (by default all). */
  state?: { field: string; editableIn?: readonly string[]; events?: Record<string, string> };
  transitions: Record<string, Transition>;
  /** Computes the fields that clients do not send. Throws `FieldError` for values that do not fit together. */
  compute?(values: Values, today: string): Values;
  /** The fields that events show. */
  eventFields: readonly string[];
  example: Values;
}

/** A value that is well-formed, but not allowed in this record. */
export class FieldError extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

interface Options {
  required?: boolean;
  /** The server computes it. */
  computed?: boolean;
  detail?: boolean;
  /** By default, a field that clients may leave out can be null. */
  nullable?: boolean;
  initial?: unknown;
  input?: TSchema;
  example?: string;
}

function field(stored: Stored, schema: TSchema, options: Options = {}): Field {
  const { required = false, computed = false, detail = false, initial, input } = options;
  const isNullable = options.nullable ?? (!required && !computed && initial === undefined);
  return {
    schema: isNullable ? nullable(schema) : schema,
    stored,
    isWritable: !computed,
    isRequired: required,
    isNullable,
    isDetail: detail,
    ...(initial !== undefined && { initial }),
    ...(input && { input: isNullable ? nullable(input) : input }),
  };
}

function nullable(schema: TSchema): TSchema {
  return Type.Unsafe({ ...schema, type: [(schema as { type?: string }).type, 'null'] });
}

const describe = (description: string, example?: string) => ({ description, ...(example && { examples: [example] }) });

/** Control characters are not text: terminals interpret some, and PostgreSQL stores no NUL. */
export const LINE = '^[^\\u0000-\\u001f\\u007f]*$';
const LINES = '^[^\\u0000-\\u0009\\u000b-\\u001f\\u007f]*$';

export const text = (description: string, { max = 200, ...options }: Options & { max?: number } = {}) =>
  field(
    'text',
    Type.String({ minLength: 1, maxLength: max, pattern: LINE, ...describe(description, options.example) }),
    options,
  );

/** Text with line breaks. */
export const notes = (description: string, options: Options = {}) =>
  field('text', Type.String({ maxLength: 4000, pattern: LINES, ...describe(description) }), {
    detail: true,
    ...options,
  });

export const email = (description: string, options: Options = {}) =>
  field(
    'text',
    Type.String({
      format: 'email',
      pattern: LINE,
      maxLength: 254,
      ...describe(description, 'mara@northwind.example.com'),
    }),
    options,
  );

export const date = (description: string, options: Options = {}) =>
  field('text', Type.String({ format: 'date', ...describe(description, '2026-07-31') }), options);

export const flag = (description: string, options: Options = {}) =>
  field('flag', Type.Boolean({ description }), options);

export const currency = (options: Options = { required: true }) =>
  field('text', Type.String({ pattern: '^[A-Z]{3}$', ...describe('ISO 4217.', 'GBP') }), options);

export const AMOUNT_PATTERN = '^-?\\d+\\.\\d{2,4}$';

/** In the record’s currency. */
export const amount = (description: string, options: Options = {}) =>
  field(
    'amount',
    Type.String({
      pattern: options.computed ? AMOUNT_PATTERN : '^\\d{1,30}(\\.\\d{1,4})?$',
      ...describe(description, options.example ?? '1234.50'),
    }),
    options,
  );

/** One of some values. Clients must be ready for others: more may be added. */
export const choice = (values: readonly string[], description: string, options: Options = {}) =>
  field(
    'text',
    options.computed
      ? Type.Unsafe<string>({ type: 'string', 'x-extensible-enum': values, description })
      : Type.Unsafe<string>({ type: 'string', enum: values, description }),
    options,
  );

/** The id of a record of another resource in the same business. */
export const reference = (resource: string, description: string, options: Options = {}): Field => ({
  ...field('id', Type.String({ format: 'uuid', description }), options),
  references: resource,
});

export const list = (item: TSchema, description: string, { max = 200, ...options }: Options & { max?: number } = {}) =>
  field('json', Type.Array(item, { maxItems: max, description }), { detail: true, ...options });

/** The event types of a resource: one for each kind of change, and one for each state that has a name of its own. */
export function eventTypesOf({ name, state }: Resource): string[] {
  return ['created', 'updated', ...Object.values(state?.events ?? {})].map((what) => `${name}.${what}`);
}

/** `contactId`: what events call the id of a record. */
export function idNameOf(name: string): string {
  return `${name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())}Id`;
}
