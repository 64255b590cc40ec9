/** The parts of an OpenAPI document that the reference shows. */
export interface Document {
  info: { title: string; description?: string };
  servers: { url: string }[];
  tags: { name: string; description?: string }[];
  paths: Record<string, Record<string, Operation>>;
  /** By event type. */
  webhooks: Record<string, { post: Operation }>;
  components: {
    schemas: Record<string, Schema>;
    securitySchemes: { oauth2: { flows: { authorizationCode: { scopes: Record<string, string> } } } };
  };
}

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, OperationResponse>;
  security?: Record<string, string[]>[];
  'x-callback-errors'?: string[];
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  allowEmptyValue?: boolean;
  description?: string;
  schema: Schema;
  example?: unknown;
}

export interface OperationResponse {
  description: string;
  headers?: Record<string, { description?: string; schema: Schema }>;
  content?: Record<string, Media>;
}

export interface Media {
  schema: Schema;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
  /** Of an error response: the possible error codes, each with its reasons. */
  'x-reasons'?: Record<string, string[]>;
}

export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  const?: unknown;
  enum?: string[];
  /** The values so far; later versions may add more. */
  'x-extensible-enum'?: string[];
  items?: Schema;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  minLength?: number;
  minimum?: number;
  maximum?: number;
  default?: unknown;
}

export interface RouteOperation extends Operation {
  path: string;
  method: string;
}

export function listOperations(document: Document): RouteOperation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
  );
}

/** The operations of a tag share a page. */
export function pageOf(tag: string): string {
  return `/docs/${tag.toLowerCase().replaceAll(' ', '-')}`;
}

/** The page of the one tag that responds with a schema; the overview if there are several. */
export function pageOfSchema(document: Document, name: string): string {
  const users = listOperations(document).filter(({ responses }) =>
    Object.values(responses).some(({ content = {} }) =>
      Object.values(content).some(({ schema }) => nameOf(schema.$ref ?? schema.items?.$ref ?? '') === name),
    ),
  );
  const [tag, ...others] = new Set(users.flatMap(({ tags }) => tags));
  return tag && others.length === 0 ? pageOf(tag) : '/docs';
}

export function typeOf(schema: Schema): string {
  if (schema.$ref) return nameOf(schema.$ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const open = schema['x-extensible-enum'];
  if (open) return [...open.map((value) => JSON.stringify(value)), '…'].join(' | ');
  if (schema.items) return `list of ${typeOf(schema.items)}`;
  const range = schema.minimum === undefined ? '' : `, ${schema.minimum} to ${schema.maximum}`;
  const usual = schema.default === undefined ? '' : `, default ${schema.default}`;
  const [type = 'any', ...orNull] = [schema.type ?? []].flat();
  return [`${schema.format ?? type}${range}${usual}`, ...orNull].join(' or ');
}

export function nameOf(reference: string): string {
  return reference.split('/').at(-1) ?? '';
}
