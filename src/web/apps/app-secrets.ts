import type { FastifyInstance, FastifyReply } from 'fastify';
import type { App } from '../../apps/apps.ts';
import { type AppSecret, addSecret, listSecrets, removeSecret, secretName } from '../../apps/secrets.ts';
import { DAY } from '../../lib/clock.ts';
import { type Html, html } from '../../lib/html.ts';
import type { Database } from '../../storage/storage.ts';
import { pageHead, question, settings } from '../components/structure.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { copyable, type Form, type Problem, postForm, text, time, tryForm } from '../forms.ts';
import { actorOf } from '../session.ts';
import type { AppPages, Viewer } from './app-page.ts';

type ForSecret = { Params: { id: string; secret: string }; Body: Form };

type ShowSettings = (
  reply: FastifyReply,
  viewer: Viewer,
  shown: { app: App; problem: Problem },
) => Promise<FastifyReply>;

export function mountAppSecrets(host: FastifyInstance, pages: AppPages, showSettings: ShowSettings): void {
  mountAddition(host, pages, showSettings);
  mountRemoval(host, pages, showSettings);
}

function mountAddition(host: FastifyInstance, pages: AppPages, showSettings: ShowSettings): void {
  const { section, db, clock, issuer, show, loadApp } = pages;
  host.post<{ Params: { id: string } }>(`${section.route}/:id/secrets`, section.edit, async (request, reply) => {
    const { viewer, app } = await loadApp(request);
    const add = async () => {
      const secret = await addSecret(actorOf(request), db, app, clock());
      return show(reply, viewer, {
        title: `Client secret · ${app.name}`,
        body: newSecretBody({ path: viewer.path, issuer }, app, secret),
      });
    };
    return tryForm(add, (problem) => showSettings(reply, viewer, { app, problem }));
  });
}

/** A secret in use is removed only after a confirmation. */
function mountRemoval(host: FastifyInstance, pages: AppPages, showSettings: ShowSettings): void {
  const { section, db, clock, show, loadApp } = pages;
  const removal = `${section.route}/:id/secrets/:secret/remove`;
  host.get<ForSecret>(removal, section.edit, async (request, reply) => {
    const { viewer, app, path } = await loadApp(request);
    const { secret, isOnly } = await findSecret(db, app.id, request.params.secret);
    if (isOnly) return reply.redirect(path, 303);
    return show(reply, viewer, {
      title: `Remove a secret · ${app.name}`,
      body: removeSecretBody({ viewer, app, path }, secret),
    });
  });

  host.post<ForSecret>(removal, section.edit, async (request, reply) => {
    const { viewer, app, path } = await loadApp(request);
    const { secret, isOnly } = await findSecret(db, app.id, request.params.secret);
    const isConfirmed = isOnly || !isInUse(secret, clock()) || text(request.body ?? {}, 'sure') === 'yes';
    if (!isConfirmed) return reply.redirect(`${path}/secrets/${secret.id}/remove`, 303);
    const remove = async () => {
      const isRemoved = await removeSecret(actorOf(request), db, { app, secretId: secret.id }, clock());
      if (!isRemoved) throw notFound();
      return redirectWithFlash(reply, path, 'secret_removed');
    };
    return tryForm(remove, (problem) => showSettings(reply, viewer, { app, problem }));
  });
}

async function findSecret(db: Database, appId: string, id: string): Promise<{ secret: AppSecret; isOnly: boolean }> {
  const secrets = await listSecrets(db, appId);
  const secret = secrets.find((each) => each.id === id);
  if (!secret) throw notFound();
  return { secret, isOnly: secrets.length === 1 };
}

interface SecretRows {
  viewer: Viewer;
  path: string;
  /** Oldest first. */
  secrets: AppSecret[];
  now: number;
}

const IN_USE_FOR = 7 * DAY;

function isInUse({ lastUsedAt }: AppSecret, now: number): boolean {
  return lastUsedAt !== null && now - lastUsedAt < IN_USE_FOR;
}

