import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { authenticateUser } from '../../accounts/passwords.ts';
import { deleteAccount, type EndedMembership, listEndedMemberships } from '../../grants/account-deletion.ts';
import { exportAccount } from '../../grants/account-export.ts';
import { countAffected, type Impact } from '../../grants/impact.ts';
import { FormError } from '../../lib/errors.ts';
import { type Html, html } from '../../lib/html.ts';
import { access } from '../access.ts';
import { businessPath } from '../business-address.ts';
import { pluralizeCount } from '../components/product.ts';
import { dangerZone, question, settings } from '../components/structure.ts';
import type { WebDeps } from '../deps.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, input, type Problem, postForm, text, tryRateLimitedForm } from '../forms.ts';
import { countAttempt } from '../known-browsers.ts';
import { type PageContext, sendPage } from '../layout.ts';
import { loadPageContext } from '../page-context.ts';
import { actorOf, clearSessionCookie, requireSession } from '../session.ts';

const DELETE = '/settings/delete-account';
const EXPORT = '/settings/export';

/** Users take a copy of what is stored about them, and delete their account. */
export function mountOwnData(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock, limits } = deps;

  host.get(EXPORT, access('signed_in'), async (request, reply) => {
    const { user } = requireSession(request);
    await limits.exportsPerUser.count(user.id);
    const exported = await exportAccount(storage.durable, { user, client: request.signal }, clock());
    return reply
      .header('cache-control', 'no-store')
      .header('content-disposition', 'attachment; filename="account.json"')
      .type('application/json; charset=utf-8')
      .send(`${JSON.stringify(exported, null, 2)}\n`);
  });

  host.get(DELETE, access('signed_in'), async (request, reply) => show(deps, request, reply));

  host.post<{ Body: Form }>(DELETE, access('signed_in'), async (request, reply) => {
    const remove = async () => {
      await deleteOwnAccount(deps, request);
      clearSessionCookie(reply);
      return redirectWithFlash(reply, '/sign-in', 'account_deleted');
    };
    return tryRateLimitedForm(reply, remove, ({ message }, status) =>
      show(deps, request, reply, { problem: { field: 'current_password', message }, status }),
    );
  });
}

/** Attempts to guess the password are counted like sign-ins. */
async function deleteOwnAccount(deps: WebDeps, request: FastifyRequest<{ Body: Form }>): Promise<void> {
  const { storage, clock } = deps;
  const { user } = requireSession(request);
  const counted = await countAttempt(deps, request, user.email);
  const current = await authenticateUser(storage.durable, user.email, text(request.body, 'current_password'));
  if (!current) throw wrongPassword();
  await counted.reset();
  if (!(await deleteAccount(actorOf(request), storage.durable, current, clock()))) throw wrongPassword();
}

function wrongPassword(): FormError {
  return new FormError('current_password', 'This is not your current password.');
}

async function show(
  deps: WebDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { problem, status = 200 }: { problem?: Problem; status?: number } = {},
): Promise<FastifyReply> {
  const { storage, clock, platformName } = deps;
  const context = await loadPageContext(deps, request);
  const ended = await listEndedMemberships(storage.durable, context.user.id);
  const all = { userId: context.user.id };
  const isMoved = ended.length > 0 && ended.every(({ successor }) => successor);
  const ending = isMoved ? ({ ...all, connectedFor: 'user' } as const) : all;
  const impact = await countAffected(storage.durable, ending, clock());
  const isBlocked = ended.some(({ needsOwner }) => needsOwner);
  const title = isBlocked ? 'You cannot delete your account yet' : 'Delete your account?';
  const body = question({
    title,
    back: { to: '/settings/account', name: 'Account' },
    body: isBlocked ? onlyOwnerNotice(ended) : deletionForm(context, { ended, impact, problem }),
  });
  return sendPage(reply, { title, platformName, width: 'wide', context, body }, { status });
}

function onlyOwnerNotice(ended: EndedMembership[]): Html {
  const owned = ended.filter(({ needsOwner }) => needsOwner);
  return html`<p>Other people belong to these businesses, and you are their only owner. Make someone else an owner first, or remove the other members:</p>
<ul>${owned.map((membership) => html`<li><a href="${businessPath(membership, 'members')}">${membership.businessName}</a></li>`)}</ul>`;
}

interface Deletion {
  ended: EndedMembership[];
  impact: Impact;
  problem: Problem | undefined;
}

function deletionForm({ csrf, user }: PageContext, { ended, impact, problem }: Deletion): Html {
  const apps = ended.flatMap((membership) => membership.apps);
  const stays = ended.some(({ successor }) => successor);
  const alone = ended.filter((membership) => membership.apps.length > 0);
  return html`<p>This cannot be undone. For <strong>${user.email}</strong>, these end at once:</p>
<ul>
${ended.map(({ businessName }) => html`<li>your membership of ${businessName}</li>`)}
${(impact.apps > 0 || impact.isPart) && html`<li>the access of ${pluralizeCount(impact.apps, impact, 'app', 'apps')} that you connected</li>`}
${apps.map(({ name }) => html`<li>the app ${name}, which is disabled: nobody else belongs to its business</li>`)}
<li>your sessions, passkeys, authenticator app and recovery codes</li>
</ul>
${stays && html`<p>Apps that you connected for a business stay connected. Another owner is then responsible for them.</p>`}
${alone.length > 0 && html`<p class="notice">What the businesses have stored stays. Nobody can open it, until an operator adds an owner.</p>`}
<p class="muted">The audit log keeps your name and address with your entries. <a href="${EXPORT}">Export your data</a> first if you need a copy.</p>
${postForm({
  action: DELETE,
  csrf,
  body: html`${input({ name: 'current_password', label: 'Current password', type: 'password', autocomplete: 'current-password', show: 'Show current password' }, problem)}
<div class="form-actions"><a class="button secondary" href="/settings/account">Cancel</a><button class="danger">Delete account</button></div>`,
})}`;
}

/** The last two sections of the account page. */
export const ownDataSection = settings({
  title: 'Your data',
  id: 'data',
  intro: 'The export contains your account, memberships, connected apps, sign-ins, and your entries of the audit log.',
  body: html`<p><a class="button" href="${EXPORT}">Export as JSON</a></p>`,
});

export const deletionSection = dangerZone([
  {
    title: 'Delete your account',
    text: 'Your memberships and the apps that you connected end at once. This cannot be undone.',
    action: html`<a class="button danger" href="${DELETE}">Delete account…</a>`,
  },
]);
