import type { App } from '../../apps/apps.ts';
import type { Impact } from '../../grants/impact.ts';
import { type Html, html } from '../../lib/html.ts';
import { impactText } from '../components.ts';
import { postForm } from '../forms.ts';
import type { AppSection, Entry } from './section.ts';

interface StopQuestion {
  section: AppSection;
  entry: Entry;
  app: App;
  /** What would stop at this moment. */
  reach: Impact;
}

/** At the end of an app's settings. */
export function stopSection({ section, entry, app }: Omit<StopQuestion, 'reach'>): Html {
  const path = `${section.path}/${app.id}`;
  return html`<section class="card"><h2>Stop the app</h2>
${
  app.disabledAt
    ? html`<p>The app is disabled: none of its tokens work, and nobody can connect it.</p>${postForm({ action: `${path}/enable`, csrf: entry.context.csrf, body: html`<button class="secondary">Enable</button>` })}`
    : html`<p>Disabling stops every token of the app at once. You can enable it again.</p><p><a class="button danger" href="${path}/disable">Disable…</a></p>`
}
<p>Deleting cannot be undone.</p><p><a class="button danger" href="${path}/delete">Delete…</a></p>
</section>`;
}

export function disableBody(question: StopQuestion): Html {
  return stopBody(question, {
    verb: 'disable',
    title: 'Disable',
    effect: 'Every token of the app stops working at once, and nobody can connect it, until you enable it again.',
    keep: 'Keep it running',
  });
}

export function deleteBody(question: StopQuestion): Html {
  return stopBody(question, {
    verb: 'delete',
    title: 'Delete',
    effect: 'Every token of the app stops working at once, and its client_id is gone for good.',
    keep: 'Keep it',
  });
}

interface Stop {
  verb: string;
  title: string;
  effect: string;
  keep: string;
}

function stopBody({ section, entry, app, reach }: StopQuestion, { verb, title, effect, keep }: Stop): Html {
  const path = `${section.path}/${app.id}`;
  return html`<div class="card"><h1>${title} ${app.name}?</h1>
<p>It is connected by <strong>${impactText(reach)}</strong> right now.</p>
<p>${effect}</p>
<div class="answers"><a class="button secondary" href="${path}">${keep}</a>
${postForm({ action: `${path}/${verb}`, csrf: entry.context.csrf, body: html`<button class="danger">${title} app</button>` })}</div></div>`;
}
