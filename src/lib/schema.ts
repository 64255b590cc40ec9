import type { Type as TypeBox } from 'typebox';

export type { Static } from 'typebox';

/** TypeBox has 370 files to load at each start, for what is a few plain objects here. Its types cost nothing, and are kept. */
type Used = 'Array' | 'Boolean' | 'Enum' | 'Integer' | 'Literal' | 'Object' | 'Optional' | 'String' | 'Unsafe';

type Schema = Record<string, unknown>;

const OPTIONAL = Symbol('optional');

const of = (type: string) => (options?: Schema) => ({ type, ...options });

const builders: Record<Used, (...given: never[]) => Schema> = {
  Array: (items: Schema, options?: Schema) => ({ type: 'array', items, ...options }),
  Boolean: of('boolean'),
  Enum: (words: readonly string[] | Record<string, string>, options?: Schema) => ({
    enum: Object.values(words),
    ...options,
  }),
  Integer: of('integer'),
  Literal: (value: string | number | boolean, options?: Schema) => ({ type: typeof value, const: value, ...options }),
  Object: (properties: Record<string, Schema>, options?: Schema) => {
    const required = Object.keys(properties).filter((name) => !(OPTIONAL in (properties[name] ?? {})));
    return { type: 'object', ...(required.length > 0 && { required }), properties, ...options };
  },
  Optional: (schema: Schema) => Object.defineProperty({ ...schema }, OPTIONAL, { value: true }),
  String: of('string'),
  Unsafe: (schema: Schema) => schema,
};

/** JSON Schemas with the types of what they let pass. */
export const Type = builders as unknown as Pick<typeof TypeBox, Used>;
