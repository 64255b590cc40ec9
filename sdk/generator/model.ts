import type { ProtectedEndpoint } from '../../src/business/protected-endpoint.ts';
import { reportEndpoints } from '../../src/business/reports/endpoints.ts';
import { pipelineEndpoint } from '../../src/business/reports/pipeline.ts';
import { endpointsOf } from '../../src/business/resource-endpoints.ts';
import { RESOURCES } from '../../src/resources/all.ts';
import type { Resource } from '../../src/resources/resource.ts';

/** The part of JSON Schema that the business API uses. */
export interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  enum?: string[];
  'x-extensible-enum'?: string[];
  format?: string;
  pattern?: string;
  description?: string;
}

export interface Member {
  name: string;
  schema: Schema;
  isRequired: boolean;
  /** The type of an object or of the items of a list, if it is declared by name. */
  typeName?: string;
}

export interface ObjectType {
  name: string;
  description: string;
  /** The type that it extends. */
  base?: string;
  members: Member[];
}

/** A transition of a record. */
export interface Action {
  name: string;
  description: string;
  /** The type of its body, if it has one. */
  body?: ObjectType;
}

export interface ResourceModel {
  /** `expenseCategories`. */
  name: string;
  title: string;
  description: string;
  path: string;
  filters: readonly string[];
  /** The values of `sort`. */
  sorts: string[];
  /** Lists first what the others refer to. */
  records: ObjectType[];
  /** What clients send to create a record: nested types, and last the body. Empty if they cannot. */
  inputs: ObjectType[];
  options: ObjectType;
  actions: Action[];
}

export interface ReportModel {
  /** `profitAndLoss`. */
  name: string;
  title: string;
  description: string;
  path: string;
  query: Member[];
  types: ObjectType[];
}

export const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
const uncapitalized = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

export const enumOf = (schema: Schema) => schema['x-extensible-enum'] ?? schema.enum;
export const isDecimal = ({ pattern }: Schema) => /^\^(-\?)?\\d/.test(pattern ?? '');

export const MODELS: ResourceModel[] = RESOURCES.map(modelOf);
export const REPORTS: ReportModel[] = reportEndpoints.map(reportOf);
export const PIPELINE: ReportModel = reportOf(pipelineEndpoint);

function modelOf(resource: Resource): ResourceModel {
  const { title, description, path, filters, plural } = resource;
  const [list, get, create, , ...transitions] = endpointsOf(resource);
  const query = (list?.query ?? {}) as Schema;
  return {
    name: plural.replace(/ (\w)/g, (_, letter: string) => letter.toUpperCase()),
    title,
    description,
    path,
    filters,
    sorts: query.properties?.sort?.enum ?? [],
    records: recordTypes(title, list?.response.schema as Schema, get?.response.schema as Schema),
    inputs: create ? objectTypes(`${title}Input`, create.body as Schema, (name) => `${title}${name}Input`) : [],
    options: {
      name: `${title}ListOptions`,
      description: `Which ${plural}, and in which order.`,
      members: membersOf(query, '').filter(({ name }) => filters.includes(name)),
    },
    actions: transitions.map((endpoint) => actionOf(title, endpoint)),
  };
}

function recordTypes(title: string, listed: Schema, whole: Schema): ObjectType[] {
  const nested = objectTypes(title, whole, (name) => `${title}${name}`).slice(0, -1);
  const short = membersOf(listed, title);
  const details = membersOf(whole, title).filter(({ name }) => !short.some((member) => member.name === name));
  const etag = {
    name: 'etag',
    schema: { type: 'string', description: 'The version of the record, to update it only if it has not changed.' },
    isRequired: true,
  };
  return [
    ...nested,
    { name: title, description: listed.description ?? '', members: short },
    {
      name: `${title}Detail`,
      description: `One ${title} with all its fields.`,
      base: title,
      members: [...details, etag],
    },
  ];
}

function actionOf(title: string, { path, description, body }: ProtectedEndpoint): Action {
  const name = path.split('/').at(-1) ?? '';
  if (!body) return { name, description };
  const typeName = `${capitalized(name)}${title}Input`;
  return {
    name,
    description,
    body: { name: typeName, description: `What \`${name}\` takes.`, members: membersOf(body, '') },
  };
}

function reportOf({ operationId, path, description, query, response }: ProtectedEndpoint): ReportModel {
  const name = operationId.replace(/^get/, '');
  return {
    name: uncapitalized(name),
    title: response.name,
    description,
    path,
    query: query ? membersOf(query, '') : [],
    types: objectTypes(response.name, response.schema, (member) => `${response.name}${member}`),
  };
}

/** An object as a type, after the types of the lists within it. */
function objectTypes(name: string, schema: Schema, nameOf: (member: string) => string): ObjectType[] {
  const nested = Object.entries(schema.properties ?? {}).flatMap(([member, { items, description }]) =>
    items?.properties ? objectTypes(nameOf(singular(member)), { description, ...items }, nameOf) : [],
  );
  return [...nested, { name, description: schema.description ?? '', members: membersOf(schema, '', nameOf) }];
}

function membersOf(schema: Schema, title: string, nameOf = (member: string) => `${title}${member}`): Member[] {
  return Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    schema: property,
    isRequired: schema.required?.includes(name) ?? false,
    ...(property.items?.properties && { typeName: nameOf(singular(name)) }),
  }));
}

/** `Line` of `lines`, `Currency` of `currencies`. */
function singular(name: string): string {
  return capitalized(name.replace(/ies$/, 'y').replace(/s$/, ''));
}
