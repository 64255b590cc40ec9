import type { Described, Document } from './document.ts';

/** What a reader can paste: one call for each example of a body; or, where a browser goes, its address. */
export function samplesOf(document: Document, operation: Described): string[] {
  const address = addressOf(document, operation);
  if (operation.responses[303]) return [address];
  const { example, examples = {} } = operation.requestBody?.content['application/json'] ?? {};
  const named = Object.values(examples).map(({ value }) => value);
  const lines = [
    `curl ${operation.method === 'GET' ? '' : `-X ${operation.method} `}'${address}'`,
    ...headersOf(operation),
  ];
  return (named.length > 0 ? named : [example]).map((body) => [...lines, ...bodyOf(body)].join(' \\\n  '));
}

function addressOf({ servers }: Document, { path, parameters = [] }: Described): string {
  const query = parameters
    .filter(({ in: place, required }) => place === 'query' && required)
    .map(({ name, schema, example }) => `${name}=${encodeURIComponent(String(schema.enum?.[0] ?? example ?? ''))}`);
  return `${servers[0]?.url}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`;
}

function headersOf({ parameters = [], security = [] }: Described): string[] {
  const named = parameters.filter(({ in: place, required }) => place === 'header' && required);
  const isBasicAlone = security.length === 1 && 'basic' in (security[0] ?? {});
  return [
    ...(isBasicAlone ? ['-u "$CLIENT_ID:$CLIENT_SECRET"'] : []),
    ...(security.some((scheme) => 'oauth2' in scheme) ? ['-H "Authorization: Bearer $ACCESS_TOKEN"'] : []),
    ...named.map(({ name }) => `-H "${name}: $BUSINESS_ID"`),
  ];
}

function bodyOf(body: unknown): string[] {
  return body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body, null, 2)}'`];
}
