import { type TSchema, Type } from 'typebox';
import type { Field, Resource, Values } from '../resources/resource.ts';
import { shownFields } from './rows.ts';

const ID = '0190b9a2-1c3d-7e4f-8a5b-6c7d8e9f0a1b';
const TIMES = { createdAt: '2026-07-01T08:30:00.000Z', updatedAt: '2026-07-01T08:30:00.000Z' };

/** The schema of a record, in a list or alone. */
export function recordSchema(resource: Resource, withDetails: boolean): TSchema {
  const { description } = resource;
  const shown = shownFields(resource, withDetails);
  const time = (text: string) => Type.String({ format: 'date-time', description: text });
  return Type.Object(
    {
      id: Type.String({ format: 'uuid', description: 'Never changes.' }),
      ...Object.fromEntries(shown.map(([name, field]) => [name, field.schema])),
      createdAt: time('When it was created.'),
      updatedAt: time('When it was last changed.'),
    },
    { description },
  );
}

export function exampleOf(resource: Resource, withDetails: boolean): Values {
  const names = shownFields(resource, withDetails);
  return { id: ID, ...Object.fromEntries(names.map(([name]) => [name, resource.example[name]])), ...TIMES };
}

const hasDetails = ({ fields }: Resource) => Object.values(fields).some(({ isDetail }) => isDetail);

/** Lists leave the details out, so they have their own schema. */
export const detailNameOf = (resource: Resource) => (hasDetails(resource) ? `${resource.title}Detail` : resource.title);

export const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
export const operationName = (text: string) => text.split(/[ _]/).map(capitalized).join('');
/** `Expense categories`: the page of the API reference. */
export const tagOf = ({ plural }: Resource) => capitalized(plural);
export const nounOf = ({ name }: Resource) => name.replace('_', ' ');
export const withArticle = (noun: string) => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;

/** What a client sends to create such a record. */
export function writableExample({ fields, example }: Resource): Values {
  const sent = Object.entries(fields).filter(([name, field]) => field.isWritable && example[name] !== null);
  return Object.fromEntries(sent.map(([name, field]) => [name, inputExample(field, example[name])]));
}

/** Lists without the parts that the server computes. */
function inputExample({ input }: Field, value: unknown): unknown {
  const { items } = (input ?? {}) as { items?: { properties?: object } };
  if (!items?.properties || !Array.isArray(value)) return value;
  const names = Object.keys(items.properties);
  return value.map((item) => Object.fromEntries(names.map((name) => [name, item[name]])));
}

export function examplesOf(fields: Record<string, Field>): Values {
  const known = Object.entries(fields).map(([name, { schema }]) => {
    const { examples, enum: values } = schema as { examples?: unknown[]; enum?: unknown[] };
    return [name, examples?.[0] ?? values?.at(-1)];
  });
  return Object.fromEntries(known);
}
