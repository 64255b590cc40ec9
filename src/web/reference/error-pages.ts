import type { FastifyInstance } from 'fastify';
import { type Html, html } from '../../lib/html.ts';
import { prose } from '../components/product.ts';
import { notFound } from '../errors.ts';
import { sendPage } from '../layout.ts';
import { ERROR_CODES, type Explanation, explainError } from './error-guide.ts';
import { documentationLinks } from './links.ts';

const PAGE = { schema: { hide: true } };

/** The pages that `error_uri` links to, on the API host. */
export function mountErrorPages(host: FastifyInstance, { platformName }: { platformName: string }): void {
  const links = documentationLinks('/docs/errors');
  const page = (title: string, body: Html) => ({ title, platformName, width: 'reading' as const, links, body });

  host.get('/docs/errors', PAGE, async (_, reply) => sendPage(reply, page('Errors', allErrors())));

  host.get<{ Params: { code: string } }>('/docs/errors/:code', PAGE, async (request, reply) => {
    const { code } = request.params;
    const explanation = explainError(code);
    if (!explanation) throw notFound();
    return sendPage(reply, page(code, oneError(code, explanation)));
  });
}

function oneError(code: string, { meaning, reasons }: Explanation): Html {
  const rows = Object.entries(reasons).map(
    ([reason, remedy]) => html`<div id="${reason}"><dt><code>${reason}</code></dt><dd>${prose(remedy)}</dd></div>`,
  );
  return html`<div class="card"><h1><code>${code}</code></h1>
<p>${prose(meaning)}</p>
<h2>Reasons and fixes</h2>
<dl class="fields">${rows}</dl>
<p class="muted">The <code>reason</code> in the response names one of these, and the <code>error_description</code> gives details.</p>
<p><a href="/docs/errors">All errors</a> · <a href="/docs">API reference</a></p></div>`;
}

function allErrors(): Html {
  const rows = ERROR_CODES.map((code) => {
    const meaning = explainError(code)?.meaning ?? '';
    return html`<div><dt><a href="/docs/errors/${code}"><code>${code}</code></a></dt><dd>${prose(meaning)}</dd></div>`;
  });
  return html`<div class="card"><h1>Errors</h1>
<p>Every error response has four fields: <code>error</code>, the code that the standards define; <code>reason</code>, which is more specific; <code>error_description</code>, for developers to read; and <code>error_uri</code>, which links to these pages.</p>
<dl class="fields">${rows}</dl>
<p><a href="/docs">API reference</a></p></div>`;
}
