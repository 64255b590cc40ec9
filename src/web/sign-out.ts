import type { FastifyInstance } from 'fastify';
import { endSession } from '../accounts/sessions.ts';
import { html } from '../lib/html.ts';
import { access } from './access.ts';
import type { WebDeps } from './deps.ts';
import { redirectWithFlash } from './flash.ts';
import { postForm } from './forms.ts';
import { sendPage } from './layout.ts';
import { actorOf, clearSessionCookie, clientOf } from './session.ts';

export function mountSignOut(host: FastifyInstance, { storage, clock, platformName }: WebDeps): void {
  // A link shows this form, and does not sign anyone out.
  host.get('/sign-out', access('anyone'), async (request, reply) =>
    sendPage(reply, {
      title: 'Sign out',
      platformName,
      width: 'narrow',
      body: html`<div class="card">
<h1>Sign out?</h1>
<p>Apps that you have connected stay connected.</p>
${postForm({ action: '/sign-out', csrf: request.csrfToken, body: html`<button class="primary wide">Sign out</button>` })}
</div>`,
    }),
  );

  host.post('/sign-out', access('anyone'), async (request, reply) => {
    const { session } = request;
    const { browser } = clientOf(request);
    if (session) await endSession(actorOf(request), storage.durable, { session, browser }, clock());
    clearSessionCookie(reply);
    return redirectWithFlash(reply, '/sign-in', 'signed_out');
  });
}
