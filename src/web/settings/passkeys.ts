import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { addPasskey, listPasskeys, type Passkey, passkeyNotAdded } from '../../accounts/passkeys.ts';
import {
  type FactorAssertion,
  findSecondFactors,
  needsStepUp,
  removePasskey,
  type SecondFactors,
} from '../../accounts/second-factors.ts';
import type { Session } from '../../accounts/sessions.ts';
import { registrationOptions, verifyRegistration } from '../../accounts/webauthn.ts';
import { FormError } from '../../lib/errors.ts';
import { type Html, html } from '../../lib/html.ts';
import { readName } from '../../lib/names.ts';
import { hashSecret } from '../../lib/secrets.ts';
import { describeUserAgent } from '../../lib/user-agents.ts';
import { access, accessBeforeSecondFactor } from '../access.ts';
import { passkeyForm } from '../components/product.ts';
import { settings } from '../components/structure.ts';
import { siteOf, type WebDeps } from '../deps.ts';
import { notFound, sessionExpired } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, input, type Problem, postForm, text, time, tryForm } from '../forms.ts';
import type { PageContext } from '../layout.ts';
import { readReturnTo } from '../return-to.ts';
import { actorOf, clientOf, hasSignedInRecently, requireSession } from '../session.ts';
import { type StepUpAction, showStepUpForm, withStepUp } from './step-up.ts';
import { factorDeps } from './two-step.ts';

type FormRequest = FastifyRequest<{ Body: Form }>;

const ACCOUNT = '/settings/account';
const PASSKEYS = `${ACCOUNT}/passkeys`;

/** The passkeys of the signed-in user are a section of the account page. */
export function mountPasskeys(
  host: FastifyInstance,
  deps: WebDeps,
  showAccount: (request: FastifyRequest, reply: FastifyReply, problem: Problem) => Promise<FastifyReply>,
): void {
  host.post<{ Body: Form }>(`${PASSKEYS}/options`, accessBeforeSecondFactor(), async (request, reply) => {
    reply.header('cache-control', 'no-store');
    return tryForm(
      async () => reply.send(await createOptions(deps, request)),
      ({ message }) => reply.code(400).send({ problem: message }),
    );
  });

  host.post<{ Body: Form }>(PASSKEYS, accessBeforeSecondFactor(), async (request, reply) => {
    const add = async () => {
      await registerPasskey(deps, request);
      const target = text(request.body, 'return_to');
      if (target) return reply.redirect(readReturnTo(target, deps.consentUrl), 303);
      return redirectWithFlash(reply, ACCOUNT, 'passkey_added');
    };
    return tryForm(add, (problem) => showAccount(request, reply, problem));
  });

  mountRemoval(host, deps);
}

type PasskeyRoute = { Params: { id: string }; Body: Form };

/** Two-step sign-in, or a rule that requires it, makes a passkey a second factor: then removing one needs step-up authentication. */
function mountRemoval(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;

  host.get<PasskeyRoute>(`${PASSKEYS}/:id/remove`, access('signed_in'), async (request, reply) => {
    const { passkeys } = await findSecondFactors(storage.durable, requireSession(request).user.id);
    const passkey = passkeys.find(({ id }) => id === request.params.id);
    if (!passkey) throw notFound();
    return showStepUpForm(deps, request, reply, removalOf(passkey));
  });

  host.post<PasskeyRoute>(`${PASSKEYS}/:id/remove`, access('signed_in'), async (request, reply) => {
    const { user } = requireSession(request);
    const factors = await findSecondFactors(storage.durable, user.id);
    const passkey = factors.passkeys.find(({ id }) => id === request.params.id);
    if (!passkey) throw notFound();
    const work = async (assertion: FactorAssertion | undefined) => {
      const removal = { user, id: passkey.id, assertion };
      if (!(await removePasskey(actorOf(request), factorDeps(deps), removal, clock()))) throw notFound();
      return redirectWithFlash(reply, ACCOUNT, 'passkey_removed');
    };
    return needsStepUp(factors)
      ? withStepUp(deps, request, reply, { shown: removalOf(passkey), work })
      : work(undefined);
  });
}

