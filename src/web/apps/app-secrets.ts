import type { FastifyInstance } from 'fastify';
import type { App } from '../../apps/apps.ts';
import { type AppSecret, addSecret, listSecrets, removeSecret, secretName } from '../../apps/secrets.ts';
import { DAY } from '../../lib/clock.ts';
import { type Html, html } from '../../lib/html.ts';
import type { Database } from '../../storage/storage.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, postForm, text, time, tryForm } from '../forms.ts';
import { actorOf } from '../session.ts';
import type { Desk, Entry } from './app-page.ts';
import { newSecretBody } from './app-settings.ts';

type ForSecret = { Params: { id: string; secret: string }; Body: Form };

export function mountSecrets(host: FastifyInstance, desk: Desk): void {
  mountAddition(host, desk);
  mountRemoval(host, desk);
}

function mountAddition(host: FastifyInstance, desk: Desk): void {
  const { section, db, clock, issuer, show, enterApp, showApp } = desk;
  host.post<{ Params: { id: string } }>(`${section.path}/:id/secrets`, section.edit, async (request, reply) => {
    const { entry, app } = await enterApp(request);
    const add = async () => {
      const secret = await addSecret(actorOf(request), db, app, clock());
      return show(reply, entry, newSecretBody({ section, issuer }, app, secret));
    };
    return tryForm(add, (problem) => showApp(reply, entry, { app, problem }));
  });
}

/** What is in use is removed only by whoever was asked, and is sure. */
function mountRemoval(host: FastifyInstance, desk: Desk): void {
  const { section, db, clock, show, enterApp, showApp } = desk;
  const removal = `${section.path}/:id/secrets/:secret/remove`;
  host.get<ForSecret>(removal, section.edit, async (request, reply) => {
    const { entry, app, path } = await enterApp(request);
    const { secret, isOnly } = await findSecret(db, app.id, request.params.secret);
    if (isOnly) return reply.redirect(path, 303);
    return show(reply, entry, removeSecretBody({ entry, app, path }, secret));
  });

  host.post<ForSecret>(removal, section.edit, async (request, reply) => {
    const { entry, app, path } = await enterApp(request);
    const { secret, isOnly } = await findSecret(db, app.id, request.params.secret);
    const isSure = isOnly || !isInUse(secret, clock()) || text(request.body ?? {}, 'sure') === 'yes';
    if (!isSure) return reply.redirect(`${path}/secrets/${secret.id}/remove`, 303);
    const remove = async () => {
      const isRemoved = await removeSecret(actorOf(request), db, { app, secretId: secret.id }, clock());
      if (!isRemoved) throw notFound();
      return redirectWithFlash(reply, path, 'secret_removed');
    };
    return tryForm(remove, (problem) => showApp(reply, entry, { app, problem }));
  });
}

async function findSecret(db: Database, appId: string, id: string): Promise<{ secret: AppSecret; isOnly: boolean }> {
  const secrets = await listSecrets(db, appId);
  const secret = secrets.find((each) => each.id === id);
  if (!secret) throw notFound();
  return { secret, isOnly: secrets.length === 1 };
}

interface SecretRows {
  entry: Entry;
  path: string;
  /** Oldest first. */
  secrets: AppSecret[];
  now: number;
}

const IN_USE_FOR = 7 * DAY;

/** What was used so lately is in use. */
function isInUse({ lastUsedAt }: AppSecret, now: number): boolean {
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
function removeSecretBody(
  { entry, app, path }: { entry: Entry; app: App; path: string },
  { id, hint, lastUsedAt }: AppSecret,
): Html {
  const body = html`<input type="hidden" name="sure" value="yes"><button class="danger">Remove secret</button>`;
  return html`<div class="card"><h1>Remove a secret of ${app.name}?</h1>
<p>The secret <code>${secretName(hint)}</code> was ${lastUsedAt === null ? 'never used' : html`last used ${time(lastUsedAt)}`}. Whatever still uses it is refused from then on, and it cannot be brought back.</p>
<div class="answers"><a class="button secondary" href="${path}">Keep it</a>
${postForm({ action: `${path}/secrets/${id}/remove`, csrf: entry.context.csrf, body })}</div></div>`;
}