export function secretRows(rows: SecretRows): Html {
  const [older, newer] = rows.secrets;
  return html`<ul class="rows">${rows.secrets.map((secret) => secretRow(rows, secret))}</ul>
${older && newer && advice(older, newer, rows.now)}`;
}

function secretRow({ viewer, path, secrets, now }: SecretRows, secret: AppSecret): Html {
  const label = secrets.length === 1 ? 'Secret' : secret === secrets[0] ? 'Older secret' : 'Newer secret';
  return html`<li><div>${label} <code>${secretName(secret.hint)}</code>
<p class="muted small">Added ${time(secret.createdAt)}, ${secret.lastUsedAt ? html`last used ${time(secret.lastUsedAt)}` : 'never used'}</p></div>
${
  viewer.canChange &&
  secrets.length > 1 &&
  postForm({
    action: `${path}/${secret.id}/remove`,
    csrf: viewer.context.csrf,
    body: html`<button class="quiet danger" aria-label="Remove the secret that ends in ${secret.hint}">${isInUse(secret, now) ? 'Remove…' : 'Remove'}</button>`,
  })
}</li>`;
}

/** Says whether the older of two secrets can be removed without breaking the app. */
function advice(older: AppSecret, newer: AppSecret, now: number): Html {
  const { lastUsedAt } = older;
  if (lastUsedAt !== null && isInUse(older, now)) {
    return html`<p class="notice">The older secret was last used ${time(lastUsedAt)}: it is still in use. Move your app to the newer one before you remove it.</p>`;
  }
  const since = lastUsedAt === null ? 'has never been used' : html`has not been used since ${time(lastUsedAt)}`;
  if (newer.lastUsedAt !== null) return html`<p class="notice">The older secret ${since}: it can be removed.</p>`;
  return html`<p class="notice">The older secret ${since}, and the newer one has never been used. Check that your app uses the newer one, then remove the older.</p>`;
}

function removeSecretBody(
  { viewer, app, path }: { viewer: Viewer; app: App; path: string },
  { id, hint, lastUsedAt }: AppSecret,
): Html {
  const body = html`<input type="hidden" name="sure" value="yes"><button class="danger">Remove secret</button>`;
  const explanation = html`<p>The secret <code>${secretName(hint)}</code> was ${lastUsedAt === null ? 'never used' : html`last used ${time(lastUsedAt)}`}. Requests that still use it will be rejected. This cannot be undone.</p>
<div class="form-actions"><a class="button secondary" href="${path}">Cancel</a>
${postForm({ action: `${path}/secrets/${id}/remove`, csrf: viewer.context.csrf, body })}</div>`;
  return question({ title: `Remove a secret of ${app.name}?`, back: { to: path, name: app.name }, body: explanation });
}

/** The only page that shows a secret. */
export function newSecretBody({ path, issuer }: { path: string; issuer: string }, app: App, secret: string): Html {
  const body = html`<p class="notice caution"><strong>Copy the secret now.</strong> Only a hash of it is stored, so it cannot be shown again.</p>
<dl class="facts">
<div><dt>client_id</dt><dd>${copyable('client-id', app.id)}</dd></div>
<div><dt>client_secret</dt><dd>${copyable('client-secret', secret)}</dd></div>
${endpointFacts(issuer)}
</dl>
<p><a class="button primary" href="${path}/${app.id}">I have copied it</a></p>`;
  return html`${pageHead({ title: app.name, intro: 'Its new secret is shown once, here.' })}
${settings({ title: 'Credentials', intro: 'Store them where only your server can read them.', body })}`;
}

export function endpointFacts(issuer: string): Html {
  return html`<div><dt>Authorize at</dt><dd>${copyable('authorize-at', `${issuer}/api/v1/oauth/authorize`, 'authorize URL')}</dd></div>
<div><dt>Get tokens at</dt><dd>${copyable('tokens-at', `${issuer}/api/v1/oauth/token`, 'token URL')}</dd></div>`;
}
