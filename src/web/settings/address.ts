import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { confirmAddress, findAddressLink, requestAddressLink } from '../../accounts/addresses.ts';
import { authenticateUser } from '../../accounts/passwords.ts';
import { type Credentials, findCredentials } from '../../accounts/users.ts';
import { readEmail } from '../../lib/email-addresses.ts';
import { FormError } from '../../lib/errors.ts';
import { type Html, html } from '../../lib/html.ts';
import { access } from '../access.ts';
import { unverifiedBadge } from '../components/product.ts';
import { pageHead, question, settings } from '../components/structure.ts';
import type { WebDeps } from '../deps.ts';
import { notFound, PageError } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, input, type Problem, postForm, text, tryRateLimitedForm } from '../forms.ts';
import { countAttempt } from '../known-browsers.ts';
import { textsOf } from '../language.ts';
import { type PageContext, sendPage } from '../layout.ts';
import { countMail } from '../mail-limits.ts';
import { loadPageContext } from '../page-context.ts';
import { actorOf, clientOf, requireSession } from '../session.ts';

type FormRequest = FastifyRequest<{ Body: Form }>;
type LinkRoute = { Params: { token: string }; Body: Form };

const PATH = '/settings/address';
const VERIFY = '/settings/verify-address';
const ACCOUNT = '/settings/account';

/** Verifies or changes the address of the signed-in user. Both need mail. */
export function mountAddress(host: FastifyInstance, deps: WebDeps): void {
  host.get(PATH, access('signed_in'), async (request, reply) => show(deps, request, reply));
  mountRequest(host, deps, { path: PATH, read: readChange });
  mountRequest(host, deps, { path: VERIFY, read: readVerification });
  mountLink(host, deps);
}

interface AddressForm {
  path: string;
  read(deps: WebDeps, request: FormRequest): Promise<{ current: Credentials; email: string }>;
}

function mountRequest(host: FastifyInstance, deps: WebDeps, { path, read }: AddressForm): void {
  const { storage, mailer, clock } = deps;
  host.post<{ Body: Form }>(path, access('signed_in'), async (request, reply) => {
    if (!mailer.isOn) throw notFound();
    const send = async () => {
      const link = {
        ...(await read(deps, request)),
        device: clientOf(request),
        language: textsOf(deps, request).tag,
      };
      await countMail(deps, request, link.email);
      await requestAddressLink(actorOf(request), storage.durable, mailer, link, clock());
      return redirectWithFlash(reply, PATH, 'address_mailed');
    };
    const showAgain = ({ field, message }: Problem, status: number) =>
      show(deps, request, reply, { problem: { field: field === 'password' ? 'email' : field, message }, status });
    return tryRateLimitedForm(reply, send, showAgain);
  });
}

/** Needs the password: the address decides who can set a new one. */
async function readChange(deps: WebDeps, request: FormRequest) {
  const { user } = requireSession(request);
  const email = readEmail(text(request.body, 'email'));
  if (email === user.email) throw new FormError('email', 'This is your address already.');
  const counted = await countAttempt(deps, request, user.email);
  const current = await authenticateUser(deps.storage.durable, user.email, text(request.body, 'current_password'));
  if (!current) throw new FormError('current_password', 'This is not your current password.');
  await counted.reset();
  return { current, email };
}

async function readVerification({ storage }: WebDeps, request: FormRequest) {
  const { user } = requireSession(request);
  const current = await findCredentials(storage.durable, user.id);
  if (!current) throw notFound();
  return { current, email: user.email };
}

/** The link itself changes nothing: mail servers open links to check them. The button does. */
function mountLink(host: FastifyInstance, deps: WebDeps): void {
  const { storage, mailer, clock, platformName } = deps;

  host.get<LinkRoute>(`${PATH}/:token`, access('signed_in'), async (request, reply) => {
    const context = await loadPageContext(deps, request);
    const link = { session: requireSession(request), token: request.params.token };
    const email = await findAddressLink(storage.durable, link, clock());
    if (email === undefined) throw closedLink();
    const body = confirmBody(context, { email, token: request.params.token });
    return sendPage(reply, { title: 'Confirm address', platformName, width: 'wide', context, body });
  });

  host.post<LinkRoute>(`${PATH}/:token`, access('signed_in'), async (request, reply) => {
    const language = textsOf(deps, request).tag;
    const link = { session: requireSession(request), token: request.params.token, language };
    const confirmed = await confirmAddress(actorOf(request), storage.durable, mailer, link, clock());
    if (!confirmed) throw closedLink();
    return redirectWithFlash(reply, ACCOUNT, 'address_confirmed');
  });
}

/** Sends the same response for every cause: it reveals nothing about another account. */
function closedLink(): PageError {
  const sentence =
    'A link to confirm an address works once, for 30 minutes, and only for the account that asked for it. Sign in with that account, or ask for a new link.';
  return new PageError(404, 'This link does not work', sentence);
}

async function show(
  deps: WebDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { problem, status = 200 }: { problem?: Problem; status?: number } = {},
): Promise<FastifyReply> {
  const { platformName, mailer } = deps;
  const context = await loadPageContext(deps, request);
  const typed = text((request.body ?? {}) as Form, 'email');
  const back = { to: ACCOUNT, name: 'Account' };
  const body = html`${pageHead({ title: 'Email address', intro: 'You sign in with it, and can set a new password with it.', back })}
${settings({
  title: 'Your address',
  body: html`<p>${context.user.email} ${unverifiedBadge(context.user)}</p>
${context.user.emailVerifiedAt === null && verification(context, deps)}`,
})}
${
  mailer.isOn
    ? changeForm(context, typed, problem)
    : settings({
        title: 'Change it',
        body: html`<p>${platformName} does not send email, so a new address cannot be verified, and the address cannot be changed.</p>`,
      })
}`;
  return sendPage(reply, { title: 'Email address', platformName, width: 'wide', context, body }, { status });
}

function verification({ csrf }: PageContext, { mailer, platformName }: WebDeps): Html {
  return html`<p>Until it is verified, you cannot join another business.</p>
${
  mailer.isOn
    ? postForm({
        action: VERIFY,
        csrf,
        body: html`<button class="secondary">Send a link to this address</button>`,
      })
    : html`<p>A platform admin of ${platformName} can give you a link that verifies it.</p>`
}`;
}

function changeForm({ csrf }: PageContext, typed: string, problem: Problem | undefined): Html {
  const form = postForm({
    action: PATH,
    csrf,
    body: html`${input({ name: 'email', label: 'New address', type: 'email', value: typed, autocomplete: 'email' }, problem)}
${input({ name: 'current_password', label: 'Current password', type: 'password', autocomplete: 'current-password', show: 'Show current password' }, problem)}
<button class="primary">Send link</button>`,
  });
  return settings({
    title: 'Change it',
    intro:
      'You get a link at the new address, and a notice at your current address. The change takes effect when you open the link and confirm it. Every other browser is then signed out.',
    body: form,
  });
}

function confirmBody({ csrf, user }: PageContext, { email, token }: { email: string; token: string }): Html {
  const isNew = email !== user.email;
  const body = html`<p><strong>${email}</strong></p>
<p class="muted">${isNew ? `You will sign in with it instead of ${user.email}. Every other browser is signed out.` : 'You can then join other businesses.'}</p>
${postForm({
  action: `${PATH}/${encodeURIComponent(token)}`,
  csrf,
  body: html`<button class="primary wide">${isNew ? 'Use this address' : 'Confirm address'}</button>`,
})}`;
  return question({ title: isNew ? 'Use this address?' : 'Confirm your address', body });
}
