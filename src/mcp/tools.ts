import type { Tool as ToolDefinition } from '@modelcontextprotocol/server';
import { type TSchema, Type } from 'typebox';
import type { ProtectedEndpoint } from '../business/protected-endpoint.ts';
import { isWrite } from '../business/protected-endpoint.ts';

/** An endpoint of the business API, as a tool of the MCP server. */
export interface Tool {
  name: string;
  endpoint: ProtectedEndpoint;
  /** The names of the arguments that go into the query. */
  query: string[];
  /** The tool as `tools/list` shows it. */
  definition: ToolDefinition;
}

/** The scopes that a tool needs, in its `_meta`. */
const SCOPES_META = 'gatehouse/scopes';

type Schema = ToolDefinition['inputSchema'];

export const IDEMPOTENCY_KEY = 'idempotency_key';

/** One tool for each endpoint, by name. */
export function toolsOf(endpoints: ProtectedEndpoint[]): Map<string, Tool> {
  const tools = endpoints.filter(({ tool }) => tool !== false).map(toolOf);
  return new Map(tools.map((tool) => [tool.name, tool]));
}

function toolOf(endpoint: ProtectedEndpoint): Tool {
  const { operationId, tool, summary: title, description, scope } = endpoint;
  const name = tool || operationId.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const needs = scope === null ? '' : ` It needs the scope \`${scope}\`.`;
  const definition = {
    name,
    title,
    description: description + needs,
    inputSchema: inputSchema(endpoint),
    outputSchema: outputSchema(endpoint),
    annotations: annotationsOf(endpoint),
    _meta: { [SCOPES_META]: scope === null ? [] : [scope] },
  };
  return { name, endpoint, query: Object.keys(propertiesOf(endpoint.query)), definition };
}

const KEY = Type.Optional(
  Type.String({
    pattern: '^[!-~]{1,255}$',
    description: 'Chosen by the caller, one for each operation. Calls with the same key run once within a day.',
    examples: ['9b2f6c1e-6f0b-4d7e-9d0b-0d2c3b1a5e77'],
  }),
);

const CURSOR = Type.Optional(Type.String({ description: 'The `next_cursor` of the page before.' }));

/** What the endpoint takes in its path, query and body, as one object. The token names the business. */
function inputSchema(endpoint: ProtectedEndpoint): Schema {
  const query = propertiesOf(endpoint.query);
  const properties = {
    ...propertiesOf(endpoint.params),
    ...query,
    ...('cursor' in query && { cursor: CURSOR }),
    ...propertiesOf(endpoint.body),
    ...(isWrite(endpoint) && { [IDEMPOTENCY_KEY]: KEY }),
  };
  return toJson(Type.Object(properties, { additionalProperties: false }));
}

/** Always of an object, as clients before 2026-07-28 need it: a list becomes its `items`. */
function outputSchema({ response, query }: ProtectedEndpoint): Schema {
  const { schema, isList } = response;
  if (!isList) return toJson(schema);
  const items = Type.Array(Type.Unsafe(schema), { description: response.description });
  const next = Type.Union([Type.String(), Type.Null()], {
    description: 'Where the next page starts, if there is more.',
  });
  return toJson(Type.Object({ items, ...('cursor' in propertiesOf(query) && { next_cursor: next }) }));
}

/** Hints for clients that ask before a call. */
function annotationsOf(endpoint: ProtectedEndpoint) {
  const { summary: title, method, body, params, isDestructive = false } = endpoint;
  return {
    title,
    readOnlyHint: !isWrite(endpoint),
    destructiveHint: isDestructive,
    // A change of state without a body fails if it is repeated, and so has no further effect.
    idempotentHint: method === 'GET' || method === 'PATCH' || (params !== undefined && body === undefined),
    openWorldHint: false,
  };
}

function propertiesOf(schema: object | undefined): Record<string, TSchema> {
  return (schema as { properties?: Record<string, TSchema> } | undefined)?.properties ?? {};
}

/** Without the properties that TypeBox hides. */
function toJson(schema: object): Schema {
  return JSON.parse(JSON.stringify(schema), (_, value) => (Array.isArray(value?.type) ? splitType(value) : value));
}

/** A value that may be null. Some models take schemas of one type only, and no list of types. */
function splitType({ type, description, ...rest }: { type: string[]; description?: string }): object {
  const [first, ...others] = type;
  return { description, anyOf: [{ type: first, ...rest }, ...others.map((other) => ({ type: other }))] };
}
