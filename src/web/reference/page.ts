import type { FastifyInstance } from 'fastify';
import { type Html, html } from '../../lib/html.ts';
import { prose } from '../components.ts';
import { notFound } from '../errors.ts';
import { sendPage } from '../layout.ts';
import { type Document, listOperations, pageOf, pageOfSchema, type RouteOperation, type Schema } from './document.ts';
import { GUIDES } from './guides.ts';
import { readDocument } from './openapi.ts';
import { commonErrorsSection, listCommonErrors } from './responses.ts';
import { operationSection, schemaSection, webhookSections } from './sections.ts';

const PATH = '/docs';
const PAGE = { schema: { hide: true } };

interface HomeDeps {
  platformName: string;
  issuer: string;
  consentUrl: string;
}

/** The front page of the API host. */
export function mountApiHome(host: FastifyInstance, { platformName, issuer, consentUrl }: HomeDeps): void {
  const body = html`<div class="card"><h1>${platformName} API</h1>
<p>New here? Start with <a href="/docs/guides/connect-your-app">Connect your app</a>, or see <a href="/docs/guides">all guides</a>.</p>
<p>See <a href="/docs">the API reference</a> and <a href="/docs/errors">the list of errors</a>.</p>
<p>Register your app under <a href="${consentUrl}/settings/developer">Settings, Developer</a>. Then send its users to <code>${issuer}/api/v1/oauth/authorize</code>.</p>
<p>For tools: <a href="/.well-known/oauth-authorization-server">OAuth server metadata</a> and <a href="/openapi.json">OpenAPI document</a>.</p></div>`;
  host.get('/', PAGE, async (_, reply) => sendPage(reply, { title: 'API', platformName, width: 'narrow', body }));
}

/** The operations of one tag, which share a page. */
interface Group {
  name: string;
  description: string;
  path: string;
  operations: RouteOperation[];
}

/** Renders the OpenAPI document as pages, without scripts. */
export function mountReference(
  host: FastifyInstance,
  { platformName, servesResources }: { platformName: string; servesResources: boolean },
): void {
  const page = (title: string, body: Html) => ({ title, platformName, width: 'wide' as const, body });

  host.get(PATH, PAGE, async (_, reply) => {
    const document = readDocument(host);
    return sendPage(reply, page('API reference', framed(document, overview(document, servesResources))));
  });

  host.get<{ Params: { group: string } }>(`${PATH}/:group`, PAGE, async (request, reply) => {
    const document = readDocument(host);
    const group = listGroups(document).find(({ path }) => path === `${PATH}/${request.params.group}`);
    if (!group) throw notFound();
    return sendPage(reply, page(group.name, framed(document, groupBody(document, group), group.path)));
  });
}

function listGroups(document: Document): Group[] {
  const operations = listOperations(document);
  return document.tags.map(({ name, description = '' }) => ({
    name,
    description,
    path: pageOf(name),
    operations: operations.filter(({ tags }) => tags.includes(name)),
  }));
}

/** Adds a table of contents, opened at the group of this page. */
function framed(document: Document, content: Html, here?: string): Html {
  return html`<div class="reference">
<nav class="contents" aria-label="Contents">
${listGroups(document).map(
  ({ name, path, operations }) => html`<details ${path === here && html`open`}><summary>${name}</summary>
<ul>${operations.map(({ operationId, summary }) => html`<li><a href="${path}#${operationId}">${summary}</a></li>`)}</ul></details>`,
)}
<p class="muted small">More</p>
<ul><li><a href="${PATH}">Overview</a></li><li><a href="${GUIDES}">Guides</a></li><li><a href="${PATH}#scopes">Scopes</a></li><li><a href="${PATH}#shapes">Shapes</a></li><li><a href="/docs/errors">Errors</a></li><li><a href="/openapi.json">OpenAPI document</a></li></ul>
</nav>
<div>${content}</div></div>`;
}

function overview(document: Document, servesResources: boolean): Html {
  const use = servesResources
    ? html`Each operation names the scope that it needs. <a href="/docs/reference/business-api">How lists, writes and money work.</a>`
    : 'The platform has an API of its own, which checks them; this server only issues the tokens.';

  return html`<section><h1>${document.info.title}</h1>
<p>${prose(document.info.description ?? '')}</p>
<p>The base URL is <code>${document.servers[0]?.url}</code>. Every response has an <code>x-request-id</code> header, which identifies it in the server’s logs. Every error has <a href="#shape-Error">the same four fields</a> and <a href="/docs/errors">a page that explains it</a>. An unknown path responds with 404, an unsupported method with 405.</p></section>
${listGroups(document).map(groupCard)}
<section id="scopes"><h2 class="tag">Scopes</h2>
<p>An app requests some of the scopes that it is registered for, and the user allows them. ${use}</p>
<dl class="fields">${Object.entries(document.components.securitySchemes.oauth2.flows.authorizationCode.scopes).map(([name, meaning]) => html`<div><dt><code>${name}</code></dt><dd>${meaning}.</dd></div>`)}</dl></section>
<section id="shapes"><h2 class="tag">Shapes</h2>
<ul class="reasons">${schemasElsewhere(document).map(([name, path]) => html`<li id="shape-${name}"><a href="${path}#shape-${name}">${name}</a></li>`)}</ul></section>
${schemasOn(document, PATH).map(([name, schema]) => schemaSection(document, name, schema))}`;
}

function schemasOn(document: Document, page: string): [name: string, schema: Schema][] {
  return Object.entries(document.components.schemas).filter(([name]) => pageOfSchema(document, name) === page);
}

function schemasElsewhere(document: Document): [name: string, path: string][] {
  const all = Object.keys(document.components.schemas);
  return all.map((name): [string, string] => [name, pageOfSchema(document, name)]).filter(([, path]) => path !== PATH);
}

/** Each row has the id of its operation: old links, from when all operations were on this page, still lead close to it. */
function groupCard({ name, description, path, operations }: Group): Html {
  const rows = operations.map(
    ({
      operationId,
      summary,
      method,
      path: address,
    }) => html`<li id="${operationId}"><a href="${path}#${operationId}">${summary}</a>
<span class="address"><span class="method">${method}</span> <code>${address}</code></span></li>`,
  );
  return html`<section class="card"><h2 class="tag"><a href="${path}">${name}</a></h2><p class="muted">${description}</p><ul class="rows">${rows}</ul></section>`;
}

function groupBody(document: Document, { name, description, path, operations }: Group): Html {
  const common = listCommonErrors(path, operations);
  return html`<section><h1>${name}</h1><p class="muted">${description}</p></section>
${operations.map((operation) => operationSection(document, operation, common))}
${commonErrorsSection(document, common)}
${schemasOn(document, path).map(([shape, schema]) => schemaSection(document, shape, schema))}
${webhookSections(Object.fromEntries(Object.entries(document.webhooks).filter(([, { post }]) => post.tags.includes(name))))}`;
}
