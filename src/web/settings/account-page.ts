import type { FastifyReply, FastifyRequest } from 'fastify';
import { listPasskeys } from '../../accounts/passkeys.ts';
import { listSessions, type SessionSummary } from '../../accounts/sessions.ts';
import { listFailedSignIns } from '../../accounts/sign-in.ts';
import { type Act, describeDetail } from '../../audit/act-log.ts';
import { type Html, html } from '../../lib/html.ts';
import { decrypt, encrypt, type Keyring } from '../../lib/keyring.ts';
import { hashSecret } from '../../lib/secrets.ts';
import { describeUserAgent } from '../../lib/user-agents.ts';
import { unverifiedBadge } from '../components.ts';
import type { WebDeps } from '../deps.ts';
import { type Form, input, type Problem, postForm, text, time } from '../forms.ts';
import { type PageContext, sendPage } from '../layout.ts';
import { loadPageContext } from '../page-context.ts';
import { isSafeMethod } from '../session.ts';
import { roleBadge } from './members/fields.ts';
import { passkeySection } from './passkey-section.ts';
import { recoveryHistory } from './recovery-history.ts';

export const ACCOUNT = '/settings/account';
const SESSIONS_SHOWN = 30;

export async function showAccount(deps: WebDeps, request: FastifyRequest, reply: FastifyReply, problem?: Problem) {
  const { storage, clock, keys, platformName } = deps;
  const context = await loadPageContext(deps, request);
  const wanted = { userId: context.user.id, limit: SESSIONS_SHOWN + 1 };
  const sessions = await listSessions(storage.durable, wanted, clock());
  const passkeys = await listPasskeys(storage.durable, context.user.id);
  const typed = isSafeMethod(request) ? {} : (request.body as Form);
  const body = html`<h1>Account</h1>
${personSection(context, { typed, problem, platformName })}
${passwordSection(context, await recoveryHistory(storage.durable, context.user, platformName), problem)}
${passkeySection({ context, passkeys, request, typed, problem }, clock())}
${failedSection(await listFailedSignIns(storage.durable, context.user.id, clock()))}
${sessionSection({ context, sessions, here: hashSecret(context.session.id), keys })}`;
  const page = { title: 'Account', platformName, width: 'wide' as const, context, body };
  return sendPage(reply, page, { status: problem ? 400 : 200 });
}

interface Person {
  typed: Form;
  problem: Problem | undefined;
  platformName: string;
}

function personSection({ user, csrf, memberships }: PageContext, { typed, problem, platformName }: Person): Html {
  const name = problem?.field === 'name' ? text(typed, 'name') : user.name;
  return html`<section class="card"><h2>You</h2>
<dl class="facts">
<div><dt>Email</dt><dd>${user.email} ${unverifiedBadge(user)}<br><span class="muted small">You sign in with it, and it cannot be changed here.${user.emailVerifiedAt === null && ` Until it is verified you cannot join another business. A platform admin of ${platformName} can give you a link that verifies it.`}</span></dd></div>
<div><dt>Businesses</dt><dd>${memberships.map(({ businessName, role }) => html`<div>${businessName} ${roleBadge(role)}</div>`)}</dd></div>
</dl>
${postForm({
  action: `${ACCOUNT}/name`,
  csrf,
  body: html`${input({ name: 'name', label: 'Name', value: name, autocomplete: 'name' }, problem)}
<button class="secondary">Change name</button>`,
})}</section>`;
}

function passwordSection({ csrf }: PageContext, history: Html | false, problem?: Problem): Html {
  return html`<section class="card"><h2>Change password</h2>
${history}
${postForm({
  action: `${ACCOUNT}/password`,
  csrf,
  body: html`${input({ name: 'current_password', label: 'Current password', type: 'password', autocomplete: 'current-password' }, problem)}
${input({ name: 'password', label: 'New password', type: 'password', hint: 'At least 8 characters. Every other session is signed out. Passkeys stay.', autocomplete: 'new-password' }, problem)}
<button class="primary">Change password</button>`,
})}</section>`;
}

interface SessionSection {
  context: PageContext;
  sessions: SessionSummary[];
  /** The hash of the session that asks. */
  here: string;
  keys: Keyring;
}

function sessionSection({ context, sessions, here, keys }: SessionSection): Html {
  const shown = sessions.slice(0, SESSIONS_SHOWN);
  const rows = html`<ul class="rows">${shown.map((session) => sessionRow(session, session.idHash === here, keys))}</ul>`;
  const endOthers = html`<button class="danger">Sign out everywhere else</button>`;
  return html`<section class="card"><h2>Where you are signed in</h2>
<p class="muted">A session ends 12 hours after it was last used, and after 30 days in any case.</p>
${postForm({ action: `${ACCOUNT}/end-session`, csrf: context.csrf, body: rows })}
${sessions.length > shown.length && html`<p class="muted">These are the last ${SESSIONS_SHOWN}; there are more.</p>`}
${sessions.length > 1 && postForm({ action: `${ACCOUNT}/end-other-sessions`, csrf: context.csrf, style: 'apart', body: endOthers })}</section>`;
}

function failedSection(failed: Act[]): Html | false {
  const row = ({ at, actor, detail }: Act) =>
    html`<li><div>${time(at)}<p class="muted small">${actor.address}. ${describeDetail(detail)}</p></div></li>`;
  return (
    failed.length > 0 &&
    html`<section class="card"><h2>Failed attempts to sign in</h2>
<p class="muted">Repeated attempts within an hour are counted together. If these were not yours, choose a password that you use nowhere else, or add a passkey.</p>
<ul class="rows">${failed.map(row)}</ul></section>`
  );
}

function sessionRow(session: SessionSummary, isHere: boolean, keys: Keyring): Html {
  const { browser, address, signedInAt, lastSeenAt } = session;
  const name = describeUserAgent(browser);
  return html`<li><div><strong>${name}</strong> ${isHere && html`<span class="badge">This browser</span>`}
<p class="muted small">${address}. Last seen ${time(lastSeenAt)}, signed in since ${time(signedInAt)}</p></div>
${!isHere && html`<button class="danger" name="session" value="${concealSession(keys, session)}" aria-label="End the session of ${name} at ${address}">End</button>`}</li>`;
}

const ADDRESS = 'session address';

/** What a page calls a session by. It is no cookie, nor does it tell what is stored of one. */
function concealSession(keys: Keyring, { idHash }: SessionSummary): string {
  return encrypt(keys, ADDRESS, idHash);
}

export function revealSession(keys: Keyring, concealed: string): string | undefined {
  return decrypt(keys, ADDRESS, concealed);
}
