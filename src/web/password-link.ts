import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findPasswordLink, type PasswordLink } from '../accounts/password-links.ts';
import type { User } from '../accounts/users.ts';
import { findKeptFactor, resetPassword } from '../grants/account-reset.ts';
import { type Html, html } from '../lib/html.ts';
import { networkOf } from '../lib/ip-addresses.ts';
import { access } from './access.ts';
import { bdi } from './components/display.ts';
import { pageHead, question } from './components/structure.ts';
import type { WebDeps } from './deps.ts';
import { PageError } from './errors.ts';
import { redirectWithFlash } from './flash.ts';
import { copyable, type Form, input, type Problem, postForm, text, time, tryRateLimitedForm } from './forms.ts';
import { textsOf } from './language.ts';
import { sendPage } from './layout.ts';

type LinkRoute = { Params: { token: string }; Body: Form };

/** Shows a form for a new password. The link itself does not sign anyone in. */
export function mountPasswordLink(host: FastifyInstance, deps: WebDeps): void {
  host.get<LinkRoute>('/password/:token', access('anyone'), async (request, reply) => {
    return show(deps, request, reply, await requireLink(deps, request.params.token));
  });

  host.post<LinkRoute>('/password/:token', access('anyone'), async (request, reply) => {
    const link = await requireLink(deps, request.params.token);
    const set = async () => {
      await setPassword(deps, request, link);
      return redirectWithFlash(reply, '/sign-in', 'password_set');
    };
    const showAgain = (problem: Problem, status: number) => show(deps, request, reply, link, { problem, status });
    return tryRateLimitedForm(reply, set, showAgain, { texts: textsOf(deps, request, link.user) });
  });
}

async function requireLink({ storage, clock }: WebDeps, token: string): Promise<PasswordLink> {
  const link = await findPasswordLink(storage.durable, token, clock());
  if (!link) throw closedLink();
  return link;
}

/** Sends the same response for an unknown, used, replaced or expired link: it reveals nothing about an account. */
function closedLink(): PageError {
  return new PageError(404, ({ newPassword }) => newPassword.closed);
}

/** Hashing is slow by design, so attempts are limited like sign-ins. */
async function setPassword(deps: WebDeps, request: FastifyRequest<LinkRoute>, { user }: PasswordLink): Promise<void> {
  const { storage, limits, clock } = deps;
  const network = networkOf(request.ip);
  await limits.signInPerAddress.count(network);
  const reset = {
    token: request.params.token,
    user,
    password: text(request.body, 'password'),
    endsGrants: text(request.body, 'end_grants') === 'yes',
    address: request.ip,
  };
  if (!(await resetPassword(storage.durable, reset, clock()))) throw closedLink();
  await limits.signInPerAddress.refund(network);
}

async function show(
  deps: WebDeps,
  request: FastifyRequest<LinkRoute>,
  reply: FastifyReply,
  link: PasswordLink,
  { problem, status = 200 }: { problem?: Problem; status?: number } = {},
): Promise<FastifyReply> {
  const { user, expiresAt } = link;
  const { platformName, storage } = deps;
  const texts = textsOf(deps, request, user);
  const { newPassword, fields } = texts;
  const { title } = newPassword;
  const ends = newPassword.ends[(await findKeptFactor(storage.durable, link)) ?? 'nothing'];
  const keepsGrants = problem !== undefined && text(request.body, 'end_grants') !== 'yes';
  const body = html`<div class="card"><h1>${title}</h1>
<p>${newPassword.account(html`<strong>${bdi(user.email)}</strong>`, time(expiresAt, texts))}</p>
<p class="muted">${ends}</p>
${postForm({
  action: `/password/${encodeURIComponent(request.params.token)}`,
  csrf: request.csrfToken,
  body: html`<input type="hidden" name="username" autocomplete="username" value="${user.email}">
${input({ name: 'password', label: fields.newPassword, type: 'password', hint: fields.passwordHint, autocomplete: 'new-password', show: fields.showPassword, focus: true }, problem)}
<label class="choice"><input type="checkbox" name="end_grants" value="yes" ${!keepsGrants && html`checked`}><span>${newPassword.disconnect}<br><span class="muted small">${newPassword.disconnectHint}</span></span></label>
<button class="primary wide">${newPassword.submit}</button>`,
})}</div>`;
  return sendPage(reply, { title, texts, platformName, width: 'narrow', runsScript: true, body }, { status });
}

interface NewLink {
  user: Pick<User, 'name' | 'email'>;
  link: string;
  expiresAt: number;
  /** The page of the person. */
  back: { to: string; name: string };
}

/** Shown once, to the person who created the link. */
export function passwordLinkBody({ user: { name, email }, link, expiresAt, back }: NewLink): Html {
  return html`${pageHead({ title: 'The link is ready', back })}
<section class="card"><h2>Send this link to ${name} (${email})</h2>
<p class="notice caution"><strong>Copy it now.</strong> It is not shown again.</p>
<p>${copyable('password-link', link)}</p>
<p class="muted">It works once, until ${time(expiresAt)} (24 hours). Anyone who has it can take over the account, so make sure that it reaches ${name} and nobody else. ${name} will see on their account page that you created it.</p>
<p><a class="button secondary" href="${back.to}">Back to ${back.name}</a></p></section>`;
}

/** Says who can create the link instead. */
export function noPasswordLinkBody({ sentence, back }: { sentence: string; back: NewLink['back'] }): Html {
  return question({
    title: 'You cannot create this link',
    back,
    body: html`<p>${sentence}</p>
<div class="form-actions"><a class="button secondary" href="${back.to}">Back to ${back.name}</a></div>`,
  });
}
