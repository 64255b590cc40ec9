import type { App } from '../../apps/apps.ts';
import { DAY } from '../../lib/clock.ts';
import { type Html, html } from '../../lib/html.ts';
import { countExchanges } from '../../request-log/counts.ts';
import type { WebDeps } from '../deps.ts';
import { postForm } from '../forms.ts';
import type { Entry } from './section.ts';

const LOOKED_BACK = 7 * DAY;
const FEWEST = 5;

/** Requiring PKCE breaks an app that does not use it, so it is offered once every exchange of a week has used it. */
export async function pkceOffer(
  { storage, activity, clock }: WebDeps,
  { app, entry, path }: { app: App; entry: Entry; path: string },
): Promise<Html | null> {
  if (app.requiresPkce || !entry.canChange) return null;
  // The newest exchanges may still be in memory.
  await activity.flush();
  const { exchanges, pkceExchanges } = await countExchanges(storage.durable, app.id, clock() - LOOKED_BACK);
  if (exchanges < FEWEST || pkceExchanges < exchanges) return null;
  return html`<section class="card"><h2>Require PKCE?</h2>
<p>Each of the ${exchanges} code exchanges in the last 7 days used PKCE. If you require it, an intercepted code is useless even where someone leaves the code_challenge out.</p>
${postForm({ action: `${path}/require-pkce`, csrf: entry.context.csrf, body: html`<button class="secondary">Require PKCE</button>` })}</section>`;
}
