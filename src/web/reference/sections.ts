import { type Html, html } from '../../lib/html.ts';
import { prose } from '../components.ts';
import {
  type Document,
  type Media,
  nameOf,
  type Operation,
  type OperationResponse,
  type RouteOperation,
  type Schema,
  typeOf,
} from './document.ts';

export function operationSection(document: Document, operation: RouteOperation): Html {
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
${Object.entries(responses).map(([status, response]) => responseDetails(status, response))}
${callbackErrors(operation['x-callback-errors'])}
</section>`;
}

export function webhookSection(type: string, { summary, requestBody }: Operation): Html {
  const media = requestBody?.content['application/json'];
  return html`<section class="card" id="${type}">
<h2 class="tag">${summary}</h2>
<p class="address"><span class="method">POST</span> <code>${type}</code></p>
${media && html`${schemaFields(media.schema)}${sample(JSON.stringify(media.example, null, 2))}`}
</section>`;
}

export function schemaSection(name: string, schema: Schema): Html {
  return html`<section class="card" id="shape-${name}"><h3>${name}</h3><p>${prose(schema.description ?? '')}</p>${schemaFields(schema)}</section>`;
}

/** Errors that are sent to the redirect URI. */
function callbackErrors(codes: string[] | undefined): Html | undefined {
  if (!codes) return undefined;
  const links = codes.map((code) => html`<li><a href="/docs/errors/${code}"><code>${code}</code></a></li>`);
  return html`<h3>Errors at the callback</h3><ul class="reasons">${links}</ul>`;
}

/** Every response has `x-request-id`, so it is described once, in the overview. */
function responseDetails(status: string, { description, headers = {}, content = {} }: OperationResponse): Html {
  const [media] = Object.values(content);
  const shown = Object.entries(headers).filter(([name]) => name !== 'x-request-id');
  const rows = shown.map(([name, { schema, description: meaning = '' }]) => ({
    name,
    note: `header, ${typeOf(schema)}`,
    meaning,
  }));
  return html`<details ${status === '200' && html`open`}><summary><span class="status">${status}</span> ${prose(description)}</summary>
${fieldList(rows)}
${media && mediaDetails(media)}
</details>`;
}

function mediaDetails({ schema, example, 'x-reasons': reasons }: Media): Html {
  const shape = schema.$ref ?? schema.items?.$ref;
  return html`${shape && html`<p>${schema.items && 'A list of the shape '}<a href="/docs#shape-${nameOf(shape)}">${nameOf(shape)}</a>${reasons && ', for these reasons:'}</p>`}
${reasons && reasonList(reasons)}${schemaFields(schema)}
${example !== undefined && sample(typeof example === 'string' ? example : JSON.stringify(example, null, 2))}`;
}

function reasonList(reasons: Record<string, string[]>): Html {
  const items = Object.entries(reasons).flatMap(([code, names]) =>
    names.map((name) => html`<li><a href="/docs/errors/${code}#${name}"><code>${name}</code></a></li>`),
  );
  return html`<ul class="reasons">${items}</ul>`;
}

function schemaFields(schema: Schema): Html {
  return fieldList(listFields(schema));
}

/** The fields of a nested object follow it, named `object.field`. */
function listFields({ properties = {}, required = [] }: Schema, prefix = ''): Field[] {
  return Object.entries(properties).flatMap(([name, schema]) => [
    {
      name: prefix + name,
      note: [typeOf(schema), required.includes(name) && 'required'].filter(Boolean).join(', '),
      meaning: schema.description ?? '',
    },
    ...listFields(schema, `${prefix}${name}.`),
  ]);
}

interface Field {
  name: string;
  note: string;
  meaning: string;
}

function fieldList(fields: Field[]): Html {
  const rows = fields.map(
    ({ name, note, meaning }) =>
      html`<div><dt><code>${name}</code> <span class="muted small">${note}</span></dt><dd>${prose(meaning)}</dd></div>`,
  );
  return html`${rows.length > 0 && html`<dl class="fields">${rows}</dl>`}`;
}

function sample(text: string): Html {
  return html`<pre class="sample"><code>${text}</code></pre>`;
}

/** A curl command for each example of the body; the URL of an operation that redirects a browser. */
function samplesOf(document: Document, operation: RouteOperation): string[] {
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

function addressOf({ servers }: Document, { path, parameters = [] }: RouteOperation): string {
  const query = parameters
    .filter(({ in: location, required }) => location === 'query' && required)
    .map(({ name, schema, example }) => `${name}=${encodeURIComponent(String(schema.enum?.[0] ?? example ?? ''))}`);
  return `${servers[0]?.url}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`;
}

function headersOf({ parameters = [], security = [] }: RouteOperation): string[] {
  const named = parameters.filter(({ in: location, required }) => location === 'header' && required);
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
