import type { FastifyInstance } from 'fastify';
import { endSession } from '../accounts/sessions.ts';
import { html } from '../lib/html.ts';
import { postForm } from './fields.ts';
import { sendPage } from './layout.ts';
import type { WebParts } from './parts.ts';
import { dropSession } from './visits.ts';

export function mountSignOut(host: FastifyInstance, { storage, platformName }: WebParts): void {
  // A link cannot sign anyone out: it only asks.
  host.get('/sign-out', async (request, reply) =>
    sendPage(reply, {
      title: 'Sign out',
      platformName,
      width: 'narrow',
      body: html`<div class="card">
<h1>Sign out?</h1>
<p>Apps that you have connected stay connected.</p>
${postForm({ action: '/sign-out', csrf: request.visit.csrf, body: html`<button class="primary wide">Sign out</button>` })}
</div>`,
    }),
  );

  host.post('/sign-out', async (request, reply) => {
    if (request.visit.session) await endSession(storage.durable, request.visit.session.id);
    dropSession(reply);
    return reply.redirect('/sign-in', 303);
  });
}
