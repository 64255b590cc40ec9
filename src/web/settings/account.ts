import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  endOtherSessions,
  listSessions,
  type Session,
  type SessionSummary,
  startSession,
} from '../../accounts/sessions.ts';
import { authenticateUser, hashNewPassword, setPasswordHash } from '../../accounts/users.ts';
import { FormError } from '../../lib/errors.ts';
import { type Html, html } from '../../lib/html.ts';
import { hashSecret } from '../../lib/secrets.ts';
import { type Form, input, type Problem, postForm, text, time, tryForm } from '../fields.ts';
import { type Place, sendPage } from '../layout.ts';
import type { WebParts } from '../parts.ts';
import { findPlace } from '../place.ts';
import { browserOf, keepSession, requireSession } from '../visits.ts';

const PATH = '/settings/account';

export function mountAccount(host: FastifyInstance, parts: WebParts): void {
  host.get(PATH, async (request, reply) => showAccount(parts, request, reply));

  host.post<{ Body: Form }>(`${PATH}/password`, async (request, reply) => {
    requireSession(request);
    const change = async () => {
      keepSession(reply, await changePassword(parts, request));
      return reply.redirect(PATH, 303);
    };
    return tryForm(change, (problem) => showAccount(parts, request, reply, problem));
  });

  host.post(`${PATH}/end-other-sessions`, async (request, reply) => {
    await endOtherSessions(parts.storage.durable, requireSession(request));
    return reply.redirect(PATH, 303);
  });
}

/** The current password is asked as at sign-in, and counted so; every session ends, and this browser gets a new one. */
async function changePassword(parts: WebParts, request: FastifyRequest<{ Body: Form }>): Promise<Session> {
  const { storage, limits, clock } = parts;
  const { user } = requireSession(request);
  await limits.signInPerAccount.count(user.email);
  if (!(await authenticateUser(storage.durable, user.email, text(request.body, 'current_password')))) {
    throw new FormError('current_password', 'This is not your current password.');
  }
  await limits.signInPerAccount.forget(user.email);
  const hash = await hashNewPassword(user, text(request.body, 'password'));
  return storage.atomically(async (db) => {
    await setPasswordHash(db, user.id, hash);
    const session = await startSession(db, { user, ...browserOf(request) }, clock());
    await endOtherSessions(db, session);
    return session;
  });
}

async function showAccount(parts: WebParts, request: FastifyRequest, reply: FastifyReply, problem?: Problem) {
  const at = await findPlace(parts, request);
  const sessions = await listSessions(parts.storage.durable, at.user.id, parts.clock());
  const body = html`<h1>Account</h1>
<section class="card"><h2>You</h2>
<dl class="facts">
<div><dt>Name</dt><dd>${at.user.name}</dd></div>
<div><dt>Email</dt><dd>${at.user.email}</dd></div>
<div><dt>Businesses</dt><dd>${at.memberships.map(({ businessName, role }) => html`${businessName} <span class="badge">${role}</span><br>`)}</dd></div>
</dl></section>
<section class="card"><h2>Change password</h2>
${postForm({
  action: `${PATH}/password`,
  csrf: at.csrf,
  body: html`${input({ name: 'current_password', label: 'Current password', type: 'password', autocomplete: 'current-password' }, problem)}
${input({ name: 'password', label: 'New password', type: 'password', hint: 'At least 8 characters. Every other session is signed out.', autocomplete: 'new-password' }, problem)}
<button class="primary">Change password</button>`,
})}</section>
<section class="card"><h2>Where you are signed in</h2>
<p class="muted">A session ends 12 hours after it was last used, and after 30 days in any case.</p>
${sessionList(at, sessions, hashSecret(at.session.id))}</section>`;
  const page = { title: 'Account', platformName: parts.platformName, width: 'wide' as const, at, body };
  return sendPage(reply, page, { status: problem ? 400 : 200 });
}

function sessionList(at: Place, sessions: SessionSummary[], here: string): Html {
  const rows = sessions.map(
    ({ idHash, browser, address, lastSeenAt }) =>
      html`<li><div>${browser} ${idHash === here && html`<span class="badge">This browser</span>`}<p class="muted small">${address}, last seen ${time(lastSeenAt)}</p></div></li>`,
  );
  const body = html`<button class="danger">Sign out everywhere else</button>`;
  return html`<ul class="rows">${rows}</ul>
${sessions.length > 1 && postForm({ action: `${PATH}/end-other-sessions`, csrf: at.csrf, body })}`;
}
