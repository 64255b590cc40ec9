import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { endOtherSessions, listSessions } from '../../accounts/sessions.ts';
import { authenticateUser, hashNewPassword, setPasswordHash } from '../../accounts/users.ts';
import { FormError } from '../../lib/errors.ts';
import { html } from '../../lib/html.ts';
import { hashSecret } from '../../lib/secrets.ts';
import { type Form, input, type Problem, text, time } from '../fields.ts';
import { sendPage } from '../layout.ts';
import type { WebParts } from '../parts.ts';
import { findPlace } from '../place.ts';
import { requireSession } from '../visits.ts';

const PATH = '/settings/account';

export function mountAccount(host: FastifyInstance, parts: WebParts): void {
  const db = parts.storage.durable;

  host.get(PATH, async (request, reply) => showAccount(parts, request, reply));

  host.post<{ Body: Form }>(`${PATH}/password`, async (request, reply) => {
    const session = requireSession(request);
    try {
      const { email } = session.user;
      await parts.limits.signInPerAccount.count(email);
      if (!(await authenticateUser(db, email, text(request.body, 'current_password')))) {
        throw new FormError('current_password', 'This is not your current password.');
      }
      await parts.limits.signInPerAccount.forget(email);
      const hash = await hashNewPassword(session.user, text(request.body, 'password'));
      await parts.storage.atomically(async (tx) => {
        await setPasswordHash(tx, session.user.id, hash);
        await endOtherSessions(tx, session);
      });
      return reply.redirect(PATH, 303);
    } catch (error) {
      if (error instanceof FormError) return showAccount(parts, request, reply, error);
      throw error;
    }
  });

  host.post(`${PATH}/end-other-sessions`, async (request, reply) => {
    await endOtherSessions(db, requireSession(request));
    return reply.redirect(PATH, 303);
  });
}

async function showAccount(parts: WebParts, request: FastifyRequest, reply: FastifyReply, problem?: Problem) {
  const at = await findPlace(parts, request);
  const sessions = await listSessions(parts.storage.durable, at.user.id, parts.clock());
  const here = hashSecret(at.session.id);
  const body = html`<h1>Account</h1>
<section class="card"><h2>You</h2>
<dl class="facts">
<div><dt>Name</dt><dd>${at.user.name}</dd></div>
<div><dt>Email</dt><dd>${at.user.email}</dd></div>
<div><dt>Businesses</dt><dd>${at.memberships.map(({ businessName, role }) => html`${businessName} <span class="badge">${role}</span><br>`)}</dd></div>
</dl></section>
<section class="card"><h2>Change password</h2>
<form method="post" action="${PATH}/password">
<input type="hidden" name="csrf" value="${at.csrf}">
${input({ name: 'current_password', label: 'Current password', type: 'password', autocomplete: 'current-password' }, problem)}
${input({ name: 'password', label: 'New password', type: 'password', hint: 'At least 8 characters. Every other session is signed out.', autocomplete: 'new-password' }, problem)}
<button class="primary">Change password</button>
</form></section>
<section class="card"><h2>Where you are signed in</h2>
<p class="muted">A session ends 12 hours after it was last used, and after 30 days in any case.</p>
<ul class="rows">${sessions.map(
    ({ idHash, browser, address, lastSeenAt }) =>
      html`<li><div>${browser} ${idHash === here && html`<span class="badge">This browser</span>`}<p class="muted small">${address}, last seen ${time(lastSeenAt)}</p></div></li>`,
  )}</ul>
${
  sessions.length > 1 &&
  html`<form method="post" action="${PATH}/end-other-sessions"><input type="hidden" name="csrf" value="${at.csrf}"><button class="danger">Sign out everywhere else</button></form>`
}
</section>`;
  const page = { title: 'Account', platformName: parts.platformName, width: 'wide' as const, at, body };
  return sendPage(reply, page, { status: problem ? 400 : 200 });
}
