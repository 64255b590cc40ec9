import type { FastifyInstance } from 'fastify';
import { type App, type AppSettings, registerApp } from '../../apps/apps.ts';
import { type Html, html } from '../../lib/html.ts';
import { formKey, readFormKey } from '../form-keys.ts';
import { type Form, type Problem, postForm, text, tryForm } from '../forms.ts';
import { actorOf } from '../session.ts';
import { appFields, emptyApp, readAppForm } from './app-form.ts';
import type { AppPages, AppSection, Viewer } from './app-page.ts';
import { newSecretBody } from './app-secrets.ts';

export function mountNewApp(host: FastifyInstance, pages: AppPages): void {
  const { section, db, clock, issuer, show, requireEditor } = pages;
  host.get(`${section.path}/new`, section.edit, async (request, reply) => {
    const viewer = await requireEditor(request);
    const ticket = formKey(pages, 'new app', { owner: viewer.ownerBusinessId });
    return show(reply, viewer, newAppBody(section, viewer, { settings: emptyApp, ticket }));
  });

  host.post<{ Body: Form }>(section.path, section.list, async (request, reply) => {
    const viewer = await requireEditor(request);
    const settings = readAppForm(request.body, section);
    const ticket = text(request.body, 'ticket');
    const { id } = readFormKey(pages, 'new app', { sealed: ticket, owner: viewer.ownerBusinessId });
    const register = async () => {
      const newApp = { ...settings, id, ownerBusinessId: viewer.ownerBusinessId };
      const registered = await registerApp(actorOf(request), db, newApp, clock());
      if (!registered) return reply.redirect(`${section.path}/${id}`, 303);
      const at = { section, issuer };
      const body = html`${newSecretBody(at, registered.app, registered.secret)}${nextSteps(at, registered.app)}`;
      return show(reply, viewer, body);
    };
    return tryForm(register, (problem) =>
      show(reply, viewer, newAppBody(section, viewer, { settings, ticket, problem }), 400),
    );
  });
}

function newAppBody(section: AppSection, viewer: Viewer, form: NewAppForm): Html {
  return html`<h1>Register an app</h1>
${postForm({
  action: section.path,
  csrf: viewer.context.csrf,
  style: 'card',
  body: html`<input type="hidden" name="ticket" value="${form.ticket}">
${appFields(form.settings, section, form.problem)}
<button class="primary">Register app</button>`,
})}`;
}

interface NewAppForm {
  settings: AppSettings;
  /** Prevents a form that is sent twice from registering two apps. */
  ticket: string;
  problem?: Problem;
}

function nextSteps({ section, issuer }: { section: AppSection; issuer: string }, app: App): Html {
  return html`<section class="card"><h2>Next</h2>
<ul>
<li><a href="${issuer}/docs/guides/connect-your-app">Connect your app</a>: the guide, with curl, TypeScript and Python.</li>
<li><a href="${section.path}/${app.id}/try">Try it</a>: run the whole flow in your browser, one request at a time.</li>
</ul></section>`;
}
