import type { App } from '../../apps/apps.ts';
import { type AppSecret, secretName } from '../../apps/secrets.ts';
import { DAY } from '../../lib/clock.ts';
import { type Html, html } from '../../lib/html.ts';
import { postForm, time } from '../forms.ts';
import type { Entry } from './section.ts';

interface SecretRows {
  entry: Entry;
  path: string;
  /** Oldest first. */
  secrets: AppSecret[];
  now: number;
}

const IN_USE_FOR = 7 * DAY;

/** What was used so lately is in use. */
export function isInUse({ lastUsedAt }: AppSecret, now: number): boolean {
  return lastUsedAt !== null && now - lastUsedAt < IN_USE_FOR;
}

export function secretRows(rows: SecretRows): Html {
  const [older, newer] = rows.secrets;
  return html`<ul class="rows">${rows.secrets.map((secret) => secretRow(rows, secret))}</ul>
${older && newer && advice(older, newer, rows.now)}`;
}

function secretRow({ entry, path, secrets, now }: SecretRows, secret: AppSecret): Html {
  const label = secrets.length === 1 ? 'Secret' : secret === secrets[0] ? 'Older secret' : 'Newer secret';
  return html`<li><div>${label} <code>${secretName(secret.hint)}</code>
<p class="muted small">Added ${time(secret.createdAt)}, ${secret.lastUsedAt ? html`last used ${time(secret.lastUsedAt)}` : 'never used'}</p></div>
${
  entry.canChange &&
  secrets.length > 1 &&
  postForm({
    action: `${path}/${secret.id}/remove`,
    csrf: entry.context.csrf,
    body: html`<button class="danger" aria-label="Remove the secret that ends in ${secret.hint}">${isInUse(secret, now) ? 'Remove…' : 'Remove'}</button>`,
  })
}</li>`;
}

/** Both secrets work. Whoever removes the older too early breaks their app; whoever never does has two to guard. */
function advice(older: AppSecret, newer: AppSecret, now: number): Html {
  const { lastUsedAt } = older;
  if (lastUsedAt !== null && isInUse(older, now)) {
    return html`<p class="notice">The older secret was last used ${time(lastUsedAt)}: it is still in use. Move your app to the newer one before you remove it.</p>`;
  }
  const since = lastUsedAt === null ? 'has never been used' : html`has not been used since ${time(lastUsedAt)}`;
  if (newer.lastUsedAt !== null) return html`<p class="notice">The older secret ${since}: it can be removed.</p>`;
  return html`<p class="notice">The older secret ${since}, and the newer one has never been used. See that your app has the newer one, then remove the older.</p>`;
}

/** Asked where an app is still at work with it. */
export function removeSecretBody(
  { entry, app, path }: { entry: Entry; app: App; path: string },
  { id, hint, lastUsedAt }: AppSecret,
): Html {
  const body = html`<input type="hidden" name="sure" value="yes"><button class="danger">Remove secret</button>`;
  return html`<div class="card"><h1>Remove a secret of ${app.name}?</h1>
<p>The secret <code>${secretName(hint)}</code> was ${lastUsedAt === null ? 'never used' : html`last used ${time(lastUsedAt)}`}. Whatever still uses it is refused from then on, and it cannot be brought back.</p>
<div class="answers"><a class="button secondary" href="${path}">Keep it</a>
${postForm({ action: `${path}/secrets/${id}/remove`, csrf: entry.context.csrf, body })}</div></div>`;
}
