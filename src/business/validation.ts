import { type TProperties, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { Settings } from 'typebox/system';
import { ApiError } from '../http/errors.ts';
import { hasHiddenText } from '../lib/names.ts';
import { type Field, FieldError, type Values } from '../resources/resource.ts';

/** Of one body. */
const MAX_PROBLEMS = 20;

/** One problem more, and for each an error of its object, which `describe` leaves out. */
Settings.Set({ maxErrors: 2 * (MAX_PROBLEMS + 1) });

export interface FieldProblem {
  /** Such as `lines[0].quantity`. */
  field: string;
  message: string;
}

/** The schema of a body with these fields. A patch may leave out any of them. */
export function bodySchema(
  fields: Record<string, Field>,
  { isPatch = false, example }: { isPatch?: boolean; example: Values },
): TSchema {
  const properties: TProperties = {};
  for (const [name, { schema, input = schema, isWritable, isRequired }] of Object.entries(fields)) {
    if (isWritable) properties[name] = isRequired && !isPatch ? input : Type.Optional(input);
  }
  return Type.Object(properties, {
    additionalProperties: false,
    ...(isPatch && { minProperties: 1 }),
    examples: [example],
  });
}

/** Compiled at the first request: most servers receive only a few kinds of bodies. */
export function createValidator(schema: TSchema): (body: unknown) => Values {
  let validator: ReturnType<typeof Compile> | undefined;
  return (body) => {
    validator ??= Compile(schema);
    if (validator.Check(body)) return body as Values;
    throw invalidFields(validator.Errors(shorten(body, schema)).flatMap((error) => describe(error, schema)));
  };
}

/** Of what clients send. Files of an import may have any text that was accepted before. */
export function createInputValidator(schema: TSchema): (body: unknown) => Values {
  const validate = createValidator(schema);
  return (body) => {
    const values = validate(body);
    const hidden = listTexts(values).filter(({ text }) => hasHiddenText(text));
    if (hidden.length > 0) throw invalidFields(hidden.map(({ at }) => ({ field: pathOf(at), message: HIDDEN })));
    return values;
  };
}

const HIDDEN = 'has a zero-width or bidirectional character';

function listTexts(value: unknown, at: string[] = []): { at: string[]; text: string }[] {
  if (typeof value === 'string') return [{ at, text: value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => listTexts(each, [...at, name]));
}

/**
 * Of an object that has too many unknown fields, only as many as are reported; of a list that is too long, one item too many.
 * `Errors` interprets the schema for each of them, which takes a hundred times as long as `Check`.
 */
function shorten(value: unknown, { properties, items, maxItems }: Described): unknown {
  if (Array.isArray(value)) {
    const kept = maxItems === undefined ? value : value.slice(0, maxItems + 1);
    return items ? kept.map((item) => shorten(item, items)) : kept;
  }
  if (!properties || typeof value !== 'object' || value === null) return value;
  const object = value as Values;
  const known = Object.keys(properties).filter((name) => Object.hasOwn(object, name));
  const unknown = Object.keys(object).filter((name) => !Object.hasOwn(properties, name));
  const names = [...known, ...unknown.slice(0, MAX_PROBLEMS + 1)];
  return Object.fromEntries(names.map((name) => [name, shorten(object[name], properties[name] ?? {})]));
}

type ValidationError = ReturnType<ReturnType<typeof Compile>['Errors']>[number];

/** A field that is not in the schema is reported once, by its own error. */
function describe(error: ValidationError, schema: TSchema): FieldProblem[] {
  const at = error.instancePath.slice(1).split('/').filter(Boolean);
  if (error.keyword === 'additionalProperties') return [];
  if (error.keyword === 'boolean') return [{ field: pathOf(at), message: 'is not a field that can be sent here' }];
  if (error.keyword === 'required') {
    return error.params.requiredProperties.map((name) => ({ field: pathOf([...at, name]), message: 'is missing' }));
  }
  return [{ field: pathOf(at) || 'body', message: explain(error, at, schema) }];
}

function explain(error: ValidationError, at: string[], schema: TSchema): string {
  const found = findSchema(schema, at);
  const [first] = found.examples ?? [];
  const example = first === undefined || typeof first === 'object' ? '' : `, for example ${first}`;
  if (at.length === 0 && error.keyword === 'type') return 'must be a JSON object';
  if (error.keyword === 'minProperties') return 'must have at least one field';
  if (error.keyword === 'enum') return `must be one of ${found.enum?.join(', ')}`;
  if (error.keyword === 'format') return `must be a valid ${found.format}${example}`;
  if (error.keyword === 'pattern') return `has the wrong format${example}`;
  return `${error.message}${example}`;
}

interface Described {
  properties?: Record<string, Described>;
  items?: Described;
  maxItems?: number;
  enum?: string[];
  format?: string;
  examples?: unknown[];
}

function findSchema(schema: Described, at: string[]): Described {
  return at.reduce((found: Described, step) => found.properties?.[step] ?? found.items ?? {}, schema);
}

function pathOf(at: string[]): string {
  return at.reduce((path, step) => {
    if (/^\d+$/.test(step)) return `${path}[${step}]`;
    return path === '' ? step : `${path}.${step}`;
  }, '');
}

export function invalidFields(problems: FieldProblem[]): ApiError {
  const errors = problems.slice(0, MAX_PROBLEMS);
  const list = errors.map(({ field, message }) => `${field} ${message}`).join('; ');
  const more = errors.length < problems.length ? ` These are the first ${MAX_PROBLEMS} errors.` : '';
  return new ApiError({
    status: 400,
    code: 'invalid_request',
    reason: 'fields_invalid',
    description: `${list.slice(0, 1000)}.${more}`,
    details: { errors },
  });
}

/** Values that are well-formed but do not fit are reported like malformed ones. */
export async function reportFieldErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof FieldError ? invalidFields([{ field: error.field, message: error.message }]) : error;
  }
}
