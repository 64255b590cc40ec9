import type { FastifyInstance, FastifyReply } from 'fastify';
import { changeIdentity, changeLogo, deleteLogo } from '../../apps/app-changes.ts';
import type { App, AppIdentity } from '../../apps/apps.ts';
import { BADGE } from '../../apps/verification.ts';
import { FormError } from '../../lib/errors.ts';
import { type Html, html } from '../../lib/html.ts';
import { appAvatar } from '../app-identity-views.ts';
import { settings, settingsForm } from '../components/structure.ts';
import { isConfirmed } from '../confirmation.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import {
  ariaAttributes,
  type Form,
  input,
  type Problem,
  postForm,
  problemText,
  text,
  time,
  tryForm,
} from '../forms.ts';
import { actorOf } from '../session.ts';
import { acceptUploads } from '../uploads.ts';
import { type AppPages, appHead, type Viewer } from './app-page.ts';
import { askAboutBadge } from './badge-question.ts';

type ForApp = { Params: { id: string }; Body: Form | undefined };

/** What users see of an app besides its name: logo, publisher and addresses. */
export function mountAppIdentity(host: FastifyInstance, pages: AppPages): void {
  const { section, db, clock, loadApp } = pages;
  const route = `${section.route}/:id/identity`;
  host.get<ForApp>(route, section.edit, async (request, reply) => {
    const { viewer, app } = await loadApp(request);
    return showIdentity(pages, reply, viewer, { app });
  });

  host.post<ForApp>(route, section.edit, async (request, reply) => {
    const { viewer, app, path } = await loadApp(request);
    const identity = readIdentityForm(request.body ?? {});
    const change = async () => {
      const changes = { ...changeOf(app, request.body), change: () => identity };
      if (!(await changeIdentity(actorOf(request), db, changes, clock()))) throw notFound();
      return redirectWithFlash(reply, `${path}/identity`, 'saved');
    };
    return tryForm(change, (problem) => {
      if (problem.field !== BADGE) return showIdentity(pages, reply, viewer, { app, identity, problem });
      return askAboutBadge(pages, reply, viewer, { ...asked(app, '/identity', request.body), problem });
    });
  });

  mountLogo(host, pages);
}

function mountLogo(host: FastifyInstance, pages: AppPages): void {
  const { section, db, clock, loadApp } = pages;
  host.register(async (scope) => {
    await acceptUploads(scope, pages);
    scope.post<ForApp>(`${section.route}/:id/logo`, section.edit, async (request, reply) => {
      const { viewer, app, path } = await loadApp(request);
      const upload = async () => {
        const file = readFile(request.body);
        if (!(await changeLogo(actorOf(request), db, { ...changeOf(app, request.body), file }, clock())))
          throw notFound();
        return redirectWithFlash(reply, `${path}/identity`, 'saved');
      };
      // A question on a page of its own could not repeat the file.
      return tryForm(upload, (problem) =>
        showIdentity(pages, reply, viewer, { app, problem: { ...problem, field: 'logo' } }),
      );
    });
  });

  host.post<ForApp>(`${section.route}/:id/logo/remove`, section.edit, async (request, reply) => {
    const { viewer, app, path } = await loadApp(request);
    const remove = async () => {
      if (!(await deleteLogo(actorOf(request), db, changeOf(app, request.body), clock()))) throw notFound();
      return redirectWithFlash(reply, `${path}/identity`, 'saved');
    };
    return tryForm(remove, (problem) =>
      askAboutBadge(pages, reply, viewer, { ...asked(app, '/logo/remove', request.body), problem }),
    );
  });
}

function changeOf({ id }: App, form: Form | undefined) {
  return { appId: id, keepsBadge: !isConfirmed(form) };
}

function asked(app: App, action: string, form: Form | undefined) {
  return { app, page: '/identity', action, form };
}

/** A browser sends an empty file if none was chosen. */
function readFile(form: Form | undefined): Uint8Array {
  const file = form?.logo;
  if (file instanceof Uint8Array && file.length > 0) return file;
  throw new FormError('logo', 'Choose a file.');
}

