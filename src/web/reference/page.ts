import type { FastifyInstance } from 'fastify';
import { type Html, html } from '../../lib/html.ts';
import { sendPage } from '../layout.ts';
import { type Document, listOperations } from './document.ts';
import { prose } from './prose.ts';
import { operationSection, schemaSection } from './sections.ts';

/** The OpenAPI document, as a page for people. It is made on the server like any other, and runs nothing. */
export function mountReference(host: FastifyInstance, { platformName }: { platformName: string }): void {
  host.get('/docs', { schema: { hide: true } }, async (_, reply) => {
    // The document is written by the library from our own schemas; its type knows less about it than we do.
    const document = host.swagger() as unknown as Document;
    return sendPage(reply, { title: 'API reference', platformName, width: 'wide', body: reference(document) });
  });
}

function reference(document: Document): Html {
  const operations = listOperations(document);
  const schemas = Object.entries(document.components.schemas);
  return html`<div class="reference">
<nav class="contents" aria-label="Contents">
${document.tags.map(
  ({ name }) => html`<p class="muted small">${name}</p>
<ul>${operations.filter(({ tags }) => tags.includes(name)).map(({ operationId, summary }) => html`<li><a href="#${operationId}">${summary}</a></li>`)}</ul>`,
)}
<p class="muted small">More</p>
<ul><li><a href="#scopes">Scopes</a></li><li><a href="#shapes">Shapes</a></li><li><a href="/docs/errors">Errors</a></li><li><a href="/openapi.json">OpenAPI document</a></li></ul>
</nav>
<div>
<section><h1>${document.info.title}</h1>
<p>${prose(document.info.description ?? '')}</p>
<p>Every address starts with <code>${document.servers[0]?.url}</code>. Every answer has a header <code>x-request-id</code>, which names it in the server’s logs; every refusal has <a href="#shape-Error">the same four fields</a>, and <a href="/docs/errors">a page that explains it</a>. An address that there is not answers 404, and one that takes other methods 405.</p></section>
${document.tags.map(
  ({ name, description }) => html`<section><h2 class="tag">${name}</h2><p class="muted">${description}</p></section>
${operations.filter(({ tags }) => tags.includes(name)).map((operation) => operationSection(document, operation))}`,
)}
<section id="scopes"><h2 class="tag">Scopes</h2>
<p>An app asks for some of the scopes that it is registered for; the user allows them. Of the business API only the invoice list stands yet, which needs <code>read:invoices</code>; the other scopes can be asked for, and open nothing for now.</p>
<dl class="fields">${Object.entries(document.components.securitySchemes.oauth2.flows.authorizationCode.scopes).map(([name, meaning]) => html`<div><dt><code>${name}</code></dt><dd>${meaning}.</dd></div>`)}</dl></section>
<section id="shapes"><h2 class="tag">Shapes</h2></section>
${schemas.map(([name, schema]) => schemaSection(name, schema))}
</div></div>`;
}
