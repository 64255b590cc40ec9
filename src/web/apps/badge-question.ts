import type { FastifyReply } from 'fastify';
import type { App } from '../../apps/apps.ts';
import { html } from '../../lib/html.ts';
import { confirmation } from '../confirmation.ts';
import type { Form, Problem } from '../forms.ts';
import type { AppPages, Viewer } from './app-page.ts';

interface BadgeQuestion {
  app: App;
  /** Below the app's own page: where the form was, and where it is submitted. */
  page: string;
  action: string;
  form: Form | undefined;
  problem: Problem;
}

/** Asks before a change that removes the Verified publisher badge. */
export function askAboutBadge(
  pages: AppPages,
  reply: FastifyReply,
  viewer: Viewer,
  { app, page, action, form, problem }: BadgeQuestion,
): FastifyReply {
  const path = `${viewer.path}/${app.id}`;
  const title = `Change ${app.name} and lose the badge?`;
  const body = confirmation({
    title,
    back: { to: path + page, name: app.name },
    explanation: html`<p>${problem.message}</p>
<p>Users then see “Publisher not verified” on the consent screen. Only ${pages.platformName} can verify the publisher again.</p>`,
    button: 'Change it anyway',
    action: path + action,
    csrf: viewer.context.csrf,
    form,
  });
  return pages.show(reply, viewer, { title, body });
}
