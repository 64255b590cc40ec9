import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { mailPasswordLink } from '../accounts/password-links.ts';
import { readEmail } from '../lib/email-addresses.ts';
import { type Html, html } from '../lib/html.ts';
import { access } from './access.ts';
import type { WebDeps } from './deps.ts';
import { notFound } from './errors.ts';
import { redirectWithFlash } from './flash.ts';
import { type Form, input, type Problem, postForm, text, tryRateLimitedForm } from './forms.ts';
import { sendPage } from './layout.ts';
import { countMail } from './mail-limits.ts';
import { clientOf } from './session.ts';

const PATH = '/password';

/** Mails a link to set a new password. Without mail, the page says who can create one. */
export function mountForgottenPassword(host: FastifyInstance, deps: WebDeps): void {
  const { storage, mailer, clock } = deps;
  host.get(PATH, access('anyone'), async (request, reply) => show(deps, request, reply));

  host.post<{ Body: Form }>(PATH, access('anyone'), async (request, reply) => {
    if (!mailer.isOn) throw notFound();
    const send = async () => {
      const email = readEmail(text(request.body, 'email'));
      await countMail(deps, request, email);
      await mailPasswordLink(storage.durable, mailer, { email, device: clientOf(request) }, clock());
      return redirectWithFlash(reply, '/sign-in', 'password_mailed');
    };
    return tryRateLimitedForm(reply, send, (problem, status) =>
      show(deps, request, reply, { problem: { field: 'email', message: problem.message }, status }),
    );
  });
}

async function show(
  { platformName, mailer }: WebDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { problem, status = 200 }: { problem?: Problem; status?: number } = {},
): Promise<FastifyReply> {
  const typed = text((request.body ?? {}) as Form, 'email');
  const body = html`<div class="card"><h1>Forgot your password?</h1>
${mailer.isOn ? mailForm(request.csrfToken, typed, problem) : helpers(platformName)}
<p class="apart"><a href="/sign-in">Back to sign-in</a></p></div>`;
  return sendPage(reply, { title: 'Forgot your password?', platformName, width: 'narrow', body }, { status });
}

function mailForm(csrf: string, typed: string, problem: Problem | undefined): Html {
  return html`<p>Enter the address that you sign in with. You get a mail with a link to set a new password.</p>
${postForm({
  action: PATH,
  csrf,
  body: html`${input({ name: 'email', label: 'Email', type: 'email', value: typed, autocomplete: 'username', focus: true }, problem)}
<button class="primary wide">Send link</button>`,
})}`;
}

/** Only people who can really help: an owner cannot reset the password of a person who belongs to another business, too. */
function helpers(platformName: string): Html {
  return html`<p>${platformName} sends no mail. A person can give you a one-time link to set a new password:</p>
<ul><li>If you belong to one business only, and another person owns it, that owner can: on the page of the member, under Members.</li>
<li>Otherwise, a platform admin or an operator of ${platformName} can.</li></ul>
<p class="muted">The link works once. You will see on your account page who created it.</p>`;
}
