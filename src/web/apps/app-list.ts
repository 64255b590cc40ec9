import type { FastifyInstance } from 'fastify';
import { searchAppsOf } from '../../apps/app-search.ts';
import { type App, type AppSettings, type RegisteredApp, registerApp } from '../../apps/apps.ts';
import { listLastUses } from '../../apps/secrets.ts';
import { countEachAffected, type Impact } from '../../grants/impact.ts';
import { type Html, html } from '../../lib/html.ts';
import { appAvatar } from '../app-identity-views.ts';
import { emptyState } from '../components/display.ts';
import { icon } from '../components/icon.ts';
import { pluralizeCount } from '../components/product.ts';
import { list, pageHead, settings, settingsForm } from '../components/structure.ts';
import { formKey, readFormKey } from '../form-keys.ts';
import { copyable, type Form, type Problem, postForm, text, time, tryForm } from '../forms.ts';
import { type Listing, PAGE_SIZE, pager, readListing, searchForm, takePage } from '../listing.ts';
import { actorOf } from '../session.ts';
import { appSections, emptyApp, pkceField, readAppForm } from './app-fields.ts';
import { type AppPages, type AppSection, appStatusBadges, type Viewer } from './app-page.ts';
import { endpointFacts, newSecretBody } from './app-secrets.ts';
import { newAppSteps } from './next-steps.ts';

export function mountAppList(host: FastifyInstance, pages: AppPages): void {
  const { section, show } = pages;
  host.get(section.route, section.view, async (request, reply) => {
    const viewer = await section.loadViewer(request);
    const list = await readAppList(pages, viewer, readListing(request.query));
    return show(reply, viewer, { title: section.title, body: appListBody(section, viewer, list) });
  });
}

interface ListedApp {
  app: App;
  impact: Impact;
  lastUsedAt: number | null;
}

interface AppList extends Listing {
  apps: ListedApp[];
  next: string | undefined;
  issuer: string;
}

async function readAppList({ db, clock, issuer }: AppPages, viewer: Viewer, listing: Listing): Promise<AppList> {
  const found = await searchAppsOf(db, viewer.ownerBusinessId, { ...listing, limit: PAGE_SIZE + 1 });
  const { shown, next } = takePage(found);
  const ids = shown.map(({ id }) => id);
  const impactOf = await countEachAffected(db, ids, clock());
  const lastUseOf = await listLastUses(db, ids);
  const apps = shown.map((app) => ({ app, impact: impactOf(app.id), lastUsedAt: lastUseOf(app.id) }));
  return { ...listing, apps, next, issuer };
}

/** A list that fits on one page has no search. */
function appListBody(section: AppSection, viewer: Viewer, appList: AppList): Html {
  const { apps, search, after, next, issuer } = appList;
  const { path } = viewer;
  const isLong = Boolean(search || after || next);
  return html`${pageHead({
    title: section.title,
    intro: html`${viewer.intro} New here? Follow <a href="${issuer}/docs/guides/connect-your-app">Connect your app</a>. Something failing? See <a href="${issuer}/docs/errors">the error list</a>. Every endpoint is described in <a href="${issuer}/docs">the API reference</a>.`,
    actions: viewer.canChange && html`<a class="button primary" href="${path}/new">${icon('plus')}New app</a>`,
  })}
${section.tabs?.(viewer.context)}
${isLong && searchForm({ path, search, label: 'Search by name or client_id' })}
${apps.length === 0 && emptyState({ icon: 'code-xml', text: emptyText(viewer, appList), action: viewer.canChange && !isLong && html`<p><a class="button" href="${path}/new">Register an app</a></p>` })}
${apps.length > 0 && list(apps.map((listed) => appRow(path, listed)))}
${pager({ path, search, after }, next)}`;
}

function emptyText({ canChange }: Viewer, { search, after }: AppList): string {
  if (search) return `No app found for “${search}”.`;
  if (after) return 'No more apps.';
  return canChange
    ? 'No apps yet. Register one to get its client_id and client_secret.'
    : 'No apps yet. Owners and admins of the business can register one.';
}

