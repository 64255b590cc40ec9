import type { FastifyRequest } from 'fastify';
import type { Passkey } from '../../accounts/passkeys.ts';
import type { Session } from '../../accounts/sessions.ts';
import { MINUTE } from '../../lib/clock.ts';
import { type Html, html } from '../../lib/html.ts';
import { describeUserAgent } from '../../lib/user-agents.ts';
import { type Form, input, type Problem, postForm, text, time } from '../forms.ts';
import type { PageContext } from '../layout.ts';
import { passkeyBox } from '../passkey-box.ts';
import { clientOf } from '../session.ts';

export const PASSKEYS = '/settings/account/passkeys';

/** A browser left open must not become a key for ever: whoever adds one has signed in just now. */
const SIGNED_IN_WITHIN = 15 * MINUTE;

export function mayAddPasskey({ signedInAt }: Session, now: number): boolean {
  return now - signedInAt < SIGNED_IN_WITHIN;
}

interface Showing {
  context: PageContext & { session: Session };
  passkeys: Passkey[];
  request: FastifyRequest;
  typed: Form;
  problem?: Problem | undefined;
}

export function passkeySection(showing: Showing, now: number): Html {
  const { context, passkeys } = showing;
  return html`<section class="card" id="passkeys"><h2>Passkeys</h2>
<p class="muted">A passkey signs you in with your device’s own lock – a fingerprint, a face or a PIN – in place of the password.</p>
${passkeys.length > 0 && html`<ul class="rows">${passkeys.map((passkey) => passkeyRow(passkey, context.csrf))}</ul>`}
${mayAddPasskey(context.session, now) ? addForm(showing) : signInAgain}
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

function addForm({ context, request, typed, problem }: Showing): Html {
  const value = text(typed, 'passkey_name') || describeUserAgent(clientOf(request).browser);
  const hint = 'By which you will know it in this list.';
  const form = postForm({
    action: PASSKEYS,
    csrf: context.csrf,
    body: html`${input({ name: 'passkey_name', label: 'Name of the new passkey', value, hint }, problem)}
<button class="secondary">Add a passkey</button>`,
  });
  return html`${passkeyBox({ act: 'create', form, problem })}
<p class="hint" data-without-passkeys>Adding a passkey needs JavaScript, and a browser that knows passkeys.</p>`;
}