function removalOf({ id, name }: Passkey): StepUpAction {
  return {
    title: `Remove the passkey ${name}`,
    explanation: html`<p>It no longer signs you in.</p>`,
    action: `${PASSKEYS}/${id}/remove`,
    button: 'Remove',
    style: 'danger',
  };
}

/** Rejects a wrong name before the authenticator creates a key for it. */
async function createOptions(deps: WebDeps, request: FormRequest) {
  const session = requireSession(request);
  if (!hasSignedInRecently(session, deps.clock())) {
    throw new FormError('passkey', 'Your last sign-in was too long ago. Reload the page, and sign in again.');
  }
  readName('passkey_name', text(request.body, 'passkey_name'));
  const known = await listPasskeys(deps.storage.durable, session.user.id);
  const options = { user: session.user, boundTo: hashSecret(session.id), known };
  return registrationOptions(siteOf(deps), options, deps.clock());
}

async function registerPasskey(deps: WebDeps, request: FormRequest): Promise<void> {
  const { storage, clock } = deps;
  const session = requireSession(request);
  const response = { text: text(request.body, 'credential'), boundTo: hashSecret(session.id) };
  const verified = await verifyRegistration(siteOf(deps), response, clock());
  if (!verified) throw passkeyNotAdded();
  const registration = { session, name: text(request.body, 'passkey_name'), ...verified };
  const added = await addPasskey(actorOf(request), storage.durable, registration, clock());
  if (!added) throw sessionExpired(ACCOUNT);
}

interface PasskeySection {
  context: PageContext & { session: Session };
  factors: SecondFactors;
  request: FastifyRequest;
  typed: Form;
  problem?: Problem | undefined;
}

export function passkeySection(section: PasskeySection, now: number): Html {
  const { context, factors } = section;
  const { passkeys } = factors;
  const stepUp = needsStepUp(factors);
  const rows = passkeys.map((passkey) => passkeyRow(passkey, { csrf: context.csrf, stepUp }));
  return settings({
    title: 'Passkeys',
    id: 'passkeys',
    intro: 'A passkey signs you in with your device’s screen lock (fingerprint, face or PIN) instead of your password.',
    body: html`${rows.length > 0 && html`<ul class="rows">${rows}</ul>`}
${hasSignedInRecently(context.session, now) ? addForm(section) : signInAgain}`,
  });
}

const signInAgain = html`<p>To add a passkey, <a href="/sign-in?return_to=${encodeURIComponent('/settings/account')}">sign in again</a> first: your last sign-in was more than 15 minutes ago.</p>`;

/** `stepUp`: whether removing it needs step-up authentication, for which there is a page. */
function passkeyRow(passkey: Passkey, { csrf, stepUp }: { csrf: string; stepUp: boolean }): Html {
  const { id, name, createdAt, lastUsedAt } = passkey;
  const action = `${PASSKEYS}/${id}/remove`;
  const label = html`aria-label="Remove the passkey ${name}"`;
  return html`<li><div><strong>${name}</strong>
<p class="muted small">Added ${time(createdAt)}, ${lastUsedAt === null ? 'not used yet' : html`last used ${time(lastUsedAt)}`}</p></div>
${stepUp ? html`<a class="button quiet danger" href="${action}" ${label}>Remove…</a>` : postForm({ action, csrf, body: html`<button class="quiet danger" ${label}>Remove</button>` })}</li>`;
}

function addForm({ context, request, typed, problem }: PasskeySection): Html {
  const value = text(typed, 'passkey_name') || describeUserAgent(clientOf(request).browser);
  const hint = 'To recognize it in this list.';
  const form = postForm({
    action: PASSKEYS,
    csrf: context.csrf,
    body: html`${input({ name: 'passkey_name', label: 'Name of the new passkey', value, hint }, problem)}
<button class="secondary">Add a passkey</button>`,
  });
  return html`${passkeyForm({ method: 'create', form, problem })}
<p class="hint" data-without-passkeys>Adding a passkey needs JavaScript and a browser that supports passkeys.</p>`;
}
