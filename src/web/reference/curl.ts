import type { Described, Document } from './document.ts';

/** The calls that a reader can paste, one for each example of a body. */
export function curlOf(document: Document, operation: Described): string[] {
  const bodies = Object.values(operation.requestBody?.content['application/json']?.examples ?? {});
  const example = operation.requestBody?.content['application/json']?.example;
  const values = bodies.length > 0 ? bodies.map(({ value }) => value) : [example];
  return values.map((body) => [...start(document, operation), ...bodyLines(body)].join(' \\\n  '));
}

function start({ servers }: Document, { path, method, parameters = [], security = [] }: Described): string[] {
  const required = parameters.filter(({ required: isRequired }) => isRequired);
  const query = required
    .filter(({ in: place }) => place === 'query')
    .map(({ name, schema, example }) => {
      return `${name}=${encodeURIComponent(String(schema.enum?.[0] ?? example ?? ''))}`;
    });
  const url = `${servers[0]?.url}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`;
  const headers = required
    .filter(({ in: place }) => place === 'header')
    .map(({ name }) => `-H '${name}: $BUSINESS_ID'`);
  const bearer = security.some((scheme) => 'oauth2' in scheme) ? [`-H "Authorization: Bearer $ACCESS_TOKEN"`] : [];
  const verb = method === 'GET' ? '' : `-X ${method} `;
  return [`curl ${verb}'${url}'`, ...bearer, ...headers.map((header) => header.replaceAll("'", '"'))];
}

function bodyLines(body: unknown): string[] {
  return body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`];
}
