import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { addPasskey, listPasskeys, type Passkey, passkeyNotAdded, removePasskey } from '../../accounts/passkeys.ts';
import type { Session } from '../../accounts/sessions.ts';
import { registrationOptions, verifyRegistration } from '../../accounts/webauthn.ts';
import { MINUTE } from '../../lib/clock.ts';
import { FormError } from '../../lib/errors.ts';
import { type Html, html } from '../../lib/html.ts';
import { readName } from '../../lib/names.ts';
import { hashSecret } from '../../lib/secrets.ts';
import { describeUserAgent } from '../../lib/user-agents.ts';
import { access } from '../access.ts';
import { passkeyForm } from '../components.ts';
import { siteOf, type WebDeps } from '../deps.ts';
import { notFound, sessionExpired } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, input, type Problem, postForm, text, time, tryForm } from '../forms.ts';
import type { PageContext } from '../layout.ts';
import { actorOf, clientOf, requireSession } from '../session.ts';

type FormRequest = FastifyRequest<{ Body: Form }>;

const ACCOUNT = '/settings/account';
const PASSKEYS = `${ACCOUNT}/passkeys`;

/** The passkeys of the signed-in user are a section of the account page. */
export function mountPasskeys(
  host: FastifyInstance,
  deps: WebDeps,
  showAccount: (request: FastifyRequest, reply: FastifyReply, problem: Problem) => Promise<FastifyReply>,
): void {
  const { storage, clock } = deps;

  host.post<{ Body: Form }>(`${PASSKEYS}/options`, access('signed_in'), async (request, reply) => {
    reply.header('cache-control', 'no-store');
    return tryForm(
      async () => reply.send(await createOptions(deps, request)),
      ({ message }) => reply.code(400).send({ problem: message }),
    );
  });

  host.post<{ Body: Form }>(PASSKEYS, access('signed_in'), async (request, reply) => {
    const add = async () => {
      await registerPasskey(deps, request);
      return redirectWithFlash(reply, ACCOUNT, 'passkey_added');
    };
    return tryForm(add, (problem) => showAccount(request, reply, problem));
  });

  host.post<{ Params: { id: string }; Body: Form }>(
    `${PASSKEYS}/:id/remove`,
    access('signed_in'),
    async (request, reply) => {
      const passkey = { userId: requireSession(request).user.id, id: request.params.id };
      if (!(await removePasskey(actorOf(request), storage.durable, passkey, clock()))) throw notFound();
      return redirectWithFlash(reply, ACCOUNT, 'passkey_removed');
    },
  );
}

/** Rejects a wrong name before the authenticator creates a key for it. */
async function createOptions(deps: WebDeps, request: FormRequest) {
  const session = requireSession(request);
  if (!mayAddPasskey(session, deps.clock())) {
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

/** Prevents adding a passkey from an unattended browser. */
const MAX_SIGN_IN_AGE = 15 * MINUTE;

function mayAddPasskey({ signedInAt }: Session, now: number): boolean {
  return now - signedInAt < MAX_SIGN_IN_AGE;
}

interface PasskeySection {
  context: PageContext & { session: Session };
  passkeys: Passkey[];
  request: FastifyRequest;
  typed: Form;
  problem?: Problem | undefined;
}

export function passkeySection(section: PasskeySection, now: number): Html {
  const { context, passkeys } = section;
  return html`<section class="card" id="passkeys"><h2>Passkeys</h2>
<p class="muted">A passkey signs you in with the lock of your device – fingerprint, face or PIN – instead of your password.</p>
${passkeys.length > 0 && html`<ul class="rows">${passkeys.map((passkey) => passkeyRow(passkey, context.csrf))}</ul>`}
${mayAddPasskey(context.session, now) ? addForm(section) : signInAgain}
</section>`;
}

const signInAgain = html`<p>To add a passkey, <a href="/sign-in?return_to=${encodeURIComponent('/settings/account')}">sign in again</a> first: your last sign-in was more than 15 minutes ago.</p>`;

function passkeyRow({ id, name, createdAt, lastUsedAt }: Passkey, csrf: string): Html {
  return html`<li><div><strong>${name}</strong>
<p class="muted small">Added ${time(createdAt)}, ${lastUsedAt === null ? 'not used yet' : html`last used ${time(lastUsedAt)}`}</p></div>
${postForm({
  action: `${PASSKEYS}/${id}/remove`,
  csrf,
  body: html`<button class="danger" aria-label="Remove the passkey ${name}">Remove</button>`,
})}</li>`;
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
