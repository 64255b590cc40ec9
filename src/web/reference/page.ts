import type { FastifyInstance } from 'fastify';
import { type Html, html } from '../../lib/html.ts';
import { sendPage } from '../layout.ts';
import { type Document, listOperations } from './document.ts';
import { prose } from './prose.ts';
import { operationSection, schemaSection } from './sections.ts';

interface Parts {
  platformName: string;
  issuer: string;
}

/** The OpenAPI document, as a page for people. It is made on the server like any other, and runs nothing. */
export function mountReference(host: FastifyInstance, { platformName }: Parts): void {
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
<p>Every address starts with <code>${document.servers[0]?.url}</code>. Every answer has a header <code>x-request-id</code>, which names it in the server’s logs; every refusal has the same four fields, and <a href="/docs/errors">a page that explains it</a>.</p></section>
${document.tags.map(
  ({ name, description }) => html`<section><h2 class="tag">${name}</h2><p class="muted">${description}</p></section>
${operations.filter(({ tags }) => tags.includes(name)).map((operation) => operationSection(document, operation))}`,
)}
<section id="scopes"><h2 class="tag">Scopes</h2>
<p>An app asks for some of the scopes that it is registered for; the user allows them.</p>
<dl class="fields">${Object.entries(document.components.securitySchemes.oauth2.flows.authorizationCode.scopes).map(([name, meaning]) => html`<div><dt><code>${name}</code></dt><dd>${meaning}.</dd></div>`)}</dl></section>
<section id="shapes"><h2 class="tag">Shapes</h2></section>
${schemas.map(([name, schema]) => schemaSection(name, schema))}
</div></div>`;
}
