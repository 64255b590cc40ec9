import type { FastifyInstance } from 'fastify';
import { html } from '../lib/html.ts';
import { sendPage } from './layout.ts';

interface HomeParts {
  platformName: string;
  issuer: string;
  consentUrl: string;
}

/** What a developer sees who opens the API's address: where to go from here. */
export function mountApiHome(host: FastifyInstance, { platformName, issuer, consentUrl }: HomeParts): void {
  const body = html`<div class="card"><h1>The API of ${platformName}</h1>
<p>New here? Start with <a href="/docs/guides/connect-your-app">Connect your app</a>, or see <a href="/docs/guides">all guides</a>.</p>
<p><a href="/docs">The reference</a> describes every call, and <a href="/docs/errors">every error</a>.</p>
<p>Register your app under <a href="${consentUrl}/settings/developer">Settings, Developer</a>. It then sends its users to <code>${issuer}/api/v1/oauth/authorize</code>.</p>
<p>To any OAuth client, <a href="/.well-known/oauth-authorization-server">the server’s metadata</a> says the rest; to any generator, <a href="/openapi.json">the OpenAPI document</a>.</p></div>`;
  host.get('/', { schema: { hide: true } }, async (_, reply) =>
    sendPage(reply, { title: 'API', platformName, width: 'narrow', body }),
  );
}