interface IdentityView {
  app: App;
  /** What the form shows: what is stored, or what was submitted if it was rejected. */
  identity?: AppIdentity;
  problem?: Problem;
}

function showIdentity(pages: AppPages, reply: FastifyReply, viewer: Viewer, view: IdentityView): FastifyReply {
  const { app, identity = app.identity, problem } = view;
  const at = { path: `${viewer.path}/${app.id}`, csrf: viewer.context.csrf };
  const body = html`${appHead(pages.section, viewer, app, { here: 'Identity' })}
${verification(app, pages.platformName)}
${logoSection(at, app, problem)}
${postForm({ action: `${at.path}/identity`, csrf: at.csrf, style: 'card', body: identityFields(identity, problem) })}`;
  return pages.show(reply, viewer, { title: `Identity · ${app.name}`, body, status: problem ? 400 : 200 });
}

function verification({ ownerScope, verifiedAt }: App, platformName: string): Html | null {
  if (ownerScope !== 'business') return null;
  if (verifiedAt === null)
    return html`<p class="notice">The publisher is not verified. Only ${platformName} can verify it.</p>`;
  return html`<p class="notice">${platformName} verified the publisher on ${time(verifiedAt)}. If you change the name of the app, its logo, its publisher or its homepage, or rename the business, the Verified publisher badge is removed until ${platformName} has checked it again.</p>`;
}

function logoSection({ path, csrf }: { path: string; csrf: string }, app: App, problem: Problem | undefined): Html {
  const hint = 'A PNG file, at most 256 kB, 32 to 512 pixels wide and high. Square looks best.';
  const wrong = problem?.field === 'logo';
  const body = html`<p>${appAvatar(app, 'lg')}</p>
<form method="post" action="${path}/logo" enctype="multipart/form-data" id="logo-form">
<input type="hidden" name="csrf" value="${csrf}">
<div class="field">
<label for="logo">Logo file</label>
<p class="hint" id="logo-hint">${hint}</p>
<input id="logo" name="logo" type="file" accept="image/png" required ${ariaAttributes('logo', { hint, wrong })}>
${wrong && problemText(problem)}
</div>
${app.verifiedAt !== null && html`<label class="choice"><input type="checkbox" name="confirmed" value="yes" required><span>Remove the Verified publisher badge until the logo has been checked</span></label>`}
</form>
<div class="actions"><button class="secondary" form="logo-form">Upload logo</button>
${app.logoHash !== null && postForm({ action: `${path}/logo/remove`, csrf, body: html`<button class="danger">Remove logo</button>` })}</div>`;
  const intro = 'Users see it on the consent screen, where they decide whether to trust the app.';
  return settings({ title: 'Logo', intro, body });
}

/** The names of the fields are those of `identityRow`, whose errors name them. */
function identityFields(identity: AppIdentity, problem: Problem | undefined): Html {
  const field = (name: string, label: string, value: string | null, hint?: string) =>
    input({ name, label, value: value ?? '', optional: true, ...(hint !== undefined && { hint }) }, problem);
  const parts = [
    {
      title: 'Publisher',
      intro: 'Users see it once it is verified; until then, they see the name of the business.',
      body: field(
        'publisher',
        'Publisher',
        identity.publisherName,
        'Who is responsible for the app, such as a company.',
      ),
    },
    {
      title: 'Addresses',
      intro: 'Links on the consent screen. Addresses start with https://.',
      body: html`${field('homepage', 'Homepage', identity.homepageUrl)}
${field('support', 'Support', identity.supportUrl)}
${field('privacy', 'Privacy policy', identity.privacyUrl)}
${field('terms', 'Terms of service', identity.termsUrl)}`,
    },
  ];
  return settingsForm(parts, html`<button class="primary">Save</button>`);
}

function readIdentityForm(form: Form): AppIdentity {
  const read = (name: string) => text(form, name).trim() || null;
  return {
    publisherName: read('publisher'),
    homepageUrl: read('homepage'),
    supportUrl: read('support'),
    privacyUrl: read('privacy'),
    termsUrl: read('terms'),
  };
}