function appRow(path: string, { app, impact, lastUsedAt }: ListedApp): Html {
  return html`<li class="entry">${appAvatar(app)}<div><a href="${path}/${app.id}">${app.name}</a> ${appStatusBadges(app)}
<p class="muted small"><code>${app.id}</code></p></div>
<div class="meta muted small"><span>${pluralizeCount(impact.connections, impact, 'connection', 'connections')}</span><span>${lastUsedAt === null ? 'never used' : html`last used ${time(lastUsedAt)}`}</span></div></li>`;
}

const NEW_APP = 'New app';

export function mountNewApp(host: FastifyInstance, pages: AppPages): void {
  const { section, db, clock, issuer, show } = pages;
  const { privateSchemes } = pages.externalClients;
  host.get(`${section.route}/new`, section.edit, async (request, reply) => {
    const viewer = await section.loadViewer(request);
    const key = formKey(pages, 'new app', { owner: viewer.ownerBusinessId });
    const body = newAppBody(section, viewer, { settings: emptyApp, isPublic: false, key });
    return show(reply, viewer, { title: NEW_APP, body });
  });

  host.post<{ Body: Form }>(section.route, section.edit, async (request, reply) => {
    const viewer = await section.loadViewer(request);
    const settings = readAppForm(request.body, section);
    const isPublic = text(request.body, 'is_public') === 'yes';
    const key = text(request.body, 'form_key');
    const { id } = readFormKey(pages, 'new app', { text: key, owner: viewer.ownerBusinessId });
    const register = async () => {
      const newApp = { ...settings, id, isPublic, privateSchemes, ownerBusinessId: viewer.ownerBusinessId };
      const registered = await registerApp(actorOf(request), db, newApp, clock());
      if (!registered) return reply.redirect(`${viewer.path}/${id}`, 303);
      const at = { path: viewer.path, issuer };
      const body = html`${registeredBody(at, registered)}${newAppSteps(at, registered)}`;
      return show(reply, viewer, { title: `New app · ${registered.app.name}`, body });
    };
    return tryForm(register, (problem) =>
      show(reply, viewer, {
        title: NEW_APP,
        body: newAppBody(section, viewer, { settings, isPublic, key, problem }),
        status: 400,
      }),
    );
  });
}

function newAppBody(section: AppSection, viewer: Viewer, form: NewAppForm): Html {
  const more = html`${kindField(form.isPublic)}${pkceField(form.settings)}`;
  return html`${pageHead({
    title: 'Register an app',
    intro: 'You get a client_id, and a secret if the app runs on a server.',
    back: { to: viewer.path, name: section.title },
  })}
${postForm({
  action: viewer.path,
  csrf: viewer.context.csrf,
  style: 'card',
  body: html`<input type="hidden" name="form_key" value="${form.key}">
${settingsForm(appSections(form.settings, section, { problem: form.problem, more }), html`<button class="primary">Register app</button>`)}`,
})}`;
}

function kindField(isPublic: boolean): Html {
  return html`<fieldset class="field">
<legend>Where it runs</legend>
<label class="choice"><input type="radio" name="is_public" value="no" ${!isPublic && html`checked`}><span>On a server, which keeps a secret.</span></label>
<label class="choice"><input type="radio" name="is_public" value="yes" ${isPublic && html`checked`}><span>On the computers or phones of its users. It has no secret, always uses PKCE, and asks for consent each time. This cannot be changed later.</span></label>
</fieldset>`;
}

/** A public app has no secret to copy. */
function registeredBody(at: { path: string; issuer: string }, { app, secret }: RegisteredApp): Html {
  if (secret !== null) return newSecretBody(at, app, secret);
  const body = html`<dl class="facts"><div><dt>client_id</dt><dd>${copyable('client-id', app.id)}</dd></div>
${endpointFacts(at.issuer)}</dl>
<p><a class="button primary" href="${at.path}/${app.id}">App settings</a></p>`;
  return html`${pageHead({ title: app.name, intro: 'The app is registered.' })}
${settings({ title: 'Credentials', intro: 'A public app has no secret.', body })}`;
}

interface NewAppForm {
  settings: AppSettings;
  isPublic: boolean;
  /** The signed form key: a form that is sent twice registers one app. */
  key: string;
  problem?: Problem;
}
