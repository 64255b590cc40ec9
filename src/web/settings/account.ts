import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { authenticateUser, changePassword } from '../../accounts/passwords.ts';
import { findSecondFactors } from '../../accounts/second-factors.ts';
import { endOtherSession, endOtherSessions, listSessions, type SignedIn } from '../../accounts/sessions.ts';
import { listFailedSignIns } from '../../accounts/sign-in.ts';
import { renameUser, type User } from '../../accounts/users.ts';
import type { Action } from '../../audit/entries.ts';
import { type AuditEntry, listEntriesOn } from '../../audit/log.ts';
import { FormError } from '../../lib/errors.ts';
import { type Html, html } from '../../lib/html.ts';
import { decrypt } from '../../lib/keyring.ts';
import { hashSecret } from '../../lib/secrets.ts';
import { access } from '../access.ts';
import { roleBadge, unverifiedBadge } from '../components/product.ts';
import { contents, pageHead, settings } from '../components/structure.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, input, type Problem, postForm, text, time, tryForm } from '../forms.ts';
import { countAttempt, rememberBrowser } from '../known-browsers.ts';
import { type PageContext, sendPage } from '../layout.ts';
import { loadPageContext } from '../page-context.ts';
import { actorOf, clientOf, isSafeMethod, requireSession, setSessionCookie } from '../session.ts';
import { languageSection, mountLanguage } from './language.ts';
import { noticeSection } from './notices.ts';
import { deletionSection, ownDataSection } from './own-data.ts';
import { mountPasskeys, passkeySection } from './passkeys.ts';
import { failedSection, SESSION_PURPOSE, SESSIONS_SHOWN, sessionSection } from './session-views.ts';
import { mountTwoStep, showTwoStep } from './two-step.ts';
import { twoStepSection } from './two-step-views.ts';

type FormRequest = FastifyRequest<{ Body: Form }>;

const ACCOUNT = '/settings/account';
export function mountAccount(host: FastifyInstance, deps: WebDeps): void {
  const { storage, keys, clock } = deps;
  host.get(ACCOUNT, access('signed_in'), async (request, reply) => showAccount(deps, request, reply));

  host.post<{ Body: Form }>(`${ACCOUNT}/name`, access('signed_in'), async (request, reply) => {
    const rename = async () => {
      const { user } = requireSession(request);
      await renameUser(actorOf(request), storage.durable, { user, name: text(request.body, 'name') }, clock());
      return redirectWithFlash(reply, ACCOUNT, 'name_changed');
    };
    return tryForm(rename, (problem) => showAccount(deps, request, reply, problem));
  });

  host.post<{ Body: Form }>(`${ACCOUNT}/password`, access('signed_in'), async (request, reply) => {
    const change = async () => {
      const signedIn = await setNewPassword(deps, request);
      setSessionCookie(reply, signedIn.session);
      rememberBrowser(deps, reply, signedIn);
      return redirectWithFlash(reply, ACCOUNT, 'password_changed');
    };
    return tryForm(change, (problem) => showAccount(deps, request, reply, problem));
  });

  host.post<{ Body: Form }>(`${ACCOUNT}/end-session`, access('signed_in'), async (request, reply) => {
    const session = requireSession(request);
    const idHash = decrypt(keys, SESSION_PURPOSE, text(request.body, 'session'));
    const ended = idHash && (await endOtherSession(actorOf(request), storage.durable, { session, idHash }, clock()));
    if (!ended) throw notFound();
    return redirectWithFlash(reply, ACCOUNT, 'session_ended');
  });

  host.post<{ Body: Form }>(`${ACCOUNT}/end-other-sessions`, access('signed_in'), async (request, reply) => {
    await endOtherSessions(actorOf(request), storage.durable, requireSession(request), clock());
    return redirectWithFlash(reply, ACCOUNT, 'sessions_ended');
  });

  // A user who has to set up a second factor does so on a page of its own.
  mountPasskeys(host, deps, (request, reply, problem) =>
    requireSession(request).lacksSecondFactor
      ? showTwoStep(deps, request, reply, { problem })
      : showAccount(deps, request, reply, problem),
  );
  mountTwoStep(host, deps);
  mountLanguage(host, deps);
}

/** Attempts to guess the current password are counted like sign-ins. */
async function setNewPassword(deps: WebDeps, request: FormRequest): Promise<SignedIn> {
  const { storage, clock } = deps;
  const session = requireSession(request);
  const { user } = session;
  const counted = await countAttempt(deps, request, user.email);
  const current = await authenticateUser(storage.durable, user.email, text(request.body, 'current_password'));
  if (!current) throw wrongPassword();
  await counted.reset();
  const change = { current, password: text(request.body, 'password'), device: clientOf(request), session };
  const signedIn = await changePassword(actorOf(request), storage.durable, change, clock());
  if (!signedIn) throw wrongPassword();
  return signedIn;
}

function wrongPassword(): FormError {
  return new FormError('current_password', 'This is not your current password.');
}

/** The page is long. */
const onThisPage = contents(
  [
    ['profile', 'Profile'],
    ['language-section', 'Language'],
    ['password-section', 'Password'],
    ['two-step', 'Two-step sign-in'],
    ['passkeys', 'Passkeys'],
    ['sessions', 'Sessions'],
    ['notices', 'Notices'],
    ['data', 'Your data'],
  ].map(([id = '', name = '']) => ({ id, name })),
);

