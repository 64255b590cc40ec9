import type { FastifyInstance, FastifyRequest } from 'fastify';
import { deleteSession, type Session } from '../accounts/sessions.ts';
import { recordAudit } from '../audit/acts.ts';
import { html } from '../lib/html.ts';
import { hashSecret } from '../lib/secrets.ts';
import { describeUserAgent } from '../lib/user-agents.ts';
import { access } from './access.ts';
import type { WebDeps } from './deps.ts';
import { redirectWithFlash } from './flash.ts';
import { postForm } from './forms.ts';
import { sendPage } from './layout.ts';
import { actorOf, clearSessionCookie, clientOf } from './session.ts';

export function mountSignOut(host: FastifyInstance, deps: WebDeps): void {
  // A link cannot sign anyone out: it only asks.
  host.get('/sign-out', access('anyone'), async (request, reply) =>
    sendPage(reply, {
      title: 'Sign out',
      platformName: deps.platformName,
      width: 'narrow',
      body: html`<div class="card">
<h1>Sign out?</h1>
<p>Apps that you have connected stay connected.</p>
${postForm({ action: '/sign-out', csrf: request.csrfToken, body: html`<button class="primary wide">Sign out</button>` })}
</div>`,
    }),
  );

  host.post('/sign-out', access('anyone'), async (request, reply) => {
    if (request.session) await signOut(deps, request, request.session);
    clearSessionCookie(reply);
    return redirectWithFlash(reply, '/sign-in', 'signed_out');
  });
}

async function signOut({ storage, clock }: WebDeps, request: FastifyRequest, { id }: Session): Promise<void> {
  const subject = { kind: 'session', id: hashSecret(id), name: describeUserAgent(clientOf(request).browser) } as const;
  await storage.transaction(async (db) => {
    if (!(await deleteSession(db, id))) return;
    await recordAudit(db, { action: 'session.ended', actor: actorOf(request), businessId: null, subject }, clock());
  });
}
