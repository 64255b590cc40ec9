import type { Document, RouteOperation } from '../../src/web/reference/document.ts';

/** A curl command for each example of the body; the URL of an operation that redirects a browser. */
export function samplesOf(document: Document, operation: RouteOperation): string[] {
  const address = addressOf(document, operation);
  if (operation.responses[303]) return [address];
  const { example, examples = {} } = operation.requestBody?.content['application/json'] ?? {};
  const named = Object.values(examples).map(({ value }) => value);
  const lines = [
    `curl ${operation.method === 'GET' ? '' : `-X ${operation.method} `}${quoted(address)}`,
    ...headersOf(operation),
  ];
  return (named.length > 0 ? named : [example]).map((body) => [...lines, ...bodyOf(body)].join(' \\\n  '));
}

/** The shell replaces variables in double quotes only. */
function quoted(address: string): string {
  return address.includes('$') ? `"${address}"` : `'${address}'`;
}

/** With a variable for each parameter in the path. */
function addressOf({ servers }: Document, { path, parameters = [] }: RouteOperation): string {
  const query = parameters
    .filter(({ in: location, required }) => location === 'query' && required)
    .map(({ name, schema, example }) => `${name}=${encodeURIComponent(String(schema.enum?.[0] ?? example ?? ''))}`);
  const named = path.replace(/\{(\w+)\}/g, (_, name: string) => `$${name.replace(/[A-Z]/g, '_$&').toUpperCase()}`);
  return `${servers[0]?.url}${named}${query.length > 0 ? `?${query.join('&')}` : ''}`;
}

/** An MCP server needs both media types in `Accept`, and responds 406 otherwise. */
const ACCEPT = "-H 'Accept: application/json, text/event-stream'";

function headersOf({ parameters = [], security = [], responses }: RouteOperation): string[] {
  const named = parameters.filter(({ in: location, required }) => location === 'header' && required);
  const takesKey = parameters.some(({ name }) => name === 'idempotency-key');
  const isBasicAlone = security.length === 1 && 'basic' in (security[0] ?? {});
  return [
    ...(isBasicAlone ? ['-u "$CLIENT_ID:$CLIENT_SECRET"'] : []),
    ...(security.some((scheme) => 'oauth2' in scheme) ? ['-H "Authorization: Bearer $ACCESS_TOKEN"'] : []),
    ...named.map(({ name }) => `-H "${name}: $BUSINESS_ID"`),
    ...(takesKey ? ['-H "Idempotency-Key: $(uuidgen)"'] : []),
    ...(responses[406] ? [ACCEPT] : []),
  ];
}

function bodyOf(body: unknown): string[] {
  return body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body, null, 2)}'`];
}
