import type { RegisteredApp } from '../../apps/apps.ts';
import { type Html, html } from '../../lib/html.ts';
import { codeBlock } from '../components/display.ts';
import { settings } from '../components/structure.ts';

interface Addresses {
  /** The path of the list of apps. */
  path: string;
  issuer: string;
}

/** After a registration. The names of the variables are those of the guide. */
export function newAppSteps({ path, issuer }: Addresses, registered: RegisteredApp): Html {
  const { app } = registered;
  const body = html`<p>Put this into the <code>.env</code> file of your app${registered.secret !== null && html`, and keep it out of version control`}.</p>
${codeBlock({ id: 'env', code: envFile(issuer, registered), label: '.env' })}
<ol>
<li><a href="${issuer}/docs/guides/connect-your-app">Connect your app</a>: the guide, with curl, TypeScript and Python. It reads these variables.</li>
${!app.isPublic && html`<li><a href="${path}/${app.id}/try">Try it</a>: run the whole flow in your browser, one request at a time.</li>`}
<li><a href="${path}/${app.id}/identity">Identity</a>: add a logo, and addresses that users can check.</li>
</ol>`;
  return settings({ title: 'Next', intro: 'Connect your app, and check that it works.', body });
}

function envFile(issuer: string, { app, secret }: RegisteredApp): string {
  const variables = {
    BASE_URL: issuer,
    CLIENT_ID: app.id,
    ...(secret !== null && { CLIENT_SECRET: secret }),
    REDIRECT_URI: app.redirectUris[0] ?? '',
  };
  return Object.entries(variables)
    .map(([name, value]) => `${name}=${quote(value)}`)
    .join('\n');
}

/** A redirect URI may contain characters that have a meaning in a shell. */
function quote(value: string): string {
  return /^[\w:/.@%+=-]*$/.test(value) || value.includes("'") ? value : `'${value}'`;
}
