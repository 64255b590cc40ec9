import type { FastifyInstance } from 'fastify';
import { html } from '../../lib/html.ts';
import { newNonce } from '../../lib/secrets.ts';
import { referenceScriptPath, referenceStylesheetPath, stylesheetPath } from '../assets.ts';
import { sendPage } from '../layout.ts';
import { documentationLinks } from './links.ts';
import { findScalarPath, mountScalar } from './scalar.ts';

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

/** The OpenAPI document, rendered in the browser by Scalar. assets/reference.js starts it. */
export function mountReference(host: FastifyInstance, { platformName }: { platformName: string }): void {
  mountScalar(host);

  host.get('/docs', PAGE, async (_, reply) => {
    const styleNonce = newNonce(16).toString('base64url');
    // In a layer, our rules for elements give way to Scalar's.
    const styles = html`<meta property="csp-nonce" content="${styleNonce}">
<style nonce="${styleNonce}">@import url("${stylesheetPath}") layer(gatehouse);</style>
<link rel="stylesheet" href="${referenceStylesheetPath}">`;
    const body = html`<main id="without-script" class="reading">
<h1>API reference</h1>
<p>This page renders the <a href="/openapi.json">OpenAPI document</a> with a script. Without scripts, open the document in a tool of your own, and read the <a href="/docs/guides">guides</a> and the <a href="/docs/errors">list of errors</a>.</p>
</main>
<div id="reference" data-script="${await findScalarPath()}"></div>
<script type="module" src="${referenceScriptPath}"></script>`;
    const policy = { styleNonce, runsScript: true };
    const links = documentationLinks('/docs');
    return sendPage(reply, { title: 'API reference', platformName, width: 'full', styles, links, body, ...policy });
  });
}