async function showAccount(deps: WebDeps, request: FastifyRequest, reply: FastifyReply, problem?: Problem) {
  const { storage, clock, keys, platformName } = deps;
  const context = await loadPageContext(deps, request);
  const query = { userId: context.user.id, limit: SESSIONS_SHOWN + 1 };
  const sessions = await listSessions(storage.durable, query, clock());
  const factors = await findSecondFactors(storage.durable, context.user.id);
  const typed = isSafeMethod(request) ? {} : (request.body as Form);
  const body = html`${pageHead({ title: 'Account', intro: 'Your name, how you sign in, and what happened to your account.' })}
${onThisPage}
${personSection(context, { typed, problem, canChangeAddress: deps.mailer.isOn })}
${languageSection(deps, context)}
${passwordSection(context, await recoveryHistory(deps, context.user), problem)}
${twoStepSection(factors)}
${passkeySection({ context, factors, request, typed, problem }, clock())}
${sessionSection({ context, sessions, here: hashSecret(context.session.id), keys })}
${failedSection(await listFailedSignIns(storage.durable, context.user.id, clock()))}
${await noticeSection(deps, context.user.id)}
${ownDataSection}
${deletionSection}`;
  const page = { title: 'Account', platformName, width: 'wide' as const, context, body };
  return sendPage(reply, page, { status: problem ? 400 : 200 });
}

interface Person {
  typed: Form;
  /** A new address is verified by mail. */
  canChangeAddress: boolean;
  problem: Problem | undefined;
}

function personSection({ user, csrf, memberships }: PageContext, { typed, canChangeAddress, problem }: Person): Html {
  const name = problem?.field === 'name' ? text(typed, 'name') : user.name;
  const rename = postForm({
    action: `${ACCOUNT}/name`,
    csrf,
    body: html`${input({ name: 'name', label: 'Name', value: name, autocomplete: 'name' }, problem)}
<button class="primary">Change name</button>`,
  });
  const facts = html`<dl class="facts">
<div><dt>Email</dt><dd>${user.email} ${unverifiedBadge(user)}${canChangeAddress && html`<br><span class="small"><a href="/settings/address">Change${user.emailVerifiedAt === null && ' or verify'} the address</a></span>`}</dd></div>
<div><dt>Businesses</dt><dd>${memberships.length === 0 && 'None. An owner can invite you to one.'}${memberships.map(({ businessName, role }) => html`<div>${businessName} ${roleBadge(role)}</div>`)}</dd></div>
</dl>`;
  return settings({
    title: 'Profile',
    id: 'profile',
    intro: 'You sign in with your address. Others in your businesses see your name.',
    body: html`${facts}${rename}`,
  });
}

function passwordSection({ csrf }: PageContext, history: Html | false, problem?: Problem): Html {
  const form = postForm({
    action: `${ACCOUNT}/password`,
    csrf,
    body: html`${input({ name: 'current_password', label: 'Current password', type: 'password', autocomplete: 'current-password', show: 'Show current password' }, problem)}
${input({ name: 'password', label: 'New password', type: 'password', hint: 'At least 8 characters.', autocomplete: 'new-password', show: 'Show new password' }, problem)}
<button class="secondary">Change password</button>`,
  });
  const intro = 'When you change it, every other session is signed out. Passkeys stay.';
  return settings({ title: 'Password', id: 'password-section', intro, body: html`${history}${form}` });
}

const RESETS_SHOWN = 5;
const RESET_ACTIONS: Action[] = ['user.password_link_created', 'user.password_reset', 'user.password_changed'];

/** Shows password resets by other people, so that users notice one that they did not request. */
async function recoveryHistory({ storage, platformName }: WebDeps, user: User): Promise<Html | false> {
  const entries = await listEntriesOn(storage.durable, {
    subjectId: user.id,
    actions: RESET_ACTIONS,
    limit: 2 * RESETS_SHOWN,
  });
  const byOthers = entries.filter(({ action, actor }) => actor.id !== user.id || action === 'user.password_reset');
  if (byOthers.length === 0) return false;
  return html`<p>Recent resets of your password:</p>
<ul>${byOthers.slice(0, RESETS_SHOWN).map((entry) => html`<li>${time(entry.at)}: ${describeReset(entry, platformName)}</li>`)}</ul>
<p class="muted small">If you did not ask for one of these, contact a platform admin of ${platformName}.</p>`;
}

function describeReset({ action, actor, business, detail }: AuditEntry, platformName: string): string {
  const who = {
    user: business ? `${actor.name}, an owner of ${business.name},` : actor.name,
    platform: `A platform admin of ${platformName}`,
    operator: `An operator of ${platformName}`,
    app: actor.name,
    anonymous: actor.name,
  }[actor.kind];
  if (action === 'user.password_link_created') return `${who} created a link to set a new password.`;
  if (action === 'user.password_reset') {
    const link = detail.link_by === 'mail' ? 'A link that was sent by email' : 'The link';
    return `${link} was used, and a new password was set.`;
  }
  return `${who} set a new password.`;
}
