import type { FastifyInstance } from 'fastify';
import { html } from '../lib/html.ts';
import { explainError } from './error-guide.ts';
import { sendPage } from './layout.ts';
import { notFound } from './refusals.ts';

interface HomeParts {
  platformName: string;
  issuer: string;
  consentUrl: string;
}

/** What a developer sees who opens the API's address: where to go from here. */
export function mountApiHome(host: FastifyInstance, { platformName, issuer, consentUrl }: HomeParts): void {
  const body = html`<div class="card"><h1>The API of ${platformName}</h1>
<p>Apps start at <code>${issuer}/api/v1/oauth/authorize</code>. To any OAuth client, <a href="/.well-known/oauth-authorization-server">the server’s metadata</a> says the rest.</p>
<p>Register an app under <a href="${consentUrl}/settings/developer">Settings, Developer</a>.</p></div>`;
  host.get('/', async (_, reply) => sendPage(reply, { title: 'API', platformName, width: 'narrow', body }));
}

/** Where `error_uri` leads. It stands on the API host, since that is the host an app's developer knows. */
export function mountErrorDocs(host: FastifyInstance, { platformName }: { platformName: string }): void {
  host.get<{ Params: { code: string } }>('/docs/errors/:code', async (request, reply) => {
    const { code } = request.params;
    const explanation = explainError(code);
    if (!explanation) throw notFound();
    return sendPage(reply, {
      title: code,
      platformName,
      width: 'narrow',
      body: html`<div class="card"><h1><code>${code}</code></h1>
<p>${explanation.meaning}</p>
<h2>What to do</h2>
<ul>${explanation.remedies.map((remedy) => html`<li>${remedy}</li>`)}</ul>
<p class="muted">The answer’s <code>error_description</code> says which of these it was.</p></div>`,
    });
  });
}
