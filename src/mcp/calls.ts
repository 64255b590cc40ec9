import type { ApiRequest, ApiResult } from '../business/protected-endpoint.ts';
import { isWrite } from '../business/protected-endpoint.ts';
import { type FieldProblem, invalidFields } from '../business/validation.ts';
import { jsonResponse } from '../http/error-handler.ts';
import type { ApiError } from '../http/errors.ts';
import { isId } from '../lib/ids.ts';
import { IDEMPOTENCY_KEY, type Tool } from './tools.ts';

export type Arguments = Record<string, unknown>;

/** What a tool returns: `CallToolResult` of the specification. */
export interface ToolResult {
  content: { type: 'text'; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
  [name: string]: unknown;
}

type CallContext = Pick<ApiRequest, 'db' | 'access' | 'now'>;

/** Runs the endpoint of the tool, whose scope the caller has. */
export async function callTool(tool: Tool, sent: Arguments, context: CallContext): Promise<ToolResult> {
  const { endpoint } = tool;
  const { response } = endpoint;
  const { body, next } = await endpoint.handle({ ...context, ...toRequest(tool, sent) });
  const content = response.isList ? toPage(tool, { body, next }) : (body as Record<string, unknown>);
  return { content: [{ type: 'text', text: JSON.stringify(content) }], structuredContent: content };
}

function toPage({ query }: Tool, { body: items, next }: Pick<ApiResult, 'body' | 'next'>): Record<string, unknown> {
  return query.includes('cursor') ? { items, next_cursor: next?.cursor ?? null } : { items };
}

/**
 * An error that the model can correct. Only as text: many clients expect the structured content of an error, too, to have
 * the output schema of the tool.
 */
export function toErrorResult(error: ApiError, issuer: string): ToolResult {
  const { body } = jsonResponse(error, issuer);
  return { content: [{ type: 'text', text: JSON.stringify(body) }], isError: true };
}

/** The request to the endpoint that has these values. */
function toRequest({ endpoint, query: names }: Tool, sent: Arguments): Omit<ApiRequest, keyof CallContext> {
  const { method, path, params } = endpoint;
  const { [IDEMPOTENCY_KEY]: sentKey, ...given } = sent;
  const key = sentKey ?? undefined;
  const problems: FieldProblem[] = [];
  const id = params ? readId(given, problems) : '';
  const query = readQuery(names, given, problems);
  if (!isWrite(endpoint)) rejectOthers({ ...given, ...(key !== undefined && { [IDEMPOTENCY_KEY]: key }) }, problems);
  else if (key !== undefined && typeof key !== 'string')
    problems.push({ field: IDEMPOTENCY_KEY, message: 'must be text' });
  if (problems.length > 0) throw invalidFields(problems);
  return {
    method,
    url: path.replace(':id', id),
    params: { id },
    query,
    body: endpoint.body || Object.keys(given).length > 0 ? given : undefined,
    headers: { 'idempotency-key': key as string | undefined },
  };
}

function readId(given: Arguments, problems: FieldProblem[]): string {
  const id = typeof given.id === 'string' ? given.id.toLowerCase() : given.id;
  delete given.id;
  if (typeof id === 'string' && isId(id)) return id;
  problems.push({ field: 'id', message: id === undefined ? 'is missing' : 'must be a valid uuid' });
  return '';
}

/** As text, as in a query string. An empty value counts as absent there, and so does null here. */
function readQuery(names: string[], given: Arguments, problems: FieldProblem[]): Record<string, string> {
  const query: Record<string, string> = {};
  for (const name of names) {
    const value = given[name];
    delete given[name];
    if (value === undefined || value === null) continue;
    if (typeof value === 'object') problems.push({ field: name, message: 'must be one value' });
    else query[name] = String(value);
  }
  return query;
}

function rejectOthers(given: Arguments, problems: FieldProblem[]): void {
  for (const field of Object.keys(given)) problems.push({ field, message: 'is not a field that can be sent here' });
}
