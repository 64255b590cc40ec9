import { type Html, html } from '../../lib/html.ts';
import { prose } from '../components.ts';
import {
  type Document,
  listOperations,
  type Media,
  nameOf,
  type Operation,
  type RouteOperation,
  type Schema,
  typeOf,
} from './document.ts';
import { fieldList, sample, schemaFields } from './fields.ts';
import { type CommonErrors, commonError, responseDetails } from './responses.ts';

export function operationSection(document: Document, operation: RouteOperation, common: CommonErrors): Html {
  const { operationId, summary, method, path, description = '', parameters = [], requestBody, responses } = operation;
  const body = requestBody?.content['application/json'];
  const fields = parameters.map(({ name, in: location, required, description: meaning, schema }) => ({
    name,
    note: [location, typeOf(schema), required && 'required'].filter(Boolean).join(', '),
    meaning: meaning ?? '',
  }));
  return html`<section class="card" id="${operationId}">
<h2 class="tag">${summary}</h2>
<p class="address"><span class="method">${method}</span> <code>${path}</code></p>
<p>${prose(description)}</p>
${fields.length > 0 && html`<h3>Parameters</h3>${fieldList(fields)}`}
${body && html`<h3>Body</h3><p class="muted small">${Object.keys(requestBody?.content ?? {}).join(' or ')}</p>${schemaFields(body.schema)}`}
${samplesOf(document, operation).map(sample)}
<h3>Responses</h3>
${Object.entries(responses).map(([status, response]) => (common.responses[status] ? commonError(common, status) : responseDetails(document, status, response)))}
${callbackErrors(operation['x-callback-errors'])}
</section>`;
}

/** One section for all event types with the same data. */
export function webhookSections(webhooks: Document['webhooks']): Html[] {
  const byData = Map.groupBy(Object.entries(webhooks), ([, { post }]) =>
    JSON.stringify(mediaOf(post)?.schema.properties?.data),
  );
  return [...byData.values()].map(webhookSection);
}

function mediaOf({ requestBody }: Operation): Media | undefined {
  return requestBody?.content['application/json'];
}

function webhookSection(events: [type: string, { post: Operation }][]): Html {
  const [[, { post } = {}] = []] = events;
  const media = post && mediaOf(post);
  const { properties } = media?.schema ?? {};
  const type = { ...properties?.type, enum: events.map(([name]) => name) };
  return html`<section class="card">
${events.map(
  ([
    name,
    {
      post: { summary },
    },
  ]) => html`<h2 class="tag" id="${name}">${summary}</h2>
<p class="address"><span class="method">POST</span> <code>${name}</code></p>`,
)}
${media && html`${schemaFields({ ...media.schema, properties: { ...properties, type } })}${sample(JSON.stringify(media.example, null, 2))}`}
</section>`;
}

/** With an example from a response. */
export function schemaSection(document: Document, name: string, schema: Schema): Html {
  const example = exampleOf(document, name);
  return html`<section class="card" id="shape-${name}"><h3>${name}</h3><p>${prose(schema.description ?? '')}</p>${schemaFields(schema)}
${example !== undefined && sample(JSON.stringify(example, null, 2))}</section>`;
}

function exampleOf(document: Document, name: string): unknown {
  const media = listOperations(document)
    .flatMap(({ responses }) => Object.values(responses).flatMap(({ content = {} }) => Object.values(content)))
    .find(({ schema }) => nameOf(schema.$ref ?? schema.items?.$ref ?? '') === name);
  return Array.isArray(media?.example) ? media.example[0] : media?.example;
}

/** Errors that are sent to the redirect URI. */
function callbackErrors(codes: string[] | undefined): Html | undefined {
  if (!codes) return undefined;
  const links = codes.map((code) => html`<li><a href="/docs/errors/${code}"><code>${code}</code></a></li>`);
  return html`<h3>Errors at the callback</h3><ul class="reasons">${links}</ul>`;
}

/** A curl command for each example of the body; the URL of an operation that redirects a browser. */
function samplesOf(document: Document, operation: RouteOperation): string[] {
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
